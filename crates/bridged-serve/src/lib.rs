//! Predictions of bridged models over HTTP: what `bridged serve` runs.
//!
//! A request brings rows of one side, as JSON or as an Arrow stream, and gets rows of the other, the reasons, and the real
//! rows that fit best. The numbers are those of `bridged predict`: rows come in through the rules of [`bridged_io`], reasons
//! leave as [`bridged::Explanation`].
//!
//! | file | idea |
//! |---|---|
//! | `models.rs` | models by name; one that is replaced on disk takes its place without a lost request |
//! | `predictor.rs` | requests of a few rows are predicted together |
//! | `routes.rs` | the one list of routes: router, OpenAPI and metrics follow from it |
//! | `question.rs` | the options of a query, one list for the parser and for OpenAPI |
//! | `rows.rs` `body.rs` | bodies within limits, and the rows in them |
//! | `answer.rs` `why.rs` | from rows to an answer in JSON or Arrow |
//! | `guard.rs` `token.rs` | who may ask |
//! | `connections.rs` `limits.rs` | how many, how large, how slow |
//! | `metrics.rs` `openapi.rs` | what is counted, what is described |
//!
//! ```no_run
//! use bridged_serve::{Named, Options, Server};
//! use std::path::Path;
//!
//! let models = vec![Named::parse(Path::new("emoji.bridged"))];
//! let options = Options { models, ..Options::default() };
//! let server = Server::bind(options, std::sync::Arc::new(|line| eprintln!("{line}")))?;
//! println!("http://{}", server.address());
//! server.run()?; // until SIGTERM or Ctrl-C
//! # Ok::<(), bridged_serve::ServeError>(())
//! ```
//!
//! A front end adds routes with [`Server::with_routes`]: they pass the same guard and stand in the same document. Their
//! handlers are axum's, and get `State<Arc<App>>`.

#![forbid(unsafe_code)]

mod answer;
mod app;
mod body;
mod connections;
mod error;
mod failure;
mod guard;
mod limits;
mod metrics;
mod models;
mod openapi;
mod predictor;
mod question;
mod routes;
mod rows;
mod server;
mod token;
mod why;

pub use app::App;
pub use axum;
pub use error::ServeError;
pub use failure::Failure;
pub use limits::Limits;
pub use models::{Entry, Loaded, Named, Shelf};
pub use routes::Route;
pub use server::{Options, Server};
pub use token::Token;

/// Where lines about starts, stops and models go; one call per line.
pub type Log = std::sync::Arc<dyn Fn(&str) + Send + Sync>;
