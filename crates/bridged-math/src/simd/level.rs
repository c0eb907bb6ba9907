//! Which instructions the kernels of this process use.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The environment variable that chooses the level: `plain`, `avx2` or `avx512`.
pub const VARIABLE: &str = "BRIDGED_SIMD";

/// A set of instructions, each with all of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the target has: SSE2 on x86-64, NEON on AArch64.
    Plain,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

impl Level {
    /// All levels, the lowest first.
    pub const ALL: [Level; 3] = [Level::Plain, Level::Avx2, Level::Avx512];

    /// Its name in the environment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        self <= Self::best()
    }

    /// The highest level that this processor has.
    pub fn best() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") {
                let wide = has!("avx512f") && has!("avx512bw") && has!("avx512cd");
                let wide = wide && has!("avx512dq") && has!("avx512vl");
                return if wide { Self::Avx512 } else { Self::Avx2 };
            }
        }
        Self::Plain
    }

    /// The levels that this processor has, for a test or a benchmark that runs all of them. What
    /// is missing is said on standard error, so that nobody takes it for tested.
    pub fn available() -> Vec<Level> {
        let (has, lacks): (Vec<_>, Vec<_>) = Self::ALL.into_iter().partition(|l| l.is_available());
        for level in lacks {
            eprintln!("skipped at {level}: this processor does not have it");
        }
        has
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The level of this process, decided by the first call: what [`VARIABLE`] asks for if this
/// processor has it, otherwise the best that it has.
#[inline]
pub fn level() -> Level {
    static DECIDED: AtomicU8 = AtomicU8::new(u8::MAX);
    match DECIDED.load(Ordering::Relaxed) {
        0 => Level::Plain,
        1 => Level::Avx2,
        2 => Level::Avx512,
        _ => decide(&DECIDED),
    }
}

#[cold]
fn decide(decided: &AtomicU8) -> Level {
    let level = check_environment().unwrap_or_else(|_| Level::best());
    decided.store(level as u8, Ordering::Relaxed);
    level
}

/// What [`VARIABLE`] asks for, or a sentence that says why this process cannot have it. A library
/// does not print: programs call this once when they start, and kernels use the best level if it
/// fails.
pub fn check_environment() -> Result<Level, String> {
    match std::env::var_os(VARIABLE) {
        None => Ok(Level::best()),
        Some(value) => requested(&value.to_string_lossy(), Level::best()),
    }
}

fn requested(value: &str, best: Level) -> Result<Level, String> {
    match Level::ALL.into_iter().find(|l| l.name() == value) {
        None => Err(format!(
            "{VARIABLE} is `{value}`; set it to plain, avx2 or avx512, or unset it to use the best \
             that this processor has ({best})"
        )),
        Some(level) if level > best => Err(format!(
            "{VARIABLE} asks for {level}, but the best that this processor has is {best}; set it \
             to {best} or unset it"
        )),
        Some(level) => Ok(level),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_the_processor_has_is_taken() {
        assert_eq!(requested("plain", Level::Avx512), Ok(Level::Plain));
        assert_eq!(requested("avx2", Level::Avx2), Ok(Level::Avx2));
        assert_eq!(requested("avx512", Level::Avx512), Ok(Level::Avx512));
    }

    #[test]
    fn an_unknown_word_and_a_level_that_is_missing_are_answered_with_a_sentence() {
        let unknown = requested("sse9", Level::Avx2).unwrap_err();
        assert!(unknown.contains("BRIDGED_SIMD is `sse9`; set it to plain, avx2 or avx512"));
        let missing = requested("avx512", Level::Avx2).unwrap_err();
        assert!(missing.contains("asks for avx512, but the best that this processor has is avx2"));
    }

    #[test]
    fn the_level_of_the_process_is_available() {
        assert!(level().is_available() && Level::Plain.is_available());
    }
}
