//! Differences to numbers that lie in chosen rows of a table.

use super::{Level, level};

/// out_g = values_g − table(rows_g, g) for a row-major `table` of as many columns as there are
/// values. A difference rounds alike everywhere: the same bytes at every level.
///
/// # Panics
/// If the lengths differ, the table is not made of whole rows, or it has no such row.
pub fn subtract_from_rows(values: &[f32], table: &[f32], rows: &[u8], out: &mut [f32]) {
    subtract_at(level(), values, table, rows, out);
}

fn subtract_at(level: Level, values: &[f32], table: &[f32], rows: &[u8], out: &mut [f32]) {
    let width = values.len();
    assert!(rows.len() == width && out.len() == width, "one row and one result for each value");
    let last = rows.iter().fold(0, |most, &row| if row > most { row } else { most });
    assert!(
        width == 0 || (table.len() / width > usize::from(last) && table.len() < i32::MAX as usize),
        "the table has the rows that are chosen"
    );
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if level >= Level::Avx2 {
        // SAFETY: the processor has AVX2, and the lengths were just checked.
        done = unsafe { subtract_avx2(values, table, rows, out) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    for g in done..width {
        out[g] = values[g] - table[usize::from(rows[g]) * width + g];
    }
}

/// As many as whole vectors hold; returns how many.
///
/// # Safety
/// `values`, `rows` and `out` are equally long, and `table` has all of the rows, in fewer than 2³¹
/// numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn subtract_avx2(values: &[f32], table: &[f32], rows: &[u8], out: &mut [f32]) -> usize {
    use std::arch::x86_64::*;
    let whole = values.len() / 8 * 8;
    let width = _mm256_set1_epi32(values.len() as i32);
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for g in (0..whole).step_by(8) {
        // SAFETY: eight more values, rows and results are there; row · width + column is a
        // position of the table.
        unsafe {
            let rows = _mm256_cvtepu8_epi32(_mm_loadl_epi64(rows.as_ptr().add(g).cast()));
            let positions = _mm256_add_epi32(_mm256_mullo_epi32(rows, width), lanes);
            let chosen = _mm256_i32gather_ps::<4>(table.as_ptr().add(g), positions);
            let values = _mm256_loadu_ps(values.as_ptr().add(g));
            _mm256_storeu_ps(out.as_mut_ptr().add(g), _mm256_sub_ps(values, chosen));
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_takes_the_numbers_of_the_chosen_rows() {
        for width in [0, 1, 7, 8, 13, 40] {
            let table: Vec<f32> = (0..5 * width).map(|i| i as f32 * 0.37).collect();
            let values: Vec<f32> = (0..width).map(|g| g as f32).collect();
            let rows: Vec<u8> = (0..width).map(|g| (g * 3 % 5) as u8).collect();
            for level in Level::available() {
                let mut out = vec![f32::NAN; width];
                subtract_at(level, &values, &table, &rows, &mut out);
                for g in 0..width {
                    let chosen = table[usize::from(rows[g]) * width + g];
                    assert_eq!(out[g], values[g] - chosen, "{level}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "the table has the rows that are chosen")]
    fn a_row_that_the_table_does_not_have_is_refused() {
        subtract_from_rows(&[1.0; 8], &[0.0; 16], &[0, 0, 0, 0, 0, 0, 0, 2], &mut [0.0; 8]);
    }
}
