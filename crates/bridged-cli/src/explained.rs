//! The columns that say why a row is answered as it is.

pub use bridged_io::answers::explained as columns;
