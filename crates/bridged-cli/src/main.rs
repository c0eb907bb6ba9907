//! bridged
fn main() {}
