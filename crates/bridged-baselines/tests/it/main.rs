//! What every baseline of the one list promises, whatever its name.

mod bad_input;
mod conformance;
mod support;
