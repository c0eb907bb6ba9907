//! How much memory the program may take, asked before it is taken.
//!
//! Work whose need is known beforehand (a table, a matrix of all distances) calls [`require`] with the
//! bytes it will hold at once. What does not fit is refused with the figures, instead of a process that
//! the system kills.
//!
//! Without a limit of its own ([`set_limit`], `--memory` of the command), the program may take what is
//! free: on Linux the least of what `/proc/meminfo` calls available, what the control groups of the
//! process leave, and what its limit on addresses (`ulimit -v`) leaves. Elsewhere nothing is known, and
//! nothing is refused. With a limit, it may take that much in all, whatever is free.
//!
//! ```
//! use bridged_math::memory;
//!
//! assert_eq!(memory::parse("4GB"), Ok(4_000_000_000));
//! assert_eq!(memory::shown(12_345_678_901), "12.3 GB");
//! let refusal = memory::require("a table of all distances", u64::MAX).map_err(|e| e.to_string());
//! # if memory::free().is_some() {
//! assert!(refusal.unwrap_err().starts_with("a table of all distances: this needs about 18446744 TB"));
//! # }
//! ```

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit that was set; 0 if none was.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// What the users of this front end write to set the limit, as in `--memory SIZE`.
static OPTION: OnceLock<&'static str> = OnceLock::new();

/// What takes less than this is not worth asking the system for; a limit that was set holds even so.
const SMALL: u64 = 64 << 20;

/// Lets the program take this many bytes in all, whatever the machine has free.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
    allocator::keep_few_arenas();
}

/// Gives memory that was freed back to the system. Allocators keep it for the next who asks, and beside a limit it
/// then counts as taken.
pub fn give_back() {
    allocator::trim();
}

/// Lets the program take what the machine has free again.
pub fn clear_limit() {
    LIMIT.store(0, Ordering::Relaxed);
}

/// Says once what the users of a front end write to set the limit, for the end of a refusal.
pub fn name_option(option: &'static str) {
    // The first front end of a process has named it; another would say the same.
    let _ = OPTION.set(option);
}

/// The limit that was set, if one was.
pub fn limit() -> Option<u64> {
    Some(LIMIT.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
}

/// How many bytes may still be taken: what the limit leaves beside what the program holds already, or
/// what the machine has free. Nothing if neither is known.
pub fn free() -> Option<u64> {
    match limit() {
        Some(limit) => Some(limit.saturating_sub(resident())),
        None => available(),
    }
}

/// How many bytes rows and work on them should take, where there is a choice: what the limit leaves, or else half of
/// what the machine has free. Without knowledge of either, any number.
pub fn budget() -> u64 {
    match (limit(), free()) {
        (_, None) => u64::MAX,
        (Some(_), Some(left)) => left,
        (None, Some(free)) => free / 2,
    }
}

/// Refuses work that needs more bytes at once than may still be taken. `what` begins the message, as
/// in "the pairwise distances of 30,000 rows".
pub fn require(what: impl Into<String>, bytes: u64) -> Result<(), TooLarge> {
    if bytes < SMALL && limit().is_none() {
        return Ok(());
    }
    if limit().is_some() && free().is_some_and(|free| bytes > free) {
        give_back();
    }
    match free() {
        Some(free) if bytes > free => {
            Err(TooLarge { what: what.into(), needs: bytes, free, limit: limit() })
        }
        _ => Ok(()),
    }
}

/// Work that does not fit into the memory that may be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// What the memory was for.
    pub what: String,
    /// The bytes it would take.
    pub needs: u64,
    /// The bytes that may still be taken.
    pub free: u64,
    /// The limit that was set, if one was.
    pub limit: Option<u64>,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, needs, free, limit } = self;
        write!(f, "{what}: this needs about {} of memory, and ", shown(*needs))?;
        match limit {
            Some(limit) => {
                write!(f, "{} of the limit of {} are left", shown(*free), shown(*limit))?
            }
            None => write!(f, "{} are free", shown(*free))?,
        }
        match OPTION.get() {
            Some(option) => write!(f, "; {option} overrules that"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TooLarge {}

/// A size in words: `12.3 GB`, in powers of ten as disks and `free -h --si` count.
pub fn shown(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 999.5 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1000.0, unit + 1);
    }
    let digits = usize::from(unit > 0 && size < 99.95);
    format!("{size:.digits$} {}", UNITS[unit])
}

/// The bytes that `4GB`, `512 MiB`, `1.5g` or a bare number of bytes means.
pub fn parse(text: &str) -> Result<u64, NotASize> {
    let wrong = || NotASize(text.to_owned());
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024f64.powi(2),
        "gib" => 1024f64.powi(3),
        "tib" => 1024f64.powi(4),
        _ => return Err(wrong()),
    };
    let bytes = number * factor;
    if bytes < 1.0 || bytes >= u64::MAX as f64 { Err(wrong()) } else { Ok(bytes as u64) }
}

/// A text that is no size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotASize(pub String);

impl fmt::Display for NotASize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no size; write one like 4GB or 500MB", self.0)
    }
}

impl std::error::Error for NotASize {}

/// What the machine leaves to this process, if that is known.
pub fn available() -> Option<u64> {
    [machine(), control_groups(), address_space()].into_iter().flatten().min()
}

