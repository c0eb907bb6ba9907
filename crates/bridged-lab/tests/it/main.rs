//! Studies from a file of data to lines of results.

mod calibration;
mod novelty;
mod presets;
mod report;
mod studies;
mod study;
