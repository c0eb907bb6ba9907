//! Random streams by name: adding a step to an algorithm never shifts another step's draws.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

/// The generator of every draw in `bridged`: ChaCha8, the same stream on every platform.
pub type Rng = ChaCha8Rng;

/// Where random numbers come from. Children by name or number are independent of each other.
///
/// ```
/// use bridged_math::Seed;
/// let seed = Seed(7);
/// assert_eq!(seed.child("x"), Seed(7).child("x"));
/// assert_ne!(seed.child("x"), seed.child("y"));
/// assert_ne!(seed.child("x").nth(0), seed.child("x").nth(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of the step with this name.
    pub fn child(self, name: &str) -> Seed {
        // FNV-1a over the name, then a finaliser: short names differ in a few bits only.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Seed(mix(self.0.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ mix(hash)))
    }

    /// The stream of the `i`-th repetition of a step.
    pub fn nth(self, i: usize) -> Seed {
        Seed(mix(self.0 ^ mix((i as u64).wrapping_add(0x632b_e59b_d9b4_e019))))
    }

    /// Starts drawing.
    pub fn rng(self) -> Rng {
        ChaCha8Rng::seed_from_u64(self.0)
    }
}

/// The finaliser of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use std::collections::HashSet;

    #[test]
    fn children_of_many_seeds_do_not_collide() {
        let mut seen = HashSet::new();
        for s in 0..1000 {
            for name in ["x", "y", "init", "restart"] {
                assert!(seen.insert(Seed(s).child(name)));
                assert!(seen.insert(Seed(s).child(name).nth(1)));
            }
        }
    }

    #[test]
    fn the_stream_is_the_same_on_every_platform_and_release() {
        let draws: [u32; 3] = Seed(42).child("x").rng().random();
        assert_eq!(draws, DRAWS);
    }

    const DRAWS: [u32; 3] = [2_323_590_925, 2_008_081_784, 3_846_313_278];
}
