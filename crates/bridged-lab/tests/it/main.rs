//! Studies from a file of data to lines of results.

mod presets;
mod report;
mod study;
