//! Work in passes that goes on after it was stopped: where its states are, and what the user hears of them.

use crate::printer::plural;
use crate::progress::{Kept, Stages, Talk, was_stopped};
use crate::table_out::is_standard;
use anyhow::Result;
use bridged::checkpoint::{Checkpoint, Found, WorkId};
use bridged::cluster::{RELATIVE_GAP, SAMPLED_STARTS};
use bridged_io::{Part, Source, StoredRows};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Seconds between two states, unless [`INTERVAL`] says otherwise: what may be lost, and work that takes less has none.
const SECONDS: f64 = 60.0;

/// The variable that sets these seconds.
const INTERVAL: &str = "BRIDGED_CHECKPOINT_SECONDS";

/// What the folder is called: the output's name and this.
const ENDING: &str = "checkpoint";

/// Where states are kept.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CheckpointFlags {
    /// Where work in passes keeps its state, for the same command to go on after a stop [default: OUTPUT.checkpoint]
    #[arg(long, value_name = "FOLDER")]
    checkpoint: Option<PathBuf>,
    /// Keep no state
    #[arg(long, conflicts_with = "checkpoint")]
    no_checkpoint: bool,
}

/// The states of the work that runs.
pub struct Checkpoints<'a> {
    stages: &'a Stages,
    /// Whether the folder is ours alone.
    own_folder: bool,
    /// What was found, in sentences.
    pub notes: Vec<String>,
}

impl CheckpointFlags {
    /// Looks for states of this work, and lets the stages keep more of them. Rows from standard input are gone when the
    /// command is: there is nothing to go on with.
    pub fn begin<'a>(
        &self,
        output: &Path,
        settings: Value,
        rows: &[&StoredRows],
        (talk, stages): (&Talk, &'a Stages),
    ) -> Result<Checkpoints<'a>> {
        let own_folder = self.checkpoint.is_none();
        let mut begun = Checkpoints { stages, own_folder, notes: Vec::new() };
        if self.no_checkpoint || rows.iter().any(|rows| is_temporary(rows.source())) {
            return Ok(begun);
        }
        let Some(folder) = self.checkpoint.clone().or_else(|| beside(output)) else {
            return Ok(begun);
        };
        let at: Vec<Value> = rows.iter().map(|rows| json!(rows.rows_at())).collect();
        let work = WorkId { settings: settings.to_string(), rows: json!(at).to_string() };
        let checkpoint = Checkpoint::new(&folder, work, interval());
        let note = match checkpoint.found() {
            Found::Nothing => None,
            Found::Same => {
                Some("an earlier run was stopped; this one goes on from its state".into())
            }
            Found::Other(what) => Some(format!("the state in it {what}; the work begins anew")),
        };
        begun.notes.extend(talk.notes(&folder, note.as_slice()));
        stages.keep_states_in(checkpoint);
        Ok(begun)
    }
}

impl Checkpoints<'_> {
    /// The work is done and its output is written.
    pub fn finish(self) {
        if let Some(checkpoint) = self.stages.checkpoint() {
            checkpoint.remove(self.own_folder);
        }
    }

    /// Work that was stopped says where its state is.
    pub fn told<T>(&self, result: Result<T>) -> Result<T> {
        let kept = self.stages.checkpoint().filter(|_| was_stopped()).filter(|c| c.is_kept());
        result.map_err(|error| match kept {
            Some(checkpoint) => anyhow::Error::from(Kept(format!(
                "the state of the work is in {}; the same command goes on",
                checkpoint.folder().display()
            ))),
            None => error,
        })
    }
}

/// The folder beside an output; standard output has none.
fn beside(output: &Path) -> Option<PathBuf> {
    let mut name = output.file_name().filter(|_| !is_standard(output))?.to_owned();
    name.push(".");
    name.push(ENDING);
    Some(output.with_file_name(name))
}

fn interval() -> Duration {
    let seconds = std::env::var(INTERVAL).ok().and_then(|s| s.parse().ok()).unwrap_or(SECONDS);
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs_f64(SECONDS))
}

fn is_temporary(source: &Source) -> bool {
    source.parts().iter().any(Part::is_temporary)
}

/// How near to the optimum labels are that were found in passes.
pub struct Optimality {
    /// By side; the name of the only pool is empty.
    pub figures: serde_json::Map<String, Value>,
    pub sentences: Vec<String>,
}

/// What the work has told of it, and of where it began.
pub fn optimality(stages: &Stages) -> Optimality {
    let (mut figures, mut sentences) = (serde_json::Map::new(), Vec::new());
    let of = |side: &str| if side.is_empty() { String::new() } else { format!("{side}  ") };
    for (before, starts) in stages.figures(SAMPLED_STARTS) {
        let side = before.trim_end_matches('/');
        let starts = plural(starts as usize, "start");
        sentences.push(format!("{}{starts} compared on a sample, one run over all rows", of(side)));
    }
    for (before, gap) in stages.figures(RELATIVE_GAP) {
        let side = before.trim_end_matches('/');
        sentences.push(format!(
            "{}sizes are exact, and the sum of squares is within a part of {gap:.1e} of the least for these centroids",
            of(side)
        ));
        figures.insert(side.to_string(), json!(gap));
    }
    Optimality { figures, sentences }
}
