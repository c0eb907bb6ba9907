//! The first passes of a fit: how many rows there are, how they are spread, and some of them.

use super::partial::{Drawn, Moments, Partial, Rows};
use super::pass::{Pass, Work};
use super::{Partitions, PassError};
use std::collections::HashMap;

/// What the first pass found.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Counts and moments of all rows.
    pub moments: Moments,
    /// The number of the first row of each partition among all rows.
    first: HashMap<u64, u64>,
}

impl Look {
    /// The number of a row among all rows.
    pub fn number(&self, (part, row): (u64, u64)) -> u64 {
        self.first.get(&part).map_or(row, |first| first + row)
    }

    /// Where a row with a number among all rows lies: (partition, row).
    pub(super) fn place(&self, number: u64) -> (u64, u64) {
        let mut before = 0;
        for &(part, rows) in &self.moments.parts {
            if number < before + rows {
                return (part, number - before);
            }
            before += rows;
        }
        (0, number)
    }

    /// Σ w ‖row − mean‖² ÷ (Σ w · columns): the mean over the columns of their variance.
    pub fn variance(&self) -> f64 {
        let Moments { weight, scatter, .. } = &self.moments;
        let all = weight * scatter.len() as f64;
        if all > 0.0 { scatter.iter().sum::<f64>() / all } else { 0.0 }
    }

    /// Whether a later pass saw as many rows.
    pub(super) fn check(&self, now: u64) -> Result<(), PassError> {
        let before = self.moments.rows();
        if before == now { Ok(()) } else { Err(PassError::Changed { before, now }) }
    }
}

/// Counts all rows and checks that they can be used.
pub fn look(rows: &dyn Partitions) -> Result<Look, PassError> {
    let Partial::Moments(moments) = Partial::merged(rows.run(&Pass::plain(Work::Look))?)? else {
        return Err(PassError::OtherVersion);
    };
    if moments.rows() == 0 {
        return Err(PassError::NoRows);
    }
    crate::range::check_largest(moments.largest)
        .map_err(|problem| PassError::BadParameter(format!("the data {problem}")))?;
    let (mut first, mut at) = (HashMap::new(), 0);
    for &(part, rows) in &moments.parts {
        first.insert(part, at);
        at += rows;
    }
    Ok(Look { moments, first })
}

/// `wanted` rows by chance, or all if there are no more; in the order of the data.
pub fn sample(
    rows: &dyn Partitions,
    look: &Look,
    wanted: usize,
    seed: u64,
) -> Result<Rows, PassError> {
    let n = look.moments.rows();
    // So many more that the number that is drawn by chance is hardly ever too small.
    let aim = wanted as f64 + 6.0 * (wanted as f64).sqrt() + 20.0;
    let mut share = aim / n as f64;
    loop {
        let share_now = if share >= 1.0 { 2.0 } else { share };
        let Drawn { count, rows: mut found, .. } =
            drawn(rows, &Pass::plain(Work::Sample { seed, share: share_now }))?;
        look.check(count)?;
        if found.len() >= wanted || share_now > 1.0 {
            found.keys.iter_mut().for_each(|key| *key = -*key);
            found.keep_largest(wanted);
            let mut order: Vec<usize> = (0..found.len()).collect();
            order.sort_by_key(|&i| look.number(found.at[i]));
            return Ok(found.pick(&order));
        }
        share *= 4.0;
    }
}

/// What a pass that draws came to.
pub(super) fn drawn(rows: &dyn Partitions, pass: &Pass) -> Result<Drawn, PassError> {
    match Partial::merged(rows.run(pass)?)? {
        Partial::Drawn(drawn) => Ok(drawn),
        _ => Err(PassError::OtherVersion),
    }
}
