//! How the command says what went wrong: one sentence on stderr, or one line of JSON under `--json`, and an exit code.
//!
//! The message of a library's error is a whole sentence that includes its cause, and the cause is also its `source`, so
//! that a program can look at it. A chain of errors is therefore said link by link, leaving out what was said before.

use crate::options::Usage;
use crate::progress::{self, Kept};
use crate::visible;
use serde_json::json;
use std::process::ExitCode;

/// What was looked at does not pass; all that is to be said has been: exit code 3.
#[derive(Debug)]
pub struct Judged;

impl std::fmt::Display for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("what was looked at does not pass")
    }
}

impl std::error::Error for Judged {}

/// What went wrong, as people and programs read it.
#[derive(Debug, PartialEq)]
struct Failure {
    message: String,
    kind: &'static str,
    exit_code: u8,
}

impl Failure {
    fn of(error: &anyhow::Error) -> Self {
        if progress::was_stopped() {
            return Self::stopped(error.downcast_ref());
        }
        let is = |fits: fn(&(dyn std::error::Error + 'static)) -> bool| error.chain().any(fits);
        let (kind, exit_code) = if error.downcast_ref::<Usage>().is_some() {
            ("usage", 2)
        } else if is(|e| e.is::<bridged_io::TableError>()) {
            ("table", 1)
        } else if is(|e| e.downcast_ref().is_some_and(is_of_model)) {
            ("model", 1)
        } else {
            ("failed", 1)
        };
        Self { message: sentence(error), kind, exit_code }
    }

    /// The work was stopped, and this much of it is kept.
    fn stopped(kept: Option<&Kept>) -> Self {
        let kept = kept.map_or("nothing was written", |Kept(kept)| kept);
        Self { message: format!("stopped; {kept}"), kind: "stopped", exit_code: 130 }
    }

    fn print(&self, json: bool) {
        let message = visible::message(&self.message);
        if json {
            let Self { kind, exit_code, .. } = self;
            let line = json!({"error": {"message": message, "kind": kind, "exit_code": exit_code}});
            eprintln!("{}", visible::json(&line.to_string()));
        } else if self.kind == "stopped" {
            eprintln!("{message}");
        } else {
            eprintln!("error: {message}");
        }
    }
}

/// Whether a model file is at fault.
fn is_of_model(error: &bridged::Error) -> bool {
    use bridged::Error::{BadModel, Io, NewerModel};
    matches!(error, BadModel { .. } | NewerModel { .. } | Io { .. })
}

/// Every link of a chain of errors that says something new.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let said = cause.to_string();
        if text.is_empty() {
            text = said;
        } else if !text.contains(said.trim_end()) {
            text = format!("{text}: {said}");
        }
    }
    text
}

/// Whether JSON was asked for; also known of a command line that cannot be parsed.
pub fn wants_json() -> bool {
    std::env::args_os().take_while(|a| a != "--").any(|a| a == "--json")
}

/// Says what went wrong and chooses the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if !progress::was_stopped() && broken_pipe(error) {
        return ExitCode::SUCCESS; // `bridged inspect | head` is not a failure
    }
    if error.is::<Judged>() && !progress::was_stopped() {
        return ExitCode::from(3);
    }
    let failure = Failure::of(error);
    failure.print(wants_json());
    ExitCode::from(failure.exit_code)
}

/// Says that the work was stopped, and gives the exit code.
pub fn report_stopped() -> i32 {
    let failure = Failure::stopped(None);
    failure.print(wants_json());
    failure.exit_code.into()
}

/// The same for what clap has to say, which may also be a help page.
pub fn report_usage(error: clap::Error) -> ExitCode {
    let code = ExitCode::from(error.exit_code() as u8);
    if !error.use_stderr() {
        let _ = error.print();
        return code;
    }
    let plain = error.render().to_string();
    if wants_json() {
        // The first paragraph says what is wrong; usage and a pointer to --help follow it.
        let message = plain.split("\n\n").next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message).to_string();
        Failure { message, kind: "usage", exit_code: error.exit_code() as u8 }.print(true);
    } else if plain.contains(|c| c != '\n' && visible::is_hidden(c)) {
        let lines: Vec<_> = plain.trim_end().split('\n').map(visible::visible).collect();
        eprintln!("{}", lines.join("\n"));
    } else {
        let _ = error.print();
    }
    code
}

fn broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;
    use bridged::files::FileError;
    use bridged_io::TableError;

    fn full() -> std::io::Error {
        std::io::Error::other("no space left")
    }

    #[test]
    fn nothing_is_said_twice() {
        let file = FileError::Unwritable { path: "t.csv".into(), source: Box::new(full()) };
        let table = TableError::File(file);
        let said = "`t.csv` could not be written: no space left";
        assert_eq!(sentence(&anyhow!(table)), said);
        let model = bridged::Error::Io { path: "m.bridged".into(), source: full() };
        assert_eq!(
            sentence(&anyhow!(model).context("`x.csv`")),
            "`x.csv`: m.bridged: no space left"
        );
    }

    #[test]
    fn a_program_can_tell_what_kind_of_failure_it_is() {
        let kind = |error: anyhow::Error| {
            let Failure { kind, exit_code, .. } = Failure::of(&error);
            (kind, exit_code)
        };
        assert_eq!(kind(crate::options::usage("no")), ("usage", 2));
        assert_eq!(
            kind(anyhow!(TableError::NoRows { path: "t".into() }).context("c")),
            ("table", 1)
        );
        let bad = bridged::Error::BadModel { path: "m".into(), reason: "r".into() };
        assert_eq!(kind(anyhow!(bad)), ("model", 1));
        assert_eq!(kind(anyhow!("anything")), ("failed", 1));
    }
}
