//! Why a server could not be started, each with what to do about it.

use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Why a server could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// No model was named.
    #[error("there is no model to serve; name at least one")]
    NoModels,
    /// Two models would be found under one name.
    #[error("two models are called `{name}`; give one of them another name, as in other=`{}`", path.display())]
    NameTwice {
        /// The name.
        name: String,
        /// The second file.
        path: PathBuf,
    },
    /// A name that cannot be part of a path.
    #[error(
        "`{name}` cannot be the name of a model: use letters, digits, `-`, `_` and `.`, at most 64 of them, as in \
         name=`{}`",
        path.display()
    )]
    BadName {
        /// The name.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// A model could not be read.
    #[error(transparent)]
    Model(#[from] bridged::Error),
    /// The host has no address.
    #[error("`{host}` has no address on this machine: {source}")]
    Host {
        /// What was given.
        host: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another program listens there.
    #[error(
        "port {} of {} is in use by another program; choose another port, or 0 for any that is free",
        address.port(), address.ip()
    )]
    PortInUse {
        /// The address.
        address: SocketAddr,
    },
    /// The system refuses the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Other machines could ask without saying who they are.
    #[error(
        "{address} can be reached from other machines, and whoever reaches it could ask this server; give a \
         secret by `--token-file`, or listen on 127.0.0.1"
    )]
    TokenNeeded {
        /// The address.
        address: SocketAddr,
    },
    /// The file of the token cannot be used.
    #[error("`{}`: {reason}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// Why not, and what to do.
        reason: String,
    },
    /// What cross-origin access was named for is no origin.
    #[error(
        "`{given}` is no origin; give a scheme, a host and, if needed, a port, as in https://example.org:8443"
    )]
    BadOrigin {
        /// What was given.
        given: String,
    },
    /// The system gives no threads, signals or sockets.
    #[error("the server could not be started: {0}")]
    System(#[from] std::io::Error),
}
