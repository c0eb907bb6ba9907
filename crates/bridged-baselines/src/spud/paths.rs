//! Shortest paths along a pool, and their (min, +) algebra.
//!
//! Rows are joined to their nearest neighbours by edges as long as they are apart. Parts of the graph
//! that hang together nowhere are joined, each to the row nearest to it, until all is one part
//! (Borůvka's rounds), so that every path has a length. Paths from one row cost O(n k log n)
//! (Dijkstra).

use crate::manifold::Pool;
use bridged::MatrixRef;
use bridged_math::cancel::carry;
use bridged_math::chunks::{map_blocks_mut, par_map};
use bridged_math::graph::Graph;
use bridged_math::neighbors::Neighbors;
use bridged_math::simd::vectorize_wide;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The graph of a pool in one part; its weights are lengths.
pub(super) fn lengths(pool: &Pool, rows: MatrixRef<'_>) -> Graph {
    let nearest = pool.neighbors();
    let mut edges = vec![Vec::new(); rows.rows()];
    for i in 0..rows.rows() {
        for (&j, &squared) in nearest.rows_of(i).iter().zip(nearest.squared_of(i)) {
            join(&mut edges, i, j as usize, squared.sqrt());
        }
    }
    loop {
        let (part_of, parts) = parts(&edges);
        if parts <= 1 {
            break;
        }
        for (i, j, length) in shortest_ways_out(rows, &part_of, parts) {
            join(&mut edges, i, j, length);
        }
    }
    for row in &mut edges {
        // Edges that both ends named are there twice.
        row.sort_unstable_by_key(|e: &(u32, f64)| e.0);
        row.dedup_by_key(|e| e.0);
    }
    Graph::from_lists(edges)
}

fn join(edges: &mut [Vec<(u32, f64)>], i: usize, j: usize, length: f64) {
    edges[i].push((j as u32, length));
    edges[j].push((i as u32, length));
}

/// The part of each node, and how many there are.
fn parts(edges: &[Vec<(u32, f64)>]) -> (Vec<usize>, usize) {
    let mut part_of = vec![usize::MAX; edges.len()];
    let mut count = 0;
    for start in 0..edges.len() {
        if part_of[start] != usize::MAX {
            continue;
        }
        part_of[start] = count;
        let mut open = vec![start];
        while let Some(i) = open.pop() {
            for &(j, _) in &edges[i] {
                if part_of[j as usize] == usize::MAX {
                    part_of[j as usize] = count;
                    open.push(j as usize);
                }
            }
        }
        count += 1;
    }
    (part_of, count)
}

/// Parts of at most this many rows look among so many neighbours for one outside; for larger ones the
/// rows outside are copied.
const SMALL: usize = 64;

/// The shortest edge out of each part but the largest.
fn shortest_ways_out(
    rows: MatrixRef<'_>,
    part_of: &[usize],
    parts: usize,
) -> Vec<(usize, usize, f64)> {
    let mut members = vec![Vec::new(); parts];
    part_of.iter().enumerate().for_each(|(i, &part)| members[part].push(i));
    let largest = (0..parts).max_by_key(|&p| (members[p].len(), Reverse(p)));
    let all = Neighbors::new(rows);
    let mut ways = Vec::with_capacity(parts);
    for part in (0..parts).filter(|&p| Some(p) != largest) {
        let inside = &members[part];
        let own = rows.select(inside.iter().copied());
        let mut best = (f64::INFINITY, 0, 0);
        let mut offer = |squared: f64, i: usize, j: usize| {
            if squared < best.0 {
                best = (squared, i, j);
            }
        };
        if inside.len() <= SMALL {
            let near = all.nearest(own.view(), inside.len() + 1);
            for (at, &i) in inside.iter().enumerate() {
                let outside = (near.rows_of(at).iter().zip(near.squared_of(at)))
                    .find(|&(&j, _)| part_of[j as usize] != part);
                if let Some((&j, &squared)) = outside {
                    offer(squared, i, j as usize);
                }
            }
        } else {
            let outside: Vec<usize> = (0..rows.rows()).filter(|&j| part_of[j] != part).collect();
            let others = rows.select(outside.iter().copied());
            let near = Neighbors::new(others.view()).nearest(own.view(), 1);
            for (at, &i) in inside.iter().enumerate() {
                offer(near.squared[at], i, outside[near.rows[at] as usize]);
            }
        }
        let (squared, i, j) = best;
        ways.push((i, j, squared.sqrt()));
    }
    ways
}

