//! Is what comes in still what the model was fitted on? Same, shifted or broken.
//!
//! **Same or shifted** is decided by tests. Rows that a clustering was fitted on lie nearer to its centroids than new
//! rows of the same kind: in 300 columns, with ten rows or a hundred to a cluster, nearly every comparison of their distances would be a false
//! alarm. Leaving out one row at a time nearly makes up for it, but not by any theorem, since the other rows of its cluster
//! are there because of it. So the tests do not ask the centroids of the model.
//! The rows of the fit and the new rows are put together and clustered anew, as one sample in which neither is
//! favoured (`pooled.rs`), and then asked: are the new ones spread over these regions and within them as the old ones are?
//! What difference chance makes is known by giving the names "old" and "new" to the same rows at random, which is exact for
//! any number of rows and columns (Fisher 1935; Pitman 1937):
//!
//! | test | statistic | file |
//! |---|---|---|
//! | shares | Pearson's χ² of old and new rows over the regions | `regions.rs` |
//! | distances | Kolmogorov and Smirnov's D of the distances to the region's centroid, in units of its radius | `regions.rs` |
//! | columns | the largest difference of any column, in its mean or in its spread | `columns.rs` |
//! | pairs | Fisher's exact test: more contradictions than among the pairs that the fit left out | `pairs.rs` |
//!
//! A model without rows is asked by its [novelty](crate::UNFAMILIAR) instead, in which each row was left out: for the distances alone, and to the
//! accuracy of that. What could not be judged is said.
//!
//! The p-values are adjusted by Holm's method, so that all tests together raise a false alarm with a probability of
//! at most the level.
//!
//! **Broken** means that predictions must not be trusted. It is decided by the size of the effect, and so that chance
//! cannot bring it about (`broken.rs`): other columns, numbers in another unit, half of the rows like none of the fit, half of the
//! pairs linked elsewhere.
//!
//! The table that a person reads ([`SideDrift`]) is about the model's own clusters and all new rows; the tests look at no
//! more than 10,000 of them, evenly spaced.

mod broken;
mod columns;
mod intervals;
mod look;
mod pairs;
mod permute;
mod pooled;
mod regions;
#[cfg(test)]
mod tests;

pub use columns::ColumnDrift;
pub use look::{ClusterShare, DistanceShare, Nowhere};
pub use pairs::{NewPairs, PairContradiction, PairDrift};

use crate::Error;
use crate::model::{BridgedModel, Direction};
use crate::settings::{Limits, within};
use crate::side::Side;
use bridged_math::cancel::cancellable;
use bridged_math::{Matrix, MatrixRef, Rows, Watch, memory};
use columns::Columns;
use look::Look;
use permute::Relabellings;
use pooled::Pooled;
use regions::Regions;
use serde::Serialize;

/// Tests that there can be: three of each side, and one of pairs.
const MOST_TESTS: f64 = 7.0;
/// Relabellings of a test, if the level needs no more.
const RELABELLINGS: usize = 999;
/// Levels between which a verdict can be asked for.
const LEVELS: Limits = Limits::From(0.001, 0.5);
/// With fewer rows of the fit than this, nothing is known of the scale of a column.
const FEW: usize = 20;

/// New rows of a side.
#[derive(Clone, Copy)]
pub struct NewRows<'a> {
    /// The rows, which need not be in memory.
    pub rows: &'a dyn Rows,
    /// What they are compared with instead of the rows that the model keeps: those of last week, or those of the fit
    /// if the model keeps none.
    pub against: Option<&'a dyn Rows>,
}

/// What is asked about new data.
#[derive(Clone, Copy)]
pub struct DriftAsk<'a> {
    /// New rows of x.
    pub x: Option<NewRows<'a>>,
    /// New rows of y.
    pub y: Option<NewRows<'a>>,
    /// Known pairs that the fit did not have.
    pub pairs: Option<NewPairs<'a>>,
    /// The probability of a false alarm, from 0.001 to 0.5.
    pub level: f64,
}

