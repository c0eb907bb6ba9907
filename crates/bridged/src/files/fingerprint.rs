//! Whether two files have the same content, without keeping either: XXH64 of their bytes, 16 hexadecimal digits.
//!
//! It tells files apart that were changed by accident or written again; it is no protection against somebody who wants
//! two files to look alike. About as fast as a disk reads. Collet 2014 (xxHash, the 64-bit variant, seed 0).

use bridged_math::cancel::checkpoint;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

const PRIMES: [u64; 5] = [
    0x9E37_79B1_85EB_CA87,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x27D4_EB2F_1656_67C5,
];

/// Bytes that are worked on at once.
const STRIPE: usize = 32;

/// Bytes that are read at a time: whole stripes.
const BLOCK: usize = 1 << 18;

/// The fingerprint of the content of a file.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.txt");
/// std::fs::write(&path, "abc")?;
/// assert_eq!(bridged::files::fingerprint(&path)?, "44bc2cf5ad770999");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn fingerprint(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut state = State::new();
    let mut block = vec![0u8; BLOCK];
    loop {
        checkpoint();
        let mut held = 0;
        while held < BLOCK {
            match file.read(&mut block[held..])? {
                0 => return Ok(format!("{:016x}", state.finish(&block[..held]))),
                more => held += more,
            }
        }
        state.add(&block);
    }
}

struct State {
    lanes: [u64; 4],
    bytes: u64,
}

impl State {
    fn new() -> Self {
        let lanes = [PRIMES[0].wrapping_add(PRIMES[1]), PRIMES[1], 0, 0u64.wrapping_sub(PRIMES[0])];
        Self { lanes, bytes: 0 }
    }

    /// Adds whole stripes.
    fn add(&mut self, bytes: &[u8]) {
        for stripe in bytes.chunks_exact(STRIPE) {
            for (lane, word) in self.lanes.iter_mut().zip(stripe.chunks_exact(8)) {
                *lane = round(*lane, word_of(word));
            }
        }
        self.bytes += bytes.len() as u64;
    }

    /// Adds the last bytes, and gives the hash of all.
    fn finish(mut self, last: &[u8]) -> u64 {
        let whole = last.len() / STRIPE * STRIPE;
        self.add(&last[..whole]);
        let mut rest = &last[whole..];
        let mut hash = match self.bytes {
            0 => PRIMES[4],
            _ => {
                let turned = self.lanes.iter().zip([1, 7, 12, 18]);
                let mixed =
                    turned.fold(0u64, |sum, (lane, by)| sum.wrapping_add(lane.rotate_left(by)));
                self.lanes.iter().fold(mixed, |hash, &lane| {
                    (hash ^ round(0, lane)).wrapping_mul(PRIMES[0]).wrapping_add(PRIMES[3])
                })
            }
        };
        hash = hash.wrapping_add(self.bytes + rest.len() as u64);
        while let Some((word, after)) = rest.split_at_checked(8) {
            hash ^= round(0, word_of(word));
            hash = hash.rotate_left(27).wrapping_mul(PRIMES[0]).wrapping_add(PRIMES[3]);
            rest = after;
        }
        if let Some((word, after)) = rest.split_at_checked(4) {
            hash ^= word_of(word).wrapping_mul(PRIMES[0]);
            hash = hash.rotate_left(23).wrapping_mul(PRIMES[1]).wrapping_add(PRIMES[2]);
            rest = after;
        }
        for &byte in rest {
            hash ^= u64::from(byte).wrapping_mul(PRIMES[4]);
            hash = hash.rotate_left(11).wrapping_mul(PRIMES[0]);
        }
        hash = (hash ^ (hash >> 33)).wrapping_mul(PRIMES[1]);
        hash = (hash ^ (hash >> 29)).wrapping_mul(PRIMES[2]);
        hash ^ (hash >> 32)
    }
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIMES[1])).rotate_left(31).wrapping_mul(PRIMES[0])
}

/// At most eight bytes, the lowest first.
fn word_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8]) -> u64 {
        State::new().finish(bytes)
    }

    #[test]
    fn it_is_the_hash_of_the_reference() {
        // Vectors of the reference implementation, seed 0.
        assert_eq!(hash(b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(hash(b"a"), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(hash(b"abc"), 0x44BC_2CF5_AD77_0999);
        assert_eq!(hash(b"Nobody inspects the spammish repetition"), 0xFBCE_A83C_8A37_8BF1);
    }

    #[test]
    fn a_file_of_several_blocks_is_hashed_as_one_piece() {
        let bytes: Vec<u8> = (0..BLOCK * 2 + 77).map(|i| (i * 31 % 251) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for len in [0, 31, BLOCK, BLOCK * 2 + 77] {
            std::fs::write(&path, &bytes[..len]).unwrap();
            assert_eq!(fingerprint(&path).unwrap(), format!("{:016x}", hash(&bytes[..len])));
        }
        assert!(fingerprint(&folder.path().join("none")).is_err());
    }
}
