//! Rows to predict, in bands of a fixed size.
//!
//! A matrix product may round differently for other shapes. Every band has the same shape, the last
//! one filled up with zeros, so that a row's prediction is the same bits whatever is asked with it.

use bridged::{Matrix, MatrixRef};
use bridged_math::cancel::carry;
use rayon::prelude::*;

/// Rows of a band.
pub const BAND: usize = 64;

/// Lets `f` write the outputs (BAND, outputs) of each band (BAND, columns of `rows`), in parallel.
pub fn in_bands(
    rows: MatrixRef<'_>,
    outputs: usize,
    f: impl Fn(&[f32], &mut [f32]) + Sync,
) -> Matrix {
    let (n, d) = (rows.rows(), rows.cols());
    let mut out = Matrix::zeros(n, outputs);
    let predict = |(band, part): (usize, &mut [f32])| {
        let taken = rows.slice(band * BAND..((band + 1) * BAND).min(n));
        let mut input = vec![0.0; BAND * d];
        input[..taken.data().len()].copy_from_slice(taken.data());
        let mut whole = vec![0.0; BAND * outputs];
        f(&input, &mut whole);
        part.copy_from_slice(&whole[..part.len()]);
    };
    let bands = out.data_mut().par_chunks_mut(BAND * outputs.max(1)).enumerate();
    bands.for_each(carry(predict));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_met_once_and_padding_is_left_out() {
        let rows = Matrix::from_fn(BAND + 3, 2, |i, j| (2 * i + j) as f32 + 1.0);
        let sums = in_bands(rows.view(), 1, |band, out| {
            out.iter_mut().zip(band.chunks(2)).for_each(|(o, r)| *o = r[0] + r[1]);
        });
        assert_eq!(sums.rows(), BAND + 3);
        assert!((0..BAND + 3).all(|i| sums.row(i)[0] == 4.0 * i as f32 + 3.0));
    }
}
