//! Turns a panic inside a decoder into an error.
//!
//! The Arrow and Parquet decoders check most of what they read, but a damaged file can still reach
//! an `unwrap` or a slice out of bounds in them, and a user's broken file must not look like a
//! broken program. Everything they are asked to do goes through [`quietly`], and nothing else does.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `decode`; a panic in it becomes its message, and is not printed.
pub(crate) fn quietly<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    // The hook runs before unwinding starts, so it must know whether this thread is in here; for
    // any other thread it does what it did before.
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                previous(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    // What `decode` has half built is dropped with it: nothing it touched is used again.
    let result = catch_unwind(AssertUnwindSafe(decode));
    QUIET.set(before);
    result.map_err(|panic| {
        let text = (panic.downcast_ref::<&str>().copied())
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        format!("the data is damaged ({})", text.unwrap_or("the decoder gave up"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(quietly(|| 3), Ok(3));
        let error = quietly(|| panic!("offset {}", 7)).unwrap_err();
        assert_eq!(error, "the data is damaged (offset 7)");
    }
}
