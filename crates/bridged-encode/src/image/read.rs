//! A photograph as its viewer shows it: JPEG, PNG, WebP and the first frame of a GIF, turned as its EXIF tag says.
//!
//! Colours become three bytes as Pillow's `convert("RGB")` makes them, so that vectors agree with those of Python: grey is
//! repeated, transparency is dropped and not blended, 16 bits keep their upper byte, except that 16-bit grey without
//! transparency is cut off at 255 (Pillow's way; such scans are better saved with 8 bits first). A file that ends too
//! early is an error, also where a decoder would fill the rest with grey.
//!
//! A file of a few kilobytes can claim any number of pixels. The claim is read before anything is decoded, and what is
//! larger than [`MAX_PIXELS`], or the limit that was given, is refused. Decoding takes up to twelve bytes per pixel.

use crate::EncodeError;
use bridged_math::{guard, memory};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, Rgb, RgbImage};
use jpeg_decoder::PixelFormat;
use std::io::Cursor;
use std::path::Path;

/// Pixels of the largest picture that is read unless an option says otherwise: more than the cameras of phones and all
/// but the largest of museums have, and no more than 0.8 GB while it is decoded.
pub const MAX_PIXELS: u64 = 64_000_000;

/// Pixels beyond which pictures are decoded one after the other, whatever the number of threads.
pub(crate) const LARGE: u64 = 16_000_000;

/// The most bytes per pixel that a decoder holds: a progressive JPEG with its coefficients, or 16 bits with transparency.
const BYTES_PER_PIXEL: u64 = 12;

/// A picture of three bytes per pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green and blue, (height, width, 3).
    pub rgb: Vec<u8>,
}

/// Reads a file of at most [`MAX_PIXELS`].
pub fn open(path: &Path) -> Result<Picture, EncodeError> {
    let bad = |reason: String| EncodeError::BadImage { path: path.to_path_buf(), reason };
    decode(&std::fs::read(path).map_err(|e| bad(e.to_string()))?).map_err(bad)
}

/// Reads a picture of at most [`MAX_PIXELS`] from the bytes of its file, or says why that is not possible.
pub fn decode(bytes: &[u8]) -> Result<Picture, String> {
    decode_within(bytes, MAX_PIXELS)
}

/// Reads a picture of at most that many pixels from the bytes of its file, or says why that is not possible.
pub fn decode_within(bytes: &[u8], max_pixels: u64) -> Result<Picture, String> {
    // A decoder that gives up by panicking must not end the reading of a million other files.
    guard::quietly(|| try_decode(bytes, max_pixels)).flatten()
}

/// The pixels that a file claims to have; none if it does not say so.
pub(crate) fn claimed_pixels(bytes: &[u8]) -> Option<u64> {
    let claimed = guard::quietly(|| {
        if is_jpeg(bytes) {
            let mut decoder = jpeg_decoder::Decoder::new(bytes);
            decoder.read_info().ok()?;
            let info = decoder.info()?;
            return Some((u32::from(info.width), u32::from(info.height)));
        }
        let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?;
        reader.into_dimensions().ok()
    });
    let (width, height) = claimed.ok().flatten()?;
    Some(u64::from(width) * u64::from(height))
}

fn is_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xFF, 0xD8, 0xFF])
}

fn try_decode(bytes: &[u8], max_pixels: u64) -> Result<Picture, String> {
    if bytes.is_empty() {
        return Err("the file is empty".into());
    }
    let (image, orientation) = match is_jpeg(bytes) {
        true => decode_jpeg(bytes, max_pixels)?,
        false => decode_other(bytes, max_pixels)?,
    };
    let mut image = DynamicImage::ImageRgb8(image);
    image.apply_orientation(orientation.unwrap_or(Orientation::NoTransforms));
    let image = image.into_rgb8();
    let (width, height) = (image.width() as usize, image.height() as usize);
    Ok(Picture { width, height, rgb: image.into_raw() })
}

/// Refuses sizes that few photographs have, before anything is decoded.
fn check(width: u32, height: u32, max_pixels: u64) -> Result<(), String> {
    if width == 0 || height == 0 {
        return Err(format!("it has no pixels ({width} × {height})"));
    }
    let pixels = u64::from(width) * u64::from(height);
    if pixels > max_pixels {
        return Err(format!(
            "{width} × {height} pixels are more than the {max_pixels} that are read; shrink it first, or raise --max-pixels"
        ));
    }
    let what = format!("decoding {width} × {height} pixels");
    memory::require(what, pixels.saturating_mul(BYTES_PER_PIXEL)).map_err(|e| e.to_string())
}

