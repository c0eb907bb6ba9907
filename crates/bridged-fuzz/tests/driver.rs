//! Every fuzz target without instrumentation: its seeds, the inputs that once broke it, and mutated seeds.
//!
//! What was found by a fuzzer stays in `tests/crashes/NAME/`, and is given to its target here for ever. A failure
//! here names the input, which is written to a file first.
//!
//! `BRIDGED_FUZZ_ROUNDS=20` gives twenty times as many mutated inputs, `BRIDGED_FUZZ_SEED` others.

use bridged_fuzz::mutate::{Random, mutate};
use bridged_fuzz::{TARGETS, Target, swallowed_elsewhere};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Counts what is held, so that an input that takes more than it deserves is found.
struct Counted;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator as it came; only numbers are added up beside it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Bytes that no input of at most 64 kB deserves.
const MOST_BYTES: usize = 512 << 20;

/// Longer than this is a hang, on a machine that others use too.
const MOST_TIME: Duration = Duration::from_secs(20);

/// The inputs that once broke a target, in the order of their names.
fn crashes(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crashes").join(target.name);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Gives an input to a target, and says whether it could read it, or what is wrong with what it did.
fn attack(target: &Target, input: &[u8]) -> Result<bool, String> {
    let (start, held) = (Instant::now(), HELD.load(Relaxed));
    MOST.store(held, Relaxed);
    let result = catch_unwind(AssertUnwindSafe(|| target.attack(input)));
    let (time, bytes) = (start.elapsed(), MOST.load(Relaxed).saturating_sub(held));
    match result {
        Err(_) => Err("it panicked".into()),
        Ok(_) if bytes > MOST_BYTES => Err(format!("it took {bytes} bytes")),
        Ok(_) if time > MOST_TIME => Err(format!("it took {time:?}")),
        Ok(read) => Ok(read),
    }
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

#[test]
fn no_target_panics_hangs_or_takes_more_memory_than_its_input_deserves() {
    let (factor, seed) = (number("BRIDGED_FUZZ_ROUNDS", 1), number("BRIDGED_FUZZ_SEED", 0));
    let only = std::env::var("BRIDGED_FUZZ_TARGET").ok();
    let mut failures = BTreeMap::new();
    let mut total = 0;
    for target in TARGETS.iter().filter(|t| only.as_deref().is_none_or(|name| name == t.name)) {
        let start = Instant::now();
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        let crashes = crashes(target);
        let mut random = Random::new(seed as u64);
        let mutated = (0..target.rounds * factor).map(|_| {
            let [one, other] = [(); 2].map(|()| &seeds[random.below(seeds.len())]);
            mutate(one, other, target.words, &mut random)
        });
        let (mut done, mut read) = (0, 0);
        for input in seeds.iter().chain(&crashes).cloned().chain(mutated) {
            done += 1;
            match attack(target, &input) {
                Ok(good) => read += usize::from(good),
                Err(reason) => {
                    let name = format!("bridged-fuzz-{}.input", target.name);
                    let (file, len) = (std::env::temp_dir().join(name), input.len());
                    std::fs::write(&file, &input).unwrap();
                    failures
                        .insert(target.name, format!("{reason}: {} ({len} bytes)", file.display()));
                    break;
                }
            }
        }
        total += done;
        let (name, seconds) = (target.name, start.elapsed().as_secs_f64());
        println!("{name:14} {done:7} inputs, {read:7} read, in {seconds:6.2} s");
    }
    println!("{total} inputs");
    swallowed_elsewhere()
        .iter()
        .for_each(|line| println!("an error that was a panic elsewhere: {line}"));
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_seed_is_read_by_its_target_and_every_target_has_its_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let mut unread = Vec::new();
    for target in TARGETS {
        let program = root.join("fuzz_targets").join(format!("{}.rs", target.name));
        let text = std::fs::read_to_string(&program).unwrap_or_default();
        assert!(
            text.contains(&format!("\"{}\"", target.name)),
            "{} lacks its program",
            target.name
        );
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
        for (at, seed) in (target.seeds)().into_iter().enumerate() {
            if !target.attack(&seed) {
                unread.push((target.name, at));
            }
            assert!(seed.len() < 16384, "a seed of {} has {} bytes", target.name, seed.len());
        }
    }
    assert!(unread.is_empty(), "seeds that cannot be read: {unread:?}");
}

#[test]
fn seeds_and_dictionaries_are_written_for_cargo_fuzz() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    bridged_fuzz::write_seeds(&folder).unwrap();
    for target in TARGETS {
        let corpus = folder.join("corpus");
        assert!(corpus.join(target.name).join("seed-0").is_file(), "{}", target.name);
        let words = std::fs::read_to_string(corpus.join(format!("{}.dict", target.name))).unwrap();
        assert_eq!(words.lines().count(), target.words.len(), "{}", target.name);
        assert!(words.lines().all(|line| line.is_ascii() && line.len() > 2), "{words}");
    }
}

#[test]
#[ignore = "slow: builds the instrumented targets and runs each for ten seconds"]
fn libfuzzer_finds_nothing_in_ten_seconds_of_every_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = std::process::Command::new("tools/fuzz.sh").arg("10").current_dir(root).output();
    let run = run.expect("the script is there");
    let (table, talk) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    println!("{table}");
    assert!(run.status.success(), "{table}\n{talk}");
}
