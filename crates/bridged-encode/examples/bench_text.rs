//! Texts a second: `cargo run --release -p bridged-encode --example bench_text -- WEIGHTS TEXTS [THREADS]`.
//!
//! Encodes the lines of a file with Sentence-BERT, all of them as one batch, again and again for some seconds: texts a
//! second of the fastest batches, and texts a second of processor time.
//! `benches/encode_text.py` calls it and does the same with PyTorch.

use bridged_encode::Encoder;
use bridged_encode::bert::SentenceBert;
use cpu_time::ProcessTime;
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
    let (start, processor) = (Instant::now(), ProcessTime::now());
    let mut times = Vec::new();
    while start.elapsed().as_secs_f64() < SECONDS || times.len() < 3 {
        let one = Instant::now();
        let vectors = encoder.encode(&texts);
        times.push(one.elapsed().as_secs_f64());
        assert!(vectors.iter().all(Result::is_ok));
    }
    let processor = (texts.len() * times.len()) as f64 / processor.elapsed().as_secs_f64();
    // The fastest third, as other work may disturb.
    times.sort_by(f64::total_cmp);
    let best = &times[..times.len().div_ceil(3)];
    let rate = (texts.len() * best.len()) as f64 / best.iter().sum::<f64>();
    let tokens = tokens as f64 / texts.len() as f64;
    println!("{{\"texts\": [{rate:.1}, {processor:.1}], \"tokens_a_text\": {tokens:.1}}}");
    Ok(())
}
