//! Which answer would help most: rows whose partner is worth finding next, and pairs worth judging.
//!
//! ```text
//! value(x) = v_links · Σ_c w_c Σ_i R_ci r_ci(p_c(i|x) · τ(x))  +  v_pairs · √τ(x) · fall(x)
//! ```
//!
//! c runs over the cuts of the pool that are linked, w_c is how much they count, R_ci the error that certainty about
//! the link of cluster i would save, and r_ci the share of it that one answer is expected to save, by Bayes' rule.
//! Both follow in closed form from the posterior of the links and its reliability. τ(x) is how typical the row is of its
//! cluster: the share of the pool's rows that are as far out. `fall` is what a pair at x is expected to do to the regressions
//! on the pairs; the two parts count as links and regressions do in the model's predictions.
//!
//! Questions of one batch are chosen one by one. After each, R is what is expected to be left, so that the next one asks for
//! something else. Rows of pairs are not asked for again, and outliers never.
//!
//! | file | idea |
//! |---|---|
//! | `links.rs` | what an answer is expected to do to the links of a cluster |
//! | `cuts.rs` | the linked cuts of one direction |
//! | `coverage.rs` | what a pair is expected to do to the regressions on the pairs |
//! | `rows.rs` | the rows that may be asked about, and what they speak for |
//! | `batch.rs` | one question after the other |
//! | `why.rs` | the reasons, and the candidates of the other side |

mod batch;
mod coverage;
mod cuts;
mod links;
mod rows;
mod why;

use crate::Error;
use crate::model::{BridgedModel, Direction};
use serde::{Deserialize, Serialize};

/// What kind of question is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Which row of the other side belongs to this row?
    #[default]
    Partner,
    /// Do these two rows belong to the same group?
    Match,
}

impl Question {
    /// Every kind of question.
    pub const ALL: [Self; 2] = [Self::Partner, Self::Match];

    /// Its name in commands and tables.
    pub fn name(self) -> &'static str {
        match self {
            Question::Partner => "partner",
            Question::Match => "match",
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// The most questions.
    pub count: usize,
    /// Rows of which side are asked about, the side that predictions of this direction start from; both if `None`.
    pub side: Option<Direction>,
    /// What kind of question.
    pub kind: Question,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { count: 20, side: None, kind: Question::Partner }
    }
}

/// A row, or a pair of rows, worth asking about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    /// The side of the row: `x` or `y`.
    pub side: &'static str,
    /// The row, among those that the model keeps.
    pub row: usize,
    /// Its cluster in the table of links.
    pub cluster: u32,
    /// The share of the side's rows that are in that cluster.
    pub share: f64,
    /// Pairs in that cluster.
    pub pairs: u32,
    /// Rows of the other side: where the partner may be, the likeliest first; of a match, the row to compare with.
    pub candidates: Vec<Candidate>,
    /// By how much the squared error of predictions from this side is expected to fall, as a share of what the mean of the
    /// other side is off by. Of a later question, if those before it are answered.
    pub gain: f64,
    /// The same for the mean squared error of an entry, in the units of the data.
    pub error_falls_by: f64,
    /// Why it is worth asking, in a sentence.
    pub why: String,
}

/// A row of the other side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The row, typical of its cluster.
    pub row: usize,
    /// Its cluster in the table of links.
    pub cluster: u32,
    /// The probability that the partner lies in that cluster.
    pub probability: f64,
}

/// The outputs of a cut: inner products of the means of its clusters less the mean of all, and their variance.
struct Known {
    gram: Vec<f64>,
    k: usize,
    /// The summed variance of all columns of the pool.
    variance: f64,
}

impl Known {
    /// ‖m_j − Σ_a w_a m_a‖² of every j.
    fn squared_distances(&self, weights: &[f64]) -> Vec<f64> {
        let along: Vec<f64> = (self.gram.chunks_exact(self.k))
            .map(|row| row.iter().zip(weights).map(|(g, w)| g * w).sum())
            .collect();
        let own: f64 = along.iter().zip(weights).map(|(a, w)| a * w).sum();
        let of = |j: usize| (self.gram[j * self.k + j] - 2.0 * along[j] + own).max(0.0);
        (0..self.k).map(of).collect()
    }
}

impl BridgedModel {
    /// The questions whose answers are expected to make predictions better by most, the best first; fewer than were wanted
    /// where no more are worth asking.
    ///
    /// ```
    /// use bridged::{BridgedClustering, Matrix, Problem, Seed, Silent, Wanted};
    ///
    /// // Three groups on each side; one pair tells of the first.
    /// let x = Matrix::from_fn(90, 2, |i, j| [0.0, 9.0, 20.0][i / 30] + ((i + j) % 3) as f32 * 0.1);
    /// let y = Matrix::from_fn(90, 1, |i, _| [5.0, 50.0, 90.0][i / 30] + (i % 3) as f32);
    /// let problem = Problem::new(x.view(), y.view(), &[(0, 0)]);
    /// let model = BridgedClustering::with_k(3).fit(problem, Seed(0), &Silent)?;
    ///
    /// let ask = model.suggest(Wanted { count: 1, ..Wanted::default() })?;
    /// assert!(ask[0].row >= 30 && ask[0].pairs == 0);
    /// # Ok::<(), bridged::Error>(())
    /// ```
    pub fn suggest(&self, wanted: Wanted) -> Result<Vec<Suggestion>, Error> {
        let sides = match wanted.side {
            Some(direction) => vec![direction],
            None => Direction::BOTH.to_vec(),
        };
        let sides =
            sides.into_iter().map(|direction| batch::Asked::new(self, direction, wanted.kind));
        let mut sides = sides.collect::<Result<Vec<_>, Error>>()?;
        let chosen = batch::choose(&mut sides, wanted);
        chosen.into_iter().map(|c| sides[c.side].explain(self, &c)).collect()
    }
}
