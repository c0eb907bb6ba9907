//! The command as a person uses it: files in a folder, the real binary, its output and exit code.

mod aligned;
mod bad_input;
#[cfg(feature = "lab")]
mod curate;
mod determinism;
#[cfg(feature = "encode")]
mod encode;
mod journey;
#[cfg(feature = "lab")]
mod lab;
mod manners;
mod output;
#[cfg(feature = "lab")]
mod settings;
mod support;
mod tables_in;
