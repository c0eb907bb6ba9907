//! The letters of a sequence: A, C, G, T, and N for any of the codes of IUPAC that stand for several.

use crate::ItemError;

/// What becomes of the gaps (`-` and `.`) that an alignment puts into sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// They are left out: what is on both sides of them is joined.
    Out,
    /// They are N.
    Unknown,
}

/// Upper case letters; U is T, white space is left out.
pub fn letters(sequence: &str, gaps: Gaps) -> Result<Vec<u8>, ItemError> {
    let mut letters = Vec::with_capacity(sequence.len());
    for (at, c) in sequence.chars().enumerate() {
        match c.to_ascii_uppercase() {
            c @ ('A' | 'C' | 'G' | 'T' | 'N') => letters.push(c as u8),
            'U' => letters.push(b'T'),
            'R' | 'Y' | 'S' | 'W' | 'K' | 'M' | 'B' | 'D' | 'H' | 'V' => letters.push(b'N'),
            '-' | '.' if gaps == Gaps::Unknown => letters.push(b'N'),
            '-' | '.' => {}
            c if c.is_whitespace() => {}
            _ => {
                let what =
                    "is not a letter of DNA (A, C, G, T, U, a code of IUPAC, or a gap - or .)";
                return Err(ItemError(format!("`{c}` at place {} {what}", at + 1)));
            }
        }
    }
    if letters.is_empty() {
        return Err(ItemError("the sequence is empty".into()));
    }
    Ok(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_codes_and_cases_become_five_letters() {
        assert_eq!(letters("acgU nRy-T.", Gaps::Out).unwrap(), b"ACGTNNNT");
        assert_eq!(letters("acgU nRy-T.", Gaps::Unknown).unwrap(), b"ACGTNNNNTN");
        assert_eq!(letters(" - ", Gaps::Out).unwrap_err().0, "the sequence is empty");
        assert!(letters("ACxG", Gaps::Out).unwrap_err().0.starts_with("`x` at place 3 is not"));
        assert!(letters("ACéG", Gaps::Out).unwrap_err().0.starts_with("`é` at place 3 is not"));
    }
}
