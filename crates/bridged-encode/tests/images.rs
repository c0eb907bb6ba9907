//! Pictures and networks beside Pillow, torchvision, timm, transformers and the package of EfficientNet-Lite0.
//!
//! `tests/golden/encode_image.py` wrote what they give. Weights are made here by the formula of that script.

use bridged_encode::image::resize::{Filter, resize};
use bridged_encode::image::{
    ImageEncoder, Network as _, Output, Picture, Preset, read, resnet, vit,
};
use bridged_encode::image::{efficientnet, efficientnet::EfficientNet, resnet::ResNet, vit::Vit};
use bridged_encode::layers::Arena;
use bridged_encode::{ALL, Construct, EncodeError, Reads, Settings, Weights};
use safetensors::{Dtype, tensor::TensorView};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Golden {
    files: Vec<File>,
    resizes: Vec<Resized>,
    picture: (usize, usize),
    prepared: Vec<Prepared>,
    classes: usize,
    networks: Vec<Network>,
}

#[derive(Deserialize)]
struct File {
    name: String,
    file: String,
    size: (usize, usize),
    rgb: String,
    tolerance: u8,
}

#[derive(Deserialize)]
struct Resized {
    from: (usize, usize),
    to: (usize, usize),
    filter: String,
    rgb: String,
}

#[derive(Deserialize)]
struct Prepared {
    preset: String,
    every: usize,
    numbers: Vec<f32>,
}

#[derive(Deserialize)]
struct Network {
    name: String,
    origin: String,
    tensors: BTreeMap<String, Vec<usize>>,
    width: usize,
    features: Vec<f32>,
    logits: Vec<f32>,
}

fn golden() -> Golden {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/encode_image.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => u32::from(c - b'A'),
        b'a'..=b'z' => u32::from(c - b'a') + 26,
        b'0'..=b'9' => u32::from(c - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> = text.bytes().filter(|&c| c != b'=').map(value).collect();
    let whole = |four: &[u32]| {
        let bits = four.iter().fold(0, |bits, v| bits << 6 | v) << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(whole).collect()
}

/// Gradients, stripes and a disc.
fn structured((width, height): (usize, usize)) -> Picture {
    let mut rgb = Vec::new();
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let red = x * 255 / (width - 1);
        let blue = if (x / 7 + y / 5) % 2 == 1 { 200 } else { 40 };
        let disc = (2 * x).abs_diff(width).pow(2) + (2 * y).abs_diff(height).pow(2);
        let inside = disc < (width.min(height) * 2 / 3).pow(2);
        let red = if inside { 255 - red } else { red };
        rgb.extend([red as u8, (y * 255 / (height - 1)) as u8, blue]);
    }
    Picture { width, height, rgb }
}

/// The weights of the script's formula.
fn weight(name: &str, shape: &[usize]) -> Vec<f32> {
    let seed = name.bytes().fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    });
    let count: usize = shape.iter().product();
    let scale = (6.0 / shape[1..].iter().product::<usize>() as f64).sqrt() as f32;
    let scaled = |u: f32| match shape.len() {
        1 if name.ends_with("running_var") => 1.0 + 0.5 * u,
        1 if name.ends_with("weight") => 1.0 + 0.25 * u,
        1 => 0.25 * u,
        3 if shape[0] == 1 => u,
        _ => u * scale,
    };
    let number = |i: usize| {
        let mut z = seed.wrapping_add((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        scaled(((z ^ (z >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0)
    };
    (0..count).map(number).collect()
}

/// A safetensors file of made weights.
fn checkpoint(folder: &Path, tensors: &BTreeMap<String, Vec<usize>>) -> PathBuf {
    spoilt_checkpoint(folder, tensors, "")
}

/// The same, with an infinity in one tensor.
fn spoilt_checkpoint(
    folder: &Path,
    tensors: &BTreeMap<String, Vec<usize>>,
    spoilt: &str,
) -> PathBuf {
    let numbers = |(name, shape): (&String, &Vec<usize>)| {
        let mut numbers = weight(name, shape);
        if name == spoilt {
            *numbers.last_mut().unwrap() = f32::INFINITY;
        }
        numbers.iter().flat_map(|v| v.to_le_bytes()).collect()
    };
    let bytes: Vec<Vec<u8>> = tensors.iter().map(numbers).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape), bytes)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
    });
    let path = folder.join("made.safetensors");
    safetensors::serialize_to_file(views, None, &path).unwrap();
    path
}

/// The largest difference over the root mean square of what is expected.
fn difference(seen: &[f32], expected: &[f32]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    let square: f64 = expected.iter().map(|v| f64::from(*v).powi(2)).sum();
    let scale = (square / expected.len() as f64).sqrt();
    let largest = seen.iter().zip(expected).map(|(a, b)| f64::from((a - b).abs()));
    largest.fold(0.0, f64::max) / scale
}

