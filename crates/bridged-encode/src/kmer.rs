//! A sequence as the shares of its words of k letters.
//!
//! ```text
//! v(w) = count(w) / Σ count,   w in {A, C, G, T}^k in the order of the alphabet
//! ```
//!
//! Words overlap. A word with an ambiguous letter is skipped; gaps are left out before words are read. With
//! [`Strand::Either`] a word and its reverse complement are one, (4^k + 4^{k/2} [k even]) / 2 columns, so that a barcode that was
//! read from the other strand is the same row. O(letters) per sequence.

use crate::dna::{Gaps, letters};
use crate::entry::{Construct, EncoderOption, Entry, OptionValue, Reads};
use crate::{EncodeError, Encoder, ItemError};
use serde::Deserialize;

/// In the list of encoders.
pub const ENTRY: Entry = Entry {
    name: "kmer",
    about: "shares of the words of k letters; needs no weights",
    options: &[
        EncoderOption {
            name: "k",
            about: "Letters of a word, 1 to 8",
            default: "5",
            value: OptionValue::Count(0),
        },
        EncoderOption {
            name: "both-strands",
            about: "Count a word and its reverse complement as one",
            default: "",
            value: OptionValue::Flag,
        },
    ],
    reads: Reads::Dna(Construct::Plain(|settings| {
        let Parameters { k, both_strands } = settings.parse()?;
        let strand = if both_strands { Strand::Either } else { Strand::Given };
        Ok(Box::new(Kmers::new(k, strand)?))
    })),
};

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Parameters {
    k: usize,
    both_strands: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { k: 5, both_strands: false }
    }
}

/// Whether a sequence and its reverse complement are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strand {
    /// Words count as they are written.
    #[default]
    Given,
    /// A word and its reverse complement are one.
    Either,
}

/// The encoder of k-mers.
#[derive(Clone, Debug)]
pub struct Kmers {
    k: usize,
    /// The column of each word by its number in base 4.
    columns: Vec<u32>,
    dim: usize,
}

impl Kmers {
    /// Words of `k` letters, 1 to 8.
    ///
    /// ```
    /// use bridged_encode::{Encoder, kmer::{Kmers, Strand}};
    /// let kmers = Kmers::new(2, Strand::Given)?;
    /// let rows = kmers.encode(&["AACA", "acgn"]);
    /// let row = rows[0].as_ref().unwrap();
    /// assert_eq!((row[0], row[1], row[4]), (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)); // AA, AC, CA
    /// # Ok::<(), bridged_encode::EncodeError>(())
    /// ```
    pub fn new(k: usize, strand: Strand) -> Result<Self, EncodeError> {
        if !(1..=8).contains(&k) {
            let need = "between 1 and 8".to_string();
            return Err(EncodeError::BadOption { name: "k", need, got: k.to_string() });
        }
        let words = 4usize.pow(k as u32);
        let mut columns = vec![0; words];
        let mut dim = 0;
        for word in 0..words {
            let turned = reverse_complement(word, k);
            if strand == Strand::Either && turned < word {
                columns[word] = columns[turned];
            } else {
                columns[word] = dim as u32;
                dim += 1;
            }
        }
        Ok(Self { k, columns, dim })
    }

    fn row(&self, sequence: &str) -> Result<Vec<f32>, ItemError> {
        let letters = letters(sequence, Gaps::Out)?;
        // Whole numbers: in f32 a count stops growing at 2^24, and longer sequences are read.
        let mut counts = vec![0u64; self.dim];
        let (mut number, mut known, mut total) = (0, 0, 0u64);
        for letter in letters {
            match digit(letter) {
                Some(digit) => {
                    number = (4 * number + digit) % self.columns.len();
                    known += 1;
                }
                None => known = 0,
            }
            if known >= self.k {
                counts[self.columns[number] as usize] += 1;
                total += 1;
            }
        }
        if total == 0 {
            let k = self.k;
            return Err(ItemError(format!(
                "the sequence has no word of {k} letters in A, C, G and T"
            )));
        }
        Ok(counts.into_iter().map(|count| (count as f64 / total as f64) as f32).collect())
    }
}

impl Encoder<str> for Kmers {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn encode(&self, items: &[&str]) -> Vec<Result<Vec<f32>, ItemError>> {
        items.iter().map(|sequence| self.row(sequence)).collect()
    }
}

/// A, C, G, T as 0 to 3.
pub(crate) fn digit(letter: u8) -> Option<usize> {
    b"ACGT".iter().position(|l| *l == letter)
}

/// The number of a word's reverse complement.
fn reverse_complement(word: usize, k: usize) -> usize {
    (0..k).fold(0, |turned, at| 4 * turned + (3 - (word >> (2 * at)) % 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(k: usize, strand: Strand, sequence: &str) -> Result<Vec<f32>, String> {
        Kmers::new(k, strand).unwrap().row(sequence).map_err(|e| e.0)
    }

    #[test]
    fn shares_are_those_of_counting_by_hand() {
        let got = row(2, Strand::Given, "AACA").unwrap();
        assert_eq!((got[0], got[1], got[4]), (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0));
        let got = row(2, Strand::Given, "aNac").unwrap();
        assert_eq!((got[1], got.iter().sum::<f32>()), (1.0, 1.0));
    }

    #[test]
    fn long_sequences_are_counted_to_their_end() {
        // More words than a f32 can count one by one: 2^24 of A, then half as many of C.
        let sequence = ["A".repeat(1 << 24), "C".repeat(1 << 23)].concat();
        let got = row(1, Strand::Given, &sequence).unwrap();
        assert_eq!(got, [2.0 / 3.0, 1.0 / 3.0, 0.0, 0.0]);
    }

    #[test]
    fn gaps_join_and_ambiguous_letters_part() {
        assert_eq!(row(3, Strand::Given, "A-C.G"), row(3, Strand::Given, "ACG"));
        assert_eq!(row(3, Strand::Given, "ACGRTTT"), row(3, Strand::Given, "ACGNTTT"));
        assert!(row(3, Strand::Given, "ACRGT").unwrap_err().contains("no word of 3 letters"));
        assert!(row(3, Strand::Given, "AC").unwrap_err().contains("no word of 3 letters"));
        assert!(row(3, Strand::Given, "").unwrap_err().contains("empty"));
    }

    #[test]
    fn either_strand_gives_the_same_row() {
        let forward = "ACGTTGCAAGGCTTNACGATCA";
        let complement = |c: char| match c {
            'A' => 'T',
            'C' => 'G',
            'G' => 'C',
            'T' => 'A',
            other => other,
        };
        let backward: String = forward.chars().rev().map(complement).collect();
        for (k, columns) in [(1, 2), (2, 10), (3, 32), (4, 136), (5, 512)] {
            let rows = [forward, &backward].map(|s| row(k, Strand::Either, s).unwrap());
            assert_eq!(rows[0], rows[1], "{k}");
            assert_eq!(rows[0].len(), columns, "{k}");
        }
        assert_ne!(row(3, Strand::Given, forward), row(3, Strand::Given, &backward));
        assert_eq!(
            Kmers::new(9, Strand::Given).unwrap_err().to_string(),
            "`k` must be between 1 and 8, got 9"
        );
    }
}
