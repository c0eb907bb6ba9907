//! Small dense networks with gradients derived by hand.
//!
//! A network is a *shape* ([`Mlp`], made of [`Linear`] layers) that reads its numbers from one flat
//! slice, `params`; gradients live in a slice beside it. So an optimiser is a loop over two slices,
//! a teacher is a second vector that follows the first ([`follow`]), and two networks or two
//! heads can share one vector ([`Mlp::at`]). What a pass remembers is in a [`Tape`]; passes with
//! a tape each may run before any of them is taken back.
//!
//! ```text
//! forward:   a₀ = x;  a_l = m_l ∘ relu(a_{l−1} W_lᵀ + b_l);  the last layer is linear
//! backward:  δ_l = m_l ∘ [a_l > 0] ∘ (δ_{l+1} W_{l+1});  ∂W_l = δ_lᵀ a_{l−1};  ∂b_l = Σ δ_l
//! ```
//!
//! Training is a loop of four lines:
//!
//! ```
//! use bridged::Seed;
//! use bridged_baselines::nn::{Adam, Mlp, Tape, squared_error};
//!
//! let net = Mlp::new(&[2, 16, 1]);
//! let mut params: Vec<f32> = net.init(&mut Seed(0).rng());
//! let mut grads = vec![0.0; params.len()];
//! let mut adam = Adam::new(params.len(), 0.01);
//! let mut tape = Tape::default();
//! let (x, y) = ([0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0]);
//! let mut losses = Vec::new();
//! for _ in 0..200 {
//!     net.forward(&params, &x, &mut tape);
//!     let (output, d_output) = tape.output_and_gradient();
//!     losses.push(squared_error(output, &y, d_output));
//!     grads.fill(0.0);
//!     net.backward(&params, &x, &mut tape, &mut grads, None);
//!     adam.step(&mut params, &grads);
//! }
//! assert!(losses[199] < 0.01 * losses[0]); // exclusive or
//! ```
//!
//! Everything is generic over [`Real`], so that gradients are checked in `f64` and used in `f32`.
//! Products run over fixed bands of rows: equal input gives equal bits on any number of threads.

mod activation;
mod adam;
mod bands;
mod batches;
mod dense;
mod lion;
mod loss;
mod mlp;
mod noise;
mod record;
mod sparse;

pub use activation::{Mask, Sharing, relu, relu_backward};
pub use adam::{Adam, follow};
pub use bands::{BAND, in_bands};
pub use batches::{Epochs, distinct, gather, resample};
pub use dense::Linear;
pub use lion::Lion;
pub use loss::{squared_error, weighted_squared_error};
pub use mlp::{Mlp, Tape};
pub use noise::Noise;
pub use record::Record;
pub use sparse::Sparse;

use bridged_math::linalg::Scalar;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// The numbers of a network: `f32`, or `f64` where a gradient is checked.
pub trait Real:
    Scalar
    + Default
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
{
    /// The nearest number to `v`.
    fn of(v: f64) -> Self;
    /// The same number in `f64`.
    fn wide(self) -> f64;
    /// √.
    fn sqrt(self) -> Self;
    /// e to this power.
    fn exp(self) -> Self;
}

impl Real for f32 {
    #[inline]
    fn of(v: f64) -> Self {
        v as f32
    }
    #[inline]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    #[inline]
    fn exp(self) -> Self {
        self.exp()
    }
}

impl Real for f64 {
    #[inline]
    fn of(v: f64) -> Self {
        v
    }
    #[inline]
    fn wide(self) -> f64 {
        self
    }
    #[inline]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    #[inline]
    fn exp(self) -> Self {
        self.exp()
    }
}

#[cfg(test)]
pub(crate) mod testing;
