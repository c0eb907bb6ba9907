//! What every baseline of the one list promises, whatever its name.

mod bad_input;
mod conformance;
#[path = "../../../bridged/tests/it/limit_cases.rs"]
mod limit_cases;
mod limits;
mod support;
