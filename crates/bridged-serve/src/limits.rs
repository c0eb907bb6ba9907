//! How much one client, and all of them together, may ask for.

use std::time::Duration;

/// How much clients may ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a body. All bodies that are read at once take at most four times as many.
    pub body: u64,
    /// Requests that are answered at once; more are told to come back.
    pub requests: usize,
    /// Connections that are open at once; more wait to be accepted.
    pub connections: usize,
    /// From the end of a request's header to its answer.
    pub answer: Duration,
    /// In which a client sends a whole header, also on a connection that it keeps.
    pub header: Duration,
    /// In which a client takes some of what is sent to it.
    pub write: Duration,
    /// In which requests that are under way are finished when the server stops.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            requests: 1024,
            connections: 16_384,
            answer: Duration::from_secs(60),
            header: Duration::from_secs(15),
            write: Duration::from_secs(30),
            stop: Duration::from_secs(30),
        }
    }
}
