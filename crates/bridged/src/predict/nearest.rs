//! The real rows of the other pool that are nearest to a predicted value.

use crate::Error;
use crate::model::{BridgedModel, Direction};
use crate::scale::Scaler;
use crate::side::Side;
use bridged_math::distance::squared_distance;
use bridged_math::memory;
use bridged_math::neighbors::{NeighborIndex, Neighbors};
use bridged_math::words::{count, plural};
use bridged_math::{MatrixRef, Rows};
use std::sync::Arc;

/// A real row near a predicted value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// Its row in the pool.
    pub row: u32,
    /// How far it is from the value.
    pub distance: f64,
}

impl BridgedModel {
    /// For each predicted value, the `n` real rows of the other pool that are nearest to it, in the
    /// space in which that pool was clustered. A value that is NaN has none. The pool is indexed at
    /// the first call.
    pub fn nearest(
        &self,
        direction: Direction,
        values: MatrixRef<'_>,
        n: usize,
    ) -> Result<Vec<Vec<Neighbor>>, Error> {
        let to = self.to(direction);
        let index = to.index()?;
        if values.cols() != to.cols() {
            let (got, need) = (values.cols(), to.cols());
            return Err(Error::Dimension { side: direction.output(), got, need });
        }
        let answered: Vec<usize> =
            (0..values.rows()).filter(|&i| values.row(i).iter().all(|v| v.is_finite())).collect();
        let queries = values.select(answered.iter().copied());
        let queries = to.scaler.apply(queries.view());
        let (rows, n) = (answered.len(), n.min(to.len()));
        let bytes = Neighbors::memory(0, to.cols(), rows, 0) + 44.0 * (rows * n) as f64;
        let values_of = plural(rows, "value");
        memory::require(format!("the {} nearest rows of {values_of}", count(n)), bytes as u64)?;
        let found = index.neighbors().nearest(queries.view(), n);
        let mut nearest = vec![Vec::new(); values.rows()];
        for (q, i) in answered.into_iter().enumerate() {
            let neighbors = found.rows_of(q).iter().zip(found.squared_of(q));
            nearest[i] = neighbors
                .map(|(&row, squared)| Neighbor { row, distance: squared.sqrt() })
                .collect();
        }
        Ok(nearest)
    }
}

impl BridgedModel {
    /// What [`nearest`](Self::nearest) gives, among all rows of a pool of which the model holds only some: one pass
    /// over them. Rows are numbered as in the pool.
    pub fn nearest_in(
        &self,
        direction: Direction,
        pool: &dyn Rows,
        values: MatrixRef<'_>,
        n: usize,
    ) -> Result<Vec<Vec<Neighbor>>, Error> {
        let to = self.to(direction);
        for got in [values.cols(), pool.cols()] {
            if got != to.cols() {
                return Err(Error::Dimension { side: direction.output(), got, need: to.cols() });
            }
        }
        let answered: Vec<usize> =
            (0..values.rows()).filter(|&i| values.row(i).iter().all(|v| v.is_finite())).collect();
        let queries = values.select(answered.iter().copied());
        let queries = to.scaler.apply(queries.view());
        let n = n.min(pool.rows());
        let mut best: Vec<Vec<(f64, u32)>> = vec![Vec::new(); answered.len()];
        pool.scan(&mut |first, part| {
            let scaled = to.scaler.apply(part);
            let found = Neighbors::new(scaled.view()).nearest(queries.view(), n);
            for (q, best) in best.iter_mut().enumerate() {
                let rows = found.rows_of(q).iter().map(|&row| first as u32 + row);
                best.extend(found.squared_of(q).iter().copied().zip(rows));
                // By distance, then by row, as in memory.
                best.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                best.truncate(n);
            }
            Ok(())
        })?;
        let mut nearest = vec![Vec::new(); values.rows()];
        for (i, best) in answered.into_iter().zip(best) {
            let neighbor = |(squared, row): (f64, u32)| Neighbor { row, distance: squared.sqrt() };
            nearest[i] = best.into_iter().map(neighbor).collect();
        }
        Ok(nearest)
    }

    /// The `n` real rows of the other pool that belong to each row best, the best first, with their distance to
    /// the predicted value; `predicted` are the values of the rows. Several members rank by what they know of
    /// both rows, unless the pool is large; otherwise the rows are those [nearest](Self::nearest) to the value. A
    /// row whose value is NaN has none.
    pub fn retrieve(
        &self,
        direction: Direction,
        rows: MatrixRef<'_>,
        predicted: MatrixRef<'_>,
        n: usize,
    ) -> Result<Vec<Vec<Neighbor>>, Error> {
        let to = self.to(direction);
        self.check_rows(direction, rows)?;
        let n = n.min(to.len());
        if rows.rows() != predicted.rows() {
            return Err(Error::NotAligned { x: rows.rows(), y: predicted.rows() });
        }
        if n == 0 || predicted.cols() != to.cols() || !self.ranks(direction) {
            return self.nearest(direction, predicted, n);
        }
        let pool = to.rows()?;
        let bytes = 44.0 * (rows.rows() * n) as f64 + self.ranker_bytes(direction);
        let asked = plural(rows.rows(), "row");
        memory::require(format!("the {} best rows of {asked}", count(n)), bytes as u64)?;
        let ranked = self.rank(direction, self.from(direction).scaler.apply(rows).view(), n)?;
        let values = to.scaler.apply(predicted);
        let scaled = to.scaler.apply(pool.view());
        let (values, scaled) = (values.view(), scaled.view());
        let neighbors = |(i, ranked): (usize, Vec<u32>)| {
            if predicted.row(i).iter().any(|v| !v.is_finite()) {
                return Vec::new();
            }
            let neighbor = |row: u32| {
                let squared = squared_distance(values.row(i), scaled.row(row as usize));
                Neighbor { row, distance: squared.sqrt() }
            };
            ranked.into_iter().map(neighbor).collect()
        };
        Ok(ranked.into_iter().enumerate().map(neighbors).collect())
    }
}

impl Side {
    /// The rows of the pool, ready to be searched.
    fn index(&self) -> Result<&NeighborIndex, Error> {
        let kept = self.rows.as_ref().ok_or(Error::NoRowsKept)?;
        self.index.get_or_make(|| {
            let rows = kept.shared()?;
            Ok(match &self.scaler {
                Scaler::None => NeighborIndex::new(rows),
                scaler => {
                    let scaled = scaler.apply(rows.view()).into_matrix();
                    NeighborIndex::new(Arc::new(scaled))
                }
            })
        })
    }
}
