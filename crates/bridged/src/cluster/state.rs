//! Where a clustering in passes is, for the same work to go on from there when it was stopped.
//!
//! The watch keeps the bytes ([`Watch::save`]) and says when it wants them. Here they are made and understood: JSON
//! that begins with what the state is of, so that a state of other parameters, another seed or rows of another
//! shape is not taken. Whether the rows are the same is for the watch to know.
//!
//! A run that goes on ends with the bytes of a run that was not stopped. So numbers are kept to the bit: those of 64
//! bits as JSON has them, those of 32 bits by their bits, because decimals that are read as 64 bits and rounded again
//! may be off by the last one.

use bridged_math::{Rows, Seed, Watch};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The states of one clustering.
pub(super) struct States<'a> {
    watch: &'a dyn Watch,
    name: &'a str,
    of: Of,
    /// Rows in memory are clustered again before they are read again.
    kept: bool,
}

/// What a state is of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Of {
    parameters: serde_json::Value,
    seed: Seed,
    rows: usize,
    cols: usize,
}

#[derive(Serialize, Deserialize)]
struct Saved<S> {
    of: Of,
    state: S,
}

impl<'a> States<'a> {
    /// Those of a clustering of that name, by these parameters.
    pub fn of(
        name: &'a str,
        parameters: &impl Serialize,
        (rows, seed): (&dyn Rows, Seed),
        watch: &'a dyn Watch,
    ) -> Self {
        let parameters = serde_json::to_value(parameters).unwrap_or_default();
        let of = Of { parameters, seed, rows: rows.rows(), cols: rows.cols() };
        Self { watch, name, of, kept: rows.in_memory().is_none() }
    }

    /// The state that an earlier run has left.
    pub fn resume<S: DeserializeOwned>(&self) -> Option<S> {
        let bytes = self.kept.then(|| self.watch.resume(self.name)).flatten()?;
        let saved: Saved<S> = serde_json::from_slice(&bytes).ok()?;
        (saved.of == self.of).then_some(saved.state)
    }

    /// Whether a state is wanted now.
    pub fn are_wanted(&self) -> bool {
        self.kept && self.watch.wants_state()
    }

    /// Keeps a state if one is wanted now.
    pub fn save(&self, state: &impl Serialize) {
        #[derive(Serialize)]
        struct Saved<'a, S> {
            of: &'a Of,
            state: &'a S,
        }
        if self.are_wanted()
            && let Ok(bytes) = serde_json::to_vec(&Saved { of: &self.of, state })
        {
            self.watch.save(self.name, &bytes);
        }
    }
}

/// 32-bit floats by their bits, for `#[serde(with = "bits")]`.
pub(crate) mod bits {
    use bridged_math::Matrix;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// What is made of such floats.
    pub trait Floats: Sized {
        fn shape(&self) -> (usize, usize);
        fn floats(&self) -> &[f32];
        fn from_floats(rows: usize, cols: usize, floats: Vec<f32>) -> Option<Self>;
    }

    impl Floats for Vec<f32> {
        fn shape(&self) -> (usize, usize) {
            (1, self.len())
        }

        fn floats(&self) -> &[f32] {
            self
        }

        fn from_floats(_: usize, _: usize, floats: Vec<f32>) -> Option<Self> {
            Some(floats)
        }
    }

    impl Floats for Matrix {
        fn shape(&self) -> (usize, usize) {
            (self.rows(), self.cols())
        }

        fn floats(&self) -> &[f32] {
            self.data()
        }

        fn from_floats(rows: usize, cols: usize, floats: Vec<f32>) -> Option<Self> {
            Matrix::new(rows, cols, floats).ok()
        }
    }