fn file(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The bytes of a line like `MemAvailable:   123 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':')
        .trim()
        .trim_end_matches("kB")
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

fn machine() -> Option<u64> {
    kilobytes(&file("/proc/meminfo")?, "MemAvailable")
}

/// What the process holds in memory now; 0 where that is not known.
pub fn resident() -> u64 {
    file("/proc/self/status").and_then(|text| kilobytes(&text, "VmRSS")).unwrap_or(0)
}

fn address_space() -> Option<u64> {
    let limits = file("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u64 = line.split_whitespace().next()?.parse().ok()?;
    let taken = kilobytes(&file("/proc/self/status")?, "VmSize")?;
    Some(most.saturating_sub(taken))
}

/// What the tightest of the control groups around the process leaves.
fn control_groups() -> Option<u64> {
    let groups = file("/proc/self/cgroup")?;
    let mut least = None;
    for line in groups.lines() {
        // `0::/path` of version 2, `5:memory:/path` of version 1.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, most, taken, idle) = if kinds.is_empty() {
            ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file ")
        } else if kinds.split(',').any(|kind| kind == "memory") {
            (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file ",
            )
        } else {
            continue;
        };
        let mut path = path.trim_end_matches('/');
        loop {
            let number = |name: &str| file(&format!("{root}{path}/{name}"))?.trim().parse().ok();
            if let (Some(most), Some(taken)) = (number(most), number(taken)) {
                let (most, taken): (u64, u64) = (most, taken);
                // Pages of files that nobody uses are given back when memory is asked for.
                let stat = file(&format!("{root}{path}/memory.stat")).unwrap_or_default();
                let idle = stat.lines().find_map(|line| line.strip_prefix(idle)?.parse().ok());
                let left = most.saturating_sub(taken.saturating_sub(idle.unwrap_or(0)));
                least = Some(least.map_or(left, |least: u64| least.min(left)));
            }
            let Some(parent) = path.rfind('/') else { break };
            path = &path[..parent];
        }
    }
    least
}

/// What the allocator of glibc is told. It gives every thread a heap of its own and returns the top of each alone.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod allocator {
    use std::ffi::c_int;

    /// As `malloc.h` has it.
    const M_ARENA_MAX: c_int = -8;

    unsafe extern "C" {
        fn malloc_trim(pad: usize) -> c_int;
        fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }

    /// Threads that begin from now on share two heaps: what one of them has freed the others can take.
    pub fn keep_few_arenas() {
        // SAFETY: both functions may be called at any time, by any thread.
        unsafe { mallopt(M_ARENA_MAX, 2) };
    }

    pub fn trim() {
        // SAFETY: as above.
        unsafe { malloc_trim(0) };
    }
}

/// Other allocators return what is freed by themselves, or cannot be asked to.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod allocator {
    pub fn keep_few_arenas() {}

    pub fn trim() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn what_was_freed_is_given_back() {
        // Many small pieces, of which the last stays: nothing of the heap's top is free.
        let mut pieces: Vec<Vec<u8>> = (0..40_000).map(|_| vec![1; 4_000]).collect();
        let held = resident();
        let last = pieces.pop();
        drop(pieces);
        give_back();
        assert!(resident() + 100_000_000 < held, "{} of {held}", resident());
        drop(last);
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse("4GB"), Ok(4_000_000_000));
        assert_eq!(parse(" 1.5 g "), Ok(1_500_000_000));
        assert_eq!(parse("512MiB"), Ok(512 << 20));
        assert_eq!(parse("1000"), Ok(1000));
        for wrong in ["", "GB", "-4GB", "4 XB", "0", "1e5", "99999999999TB", "4.5.6GB"] {
            assert_eq!(parse(wrong), Err(NotASize(wrong.to_owned())), "{wrong}");
        }
        assert_eq!(
            parse("much").unwrap_err().to_string(),
            "`much` is no size; write one like 4GB or 500MB"
        );
    }

    #[test]
    fn sizes_are_shown_with_three_digits() {
        let shown: Vec<String> =
            [0, 999, 1000, 12_345, 999_999, 8_000_000_000, 1_550_000_000_000].map(shown).into();
        assert_eq!(
            shown,
            ["0 bytes", "999 bytes", "1.0 kB", "12.3 kB", "1.0 MB", "8.0 GB", "1.6 TB"]
        );
    }

    #[test]
    fn a_refusal_says_what_is_needed_and_what_there_is() {
        let of = |limit| TooLarge {
            what: "x".into(),
            needs: 12_300_000_000,
            free: 8_000_000_000,
            limit,
        };
        assert_eq!(
            of(None).to_string(),
            "x: this needs about 12.3 GB of memory, and 8.0 GB are free"
        );
        assert_eq!(
            of(Some(9_000_000_000)).to_string(),
            "x: this needs about 12.3 GB of memory, and 8.0 GB of the limit of 9.0 GB are left"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_knows_what_is_free() {
        let free = available().expect("/proc/meminfo says so");
        assert!(free > 1 << 20, "{free}");
        assert!(require("nothing much", 1000).is_ok());
        assert_eq!(require("all", u64::MAX).unwrap_err().what, "all");
    }
}
