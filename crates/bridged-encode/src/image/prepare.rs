//! From a picture to the numbers that a network was trained on: resize, centre crop, normalise.
//!
//! (v / 255 − mean) / deviation for every channel, of the middle of the resized picture. Sizes round as in torchvision:
//! the longer side is cut to an integer, the crop begins at the nearest integer of half the rest, ties to even. timm
//! says the same with other words: the shorter side becomes ⌊crop / crop_pct⌋.
//!
//! | preset | shorter side | crop | filter | mean, deviation |
//! |---|---|---|---|---|
//! | torchvision EfficientNet-B0, timm `efficientnet_b0.ra_in1k` | 256 | 224 | bicubic | ImageNet |
//! | torchvision ResNet50 V1 (V2: 232), timm `resnet50.tv_in1k` | 256 | 224 | bilinear | ImageNet |
//! | timm `resnet50.a1_in1k` | 235 | 224 | bicubic | ImageNet |
//! | torchvision ViT-B/16 | 256 | 224 | bilinear | ImageNet |
//! | timm `vit_base_patch16_224.augreg*` | 248 | 224 | bicubic | ½, ½ |
//! | Hugging Face `vit-base-patch16-224` | both 224 | 224 | bilinear | ½, ½ |
//! | EfficientNet-Lite0 of TensorFlow and of its package | 256 | 224 | bicubic | 127/255, 128/255 |
//! | timm `tf_efficientnet_lite0` | 256 | 224 | bicubic | ½, ½ |

use super::Picture;
use super::resize::{Filter, resize};
use crate::layers::Map;

/// The size that a picture gets before it is cropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The shorter side gets this, the longer follows.
    Shorter(usize),
    /// Both sides get this, whatever the shape was.
    Square(usize),
}

/// How pictures become numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// The size before the crop.
    pub size: Size,
    /// The side of the square in the middle that is kept.
    pub crop: usize,
    /// The filter of the resize.
    pub filter: Filter,
    /// What is subtracted from red, green and blue in [0, 1].
    pub mean: [f32; 3],
    /// What they are divided by.
    pub deviation: [f32; 3],
}

/// Means and deviations of ImageNet's training pictures.
const IMAGENET: ([f32; 3], [f32; 3]) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
const HALF: ([f32; 3], [f32; 3]) = ([0.5; 3], [0.5; 3]);

impl Preset {
    const fn new(size: Size, filter: Filter, (mean, deviation): ([f32; 3], [f32; 3])) -> Self {
        Self { size, crop: 224, filter, mean, deviation }
    }

    /// EfficientNet-B0 of torchvision and timm.
    pub const EFFICIENTNET: Self = Self::new(Size::Shorter(256), Filter::Bicubic, IMAGENET);
    /// EfficientNet-Lite0 as TensorFlow trained it.
    pub const LITE: Self =
        Self::new(Size::Shorter(256), Filter::Bicubic, ([127.0 / 255.0; 3], [128.0 / 255.0; 3]));
    /// EfficientNet-Lite0 as timm reads it.
    pub const TIMM_LITE: Self = Self::new(Size::Shorter(256), Filter::Bicubic, HALF);
    /// ResNet50 of torchvision, first weights, and ViT-B/16 of torchvision.
    pub const TORCHVISION: Self = Self::new(Size::Shorter(256), Filter::Bilinear, IMAGENET);
    /// ResNet50 of torchvision, second weights.
    pub const RESNET_V2: Self = Self::new(Size::Shorter(232), Filter::Bilinear, IMAGENET);
    /// ResNet50 of timm (`a1_in1k`).
    pub const TIMM_RESNET: Self = Self::new(Size::Shorter(235), Filter::Bicubic, IMAGENET);
    /// ViT-B/16 of timm (`augreg`).
    pub const TIMM_VIT: Self = Self::new(Size::Shorter(248), Filter::Bicubic, HALF);
    /// ViT-B/16 of Hugging Face.
    pub const HUGGING_FACE_VIT: Self = Self::new(Size::Square(224), Filter::Bilinear, HALF);

    /// All of them by name.
    pub const ALL: [(&str, Self); 8] = [
        ("efficientnet", Self::EFFICIENTNET),
        ("lite", Self::LITE),
        ("timm-lite", Self::TIMM_LITE),
        ("torchvision", Self::TORCHVISION),
        ("resnet-v2", Self::RESNET_V2),
        ("timm-resnet", Self::TIMM_RESNET),
        ("timm-vit", Self::TIMM_VIT),
        ("hugging-face-vit", Self::HUGGING_FACE_VIT),
    ];

