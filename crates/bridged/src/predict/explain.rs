//! Why an answer is what it is: one type for a row and for a cluster, in every front end.

use super::Prediction;
use super::answer::{Answer, Source};
use super::expected_error::Likeliest;
use crate::bridge::{LinkStatus, Target, VoteCount};
use crate::cluster::NOISE;
use crate::model::{BridgedModel, Direction};
use std::fmt;

/// Why a row, or every row of a cluster, is answered as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explanation<'a> {
    /// The input cluster; `None` for a row outside all clusters.
    pub cluster: Option<u32>,
    /// The output clusters that the input cluster is answered with, and their shares that sum to 1,
    /// the largest first; empty for the mean of the pool or for nothing.
    pub links: &'a [Target],
    /// The output cluster that the output most likely lies in; `None` without a link.
    pub linked: Option<u32>,
    /// The probability that it lies there; `None` of bridges that do not know it, and of unfamiliar
    /// rows, of whose kind no pair can tell.
    pub probability: Option<f64>,
    /// The share of the pairs in the answering cluster whose outputs lie in `linked`; 0 without
    /// one. A share of few votes is no probability.
    pub vote_share: f64,
    /// How many pairs voted for the links.
    pub support: u32,
    /// How the link was decided.
    pub status: Status,
    /// Where the answer comes from.
    pub source: Source,
    /// The expected squared error of an entry of the value, in the units of the data; NaN of
    /// unfamiliar rows.
    pub expected_error: f64,
    /// The radius of the ball around the value that holds the true output at the level asked for;
    /// `None` of unfamiliar rows, for which nothing can be promised.
    pub radius: Option<f64>,
    /// How unlike the rows of the pool the row is, 0 to 1: the share of them that are nearer to their
    /// clusters, and beyond all of them ever closer to 1. `None` of clusters, and of models that were
    /// written before it was measured.
    pub novelty: Option<f64>,
}

/// How an answer was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As its link was.
    Link(LinkStatus),
    /// There is a link, but it is less probable than was asked for.
    Unsure,
    /// The row is like none of the pool, so that its link says nothing about it.
    Unfamiliar,
}

impl Status {
    /// The status as tables print it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Link(status) => status.name(),
            Status::Unsure => "unsure",
            Status::Unfamiliar => "unfamiliar",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Explanation<'_> {
    /// The share of the first of the links; `None` without one.
    pub fn weight(&self) -> Option<f64> {
        self.links.first().map(|t| t.weight)
    }
}

/// What an explanation is made of, besides the row.
#[derive(Clone, Copy)]
struct Reasons<'a> {
    answer: &'a Answer,
    likeliest: Likeliest,
    votes: &'a [Vec<VoteCount>],
    knows: bool,
}

fn explain(cluster: u32, reasons: Reasons<'_>) -> Explanation<'_> {
    let Reasons { answer, likeliest, votes, knows } = reasons;
    let best = answer.targets.first();
    let linked = if knows { likeliest.cluster } else { best.map(|t| t.cluster) };
    let answering = match answer.source {
        Source::Nearest(cluster) => cluster,
        _ => cluster,
    };
    Explanation {
        cluster: (cluster != NOISE).then_some(cluster),
        links: &answer.targets,
        linked,
        probability: knows.then_some(likeliest.probability),
        vote_share: linked.map_or(0.0, |to| vote_share(votes, answering, to)),
        support: answer.support,
        status: Status::Link(answer.status),
        source: answer.source,
        expected_error: likeliest.error,
        radius: None,
        novelty: None,
    }
}

/// The share of the pairs in input cluster a that lie in output cluster b.
fn vote_share(votes: &[Vec<VoteCount>], a: u32, b: u32) -> f64 {
    let counts = votes.get(a as usize).map_or(&[][..], Vec::as_slice);
    let all: u32 = counts.iter().map(|c| c.count).sum();
    let for_b: u32 = counts.iter().filter(|c| c.y == b).map(|c| c.count).sum();
    f64::from(for_b) / f64::from(all.max(1))
}

impl Prediction {
    /// Why row `i` is answered as it is.
    pub fn explain(&self, i: usize) -> Explanation<'_> {
        let row = self.rows[i];
        let reasons = Reasons {
            answer: self.answers.get(row.of),
            likeliest: row.likeliest,
            votes: &self.votes,
            knows: self.knows,
        };
        let mut why = explain(self.clusters[i], reasons);
        why.novelty = row.p_value.map(|p| 1.0 - p);
        why.radius = self.ball.map(|factor| (factor * why.expected_error).sqrt());
        if row.unsure {
            (why.status, why.source) = (Status::Unsure, Source::Abstain);
        }
        if row.unfamiliar {
            why.status = Status::Unfamiliar;
            (why.probability, why.radius, why.expected_error) = (None, None, f64::NAN);
        }
        why
    }

    /// Why each row is answered as it is.
    pub fn explanations(&self) -> impl ExactSizeIterator<Item = Explanation<'_>> {
        (0..self.len()).map(|i| self.explain(i))
    }
}

/// One line of the link table: an input cluster, and why its rows are answered as they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRow<'a> {
    /// The input cluster.
    pub cluster: u32,
    /// Rows in it.
    pub rows: u32,
    /// Pairs in it.
    pub pairs: u32,
    /// Pairs in it that voted for its own link; 0 where another cluster's link answers.
    pub own_support: u32,
    /// The probability that it has no partner; `None` of a model of one member, which does not ask.
    pub no_partner: Option<f64>,
    /// Why its rows are answered as they are.
    pub why: Explanation<'a>,
}

impl BridgedModel {
    /// The bridge as a person reads it: one line for each input cluster of a direction.
    pub fn link_table(&self, direction: Direction) -> LinkTable<'_> {
        let regressor = self.regressor(direction);
        LinkTable {
            model: self,
            direction,
            likeliest: regressor.likeliest_of_clusters(self.to(direction)),
            votes: self.votes(direction).rows(),
        }
    }
}

/// The links of one direction, line by line.
pub struct LinkTable<'a> {
    model: &'a BridgedModel,
    direction: Direction,
    likeliest: Vec<Likeliest>,
    votes: Vec<Vec<VoteCount>>,
}

impl LinkTable<'_> {
    /// The lines, one for each input cluster.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = LinkRow<'_>> {
        let regressor = self.model.regressor(self.direction);
        let sizes = self.model.from(self.direction).sizes();
        regressor.answers().iter().enumerate().map(move |(a, answer)| {
            let reasons = Reasons {
                answer,
                likeliest: self.likeliest[a],
                votes: &self.votes,
                knows: regressor.knows_probabilities(),
            };
            let (cluster, link) = (a as u32, &regressor.bridge().links[a]);
            LinkRow {
                cluster,
                rows: sizes[a],
                pairs: link.pairs,
                own_support: link.support,
                no_partner: regressor.partnerless().get(a).copied(),
                why: explain(cluster, reasons),
            }
        })
    }
}
