//! Studies from a file of data to lines of results.

mod report;
mod study;
