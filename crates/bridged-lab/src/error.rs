//! What can go wrong in a study, each with what to do about it.

use bridged::Cancelled;
use bridged::MethodError;
use bridged_io::TableError;
use std::path::PathBuf;
use thiserror::Error;

/// Why a study could not be planned, run or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LabError {
    /// The table of a data set could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A table that is not a data set.
    #[error("`{}` {reason}; {remedy}", path.display())]
    NotADataset {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The data set has too few groups that are large enough.
    #[error(
        "{dataset} has {got} groups with enough rows for this protocol, {need} are needed \
         ({detail}); lower `rows_per_group`, `pairs` or `groups`"
    )]
    TooFewGroups {
        /// The data set.
        dataset: String,
        /// Groups that fit.
        got: usize,
        /// Groups asked for.
        need: usize,
        /// Which groups are too small.
        detail: String,
    },
    /// More pairs than a data set in its natural sizes can give.
    #[error(
        "{dataset} does not allow {pairs} pairs: of its {entities} entities some are unseen and both \
         pools need rows of their own; ask for at most {most} pairs"
    )]
    TooManyPairs {
        /// The data set.
        dataset: String,
        /// Pairs asked for.
        pairs: usize,
        /// Entities, or rows where the data set has none.
        entities: usize,
        /// Pairs that it allows.
        most: usize,
    },
    /// A file of a study that cannot be read as one.
    #[error("`{}`: {reason}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The table of a study is nowhere.
    #[error(
        "`{}`: there is no such data set (looked for {looked}); name the folder that holds it \
         with --data-dir or in $BRIDGED_DATA",
        data.display()
    )]
    NoData {
        /// As the study names it.
        data: PathBuf,
        /// Where it was looked for.
        looked: String,
    },
    /// A value out of its range.
    #[error("`{name}` must be {need}, got {got}")]
    BadValue {
        /// The key.
        name: &'static str,
        /// What it must be.
        need: &'static str,
        /// What it was.
        got: String,
    },
    /// A name that nothing has.
    #[error("there is no {kind} `{name}`{}", hint(.nearest))]
    Unknown {
        /// What it should name.
        kind: &'static str,
        /// The name.
        name: String,
        /// The known name that is most like it.
        nearest: Option<String>,
    },
    /// A method without a grid to search.
    #[error(
        "`{method}` has no grid to search: it is a form of Bridged Clustering, whose parameters a study \
         sets in [parameters.{method}]; name baselines"
    )]
    NoGrid {
        /// The method.
        method: String,
    },
    /// No setting of a grid worked.
    #[error("none of the {tried} settings of {method} could be fitted: {source}")]
    NothingWorked {
        /// The method.
        method: &'static str,
        /// Settings tried.
        tried: usize,
        /// What the first said.
        source: MethodError,
    },
    /// A folder whose results must not be mixed with others.
    #[error("`{}` holds {holds}; choose another folder (--out), or move this one away", path.display())]
    Taken {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        holds: String,
    },
    /// A file could not be written, or another process writes it.
    #[error(transparent)]
    File(#[from] bridged::files::FileError),
    /// A file could not be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A model whose suggestions a study follows could not be fitted.
    #[error("pairs cannot be asked for: {0}")]
    Asking(#[from] bridged::Error),
    /// Stopped by the watch.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?"))
}

impl LabError {
    /// An unknown name, with the known one that is most like it.
    pub(crate) fn unknown<'a>(
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let like = known.into_iter().map(|k| (strsim::jaro_winkler(k, name), k));
        let best = like.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.7);
        let nearest = best.map(|(_, k)| k.to_string());
        Self::Unknown { kind, name: name.to_string(), nearest }
    }
}
