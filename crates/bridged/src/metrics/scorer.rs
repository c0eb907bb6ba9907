//! What a metric is: a name, a direction, and a function of what it is computed from.

use super::{
    Bridging, Confidence, Contingency, LabelledRows, MetricError, Regression, Retrieved, ScoredRows,
};
use super::{bridging, regression};
use bridged_math::MatrixRef;

/// A metric as the list of them has it.
#[derive(Clone, Copy, Debug)]
pub struct Scorer {
    /// The name in commands, runs and Python.
    pub name: &'static str,
    /// What heads its column in a table.
    pub title: &'static str,
    /// What it is, in half a line.
    pub about: &'static str,
    /// Which way is better.
    pub better: Better,
    /// The function, by what it needs.
    pub score: Score,
}

/// Which of two scores is the better one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Better {
    /// The smaller one.
    Lower,
    /// The larger one.
    Higher,
    /// The one that is nearer to this.
    Near(f64),
}

/// A metric as a function of what it needs.
#[derive(Clone, Copy, Debug)]
pub enum Score {
    /// Of predicted and true outputs; `None` where it is not defined, as R² of a single row.
    Values(fn(&Predictions<'_>) -> Option<f64>),
    /// Of retrieved texts and their references.
    Texts(fn(&Texts<'_>) -> Result<f64, MetricError>),
    /// Of the classes of retrieved rows; `None` where none was retrieved.
    Retrieved(fn(&Retrieved<'_>) -> Option<f64>),
    /// Of what predictions say of themselves; `None` of those that say nothing.
    Confidence(fn(&Confidence<'_>) -> Option<f64>),
    /// Of the clusters and latent classes of one side.
    Labels(fn(&Contingency) -> f64),
    /// Of a bridge between the clusters of both sides.
    Links(fn(&Links<'_>) -> f64),
}

/// Predicted outputs beside the true ones.
#[derive(Clone, Copy, Debug)]
pub struct Predictions<'a> {
    /// What was predicted, (n, d).
    pub predicted: MatrixRef<'a>,
    /// What is true, (n, d).
    pub truth: MatrixRef<'a>,
    /// The rows that are scored.
    pub rows: ScoredRows<'a>,
    /// Their errors.
    pub errors: Regression,
}

impl<'a> Predictions<'a> {
    /// Checks that predictions and truth can be compared, and takes their errors.
    pub fn new(
        predicted: MatrixRef<'a>,
        truth: MatrixRef<'a>,
        rows: ScoredRows<'a>,
    ) -> Result<Self, MetricError> {
        Ok(Self { predicted, truth, rows, errors: regression(predicted, truth, rows)? })
    }
}

/// Retrieved texts, of which the i-th is compared with all texts of `references[i]`.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    /// The texts that were retrieved.
    pub retrieved: &'a [&'a str],
    /// The right texts of each.
    pub references: &'a [Vec<&'a str>],
}

/// A bridge from the clusters of one side to those of the other.
#[derive(Clone, Debug)]
pub struct Links<'a> {
    /// The side that it leads from.
    pub from: LabelledRows<'a>,
    /// The side that it leads to.
    pub to: LabelledRows<'a>,
    /// The output cluster of each input cluster, or none.
    pub bridge: &'a [Option<u32>],
    /// How right it is.
    pub scores: Bridging,
}

impl<'a> Links<'a> {
    /// Checks that the bridge belongs to these clusters, and scores it.
    pub fn new(
        from: LabelledRows<'a>,
        to: LabelledRows<'a>,
        bridge: &'a [Option<u32>],
    ) -> Result<Self, MetricError> {
        Ok(Self { from, to, bridge, scores: bridging(from, to, bridge)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{ALL, Claim};
    use bridged_math::Matrix;

    /// Every metric on the same small case, right or partly wrong.
    fn scores(right: bool) -> Vec<f64> {
        let truth = Matrix::from_rows(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 9.0], [7.0, 1.0]]);
        let wrong = Matrix::from_rows(&[[1.0f32, 2.0], [3.0, 6.0], [5.0, 9.0], [7.0, 3.0]]);
        let predicted = if right { &truth } else { &wrong };
        let predictions =
            Predictions::new(predicted.view(), truth.view(), ScoredRows::All).unwrap();
        let references = [vec!["a dog runs on the beach"], vec!["two tall men talk"]];
        let retrieved = if right {
            ["a dog runs on the beach", "two tall men talk"]
        } else {
            ["a dog runs on the snow", "two men talk"]
        };
        let texts = Texts { retrieved: &retrieved, references: &references };
        let classes = [0, 0, 1, 1, 2, 2];
        let labels = if right { classes } else { [0, 0, 1, 2, 2, 2] };
        let table = Contingency::new(&labels, &classes).unwrap();
        let side = LabelledRows { labels: &classes, classes: &classes };
        let bridge = [Some(0), Some(1), Some(if right { 2 } else { 0 })];
        let links = Links::new(side, side, &bridge).unwrap();
        let found = if right { classes } else { [0, 1, 1, 1, 2, 0] };
        let retrieved = Retrieved { found: &found, truth: &classes };
        let claim =
            |at: usize| Claim { probability: 0.8, came_true: right && !at.is_multiple_of(5) };
        let claims: Vec<Claim> = (0..20).map(claim).collect();
        let balls = |outside: usize| -> Vec<bool> {
            (0..20).map(|at| at >= if right { outside } else { 2 * outside }).collect()
        };
        let (balls_80, balls_90) = (balls(4), balls(2));
        let confidence = Confidence { claims: &claims, balls_80: &balls_80, balls_90: &balls_90 };
        let score = |scorer: &Scorer| match scorer.score {
            Score::Retrieved(score) => score(&retrieved).unwrap(),
            Score::Confidence(score) => score(&confidence).unwrap(),
            Score::Values(score) => score(&predictions).unwrap(),
            Score::Texts(score) => score(&texts).unwrap(),
            Score::Labels(score) => score(&table),
            Score::Links(score) => score(&links),
        };
        ALL.iter().map(score).collect()
    }

    #[test]
    fn what_is_right_is_better_by_every_metric() {
        for ((scorer, right), wrong) in ALL.iter().zip(scores(true)).zip(scores(false)) {
            let better = match scorer.better {
                Better::Lower => right < wrong,
                Better::Higher => right > wrong,
                Better::Near(best) => (right - best).abs() < (wrong - best).abs(),
            };
            assert!(better, "{}: {right} and {wrong}", scorer.name);
        }
    }

    #[test]
    fn no_name_is_in_the_list_twice() {
        let mut names: Vec<&str> = ALL.iter().map(|scorer| scorer.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
