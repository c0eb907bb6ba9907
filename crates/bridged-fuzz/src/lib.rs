//! What the fuzz targets run: one plain function per parser, its seeds, and a small mutator.
//!
//! ```text
//! fuzz/fuzz_targets/NAME.rs ─► Target::run ◄─ tests/driver.rs
//!   cargo-fuzz, guided by coverage       `cargo test`: seeds, crash corpus, mutated seeds
//! ```
//!
//! A target takes any bytes and must come back: no panic, no more memory than its input deserves, no long wait. Many
//! also hold what comes out against what must be true of it (what is written is read back, what is escaped stays
//! escaped). Panics of decoders that the library turns into errors are counted: one of our own lines is a failure, those
//! of other libraries are listed.
//!
//! | file | what it holds |
//! |---|---|
//! | `targets/` | the functions, by what they read |
//! | `seeds.rs` | small valid files, made here |
//! | `mutate.rs` | changes of bytes by a seed |
//! | `file.rs` | bytes as a file with an ending, as the readers of tables want them |
//!
//! A new target is a function here, a line of [`TARGETS`], and a file in `fuzz/fuzz_targets`.

mod file;
pub mod mutate;
mod seeds;
mod targets;

use bridged_math::guard;

/// One parser under attack.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, also that of its program under `fuzz/` and of its folder of crash inputs.
    pub name: &'static str,
    /// Gives it bytes, and says whether it could read them.
    pub run: fn(&[u8]) -> bool,
    /// Small valid inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words of its format, for the mutator and the dictionary of libFuzzer.
    pub words: &'static [&'static str],
    /// How many mutated inputs `cargo test` gives it.
    pub rounds: usize,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    targets::tables::PARQUET,
    targets::tables::ARROW,
    targets::tables::NPY,
    targets::tables::CSV,
    targets::tables::TSV,
    targets::tables::PAIRS,
    targets::tables::COLUMNS,
    targets::model::MODEL,
    targets::model::MODEL_RESEALED,
    targets::words::SETTINGS,
    targets::words::MEMORY_SIZE,
    targets::words::BLEU,
    targets::words::TFIDF,
    targets::lab::STUDY,
    targets::lab::RUNS,
    targets::lab::REPORT,
    targets::encode::FASTA,
    targets::encode::DNA,
    targets::encode::IMAGE,
    targets::encode::SAFETENSORS,
    targets::encode::TORCH,
    targets::encode::PICKLE,
    targets::encode::TOKENIZER,
    targets::encode::RESUME_LOG,
];

/// The target of that name.
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

impl Target {
    /// Gives it bytes, and says whether it could read them; panics if one of our own lines panicked inside of a guard.
    pub fn attack(&self, bytes: &[u8]) -> bool {
        let read = (self.run)(bytes);
        let ours = guard::swallowed().into_iter().find(guard::Swallowed::is_ours);
        if let Some(ours) = ours {
            panic!(
                "{}: a panic of ours was swallowed: {} ({})",
                self.name, ours.place, ours.message
            );
        }
        read
    }

    /// Its words as a dictionary of libFuzzer.
    pub fn dictionary(&self) -> String {
        let plain = |b: u8| (b.is_ascii_graphic() || b == b' ') && !matches!(b, b'"' | b'\\');
        let byte = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("\\x{b:02x}") };
        let line = |word: &&str| format!("\"{}\"\n", word.bytes().map(byte).collect::<String>());
        self.words.iter().map(line).collect()
    }
}

/// Writes the seeds and the dictionary of every target below a folder, for cargo-fuzz: `corpus/NAME/seed-0`, `NAME.dict`.
pub fn write_seeds(folder: &std::path::Path) -> std::io::Result<()> {
    for target in TARGETS {
        let corpus = folder.join("corpus").join(target.name);
        std::fs::create_dir_all(&corpus)?;
        for (at, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(corpus.join(format!("seed-{at}")), seed)?;
        }
        std::fs::write(
            folder.join("corpus").join(format!("{}.dict", target.name)),
            target.dictionary(),
        )?;
    }
    Ok(())
}

/// The panics of other libraries that became errors in this process, a line each.
pub fn swallowed_elsewhere() -> Vec<String> {
    let others = guard::swallowed().into_iter().filter(|panic| !panic.is_ours());
    others
        .map(|panic| format!("{} times {}: {}", panic.times, panic.place, panic.message))
        .collect()
}
