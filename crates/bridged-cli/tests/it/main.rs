//! The command as a person uses it: files in a folder, the real binary, its output and exit code.

mod bad_input;
mod curate;
mod determinism;
mod encode;
mod journey;
mod lab;
mod settings;
mod support;