/// A JPEG, by `jpeg-decoder`: it is slower than the decoder of `image`, but smooths halved colours as libjpeg does, and
/// features follow so small differences.
fn decode_jpeg(bytes: &[u8], max_pixels: u64) -> Result<(RgbImage, Option<Orientation>), String> {
    if !ends(bytes) {
        return Err("the file ends before the picture does".into());
    }
    let mut decoder = jpeg_decoder::Decoder::new(bytes);
    let most = usize::try_from(max_pixels.saturating_mul(4)).unwrap_or(usize::MAX);
    decoder.set_max_decoding_buffer_size(most);
    decoder.read_info().map_err(|e| e.to_string())?;
    let info = decoder.info().ok_or("it has no header")?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    check(width, height, max_pixels)?;
    let data = decoder.decode().map_err(|e| e.to_string())?;
    let rgb = match info.pixel_format {
        PixelFormat::RGB24 => data,
        PixelFormat::L8 => data.into_iter().flat_map(|v| [v; 3]).collect(),
        PixelFormat::CMYK32 => data.as_chunks().0.iter().flat_map(uninked).collect(),
        PixelFormat::L16 => return Err("it is a lossless JPEG, which few programs read".into()),
    };
    let image = RgbImage::from_raw(width, height, rgb).ok_or("its decoder gave too few pixels")?;
    Ok((image, decoder.exif_data().and_then(Orientation::from_exif_chunk)))
}

/// Red, green and blue of cyan, magenta, yellow and black, rounded as Pillow does.
fn uninked(&[c, m, y, k]: &[u8; 4]) -> [u8; 3] {
    let light = 255 - k;
    [c, m, y].map(|ink| {
        let product = u32::from(ink) * u32::from(light) + 128;
        light - ((product + (product >> 8)) >> 8) as u8
    })
}

/// A PNG, WebP or GIF.
fn decode_other(bytes: &[u8], max_pixels: u64) -> Result<(RgbImage, Option<Orientation>), String> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let mut reader = reader.map_err(|e| e.to_string())?;
    let known = [ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif];
    if !reader.format().is_some_and(|format| known.contains(&format)) {
        return Err("it is neither JPEG, PNG, WebP nor GIF".into());
    }
    let mut limits = Limits::default();
    limits.max_alloc = Some(max_pixels.saturating_mul(BYTES_PER_PIXEL));
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|e| e.to_string())?;
    let (width, height) = decoder.dimensions();
    check(width, height, max_pixels)?;
    let orientation = decoder.orientation().ok();
    let image = DynamicImage::from_decoder(decoder).map_err(|e| e.to_string())?;
    Ok((rgb(image), orientation))
}

/// Three bytes per pixel.
fn rgb(image: DynamicImage) -> RgbImage {
    let (width, height) = (image.width(), image.height());
    let upper = |v: u16| (v >> 8) as u8;
    match image {
        DynamicImage::ImageLuma16(i) => {
            let grey = |x, y| i.get_pixel(x, y).0[0].min(255) as u8;
            RgbImage::from_fn(width, height, |x, y| Rgb([grey(x, y); 3]))
        }
        DynamicImage::ImageLumaA16(i) => {
            RgbImage::from_fn(width, height, |x, y| Rgb([upper(i.get_pixel(x, y).0[0]); 3]))
        }
        DynamicImage::ImageRgb16(i) => {
            RgbImage::from_fn(width, height, |x, y| Rgb(i.get_pixel(x, y).0.map(upper)))
        }
        DynamicImage::ImageRgba16(i) => RgbImage::from_fn(width, height, |x, y| {
            let [r, g, b, _] = i.get_pixel(x, y).0.map(upper);
            Rgb([r, g, b])
        }),
        eight_bits => eight_bits.into_rgb8(),
    }
}