impl DriftAsk<'_> {
    /// The level that is meant unless another is named.
    pub const LEVEL: f64 = 0.05;
}

impl Default for DriftAsk<'_> {
    fn default() -> Self {
        Self { x: None, y: None, pairs: None, level: Self::LEVEL }
    }
}

/// What has become of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriftVerdict {
    /// Nothing speaks against it that the data are as they were.
    Same,
    /// They have changed beyond chance.
    Shifted,
    /// Predictions of them must not be trusted.
    Broken,
    /// They are not broken as far as can be told, and nothing was there to test them against.
    Unknown,
}

impl DriftVerdict {
    /// The verdict as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Shifted => "shifted",
            Self::Broken => "broken",
            Self::Unknown => "unknown",
        }
    }
}

/// A model beside new data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// The verdict.
    pub verdict: DriftVerdict,
    /// Why, each in a sentence; empty where the data are the same.
    pub reasons: Vec<String>,
    /// What could not be judged, and why.
    pub not_judged: Vec<String>,
    /// The probability of a false alarm.
    pub level: f64,
    /// What was tested.
    pub tests: Vec<DriftTest>,
    /// Each side that has new rows, beside the fit.
    pub sides: Vec<SideDrift>,
    /// New pairs beside the links of the model.
    pub pairs: Option<PairDrift>,
}

/// One of the tests that the verdict rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriftTest {
    /// shares, distances, columns or pairs.
    pub name: &'static str,
    /// The side whose rows it looks at; none of pairs.
    pub side: Option<&'static str>,
    /// The probability that chance makes a difference as large.
    pub p: f64,
    /// The same, adjusted for the number of tests.
    pub adjusted: f64,
}

/// New rows of a side beside the fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideDrift {
    /// `x` or `y`.
    pub side: &'static str,
    /// New rows.
    pub rows: usize,
    /// Rows of the fit, or of what was given instead, that they are compared with; 0 if there is none.
    pub against: usize,
    /// Each cluster of the model.
    pub clusters: Vec<ClusterShare>,
    /// New rows outside all clusters.
    pub outside: usize,
    /// How far the new rows lie from their clusters; empty of a model that does not know it of its own.
    pub distances: Vec<DistanceShare>,
    /// Rows that are like none of the fit.
    pub nowhere: Option<Nowhere>,
    /// The columns that moved most, at most five.
    pub columns: Vec<ColumnDrift>,
}

impl Drift {
    /// The verdict on rows whose columns could not even be read as those of the model, for these reasons.
    pub fn of_other_columns(reasons: Vec<String>, level: f64) -> Self {
        let found = Findings { broken: reasons, ..Findings::default() };
        found.judge(level, Vec::new(), None)
    }
}

impl BridgedModel {
    /// Whether new data are as those that the model was fitted on. The same data give the same answer.
    pub fn drift(&self, ask: DriftAsk<'_>, watch: &dyn Watch) -> Result<Drift, Error> {
        within("level", &ask.level, LEVELS)?;
        // A single test must be able to reach its share of the level.
        let relabellings = RELABELLINGS.max((3.0 * MOST_TESTS / ask.level).ceil() as usize);
        cancellable(watch, || self.drift_by(ask, relabellings, watch))?
    }

    fn drift_by(
        &self,
        ask: DriftAsk<'_>,
        relabellings: usize,
        watch: &dyn Watch,
    ) -> Result<Drift, Error> {
        let mut found = Findings::default();
        let mut sides = Vec::new();
        for (direction, new) in [(Direction::Forward, ask.x), (Direction::Reverse, ask.y)] {
            let Some(new) = new else { continue };
            let side = (self.from(direction), direction.input());
            sides.extend(side_drift(side, new, relabellings, watch, &mut found)?);
        }
        let pairs =
            ask.pairs.map(|pairs| self.pair_drift(pairs, &mut found)).transpose()?.flatten();
        Ok(found.judge(ask.level, sides, pairs))
    }
}

/// What is found on the way to a verdict.
#[derive(Default)]
struct Findings {
    tests: Vec<DriftTest>,
    broken: Vec<String>,
    not_judged: Vec<String>,
}

