//! bridged-io
