//! How far predictions follow the maps.
//!
//! A prediction with refinement is linear in α, so the error of the pairs that were left out is a
//! parabola in α, and its best α in [0, 1] is known in closed form. A map that is not tied to
//! clusters has a prior α = 0 that weighs λ pairs.

use crate::check::Trial;
use crate::settings::{Alpha, Refine, RefineKind};

/// Fewer errors than these can agree by luck on any α.
const LEAST: usize = 3;

/// The strength that is named, or the one with the smallest error on the pairs that were left out.
pub(super) fn choose_alpha(refine: &Refine, trials: &[Trial]) -> f64 {
    match (refine.kind, refine.alpha) {
        (RefineKind::None, _) => 0.0,
        (_, Alpha::Fixed(alpha)) => alpha,
        (kind, Alpha::Auto) => {
            let answered: Vec<_> = trials.iter().filter_map(|t| t.answer.as_ref()).collect();
            let (mut across, mut along) = (0.0, 0.0);
            for answer in &answered {
                across += dot(&answer.error, &answer.offset);
                along += dot(&answer.offset, &answer.offset);
            }
            if along <= 0.0 || answered.len() < LEAST {
                return 0.0;
            }
            let prior = match kind {
                RefineKind::Residual => {
                    answered.len() as f64 / (answered.len() as f64 + refine.ridge)
                }
                _ => 1.0,
            };
            prior * (across / along).clamp(0.0, 1.0)
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
