//! Texts a second: `cargo run --release -p bridged-encode --example bench_text -- WEIGHTS TEXTS [THREADS]`.
//!
//! Encodes the lines of a file with Sentence-BERT, all of them as one batch, again and again for some seconds.
//! `benches/encode_text.py` calls it and does the same with PyTorch.

use bridged_encode::Encoder;
use bridged_encode::bert::SentenceBert;
use std::path::Path;
use std::time::Instant;

const SECONDS: f64 = 8.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, weights, texts, ..] = &args[..] else {
        return Err("usage: bench_text WEIGHTS TEXTS [THREADS]".into());
    };
    let threads = args.get(3).map_or(Ok(2), |t| t.parse())?;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let encoder = SentenceBert::open(Path::new(weights))?;
    let texts = std::fs::read_to_string(texts)?;
    let texts: Vec<&str> = texts.lines().collect();
    let mut tokens = 0;
    for text in &texts {
        tokens += encoder.tokens(text)?.len();
    }
    let start = Instant::now();
    let mut times = Vec::new();
    while start.elapsed().as_secs_f64() < SECONDS || times.len() < 3 {
        let one = Instant::now();
        let vectors = encoder.encode(&texts);
        times.push(one.elapsed().as_secs_f64());
        assert!(vectors.iter().all(Result::is_ok));
    }
    // The fastest third, as other work may disturb.
    times.sort_by(f64::total_cmp);
    let best = &times[..times.len().div_ceil(3)];
    let batches = best.len() as f64 / best.iter().sum::<f64>();
    let (texts, tokens) = (batches * texts.len() as f64, batches * tokens as f64);
    println!("{{\"texts\": {texts:.1}, \"tokens\": {tokens:.0}}}");
    Ok(())
}