/// Whether a JPEG has its end marker. The walk goes from segment to segment, so that the end of a thumbnail within one
/// does not count, and through the coded data between them.
fn ends(jpeg: &[u8]) -> bool {
    let mut at = 2; // behind the start marker
    while at + 1 < jpeg.len() {
        match (jpeg[at], jpeg[at + 1]) {
            (0xFF, 0xD9) => return true,
            (0xFF, 0xFF) => at += 1,                      // fill byte
            (0xFF, 0x00 | 0x01 | 0xD0..=0xD8) => at += 2, // stuffed byte or marker without a segment
            (0xFF, _) => {
                let Some(&[high, low]) = jpeg.get(at + 2..).and_then(<[u8]>::first_chunk) else {
                    return false;
                };
                at += 2 + usize::from(u16::from_be_bytes([high, low]));
            }
            _ => at += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ExtendedColorType, ImageEncoder};

    /// A 5 × 3 picture in which no two pixels are equal.
    fn pixels(channels: usize) -> Vec<u8> {
        (0..15 * channels).map(|i| (i * 17 % 256) as u8).collect()
    }

    fn png(data: &[u8], colour: ExtendedColorType) -> Vec<u8> {
        let mut out = Vec::new();
        image::codecs::png::PngEncoder::new(&mut out).write_image(data, 5, 3, colour).unwrap();
        out
    }

    #[test]
    fn transparency_is_dropped_and_grey_repeated() {
        let rgba = pixels(4);
        let seen = decode(&png(&rgba, ExtendedColorType::Rgba8)).unwrap();
        let expected: Vec<u8> = rgba.chunks(4).flat_map(|p| p[..3].to_vec()).collect();
        assert_eq!((seen.width, seen.height, seen.rgb), (5, 3, expected));
        let grey = pixels(1);
        let seen = decode(&png(&grey, ExtendedColorType::L8)).unwrap();
        assert_eq!(seen.rgb, grey.iter().flat_map(|&v| [v; 3]).collect::<Vec<_>>());
        let both = pixels(2);
        let seen = decode(&png(&both, ExtendedColorType::La8)).unwrap();
        assert_eq!(seen.rgb, both.chunks(2).flat_map(|p| [p[0]; 3]).collect::<Vec<_>>());
    }

    #[test]
    fn sixteen_bits_keep_their_upper_byte_but_grey_is_cut_off() {
        let wide: Vec<u16> = (0..45).map(|i| i * 1453 + 200).collect();
        let bytes: Vec<u8> = wide.iter().flat_map(|v| v.to_ne_bytes()).collect();
        let seen = decode(&png(&bytes, ExtendedColorType::Rgb16)).unwrap();
        assert_eq!(seen.rgb, wide.iter().map(|v| (v >> 8) as u8).collect::<Vec<_>>());
        let seen = decode(&png(&bytes[..30], ExtendedColorType::L16)).unwrap();
        let cut = wide[..15].iter().flat_map(|&v| [v.min(255) as u8; 3]);
        assert_eq!(seen.rgb, cut.collect::<Vec<_>>());
    }

    #[test]
    fn every_exif_orientation_is_applied() {
        let data = pixels(3);
        let pixel = |x: usize, y: usize| &data[(y * 5 + x) * 3..][..3];
        for tag in 1..=8u8 {
            let mut exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
            exif.extend([tag, 0, 0, 0, 0, 0, 0, 0]);
            let mut file = Vec::new();
            let mut encoder = image::codecs::png::PngEncoder::new(&mut file);
            encoder.set_exif_metadata(exif).unwrap();
            encoder.write_image(&data, 5, 3, ExtendedColorType::Rgb8).unwrap();
            let seen = decode(&file).unwrap();
            let (w, h) = if tag < 5 { (5, 3) } else { (3, 5) };
            assert_eq!((seen.width, seen.height), (w, h), "{tag}");
            for (at, shown) in seen.rgb.chunks(3).enumerate() {
                let (x, y) = (at % w, at / w);
                // Which stored pixel is shown at (x, y), by the table of the standard.
                let (sx, sy) = match tag {
                    1 => (x, y),
                    2 => (4 - x, y),
                    3 => (4 - x, 2 - y),
                    4 => (x, 2 - y),
                    5 => (y, x),
                    6 => (y, 2 - x),
                    7 => (4 - y, 2 - x),
                    _ => (4 - y, x),
                };
                assert_eq!(shown, pixel(sx, sy), "orientation {tag} at {x}, {y}");
            }
        }
    }

    #[test]
    fn a_file_cut_anywhere_or_scrambled_is_an_error_and_never_a_panic() {
        let image = DynamicImage::ImageRgb8(image::RgbImage::from_fn(40, 30, |x, y| {
            image::Rgb([(x * 6) as u8, (y * 8) as u8, (x * y) as u8])
        }));
        for format in [ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif] {
            let mut file = Cursor::new(Vec::new());
            image.write_to(&mut file, format).unwrap();
            let file = file.into_inner();
            assert_eq!(decode(&file).map(|p| (p.width, p.height)), Ok((40, 30)), "{format:?}");
            for cut in (0..file.len() * 9 / 10).step_by(7) {
                let reason = decode(&file[..cut]).expect_err("a part of a file");
                assert!(!reason.is_empty(), "{format:?} cut at {cut}");
            }
            for at in 0..file.len() {
                let mut scrambled = file.clone();
                scrambled[at] ^= 0x55;
                let _ = decode(&scrambled); // any answer will do, as long as there is one
            }
        }
        assert_eq!(decode(b""), Err("the file is empty".into()));
        assert!(decode(b"plainly a text").unwrap_err().contains("neither JPEG"));
    }

    /// A file whose header says so many pixels, of every format that is read.
    fn claims(width: u32, height: u32) -> Vec<(&'static str, Vec<u8>)> {
        let small = image::RgbImage::from_fn(5, 3, |x, y| image::Rgb([x as u8, y as u8, 0]));
        let file = |format: ImageFormat| {
            let mut file = Cursor::new(Vec::new());
            small.write_to(&mut file, format).unwrap();
            file.into_inner()
        };
        let mut png = file(ImageFormat::Png);
        png[16..20].copy_from_slice(&width.to_be_bytes());
        png[20..24].copy_from_slice(&height.to_be_bytes());
        let crc = crc32(&png[12..29]);
        png[29..33].copy_from_slice(&crc.to_be_bytes());
        let mut gif = file(ImageFormat::Gif);
        gif[6..8].copy_from_slice(&(width as u16).to_le_bytes());
        gif[8..10].copy_from_slice(&(height as u16).to_le_bytes());
        // Lossless WebP: fourteen bits each behind the signature of the chunk.
        let mut webp = file(ImageFormat::WebP);
        let at = webp.windows(4).position(|w| w == b"VP8L").unwrap() + 9;
        let rest = u32::from_le_bytes(webp[at..at + 4].try_into().unwrap()) & 0xF000_0000;
        let both = ((width - 1) & 0x3FFF) | ((height - 1) & 0x3FFF) << 14 | rest;
        webp[at..at + 4].copy_from_slice(&both.to_le_bytes());
        // A progressive JPEG of one grey component, and nothing behind its header.
        let [h, w] = [height as u16, width as u16].map(u16::to_be_bytes);
        let mut jpeg = b"\xFF\xD8\xFF\xC2\0\x0B\x08".to_vec();
        jpeg.extend([h, w].concat());
        jpeg.extend(b"\x01\x01\x11\0\xFF\xDA\0\x08\x01\x01\0\0\0\0\xFF\xD9");
        vec![("PNG", png), ("GIF", gif), ("WebP", webp), ("JPEG", jpeg)]
    }

    #[test]
    fn a_picture_of_any_format_that_claims_an_absurd_size_is_refused_before_it_is_decoded() {
        for (name, file) in claims(16_000, 12_000) {
            assert!(file.len() < 4096, "{name}");
            assert_eq!(claimed_pixels(&file), Some(192_000_000), "{name}");
            let reason = decode(&file).unwrap_err();
            let expected = "16000 × 12000 pixels are more than the 64000000 that are read; shrink it first, or raise \
                            --max-pixels";
            assert_eq!(reason, expected, "{name}");
        }
        for (name, file) in claims(400, 300) {
            let reason = decode_within(&file, 119_999).unwrap_err();
            assert!(reason.contains("raise --max-pixels"), "{name}: {reason}");
            // A raised limit lets it pass to the decoder, whatever that finds.
            let reason = decode_within(&file, 120_000).err().unwrap_or_default();
            assert!(!reason.contains("--max-pixels"), "{name}: {reason}");
        }
    }

    #[test]
    fn a_limit_of_pixels_is_exact() {
        let file = png(&pixels(3), ExtendedColorType::Rgb8);
        assert!(decode_within(&file, 15).is_ok());
        assert!(
            decode_within(&file, 14).unwrap_err().starts_with("5 × 3 pixels are more than the 14")
        );
        assert_eq!(claimed_pixels(&file), Some(15));
        assert_eq!(claimed_pixels(b"no picture"), None);
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0, |mut crc: u32, &byte| {
            crc ^= u32::from(byte);
            (0..8).for_each(|_| crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()));
            crc
        })
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = open(Path::new("no/such.jpg")).unwrap_err().to_string();
        assert!(error.contains("no/such.jpg"), "{error}");
    }
}
