//! The command as a person uses it: files in a folder, the real binary, its output and exit code.

mod aligned;
mod bad_input;
#[cfg(unix)]
mod checkpoints;
#[cfg(feature = "lab")]
mod curate;
mod determinism;
mod drift;
#[cfg(feature = "encode")]
mod encode;
#[cfg(all(target_os = "linux", feature = "encode", feature = "lab"))]
mod faults;
mod journey;
#[cfg(feature = "lab")]
mod lab;
mod manners;
mod output;
mod outputs;
mod passes;
#[cfg(feature = "remote")]
mod remote;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "lab")]
mod settings;
mod sources;
#[cfg(unix)]
mod stopping;
mod streams;
mod suggest;
mod support;
mod tables_in;
mod update;
