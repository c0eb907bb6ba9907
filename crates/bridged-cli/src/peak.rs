//! How much memory work in passes will take, said before it begins, and refused if that is more than may be taken.

use crate::progress::Talk;
use anyhow::Result;
use bridged::SideSpec;
use bridged::cluster::Clusterer;
use bridged::scale::Scale;
use bridged::settings::Members;
use bridged_io::StoredRows;
use bridged_math::memory::{self, TooLarge};
use bridged_math::words::plural;
use bridged_math::{Rows, memory::shown};

/// Rows that are measured after a clustering, at most.
const MEASURED: usize = 100_000;
/// What a model of several members takes beside its sides: cuts of 10,000 rows, walks and regressions on pairs. Measured
/// with 64 columns and 100 pairs: 0.6 GB, whatever the number of rows.
const MEMBERS: u64 = 600_000_000;

/// A pool that is clustered in passes.
pub struct Pool<'a> {
    pub name: &'static str,
    pub rows: &'a StoredRows,
    pub side: &'a SideSpec,
}

/// What is done with the clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The labels are written.
    Labels,
    /// The clusters are measured and bridged, by the table alone or by several members.
    Bridge(Members),
}

/// About how many bytes the process holds at its peak; an error, with the figure, if that is more than may be taken.
pub fn predict(pools: &[Pool<'_>], then: Then) -> Result<u64> {
    memory::give_back();
    let reading = bridged_io::memory_of_a_pass();
    // What stays in memory from pool to pool, beside what is there now.
    let (mut held, mut most) = (reading, reading);
    let free = memory::free().unwrap_or(u64::MAX);
    for pool in pools {
        let (rows, cols) = (pool.rows.rows(), pool.rows.cols());
        let seen = match pool.side.scale {
            Scale::Pca { components } => components,
            _ => cols,
        };
        let labels = 4 * rows as u64;
        let left = free.saturating_sub(held);
        let sample = pool.side.sample.filter(|&sample| sample < rows);
        let (least, wanted) = match sample {
            Some(sample) => {
                let bytes = 4 * (sample * seen) as u64 + pool.side.cluster.memory(sample, seen);
                (bytes.max(labels), bytes.max(labels))
            }
            None => {
                let Some(least) = pool.side.cluster.memory_of_passes(rows, seen) else { continue };
                let wanted = pool.side.cluster.memory_wanted(rows, seen, left);
                (least, wanted.unwrap_or(least))
            }
        };
        let measured = match then {
            Then::Labels => 0,
            Then::Bridge(_) => labels + (rows.min(MEASURED) * (4 * cols + 24)) as u64,
        };
        let needs = held.saturating_add(least.max(measured));
        if needs > free {
            let what = format!("clustering {} of {} in passes", plural(rows, "row"), pool.name);
            return Err(TooLarge { what, needs, free, limit: memory::limit() }.into());
        }
        most = most.max(held + wanted.max(measured));
        held += labels;
    }
    if then == Then::Bridge(Members::Ladder) {
        most = most.max(held + MEMBERS);
    }
    Ok(memory::resident() + most)
}

/// Says how much it will be.
pub fn note(bytes: u64, pool: &StoredRows, talk: &Talk) -> Vec<String> {
    let of = memory::limit().map_or(String::new(), |limit| format!(" of {}", shown(limit)));
    let note = format!("this will take about {}{of} of memory at its peak", shown(bytes));
    talk.notes(pool.source().name(), &[note])
}
