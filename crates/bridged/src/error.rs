//! What can go wrong in the method, each with what to do about it.

use crate::cluster::ClusterError;
use crate::metrics::MetricError;
use crate::settings::BadParameter;
use bridged_math::memory::TooLarge;
use bridged_math::{Cancelled, RowsError};
use std::path::PathBuf;
use thiserror::Error;

/// Why a model could not be fitted, used, written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A pool without rows or columns.
    #[error("{side} is empty: it has {rows} rows and {cols} columns")]
    EmptyPool {
        /// `x` or `y`.
        side: &'static str,
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
    },
    /// A pool on many machines could not be clustered.
    #[error("{side}: {source}")]
    Passes {
        /// `x`, `y`, or what else it is about.
        side: &'static str,
        /// Why.
        source: crate::passes::PassError,
    },
    /// NaN or infinity.
    #[error(
        "{side} holds NaN or infinity in row {row}, column {column}; remove or repair that row"
    )]
    NotFinite {
        /// `x` or `y`.
        side: &'static str,
        /// The first such row.
        row: usize,
        /// Its first such column.
        column: usize,
    },
    /// Numbers between which distances do not fit 32-bit floats.
    #[error("{side} {problem}")]
    OutOfRange {
        /// `x` or `y`.
        side: &'static str,
        /// The numbers, and what to do.
        problem: crate::range::OutOfRange,
    },
    /// Nothing links the pools.
    #[error("there are no pairs: at least one known pair is needed to link the pools")]
    NoPairs,
    /// A pair names a row that is not there.
    #[error("pair {pair} names row {row} of {side}, which has {rows} rows (0 to {})", rows - 1)]
    PairOutside {
        /// The pair's position.
        pair: usize,
        /// `x` or `y`.
        side: &'static str,
        /// The row that it names.
        row: usize,
        /// The rows there are.
        rows: usize,
    },
    /// A pair that is in the list twice.
    #[error("pair {pair} (row {x} of x, row {y} of y) was already named")]
    PairTwice {
        /// The position of its second mention.
        pair: usize,
        /// Its row of x.
        x: usize,
        /// Its row of y.
        y: usize,
    },
    /// A negative answer about a row that is not there.
    #[error(
        "negative answer {negative} names row {row} of {side}, which has {rows} rows (0 to {})",
        rows - 1
    )]
    NegativeOutside {
        /// The position of the answer.
        negative: usize,
        /// `x` or `y`.
        side: &'static str,
        /// The row that it names.
        row: usize,
        /// The rows there are.
        rows: usize,
    },
    /// Somebody said yes, and somebody said no.
    #[error(
        "pair {pair} says that row {x} of x belongs with row {y} of y, and negative answer {negative} says that \
         it does not; take one of them out"
    )]
    Contradicted {
        /// The position of the pair.
        pair: usize,
        /// The position of the answer.
        negative: usize,
        /// The row of x.
        x: usize,
        /// The row of y.
        y: usize,
    },
    /// One side could not be clustered.
    #[error("cannot cluster {side}: {source}")]
    Cluster {
        /// `x` or `y`.
        side: &'static str,
        /// Why.
        source: ClusterError,
    },
    /// More memory is needed than may be taken.
    #[error("{0}; take fewer clusters or fewer rows at once")]
    TooLarge(#[from] TooLarge),
    /// Rows of another dimension than the model's.
    #[error("the rows have {got} columns, but the model's {side} side has {need}")]
    Dimension {
        /// `x` or `y`.
        side: &'static str,
        /// Columns given.
        got: usize,
        /// Columns needed.
        need: usize,
    },
    /// Two sets of rows that must be aligned are not.
    #[error(
        "x has {x} rows and y has {y}: evaluation needs row i of x and row i of y to belong together"
    )]
    NotAligned {
        /// Rows of x.
        x: usize,
        /// Rows of y.
        y: usize,
    },
    /// A score or an estimate could not be made.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// A parameter out of its limits.
    #[error(transparent)]
    BadParameter(#[from] BadParameter),
    /// Ids or carried columns that are not one per row.
    #[error("{what} of {side} have {got} entries, but the pool has {rows} rows")]
    NamesDoNotFit {
        /// `x` or `y`.
        side: &'static str,
        /// Which of them.
        what: String,
        /// Their number.
        got: usize,
        /// The rows there are.
        rows: usize,
    },
    /// Probabilities were asked for of a bridge that has none.
    #[error(
        "a {rule} bridge does not know how likely its links are; fit the model with the posterior \
         bridge"
    )]
    NoProbabilities {
        /// The rule.
        rule: &'static str,
    },
    /// More certainty than the pairs allow.
    #[error(
        "with {pairs} pairs that can be left out, no ball can promise {level}: {}",
        highest_level(*.pairs, *.highest)
    )]
    LevelTooHigh {
        /// Pairs that were left out in turn and answered.
        pairs: usize,
        /// What was asked for.
        level: f64,
        /// What can be promised at most.
        highest: f64,
    },
    /// The model was saved without the rows of its pools.
    #[error(
        "this model holds no rows to look up; fit it again with the rows kept to get real rows \
         instead of vectors"
    )]
    NoRowsKept,
    /// The model file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The model file could not be written; what was there is as it was.
    #[cfg(feature = "persist")]
    #[error(transparent)]
    File(#[from] crate::files::FileError),
    /// A number of the model is not finite.
    #[error(
        "the model cannot be kept: {what} holds NaN or infinity, so the data or a parameter are \
         too large or too small to compute with; rescale the data (as `standardize` does), or look \
         at the parameters"
    )]
    ModelNotFinite {
        /// Which part of it.
        what: String,
    },
    /// What was written is not what is read back.
    #[error("the model cannot be kept: it does not read back as it was ({reason})")]
    NotReadBack {
        /// What is wrong with it.
        reason: String,
    },
    /// The file is not a model, or is damaged.
    #[error("{} is not a usable bridged model: {reason}", path.display())]
    BadModel {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file was written by a later release.
    #[error(
        "{} was written by a newer release (model format {found}, this release reads up to {known}); \
         update bridged",
        path.display()
    )]
    NewerModel {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// Numbers far from zero that are clustered by angles or from given centroids, in passes.
    #[error(
        "the columns of {side} lie far from zero and were counted from their mean, but its clustering measures \
         from zero; that works only with all rows in memory"
    )]
    OffsetInPasses {
        /// `x` or `y`.
        side: &'static str,
    },
    /// A model whose clusterings did not see the rows of the pairs: new pairs would have to be taken out of them.
    #[error(
        "this model was fitted with the rows of its pairs apart from the pools, so that other pairs need another fit; \
         fit again with all pairs"
    )]
    PairsApart,
    /// A new answer that says the opposite of an earlier one.
    #[error(
        "the answer {now} to row `{x}` of x and row `{y}` of y contradicts the model, which was told {before}; leave that \
         answer out, or fit again with the right one"
    )]
    AnswerContradicts {
        /// The id of the row of x.
        x: String,
        /// The id of the row of y.
        y: String,
        /// What is said now.
        now: &'static str,
        /// What was said before.
        before: &'static str,
    },
    /// Rows that come or go where a model holds only some.
    #[error(
        "this model holds {held} of the {total} rows of {side}, whose others are in their files; rows cannot go, and \
         come only from files: fit again without those rows, or give new rows as files (pairs can be added)"
    )]
    RowsStayInFiles {
        /// `x` or `y`.
        side: &'static str,
        /// Rows that the model holds.
        held: usize,
        /// Rows of the pool.
        total: usize,
    },
    /// Rows that come or go where a clustering cannot go on.
    #[error(
        "{side} was clustered by {method}, which cannot go on from the clusters that it found; fit again with all rows, \
         or use k-means, balanced or mini-batch k-means"
    )]
    RowsAreFixed {
        /// `x` or `y`.
        side: &'static str,
        /// The clustering.
        method: &'static str,
    },
    /// A new row with the id of another.
    #[error(
        "{side} has a row `{id}` already; give new rows ids of their own, or forget that row to replace it"
    )]
    IdAgain {
        /// `x` or `y`.
        side: &'static str,
        /// The id.
        id: String,
    },
    /// New rows without ids for a pool whose rows have some.
    #[error("the rows of {side} have ids, but the new ones have none; give new rows ids")]
    NewRowsWithoutIds {
        /// `x` or `y`.
        side: &'static str,
    },
    /// New rows that are counted from elsewhere.
    #[error(
        "the new rows of {side} are not counted from where the model counts its columns; read them as rows of this model"
    )]
    OtherOffset {
        /// `x` or `y`.
        side: &'static str,
    },
    /// Rows that could not be read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// Stopped by the watch.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What can be asked for instead. The level is cut after enough digits, never rounded up: what is offered is granted.