#[test]
fn files_are_read_as_pillow_reads_them() {
    for File { name, file, size, rgb, tolerance } in golden().files {
        let seen = read::decode(&base64(&file)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((seen.width, seen.height), size, "{name}");
        let worst = seen.rgb.iter().zip(base64(&rgb)).map(|(a, b)| a.abs_diff(b)).max();
        assert!(worst.unwrap() <= tolerance, "{name}: {worst:?} grey levels");
    }
}

#[test]
fn a_part_of_a_file_is_an_error_and_a_scrambled_one_never_a_panic() {
    for File { name, file, .. } in golden().files {
        let file = base64(&file);
        // Behind a whole first picture anything may be missing, but not the end marker of a JPEG.
        let end = if name.starts_with("two frames") { 200 } else { file.len() * 4 / 5 };
        for cut in (0..end).step_by(11) {
            assert!(read::decode(&file[..cut]).is_err(), "{name} cut at {cut}");
        }
        for at in (0..file.len()).step_by(3) {
            let mut scrambled = file.clone();
            scrambled[at] ^= 0x5A;
            let _ = read::decode(&scrambled); // any answer will do, as long as there is one
        }
    }
}

#[test]
fn pictures_are_resized_as_pillow_resizes_them() {
    for Resized { from, to, filter, rgb } in golden().resizes {
        let filter = if filter == "bicubic" { Filter::Bicubic } else { Filter::Bilinear };
        let seen = resize(&structured(from), to, (0..to.0, 0..to.1), filter);
        assert_eq!(seen.rgb, base64(&rgb), "{from:?} to {to:?}, {filter:?}");
    }
}

#[test]
fn pictures_are_prepared_as_their_origin_prepares_them() {
    let golden = golden();
    for Prepared { preset, every, numbers } in golden.prepared {
        let which = match preset.as_str() {
            "efficientnet" => Preset::EFFICIENTNET,
            "torchvision" => Preset::TORCHVISION,
            "resnet_v2" => Preset::RESNET_V2,
            "timm_resnet" => Preset::TIMM_RESNET,
            "timm_vit" => Preset::TIMM_VIT,
            "hugging_face_vit" => Preset::HUGGING_FACE_VIT,
            "timm_lite" => Preset::TIMM_LITE,
            _ => Preset::LITE,
        };
        let seen = which.prepare(&structured(golden.picture)).data;
        let seen: Vec<f32> = seen.into_iter().step_by(every).collect();
        let worst = seen.iter().zip(&numbers).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(seen.len() == numbers.len() && worst < 2e-6, "{preset}: {worst}");
    }
}

/// Runs one network of the golden file.
fn run(
    network: &Network,
    path: &Path,
    output: Output,
    picture: &Picture,
    classes: usize,
) -> Result<Vec<f32>, EncodeError> {
    let mut w = Weights::open(path, "a test")?;
    let arena = &mut Arena::default();
    let shape: Vec<usize> = network.name.split(' ').filter_map(|v| v.parse().ok()).collect();
    match network.name.as_str() {
        "efficientnet-b0" => {
            let config = efficientnet::Config { classes, ..efficientnet::Config::b0() };
            let x = Preset::EFFICIENTNET.prepare(picture);
            Ok(EfficientNet::new(&config, &mut w, output)?.forward(&x, arena))
        }
        "efficientnet-lite0" => {
            let config = efficientnet::Config { classes, ..efficientnet::Config::lite0() };
            let preset = if network.origin == "timm" { Preset::TIMM_LITE } else { Preset::LITE };
            let x = preset.prepare(picture);
            Ok(EfficientNet::new(&config, &mut w, output)?.forward(&x, arena))
        }
        "resnet50" => {
            let config = resnet::Config { classes, ..resnet::Config::resnet50() };
            let x = Preset::TORCHVISION.prepare(picture);
            Ok(ResNet::new(&config, &mut w, output)?.forward(&x, arena))
        }
        _ => {
            let [picture_side, patch, width, hidden, heads, layers] = shape[..] else {
                panic!("{}: six sizes", network.name)
            };
            let config =
                vit::Config { picture: picture_side, patch, width, hidden, heads, layers, classes };
            let x = Preset::TORCHVISION.prepare(picture);
            Ok(Vit::new(&config, &mut w, output)?.forward(&x, arena))
        }
    }
}

fn networks_agree(which: impl Fn(&Network) -> bool) {
    let golden = golden();
    let picture = structured(golden.picture);
    let mut many = 0;
    for network in golden.networks.iter().filter(|n| which(n)) {
        let folder = tempfile::tempdir().unwrap();
        let path = checkpoint(folder.path(), &network.tensors);
        let features = run(network, &path, Output::Features, &picture, golden.classes).unwrap();
        assert_eq!(features.len(), network.width, "{} of {}", network.name, network.origin);
        let sampled: Vec<f32> = features.into_iter().step_by(5).collect();
        let logits = run(network, &path, Output::Logits, &picture, golden.classes).unwrap();
        let worst = [difference(&sampled, &network.features), difference(&logits, &network.logits)];
        println!("{} of {}: {worst:?}", network.name, network.origin);
        assert!(
            worst.iter().all(|&d| d < 1e-4),
            "{} of {}: {worst:?}",
            network.name,
            network.origin
        );
        many += 1;
    }
    assert!(many > 0, "the golden file holds such networks");
}

#[test]
fn efficientnet_b0_agrees_with_torchvision_and_timm() {
    networks_agree(|n| n.name == "efficientnet-b0");
}

#[test]
fn efficientnet_lite0_agrees_with_timm_and_its_package() {
    networks_agree(|n| n.name == "efficientnet-lite0");
}

#[test]
fn resnet50_agrees_with_torchvision() {
    networks_agree(|n| n.name == "resnet50");
}

#[test]
fn vit_agrees_with_torchvision_timm_and_hugging_face() {
    networks_agree(|n| n.name.starts_with("vit"));
}

#[test]
fn an_infinity_in_the_weights_of_any_network_is_refused_with_the_name_of_its_tensor() {
    let golden = golden();
    let picture = structured((8, 8));
    for network in &golden.networks {
        let folder = tempfile::tempdir().unwrap();
        let spoilt = network.tensors.keys().nth(network.tensors.len() / 2).unwrap();
        let path = spoilt_checkpoint(folder.path(), &network.tensors, spoilt);
        let error = run(network, &path, Output::Logits, &picture, golden.classes).unwrap_err();
        assert!(error.to_string().contains("holds numbers that are not finite"), "{error}");
        // Wrappers' names before that of a tensor are left out.
        let named = error.to_string().split('`').nth(3).map(str::to_owned).unwrap();
        assert!(spoilt.ends_with(&named), "{spoilt} in {error}");
    }
}

#[test]
fn a_picture_has_the_same_bits_alone_and_in_a_batch_on_any_number_of_threads() {
    let golden = golden();
    let network = golden.networks.iter().find(|n| n.origin == "package").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = checkpoint(folder.path(), &network.tensors);
    let encoder = ImageEncoder::open(efficientnet::LITE0, &path, Output::Features).unwrap();
    let pictures: Vec<Picture> = [(60, 40), (300, 247), (64, 64)].map(structured).into();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| encoder.encode(&pictures))
    };
    let all = on(1);
    assert_eq!(all.len(), 3 * encoder.width());
    assert!(all == on(3), "one thread and three");
    for (picture, row) in pictures.iter().zip(all.chunks(encoder.width())) {
        assert!(encoder.encode(std::slice::from_ref(picture)) == row, "alone and in a batch");
    }
}

