//! Turns a panic inside a decoder into an error, and counts it.
//!
//! Decoders of other authors (Parquet, Arrow, pictures) check most of what they read, but a damaged file can
//! still reach an `unwrap` or a slice out of bounds in them, and a user's broken file must not look like a
//! broken program. What they are asked to do goes through [`quietly`], and nothing else does.
//!
//! A panic that nobody sees is a defect that nobody mends. So [`swallowed`] lists those of this process by
//! the line of source that panicked: the fuzz targets end with an error if one of them is [ours](Swallowed::is_ours),
//! and list the others.

use crate::watch::Cancelled;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, Once, PoisonError};

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Where the last panic of this thread was, while it is quiet.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The panics so far, by where they were.
static SWALLOWED: Mutex<BTreeMap<String, (u64, String)>> = Mutex::new(BTreeMap::new());

/// A panic that became an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swallowed {
    /// The file and the line that panicked, as the compiler knows them.
    pub place: String,
    /// What it said the first time.
    pub message: String,
    /// How often it happened in this process.
    pub times: u64,
}

impl Swallowed {
    /// Whether the line is one of this project, and not of a library that it uses.
    pub fn is_ours(&self) -> bool {
        let place = self.place.replace('\\', "/");
        let within =
            |folder: &str| place.starts_with(folder) || place.contains(&format!("/{folder}"));
        within("crates/bridged") && !place.contains("/registry/src/")
    }
}

/// Runs `decode`; a panic in it becomes a sentence with its message, is not printed, and is counted.
///
/// ```
/// use bridged_math::guard;
/// assert_eq!(guard::quietly(|| 3), Ok(3));
/// let error = guard::quietly(|| panic!("offset {}", 7)).unwrap_err();
/// assert_eq!(error, "its decoder failed (offset 7); the data is most likely damaged");
/// assert_eq!(guard::swallowed()[0].message, "offset 7");
/// ```
pub fn quietly<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    // The hook runs before unwinding starts, so it must know whether this thread is in here; for
    // any other thread it does what it did before.
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                previous(info);
                return;
            }
            let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
            PLACE.with_borrow_mut(|last| *last = place);
        }));
    });
    let before = QUIET.replace(true);
    // What `decode` has half built is dropped with it: nothing it touched is used again.
    let result = catch_unwind(AssertUnwindSafe(decode));
    QUIET.set(before);
    result.map_err(|panic| {
        if panic.is::<Cancelled>() {
            resume_unwind(panic); // not a failure: the work around it was stopped
        }
        let text = (panic.downcast_ref::<&str>().copied())
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = text.unwrap_or("it gave no reason");
        let place = PLACE.with_borrow_mut(Option::take).unwrap_or_else(|| "unknown".to_owned());
        let mut all = SWALLOWED.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(place).or_insert_with(|| (0, message.to_owned())).0 += 1;
        format!("its decoder failed ({message}); the data is most likely damaged")
    })
}

/// The panics that [`quietly`] has turned into errors in this process, by the line that panicked.
pub fn swallowed() -> Vec<Swallowed> {
    let all = SWALLOWED.lock().unwrap_or_else(PoisonError::into_inner);
    let each = all.iter().map(|(place, (times, message))| Swallowed {
        place: place.clone(),
        message: message.clone(),
        times: *times,
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_sentence_and_is_counted_by_its_line() {
        let fail = |at: u32| quietly(|| assert!(at == 0, "offset {at}")).unwrap_err();
        assert_eq!(fail(7), "its decoder failed (offset 7); the data is most likely damaged");
        assert_eq!(fail(8), "its decoder failed (offset 8); the data is most likely damaged");
        let here: Vec<Swallowed> =
            swallowed().into_iter().filter(|s| s.message.starts_with("offset")).collect();
        assert_eq!((here.len(), here[0].times, here[0].message.as_str()), (1, 2, "offset 7"));
        assert!(here[0].is_ours(), "{}", here[0].place);
    }

    #[test]
    fn whose_a_panic_is_its_place_tells() {
        let at = |place: &str| Swallowed { place: place.into(), message: String::new(), times: 1 };
        assert!(at("crates/bridged-io/src/batches.rs:3").is_ours());
        assert!(at("/work/any/crates/bridged-encode/src/image/read.rs:3").is_ours());
        assert!(at("C:\\a\\crates\\bridged\\src\\side.rs:3").is_ours());
        assert!(!at("/home/me/.cargo/registry/src/index/parquet-60.1.0/src/a.rs:3").is_ours());
        assert!(!at("/rustc/0123/library/alloc/src/raw_vec.rs:3").is_ours());
    }
}