    /// Their names.
    pub const NAMES: &[&str] = &{
        let mut names = [""; Self::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::ALL[at].0;
            at += 1;
        }
        names
    };

    /// The middle of the resized picture, in bytes.
    pub fn crop(&self, picture: &Picture) -> Picture {
        let (width, height) = match self.size {
            Size::Square(side) => (side, side),
            Size::Shorter(side) => (
                longer(side, picture.width, picture.height),
                longer(side, picture.height, picture.width),
            ),
        };
        let (left, columns) = middle(width, self.crop);
        let (top, rows) = middle(height, self.crop);
        let kept = resize(picture, (width, height), (columns, rows), self.filter);
        if (kept.width, kept.height) == (self.crop, self.crop) {
            return kept;
        }
        // A crop larger than the picture sees black around it.
        let mut out = Picture {
            width: self.crop,
            height: self.crop,
            rgb: vec![0; self.crop * self.crop * 3],
        };
        for (y, line) in kept.rgb.chunks_exact(kept.width * 3).enumerate() {
            out.rgb[((top + y) * self.crop + left) * 3..][..line.len()].copy_from_slice(line);
        }
        out
    }

    /// The numbers that the network reads, (crop, crop, 3).
    pub fn prepare(&self, picture: &Picture) -> Map {
        let cropped = self.crop(picture);
        let table: Vec<[f32; 3]> = (0..256)
            .map(|v| std::array::from_fn(|c| (v as f32 / 255.0 - self.mean[c]) / self.deviation[c]))
            .collect();
        let pixels = cropped.rgb.as_chunks::<3>().0;
        let data = pixels.iter().flat_map(|&[r, g, b]| {
            [table[usize::from(r)][0], table[usize::from(g)][1], table[usize::from(b)][2]]
        });
        Map { height: self.crop, width: self.crop, channels: 3, data: data.collect() }
    }
}

/// The new length of a side whose neighbour is `other`, when the shorter of both gets `side`.
fn longer(side: usize, this: usize, other: usize) -> usize {
    if this <= other { side } else { (side as f64 * this as f64 / other as f64) as usize }
}

/// Where the middle `crop` pixels of `size` are: the border before them if they are more, and the pixels.
fn middle(size: usize, crop: usize) -> (usize, std::ops::Range<usize>) {
    if crop > size {
        return ((crop - size) / 2, 0..size);
    }
    let start = ((size - crop) as f64 / 2.0).round_ties_even() as usize;
    (0, start..start + crop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_round_as_in_torchvision() {
        assert_eq!((longer(256, 640, 427), longer(256, 427, 640)), (383, 256));
        assert_eq!((longer(256, 500, 500), longer(232, 333, 500)), (256, 232));
    }

    #[test]
    fn the_middle_begins_at_the_nearest_integer_with_ties_to_even() {
        assert_eq!(middle(256, 224), (0, 16..240));
        assert_eq!(middle(383, 224), (0, 80..304)); // 79.5
        assert_eq!(middle(385, 224), (0, 80..304)); // 80.5
        assert_eq!(middle(200, 224), (12, 0..200));
    }

    #[test]
    fn numbers_are_normalised_by_channel() {
        let grey = Picture { width: 3, height: 2, rgb: [255, 0, 51].repeat(6) };
        let map = Preset::TORCHVISION.prepare(&grey);
        assert_eq!((map.height, map.width, map.data.len()), (224, 224, 224 * 224 * 3));
        let exact = [(1.0 - 0.485) / 0.229, -0.456 / 0.224, (0.2 - 0.406) / 0.225];
        assert!(map.data[..3].iter().zip(exact).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6));
        assert_eq!(map.data[..3], map.data[map.data.len() - 3..]);
    }

    #[test]
    fn a_crop_larger_than_the_picture_sees_black_around_it() {
        let preset = Preset { size: Size::Square(2), crop: 4, ..Preset::LITE };
        let out = preset.crop(&Picture { width: 2, height: 2, rgb: vec![9; 12] });
        let kept: Vec<usize> = (0..16).filter(|p| out.rgb[p * 3] == 9).collect();
        assert_eq!(kept, [5, 6, 9, 10]);
    }

    #[test]
    fn a_picture_of_one_extreme_shape_is_prepared() {
        let line = Picture { width: 4000, height: 1, rgb: vec![7; 12_000] };
        assert_eq!(Preset::LITE.crop(&line).rgb.len(), 224 * 224 * 3);
    }
}