    pub fn serialize<T: Floats, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        let (rows, cols) = value.shape();
        let bits: Vec<u32> = value.floats().iter().map(|v| v.to_bits()).collect();
        (rows, cols, bits).serialize(to)
    }

    pub fn deserialize<'de, T: Floats, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let (rows, cols, bits) = <(usize, usize, Vec<u32>)>::deserialize(from)?;
        let floats = bits.into_iter().map(f32::from_bits).collect();
        T::from_floats(rows, cols, floats).ok_or_else(|| D::Error::custom("a broken matrix"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::balanced::large::cluster_by_passes;
    use crate::cluster::testing::blobs;
    use crate::cluster::{
        BalancedKMeans, ClusterError, Clusterer, Clustering, GaussianMixture, Init, KMeans,
        MiniBatchKMeans,
    };
    use bridged_math::rows::{InParts, RowsError, Visit};
    use bridged_math::{Event, Matrix, Silent};
    use std::ops::ControlFlow;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Shelf(Mutex<Option<Vec<u8>>>);

    impl Watch for Shelf {
        fn on(&self, _: Event<'_>) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn resume(&self, _: &str) -> Option<Vec<u8>> {
            self.0.lock().unwrap().clone()
        }

        fn wants_state(&self) -> bool {
            true
        }

        fn save(&self, _: &str, state: &[u8]) {
            *self.0.lock().unwrap() = Some(state.to_vec());
        }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct State {
        #[serde(with = "bits")]
        centroids: Matrix,
        sum: f64,
    }

    #[test]
    fn a_state_comes_back_to_the_bit_and_only_to_the_work_that_it_is_of() {
        let x = Matrix::from_fn(4, 2, |i, j| (i + j) as f32 / 3.0);
        let rows = InParts::new(x.view(), 2);
        let shelf = Shelf::default();
        let states = |k: u32, seed| States::of("kmeans", &k, (&rows, Seed(seed)), &shelf);
        assert_eq!(states(3, 1).resume::<State>(), None);
        let state = State { centroids: x.clone(), sum: 0.1 + 0.2 };
        states(3, 1).save(&state);
        assert_eq!(states(3, 1).resume(), Some(state));
        assert_eq!(states(4, 1).resume::<State>(), None, "another k");
        assert_eq!(states(3, 2).resume::<State>(), None, "another seed");
        let fewer = InParts::new(x.view().slice(0..3), 2);
        let of_fewer = States::of("kmeans", &3, (&fewer, Seed(1)), &shelf);
        assert_eq!(of_fewer.resume::<State>(), None, "other rows");
        let in_memory = States::of("kmeans", &3, (&x.view(), Seed(1)), &shelf);
        assert_eq!(in_memory.resume::<State>(), None);
        *shelf.0.lock().unwrap() = Some(b"{\"of\":".to_vec());
        assert_eq!(states(3, 1).resume::<State>(), None, "cut off");
    }

    /// Rows that cannot be read any more after some passes.
    struct Breaks<'a> {
        rows: InParts<'a>,
        passes: AtomicUsize,
        good: usize,
    }

    impl Rows for Breaks<'_> {
        fn rows(&self) -> usize {
            self.rows.rows()
        }

        fn cols(&self) -> usize {
            self.rows.cols()
        }

        fn scan(&self, visit: &mut Visit<'_>) -> Result<(), RowsError> {
            let breaks = self.passes.fetch_add(1, Ordering::Relaxed) >= self.good;
            let mut parts = 0;
            self.rows.scan(&mut |first, part| {
                parts += 1;
                match breaks && parts > 2 {
                    true => Err(RowsError("part 3 is gone".into())),
                    false => visit(first, part),
                }
            })
        }
    }

    /// Stops work in every one of its passes, and compares what becomes of it when it goes on.
    fn goes_on(
        x: &Matrix,
        fit: impl Fn(&dyn Rows, &dyn Watch) -> Result<Clustering, ClusterError>,
    ) {
        let rows = |good| Breaks { rows: InParts::new(x.view(), 300), passes: 0.into(), good };
        let all = rows(usize::MAX);
        let whole = fit(&all, &Silent).unwrap();
        let passes = all.passes.into_inner();
        let mut saved = 0;
        for good in 0..passes {
            let shelf = Shelf::default();
            let error = fit(&rows(good), &shelf).unwrap_err();
            assert_eq!(error.to_string(), "part 3 is gone", "pass {good}");
            let again = rows(usize::MAX);
            assert_eq!(fit(&again, &shelf).unwrap(), whole, "stopped in pass {good} of {passes}");
            saved += usize::from(again.passes.into_inner() < passes);
        }
        assert!(saved > 0, "none of {passes} went on from a state");
    }

    #[test]
    fn work_that_was_stopped_in_any_pass_ends_as_if_it_had_not_been() {
        let x = blobs(2_000, 5, 6, 12.0).0;
        let kmeans = KMeans { k: 9, restarts: 2, max_iter: 12, ..KMeans::default() };
        goes_on(&x, |rows, watch| kmeans.fit_rows(rows, Seed(2), watch));
        // Centroids that are far away run empty, and rows are given to them.
        let start = Matrix::from_fn(6, 5, |i, _| if i < 3 { i as f32 } else { 1e4 });
        let empty = KMeans { k: 6, init: Init::Given(start), tol: 0.0, ..KMeans::default() };
        goes_on(&x, |rows, watch| empty.fit_rows(rows, Seed(2), watch));
        let batches = MiniBatchKMeans {
            k: 6,
            // 65 batches are drawn in one pass.
            batch_size: 2_000,
            steps: Some(400),
            max_no_improvement: None,
            ..MiniBatchKMeans::default()
        };
        goes_on(&x, |rows, watch| batches.fit_rows(rows, Seed(2), watch));
        let balanced = BalancedKMeans { k: 6, restarts: 2, ..BalancedKMeans::default() };
        goes_on(&x, |rows, watch| cluster_by_passes(&balanced, rows, Seed(2), watch));
        let mixture = GaussianMixture { k: 4, restarts: 2, max_iter: 6, ..Default::default() };
        goes_on(&x, |rows, watch| mixture.fit_rows(rows, Seed(2), watch));
    }
}