fn highest_level(pairs: usize, highest: f64) -> String {
    if pairs == 0 {
        return "give more pairs, or ask for no level".to_string();
    }
    let digits = 3.max(pairs.ilog10() as usize + 1);
    let scale = 10f64.powi(digits as i32);
    let level = (highest * scale).floor() / scale;
    format!("the highest level is {level:.digits$}; ask for that or less, or give more pairs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::quantile;

    #[test]
    fn the_level_that_an_error_offers_is_granted() {
        for pairs in (1..=3000).chain([9_999, 10_000, 99_998, 1_000_000]) {
            let scores = vec![1.0; pairs];
            let highest = quantile(&scores, 1.0).unwrap_err();
            let said = Error::LevelTooHigh { pairs, level: 1.0, highest }.to_string();
            let offered = said.split("the highest level is ").nth(1).unwrap();
            let offered: f64 = offered.split(';').next().unwrap().parse().unwrap();
            assert!(quantile(&scores, offered).is_ok(), "{said}");
            // It is also the highest: a little more needs another pair.
            assert!(offered > highest - 1.0 / pairs as f64, "{said}");
        }
        let none = Error::LevelTooHigh { pairs: 0, level: 0.9, highest: 0.0 }.to_string();
        assert!(none.ends_with("give more pairs, or ask for no level"), "{none}");
    }
}
