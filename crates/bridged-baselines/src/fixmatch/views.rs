//! Weak and strong views of rows, and what teacher and student make of the weak ones.

use super::FixMatch;
use crate::nn::{Mask, Mlp, Noise, Sharing, Tape};
use bridged::Rng;

/// Perturbs rows of standard scores.
pub(super) struct Perturb<'a> {
    pub(super) spec: &'a FixMatch,
    pub(super) noise: Noise,
    pub(super) cols: usize,
}

impl Perturb<'_> {
    /// Adds a little noise.
    pub(super) fn weakly(&self, rows: &mut [f32], rng: &mut Rng) {
        self.noise.add(self.spec.weak_noise as f32, self.cols, rows, rng);
    }

    /// Adds more, and drops entries to 0, the mean of their column; the others grow by 1/(1 − share),
    /// so that a strong view is right on average. Without that a student that undoes the shrinking
    /// teaches its teacher to exaggerate, and both grow without end.
    pub(super) fn strongly(&self, rows: &mut [f32], rng: &mut Rng) {
        self.noise.add(self.spec.strong_noise as f32, self.cols, rows, rng);
        let mut mask = Mask::default();
        mask.draw(
            self.spec.strong_mask,
            Sharing::EachRow,
            (rows.len() / self.cols, self.cols),
            rng,
        );
        mask.apply(self.cols, rows);
    }
}

/// The views of one batch and the teacher's word on them; memory is kept from step to step.
#[derive(Default)]
pub(super) struct Views {
    weak: Vec<f32>,
    /// The strong view, (batch, inputs).
    pub(super) strong: Vec<f32>,
    /// The mean of the teacher's outputs over the weak views, (batch, outputs).
    pub(super) target: Vec<f32>,
    /// 1 for rows on which the teacher agrees with itself and the student with it, else 0.
    pub(super) weights: Vec<f32>,
    variance: Vec<f32>,
    teacher: Tape,
    student: Tape,
}

impl Views {
    /// Draws the weak views and the strong one of these rows.
    pub(super) fn make(&mut self, rows: &[f32], perturb: &Perturb<'_>, rng: &mut Rng) {
        self.weak.clear();
        (0..perturb.spec.views).for_each(|_| self.weak.extend_from_slice(rows));
        perturb.weakly(&mut self.weak, rng);
        self.strong.clear();
        self.strong.extend_from_slice(rows);
        perturb.strongly(&mut self.strong, rng);
    }

    /// Asks the teacher about all weak views and the student about the first; returns the share of
    /// rows that are sure.
    pub(super) fn ask(
        &mut self,
        network: &Mlp,
        (teacher, student): (&[f32], &[f32]),
        spec: &FixMatch,
    ) -> f64 {
        let width = network.outputs();
        let first = self.weak.len() / spec.views;
        let rows = first / network.inputs();
        network.forward(teacher, &self.weak, &mut self.teacher);
        network.forward(student, &self.weak[..first], &mut self.student);
        moments(self.teacher.output(), rows * width, &mut self.target, &mut self.variance);
        let limit = spec.conf_threshold.powi(2) as f32 * width as f32;
        let outputs = self.student.output().chunks_exact(width);
        let outputs = outputs.zip(self.target.chunks_exact(width));
        self.weights.clear();
        self.weights.extend(self.variance.chunks_exact(width).zip(outputs).map(|(row, (a, b))| {
            let spread: f32 = row.iter().sum();
            let apart: f32 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
            if spread.max(apart) <= limit { 1.0 } else { 0.0 }
        }));
        f64::from(self.weights.iter().sum::<f32>()) / rows as f64
    }
}

/// Mean and variance of stacked blocks of `len` numbers, entry by entry.
fn moments(stacked: &[f32], len: usize, mean: &mut Vec<f32>, variance: &mut Vec<f32>) {
    let share = len as f32 / stacked.len() as f32;
    for sums in [&mut *mean, &mut *variance] {
        sums.clear();
        sums.resize(len, 0.0);
    }
    for view in stacked.chunks_exact(len) {
        mean.iter_mut().zip(view).for_each(|(m, v)| *m += share * v);
    }
    for view in stacked.chunks_exact(len) {
        let off = variance.iter_mut().zip(view.iter().zip(&*mean));
        off.for_each(|(s, (v, m))| *s += share * (v - m) * (v - m));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Seed;

    #[test]
    fn a_strong_view_is_farther_off_and_has_masked_entries() {
        let spec = FixMatch::default();
        let perturb = Perturb { spec: &spec, noise: Noise::new(50, Seed(1)), cols: 50 };
        let rows = vec![3.0f32; 50 * 200];
        let mut views = Views::default();
        views.make(&rows, &perturb, &mut Seed(2).rng());
        assert_eq!(views.weak.len(), spec.views * rows.len());
        let mean =
            |view: &[f32]| view.iter().map(|&v| f64::from(v)).sum::<f64>() / view.len() as f64;
        assert!((mean(&views.weak) - 3.0).abs() < 0.02 && (mean(&views.strong) - 3.0).abs() < 0.05);
        let kept = |view: &[f32]| -> Vec<f64> {
            view.iter().filter(|v| **v != 0.0).map(|v| f64::from(*v)).collect()
        };
        let deviation = |values: Vec<f64>| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
        };
        assert!((deviation(kept(&views.weak)) - spec.weak_noise).abs() < 0.01);
        let strong = deviation(kept(&views.strong)) * (1.0 - spec.strong_mask);
        assert!((strong - spec.strong_noise).abs() < 0.02, "{strong}");
        let masked = views.strong.iter().filter(|v| **v == 0.0).count() as f64 / 10_000.0;
        assert!((masked - spec.strong_mask).abs() < 0.02, "{masked}");
        assert!(!views.weak.contains(&0.0));
    }

    #[test]
    fn rows_are_sure_where_views_agree_and_the_student_with_them() {
        // The identity as the teacher: outputs are the views themselves.
        let network = Mlp::new(&[2, 2]);
        let teacher = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let spec = FixMatch { conf_threshold: 0.1, ..FixMatch::default() };
        let weak = vec![1.0, 2.0, 5.0, 5.0, 1.1, 2.1, 5.5, 5.0];
        let mut views = Views { weak, ..Views::default() };
        assert_eq!(views.ask(&network, (&teacher, &teacher), &spec), 0.5);
        assert_eq!(views.weights, [1.0, 0.0]); // spreads 0.05 and 0.25/√2
        let expected = [1.05, 2.05, 5.25, 5.0];
        assert!(views.target.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6));
        let elsewhere = [1.0, 0.0, 0.0, 1.0, 0.3, 0.0];
        assert_eq!(views.ask(&network, (&teacher, &elsewhere), &spec), 0.0);
    }
}
