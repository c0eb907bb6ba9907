//! The functions, by what they read.

pub mod encode;
pub mod lab;
pub mod model;
pub mod tables;
pub mod words;