impl Findings {
    fn test(&mut self, name: &'static str, side: Option<&'static str>, p: f64) {
        self.tests.push(DriftTest { name, side, p, adjusted: p });
    }

    fn judge(mut self, level: f64, sides: Vec<SideDrift>, pairs: Option<PairDrift>) -> Drift {
        holm(&mut self.tests);
        let mut reasons = self.broken;
        let broken = !reasons.is_empty();
        let alarms = self.tests.iter().filter(|test| test.adjusted <= level);
        reasons.extend(alarms.map(|test| sentence(test, level, &sides)));
        let verdict = match () {
            () if broken => DriftVerdict::Broken,
            () if !reasons.is_empty() => DriftVerdict::Shifted,
            () if self.tests.is_empty() => DriftVerdict::Unknown,
            () => DriftVerdict::Same,
        };
        let (tests, not_judged) = (self.tests, self.not_judged);
        Drift { verdict, reasons, not_judged, level, tests, sides, pairs }
    }
}

/// Adjusts p-values by the method of Holm (1979).
fn holm(tests: &mut [DriftTest]) {
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by(|&a, &b| tests[a].p.total_cmp(&tests[b].p));
    let mut least = 0.0f64;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max(tests[at].p * (order.len() - rank) as f64).min(1.0);
        tests[at].adjusted = least;
    }
}

/// What a test that raises an alarm says.
fn sentence(test: &DriftTest, level: f64, sides: &[SideDrift]) -> String {
    let side = test.side.unwrap_or_default();
    let what = match test.name {
        "shares" => format!("the new rows of {side} are spread over the clusters in other shares"),
        "distances" => format!(
            "the new rows of {side} lie at other distances from the centres of their regions"
        ),
        "columns" => {
            let of_side = sides.iter().find(|s| s.side == side);
            let moved = of_side.map_or(&[][..], |s| &s.columns).iter();
            let moved = moved.filter(|c| c.p.is_some_and(|p| p <= level));
            let names: Vec<String> = moved.map(|c| format!("`{}`", c.name)).collect();
            let names =
                if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
            format!("columns of {side} have another mean or spread{names}")
        }
        _ => "more of the new pairs contradict the links than the fit led to expect".to_string(),
    };
    match test.adjusted {
        ..0.0005 => format!("{what} (adjusted p < 0.001)"),
        p => format!("{what} (adjusted p = {p:.3})"),
    }
}