/// The lengths of the shortest paths from each source, (sources, n).
pub(super) fn from_each(graph: &Graph, sources: &[usize]) -> Vec<f64> {
    par_map(sources.len(), |s| from(graph, sources[s])).concat()
}

fn from(graph: &Graph, source: usize) -> Vec<f64> {
    let mut length = vec![f64::INFINITY; graph.len()];
    length[source] = 0.0;
    // The bits of numbers that are not negative are ordered as the numbers are.
    let mut open = BinaryHeap::from([Reverse((0f64.to_bits(), source as u32))]);
    while let Some(Reverse((bits, i))) = open.pop() {
        let (so_far, i) = (f64::from_bits(bits), i as usize);
        if so_far > length[i] {
            continue;
        }
        for (j, edge) in graph.edges_of(i) {
            let longer = so_far + edge;
            if longer < length[j] {
                length[j] = longer;
                open.push(Reverse((longer.to_bits(), j as u32)));
            }
        }
    }
    length
}

/// Replaces a symmetric table of lengths (n, n) by those of the shortest paths (Floyd 1962): O(n³).
pub(super) fn close(table: &mut [f64], n: usize) {
    for via in 0..n {
        let through = table[via * n..(via + 1) * n].to_vec();
        map_blocks_mut(table, n, |_, part| {
            for row in part.chunks_exact_mut(n) {
                let first = row[via];
                lower(row, first, &through);
            }
        });
    }
}

/// min_s a_s + b_sj for each row a, (rows, m), with a table a (rows, inner) and rows b_s of length m.
pub(super) fn min_plus<'b>(
    a: &[f64],
    (inner, m): (usize, usize),
    b: impl Fn(usize) -> &'b [f64] + Send + Sync,
) -> Vec<f64> {
    let mut out = vec![f64::INFINITY; a.len() / inner * m];
    let row = |(out, a): (&mut [f64], &[f64])| {
        a.iter().enumerate().for_each(|(s, &first)| lower(out, first, b(s)));
    };
    out.par_chunks_mut(m).zip(a.par_chunks(inner)).for_each(carry(row));
    out
}

/// out_j = min(out_j, first + then_j).
fn lower(out: &mut [f64], first: f64, then: &[f64]) {
    vectorize_wide(
        #[inline(always)]
        || {
            for (o, t) in out.iter_mut().zip(then) {
                let way = first + t;
                *o = if way < *o { way } else { *o };
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{Matrix, Seed};
    use rand::RngExt;

    #[test]
    fn every_row_is_reached_and_parts_are_joined_where_they_are_nearest() {
        // Three clumps on a line, farther apart than their neighbours reach, one of them large.
        let at = |i: usize| match i {
            0..5 => i as f32 * 0.1,
            5..10 => 10.0 + (i - 5) as f32 * 0.1,
            _ => 25.0 + (i - 10) as f32 * 0.01,
        };
        let x = Matrix::from_fn(110, 1, |i, _| at(i));
        let graph = lengths(&Pool::new(x.view(), 2), x.view());
        let found = from_each(&graph, &[0]);
        for (i, length) in found.iter().enumerate() {
            assert!((length - f64::from(at(i))).abs() < 1e-4, "{i}: {length}");
        }
    }

    #[test]
    fn equal_rows_are_at_no_distance() {
        let x = Matrix::from_fn(40, 2, |i, _| if i < 39 { 1.0 } else { 2.0 });
        let graph = lengths(&Pool::new(x.view(), 3), x.view());
        let found = from_each(&graph, &[5]);
        assert!(found[..39].iter().all(|&v| v == 0.0), "{found:?}");
        assert!((found[39] - 2f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn paths_agree_with_the_closure_of_the_edges() {
        let mut rng = Seed(8).rng();
        let x = Matrix::from_fn(50, 3, |_, _| rng.random());
        let graph = lengths(&Pool::new(x.view(), 4), x.view());
        let mut table = vec![f64::INFINITY; 2500];
        for i in 0..50 {
            table[i * 50 + i] = 0.0;
            graph.edges_of(i).for_each(|(j, length)| table[i * 50 + j] = length);
        }
        close(&mut table, 50);
        let found = from_each(&graph, &(0..50).collect::<Vec<_>>());
        assert!(found.iter().zip(&table).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
