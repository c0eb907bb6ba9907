//! `bridged serve`: predictions over HTTP.

use crate::options::usage;
use crate::printer;
use crate::progress::Talk;
use anyhow::Result;
use bridged_serve::{Limits, Named, Options, ServeError, Server, Token};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The models: files, each perhaps with the name that requests call it by, as in today=emoji.bridged [default name:
    /// that of the file without its extension]
    #[arg(required = true, value_name = "[NAME=]MODEL")]
    models: Vec<PathBuf>,
    /// The port to listen on; 0 takes any that is free
    #[arg(long, default_value_t = Options::PORT)]
    port: u16,
    /// The name or address to listen on; all but loopback needs --token-file
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// A file with the secret that requests must carry, which nobody else may read
    #[arg(long, value_name = "FILE", help_heading = "Who may ask")]
    token_file: Option<PathBuf>,
    /// A name besides localhost that the server is called by; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Who may ask")]
    allow_host: Vec<String>,
    /// An origin whose pages may ask, as in https://example.org [default: none but its own]
    #[arg(long, value_name = "ORIGIN", help_heading = "Who may ask")]
    allow_origin: Option<String>,
    /// The largest body
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = bridged_math::memory::parse, help_heading = "Limits")]
    max_body: u64,
    /// Requests that are answered at once; more are told to come back
    #[arg(long, value_name = "N", default_value_t = Limits::default().requests, help_heading = "Limits")]
    max_requests: usize,
    /// Connections that are open at once; more wait
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections, help_heading = "Limits")]
    max_connections: usize,
    /// In which a body arrives, and in which it is answered
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    timeout: u64,
    /// In which the header of a request arrives, and after which a connection that is not used is closed
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    header_timeout: u64,
    /// In which requests are finished after SIGTERM or Ctrl-C
    #[arg(long, value_name = "SECONDS", default_value_t = 30, help_heading = "Limits")]
    grace: u64,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let token = args.token_file.as_deref().map(Token::read).transpose()?;
    let limits = Limits {
        body: args.max_body,
        requests: args.max_requests.max(1),
        connections: args.max_connections.max(1),
        answer: Duration::from_secs(args.timeout),
        header: Duration::from_secs(args.header_timeout),
        stop: Duration::from_secs(args.grace),
        ..Limits::default()
    };
    let options = Options {
        models: args.models.iter().map(|word| Named::parse(word)).collect(),
        host: args.host.clone(),
        port: args.port,
        token,
        allow_hosts: args.allow_host.clone(),
        allow_origin: args.allow_origin.clone(),
        limits,
    };
    let quiet = talk.quiet;
    let log = Arc::new(move |line: &str| {
        if !quiet {
            printer::say(line);
        }
    });
    let server = Server::bind(options, log).map_err(|error| match error {
        ServeError::TokenNeeded { .. }
        | ServeError::NameTwice { .. }
        | ServeError::BadName { .. }
        | ServeError::BadOrigin { .. } => usage(error.to_string()),
        error => error.into(),
    })?;
    Ok(server.run()?)
}