#[test]
fn weights_of_another_network_are_refused_with_the_name_of_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = checkpoint(folder.path(), &[("fc.bias".to_string(), vec![3])].into());
    let mut many = 0;
    for entry in ALL {
        let Reads::Images(Construct::Pretrained { open, .. }) = entry.reads else { continue };
        let error = open(&Settings::default(), &path).err().unwrap().to_string();
        assert!(error.contains(entry.name) && error.contains("is missing"), "{error}");
        many += 1;
    }
    assert!(many >= 4, "the list holds the networks");
}

#[test]
fn real_photographs_get_the_features_that_pytorch_gives_them() {
    let Some(folder) = std::env::var_os("BRIDGED_ENCODER_WEIGHTS") else {
        eprintln!(
            "skipped: BRIDGED_ENCODER_WEIGHTS names no folder; tools/encoder_weights.sh makes one"
        );
        return;
    };
    let weights = Path::new(&folder).join("efficientnet-lite0");
    let encoder = ImageEncoder::open(efficientnet::LITE0, &weights, Output::Features).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let expected = std::fs::read_to_string(golden.join("encode_lite0.json")).unwrap();
    let expected: BTreeMap<String, Vec<f32>> = serde_json::from_str(&expected).unwrap();
    assert!(!expected.is_empty());
    for (name, expected) in expected {
        let seen = encoder.encode(&[read::open(&golden.join("photographs").join(&name)).unwrap()]);
        let dot =
            |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(x * y)).sum::<f64>();
        let cosine = dot(&seen, &expected) / (dot(&seen, &seen) * dot(&expected, &expected)).sqrt();
        println!("{name}: cosine {cosine:.7}");
        assert!(cosine >= 0.9999, "{name}: {cosine}");
    }
}
