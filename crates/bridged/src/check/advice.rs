//! What a person should know before trusting a model, in plain sentences.

use crate::bridge::BridgeSpec;
use crate::bridge::LinkStatus;
use crate::cluster::NOISE;
use crate::model::{BridgedModel, Direction};
use crate::settings::Uncovered;

impl BridgedModel {
    /// Warnings, the gravest first; empty if there is nothing to warn of.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for direction in Direction::BOTH {
            self.warn_of_constants(direction, &mut warnings);
        }
        for direction in Direction::BOTH {
            self.warn_of_links(direction, &mut warnings);
        }
        if !self.negatives.is_empty() && !matches!(self.settings.bridge, BridgeSpec::Posterior(_)) {
            warnings.push(format!(
                "A {} bridge makes no use of answers that rows do not belong together, of which there are {}; the posterior \
                 bridge does.",
                self.settings.bridge.name(),
                self.negatives.len()
            ));
        }
        let noise = self.votes.pairs.iter().filter(|p| p.x == NOISE || p.y == NOISE).count();
        if noise > 0 {
            warnings.push(format!(
                "{noise} of {} pairs have a row outside all clusters and do not vote.",
                self.pairs.len()
            ));
        }
        for (name, side) in [("x", &self.x), ("y", &self.y)] {
            if !side.clustering.converged {
                warnings.push(format!(
                    "The clustering of {name} was still moving after {} iterations; allow more.",
                    side.clustering.iterations
                ));
            }
        }
        warnings
    }

    fn warn_of_constants(&self, direction: Direction, warnings: &mut Vec<String>) {
        let (from, to) = (direction.input(), direction.output());
        let Some(check) = self.regressor(direction).leave_one_out() else {
            warnings.push(format!(
                "With a single pair there is no way to check predictions of {to} from {from}."
            ));
            return;
        };
        let (constant, error) = check.best_constant();
        if check.answered > 0 && check.bridge > error {
            warnings.push(format!(
                "A constant predicts {to} better than the bridge: leaving out one pair at a time, \
                 the error is {} for the bridge and {} for {constant}. More pairs, other features \
                 or another number of clusters may help; until then, do not trust these predictions.",
                four_digits(check.bridge),
                four_digits(error)
            ));
        }
    }

    fn warn_of_links(&self, direction: Direction, warnings: &mut Vec<String>) {
        let (from, to) = (direction.input(), direction.output());
        let links = &self.regressor(direction).bridge.links;
        let with = |statuses: &[LinkStatus]| {
            let count = links.iter().filter(|l| statuses.contains(&l.status)).count();
            (count > 0).then(|| format!("{count} of {} {from} clusters", links.len()))
        };
        let instead = match self.settings.uncovered {
            Uncovered::Mean => format!("rows in them get the mean of {to}"),
            Uncovered::Nearest => {
                "rows in them get the answer of the nearest linked cluster".into()
            }
            Uncovered::Abstain => "rows in them get no answer".into(),
        };
        if let Some(clusters) = with(&[LinkStatus::NoEvidence]) {
            warnings.push(format!("{clusters} have no pair; {instead}."));
        }
        if let Some(clusters) = with(&[LinkStatus::NoPartner]) {
            warnings.push(format!(
                "{clusters} seem to have no partner in {to}: so many pairs would not miss them by chance. Their rows \
                 get the mean of {to} or close to it."
            ));
        }
        let mixed = self.regressor(direction).reading.is_mixture();
        if let Some(clusters) = with(&[LinkStatus::Outvoted]) {
            let instead = if mixed { "they lean to what those leave" } else { &instead };
            warnings.push(format!("{clusters} lost their votes to other clusters; {instead}."));
        }
        if let Some(clusters) = with(&[LinkStatus::Eliminated]).filter(|_| mixed) {
            warnings.push(format!(
                "{clusters} have no pair; rows in them get a mixture of what the others leave."
            ));
        }
        if let Some(clusters) = with(&[LinkStatus::Tied]) {
            warnings.push(format!(
                "{clusters} are tied: their pairs disagree on the {to} cluster. Another pair there \
                 would settle it."
            ));
        }
    }
}

/// A number with four significant digits.
fn four_digits(value: f64) -> String {
    let decimals = if value > 0.0 { 3 - value.log10().floor() as i32 } else { 1 };
    format!("{value:.*}", decimals.clamp(0, 12) as usize)
}