/// A side beside its new rows; `None` if they cannot be rows of it.
fn side_drift(
    (side, name): (&Side, &'static str),
    new: NewRows<'_>,
    relabellings: usize,
    watch: &dyn Watch,
    found: &mut Findings,
) -> Result<Option<SideDrift>, Error> {
    let (rows, cols) = (new.rows.rows(), new.rows.cols());
    if rows == 0 {
        return Err(Error::EmptyPool { side: name, rows, cols });
    }
    if let Some(reason) = broken::width(side, name, cols) {
        found.broken.push(reason);
        return Ok(None);
    }
    if let Some(against) = new.against {
        if against.cols() != side.cols() {
            let (got, need) = (against.cols(), side.cols());
            return Err(Error::Dimension { side: name, got, need });
        }
        if against.rows() == 0 {
            return Err(Error::EmptyPool { side: name, rows: 0, cols });
        }
    }
    let old = reference(side, name, new.against, found)?;
    let columns = old.as_ref().map(|old| Columns::of(old.rows.view()));
    let look = match Look::at(side, name, new.rows, columns.as_ref())? {
        Ok(look) => look,
        Err(reason) => {
            found.broken.push(reason);
            return Ok(None);
        }
    };
    let mut moved = look.columns(side, columns.as_ref());
    let beyond = columns.as_ref().map(|fit| broken::columns(name, &look, (side, fit), found));
    let beyond = beyond.unwrap_or_default();
    if let Some(old) = &old {
        let sample = spaced(rows, MOST_ROWS);
        memory::require(
            format!("comparing new rows of {name} with those of the fit"),
            tests_memory(old.rows.rows(), sample.len(), cols),
        )?;
        let new = new.rows.select(&sample)?;
        broken::units(name, (&old.rows, &new), &beyond, found);
        let metric = pooled::metric(&side.clustering.rule);
        let pooled = Pooled::new(old.rows.view(), new.view());
        let draws = Relabellings::new(pooled.old(), pooled.new_rows(), relabellings);
        let regions = Regions::of(&pooled, side, metric, watch)?;
        let (shares, distances) = regions.test(&pooled, &draws);
        found.test("shares", Some(name), shares);
        found.test("distances", Some(name), distances);
        let tested = columns::test(old.rows.view(), new.view(), relabellings);
        found.test("columns", Some(name), tested.p);
        moved.iter_mut().for_each(|c| c.p = tested.of_columns.get(c.column).copied());
    }
    if let (None, Some(novelty)) = (&old, &side.novelty) {
        found.test("distances", Some(name), look.test_distances(novelty));
    }
    broken::nowhere(name, &look, found);
    moved.sort_by(|a, b| {
        let (p, q) = (a.p.unwrap_or(1.0), b.p.unwrap_or(1.0));
        p.total_cmp(&q).then(b.moved().total_cmp(&a.moved())).then(a.column.cmp(&b.column))
    });
    moved.truncate(TOP);
    Ok(Some(SideDrift {
        side: name,
        rows,
        against: old.as_ref().map_or(0, |old| old.rows.rows()),
        clusters: look.clusters(side, old.as_ref()),
        outside: look.outside as usize,
        distances: look.distances(),
        nowhere: look.nowhere(),
        columns: moved,
    }))
}

/// Columns that are named.
const TOP: usize = 5;
/// Rows of each sample that tests look at, at most.
const MOST_ROWS: usize = 10_000;

/// What new rows are compared with.
struct Reference {
    rows: Matrix,
    /// The model's cluster of each row, as if it had not seen it.
    labels: Vec<u32>,
}

/// The rows that were given to compare with, or some that the model keeps.
fn reference(
    side: &Side,
    name: &'static str,
    against: Option<&dyn Rows>,
    found: &mut Findings,
) -> Result<Option<Reference>, Error> {
    if let Some(given) = against {
        let rows = given.select(&spaced(given.rows(), MOST_ROWS))?;
        if let Some((row, column)) = rows.view().first_non_finite() {
            return Err(Error::NotFinite { side: name, row, column });
        }
        let labels = side.assign(rows.view());
        return Ok(Some(Reference { rows, labels }));
    }
    if !side.keeps_rows() {
        found.not_judged.push(format!(
            "the shares of the clusters of {name}, and single columns: the model keeps no rows of {name} to compare with; \
             give the rows of the fit, or other rows that were fine"
        ));
        return Ok(None);
    }
    let chosen = spaced(side.len(), MOST_ROWS);
    let rows = side.rows()?.view().select(chosen.iter().copied());
    let labels: Vec<u32> = chosen.iter().map(|&row| side.labels()[row]).collect();
    let scaled = side.scaler.apply(rows.view());
    let labels = crate::novelty::left_out_clusters(scaled.view(), &labels, &side.clustering);
    Ok(Some(Reference { rows, labels }))
}

/// At most `most` of n rows, evenly spaced.
fn spaced(n: usize, most: usize) -> Vec<usize> {
    let many = n.min(most);
    (0..many).map(|s| s * n / many).collect()
}

/// About how many bytes the tests take at their peak.
fn tests_memory(old: usize, new: usize, cols: usize) -> u64 {
    let (n, d) = ((old + new) as u64, cols as u64);
    // The samples, pooled, scaled, and clustered; and what columns are tested by.
    16 * n * d + 16 * n.min(2 * columns::MOST_ROWS as u64) * d + 200 * n
}

/// The rows of a view that are some rows of a sample in memory.
fn view_rows(rows: MatrixRef<'_>, chosen: &[usize]) -> Matrix {
    rows.select(chosen.iter().copied())
}
