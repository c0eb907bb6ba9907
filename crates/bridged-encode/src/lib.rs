//! From photographs, captions and DNA to the vectors that Bridged Clustering reads.

pub mod error;
pub mod image;
pub mod layers;
pub mod weights;

pub use error::EncodeError;
pub use weights::Weights;
