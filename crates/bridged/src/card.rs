//! A model card: one page of Markdown for whoever is handed a model and must decide what it may be used for.
//!
//! Mitchell et al. 2019, *Model Cards for Model Reporting*: what it is, what it was made of, how good it is and how that
//! is known, where it ends, and what it must not decide.

use crate::Error;
use crate::bridge::LinkStatus;
use crate::check::Grade;
use crate::history::{Action, date};
use crate::model::{BridgedModel, Direction};
use crate::predict::Status;
use crate::side::Side;
use bridged_math::words::{count, plural};
use std::fmt::Write;

/// The probability that radii are given for.
const LEVEL: f64 = 0.9;
/// Links below this probability are called unsure.
const SURE: f64 = 0.8;

impl BridgedModel {
    /// The card of a model of that name.
    pub fn card(&self, name: &str) -> Result<String, Error> {
        let mut card = format!("# {}\n\n", escaped(name));
        card.push_str(
            "A bridge between two collections that nobody linked, learned from a few known pairs: given a row of x, it \
             predicts the row of y that belongs to it, and the reverse.\n",
        );
        self.data(&mut card);
        self.making(&mut card);
        self.quality(&mut card);
        self.limits(&mut card);
        card.push_str(
            "\n## Before it decides about people\n\n\
             A prediction is the mean of what similar rows have, read off clusters: it says what is usual for a kind of \
             row, not what is true of this one. Do not let it decide alone about health, law, money, work or access of \
             a person. Groups that are rare in the pools, or without a pair, are answered worst; look at the table of \
             links before the figures, and have somebody who knows the data confirm the links that matter.\n",
        );
        Ok(card)
    }

    fn data(&self, card: &mut String) {
        card.push_str("\n## Data\n\n| | rows | columns | clusters | vector | carried |\n|---|---|---|---|---|---|\n");
        for (name, side) in [("x", &self.x), ("y", &self.y)] {
            let carried: Vec<&str> =
                side.names.texts.iter().map(|text| text.name.as_str()).collect();
            line(
                card,
                &[
                    name.to_string(),
                    count(side.total()),
                    count(side.cols()),
                    side.k().to_string(),
                    vector(side),
                    or_none(&carried.join(", ")),
                ],
            );
        }
        let kept = match self.x.keeps_rows() || self.y.keeps_rows() {
            true => "The model file holds rows of the pools: whoever gets it gets them.",
            false => "The model file holds no rows of the pools, only what was learned from them.",
        };
        say(card, format!("\n{} known. {kept}", capital(&plural(self.pairs.len(), "pair"))));
    }

    fn making(&self, card: &mut String) {
        card.push_str("\n## How it was made\n\n");
        let of = |side: &crate::SideSpec| side.cluster.name();
        let members = match self.ensemble {
            Some(_) => "several members predict together, of which the table of links is one",
            None => "one clustering of each side predicts",
        };
        say(
            card,
            format!(
                "Clustered by {} (x) and {} (y), linked by the {} bridge; {members}. Seed {}.",
                of(&self.settings.x),
                of(&self.settings.y),
                self.settings.bridge.name(),
                self.seed.0
            ),
        );
        if self.history.is_empty() {
            card.push_str("\nThe file does not say what it was made of, or when.\n");
            return;
        }
        card.push_str("\n| | when | version | rows of x | rows of y | pairs | files |\n|---|---|---|---|---|---|---|\n");
        for event in &self.history {
            let action = match event.action {
                Action::Fit => "fitted",
                Action::Update => "updated",
            };
            let files: Vec<String> = event
                .files
                .iter()
                .map(|file| match &file.fingerprint {
                    Some(print) => {
                        format!("{} ({}, xxh64 {print})", escaped(&file.name), file.role)
                    }
                    None => format!("{} ({})", escaped(&file.name), file.role),
                })
                .collect();
            line(
                card,
                &[
                    action.to_string(),
                    event.when.map_or_else(|| "–".to_string(), date),
                    event.version.clone(),
                    count(event.x.rows as usize),
                    count(event.y.rows as usize),
                    count(event.pairs as usize),
                    or_none(&files.join(", ")),
                ],
            );
        }
    }

