//! Real captions through real weights: the folder `minilm` of `BRIDGED_ENCODER_WEIGHTS`.

use bridged_encode::Encoder;
use bridged_encode::bert::SentenceBert;
use std::path::Path;

#[test]
fn captions_agree_with_transformers_on_the_weights_of_minilm() {
    let Some(folder) = std::env::var_os("BRIDGED_ENCODER_WEIGHTS") else {
        eprintln!(
            "skipped: BRIDGED_ENCODER_WEIGHTS names no folder; tools/encoder_weights.sh makes one"
        );
        return;
    };
    let encoder = SentenceBert::open(&Path::new(&folder).join("minilm")).unwrap();
    assert_eq!((encoder.dim(), encoder.max_length, encoder.normalize), (384, 256, true));
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/golden/encode_minilm.json")).unwrap();
    let rows = golden.as_array().unwrap();
    let texts: Vec<&str> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    let vectors = encoder.encode(&texts);
    for (row, vector) in rows.iter().zip(vectors) {
        let (text, vector) = (row["text"].as_str().unwrap(), vector.unwrap());
        assert_eq!(
            encoder.tokens(text).unwrap().len() as u64,
            row["tokens"].as_u64().unwrap(),
            "{text}"
        );
        let expected: Vec<f64> =
            row["vector"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let got: Vec<f64> = vector.iter().map(|&v| f64::from(v)).collect();
        let cosine = dot(&got, &expected) / (dot(&got, &got) * dot(&expected, &expected)).sqrt();
        assert!(cosine >= 0.9999, "{text}: {cosine}");
        assert!((dot(&got, &got) - 1.0).abs() < 1e-5, "{text}");
    }
    let empty = encoder.encode(&["", "a dog"]);
    assert!(empty[0].is_err() && empty[1].is_ok());
}
