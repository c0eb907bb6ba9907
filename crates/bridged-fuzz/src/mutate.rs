//! Changes of bytes by a seed: what libFuzzer does, without its knowledge of what was reached.
//!
//! The generator is splitmix64 (Steele et al. 2014), so that a run is the same on every machine.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next_u64() % end as u64) as usize
    }
}

/// Whole numbers that are at the edge of something.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// The longest input that a mutation makes.
const LONGEST: usize = 1 << 16;

/// One to eight changes of `bytes`; `other` is another input to take parts of, `words` are those of the format.
pub fn mutate(bytes: &[u8], other: &[u8], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(8) {
        change(&mut bytes, other, words, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let part = |of: &[u8], random: &mut Random| {
        let from = random.below(of.len() + 1);
        let len = random.below(64.min(of.len() - from) + 1);
        of[from..from + len].to_vec()
    };
    match random.below(11) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.next_u64() as u8,
        2 => bytes.insert(at, random.next_u64() as u8),
        3 => {
            let end = (at + 1 + random.below(16)).min(bytes.len());
            bytes.drain(at..end);
        }
        4 => {
            let copied = part(bytes, random);
            bytes.splice(at..at, copied);
        }
        5 => {
            let taken = part(other, random);
            bytes.splice(at..at, taken);
        }
        6 => {
            // A number of one to eight bytes, in either order.
            let size = 1 << random.below(4);
            let value = EDGES[random.below(EDGES.len())]
                .wrapping_add(random.below(5) as u64)
                .wrapping_sub(2);
            let mut number = value.to_le_bytes()[..size].to_vec();
            if random.below(2) == 0 {
                number.reverse();
            }
            let end = (at + size).min(bytes.len());
            bytes.splice(at..end, number);
        }
        7 if !words.is_empty() => {
            let word = words[random.below(words.len())];
            let end = if random.below(2) == 0 { at } else { (at + word.len()).min(bytes.len()) };
            bytes.splice(at..end, word.bytes());
        }
        8 => {
            // The digits of a number that is written out.
            if let Some(from) = bytes.iter().skip(at).position(u8::is_ascii_digit).map(|p| p + at) {
                let end = bytes[from..]
                    .iter()
                    .position(|b| !b.is_ascii_digit())
                    .map_or(bytes.len(), |p| p + from);
                let number = EDGES[random.below(EDGES.len())].to_string();
                bytes.splice(from..end, number.into_bytes());
            }
        }
        9 => bytes.truncate(at),
        _ => {
            let end = (at + random.below(32)).min(bytes.len());
            bytes[at..end].fill(random.next_u64() as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_changes_again_and_others_do_not() {
        let of = |seed| {
            let mut random = Random::new(seed);
            (0..50)
                .map(|_| mutate(b"some 123 bytes", b"other", &["word"], &mut random))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let mut random = Random::new(3);
        assert!((0..2000).all(|_| mutate(b"", b"", &[], &mut random).len() <= LONGEST));
    }
}