    fn quality(&self, card: &mut String) {
        card.push_str(
            "\n## How good it is\n\nEach pair was predicted from the others. An error of 1 is that of a constant; smaller is \
             better.\n\n| | verdict | error ÷ constant | as good by chance | rows covered | pairs left out |\n|---|---|---|---|---|---|\n",
        );
        for direction in Direction::BOTH {
            let verdict = self.verdict(direction);
            let check = self.regressor(direction).leave_one_out();
            line(
                card,
                &[
                    format!("{} from {}", direction.output(), direction.input()),
                    match verdict.grade {
                        Grade::Good => "**good**: clearly better than a constant, beyond chance",
                        Grade::Weak => {
                            "**weak**: better than a constant, but not by much or not beyond chance"
                        }
                        Grade::None => {
                            "**none**: not better than a constant as far as the pairs tell"
                        }
                    }
                    .to_string(),
                    verdict.error.map_or_else(|| "–".to_string(), |e| format!("{e:.2}")),
                    format!("{:.3}", verdict.chance),
                    format!("{:.0} %", 100.0 * verdict.covered),
                    check.map_or_else(
                        || "–".to_string(),
                        |c| format!("{} of {}", c.answered, c.pairs),
                    ),
                ],
            );
        }
        card.push('\n');
        for direction in Direction::BOTH {
            let (from, to) = (direction.input(), direction.output());
            let Some(check) = self.regressor(direction).leave_one_out() else { continue };
            match crate::check::quantile(&check.scores, LEVEL) {
                Ok(_) => say(
                    card,
                    format!(
                        "Balls around predictions of {to} from {from} hold the truth with probability {LEVEL}, if new rows \
                         come like those of the pairs (split-conformal, from {} scores).",
                        check.scores.len()
                    ),
                ),
                Err(highest) => say(
                    card,
                    format!(
                        "The pairs are too few for balls of {to} from {from} at {LEVEL}; the highest level that they allow is \
                         {highest:.2}."
                    ),
                ),
            }
        }
    }

    fn limits(&self, card: &mut String) {
        card.push_str("\n## Where it ends\n\n");
        for direction in Direction::BOTH {
            let (from, to) = (direction.input(), direction.output());
            let table = self.link_table(direction);
            let rows: Vec<_> = table.rows().collect();
            let total: f64 = rows.iter().map(|row| f64::from(row.rows)).sum();
            let share = |chosen: &dyn Fn(&crate::LinkRow<'_>) -> bool| {
                let of = rows.iter().filter(|row| chosen(row)).map(|row| f64::from(row.rows));
                // The sum of nothing is −0.
                100.0 * (0.0 + of.sum::<f64>()) / total.max(1.0)
            };
            let no_pair = share(&|row| row.pairs == 0);
            let unsure = share(&|row| row.why.probability.is_some_and(|p| p < SURE));
            let partnerless = share(&|row| row.why.status == Status::Link(LinkStatus::NoPartner));
            say(
                card,
                format!(
                    "- {to} from {from}: {no_pair:.0} % of the rows of {from} are in clusters without a pair; {unsure:.0} % are \
                     in clusters whose link is less probable than {SURE}; {partnerless:.0} % in clusters that seem to have no \
                     partner."
                ),
            );
        }
        for (name, side) in [("x", &self.x), ("y", &self.y)] {
            if side.novelty.is_some() {
                say(
                    card,
                    format!(
                        "- Rows of {name} that are farther from every cluster than 99.9 % of the pool are called unfamiliar, and \
                         get neither a probability nor a radius."
                    ),
                );
            }
        }
        for warning in self.warnings() {
            say(card, format!("- {}", capital(&warning.to_string())));
        }
    }
}

fn vector(side: &Side) -> String {
    match &side.names.vector[..] {
        [] => "–".to_string(),
        [one] => escaped(one),
        [first, .., last] => format!("{} … {}", escaped(first), escaped(last)),
    }
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "–".to_string() } else { escaped(text) }
}

/// Text that Markdown does not take for anything else.
fn escaped(text: &str) -> String {
    let special = |c: char| matches!(c, '|' | '*' | '_' | '`' | '<' | '[' | '\\' | '#');
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if special(c) {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}

fn line(card: &mut String, cells: &[String]) {
    say(card, format!("| {} |", cells.join(" | ")));
}

fn say(card: &mut String, text: String) {
    writeln!(card, "{text}").expect("a string grows");
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
