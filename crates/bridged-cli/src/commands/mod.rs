//! One file a verb: its arguments and what it does.

pub mod cluster;
pub mod demo;
pub mod diff;
pub mod drift;
#[cfg(feature = "encode")]
pub mod encode;
pub mod evaluate;
pub mod fit;
pub mod inspect;
#[cfg(feature = "lab")]
pub mod lab;
pub mod list;
#[cfg(feature = "man")]
pub mod man;
pub mod predict;
#[cfg(feature = "serve")]
pub mod serve;
pub mod suggest;
pub mod update;
