//! A flipped bit is found: CRC-32 of every array, kept in the header, and of the header itself.
//!
//! The header's own checksum stands inside it as eight hexadecimal digits; it is taken with zeros in
//! their place, over everything before the first array.

use crc32fast::hash;

/// The first version of the format that has checksums.
pub(super) const SINCE: u32 = 3;

/// What stands for the header's checksum while it is taken.
pub(super) const ZEROS: &str = "00000000";

/// How the checksum looks inside the header, a string of JSON in JSON.
const MARK: &[u8] = br#"\"crc32\":\""#;

/// Where the digits are.
fn place(header: &[u8]) -> Option<std::ops::Range<usize>> {
    let start = header.windows(MARK.len()).position(|w| w == MARK)? + MARK.len();
    let digits = start..start + ZEROS.len();
    header.get(digits.clone())?;
    Some(digits)
}

/// Writes the checksum of a header, in which zeros stand for it, into it.
pub(super) fn seal_header(header: &mut [u8]) {
    if let Some(digits) = place(header) {
        let text = format!("{:08x}", hash(header));
        header[digits].copy_from_slice(text.as_bytes());
    }
}

/// Whether a header has a checksum.
pub(super) fn is_sealed(header: &[u8]) -> bool {
    place(header).is_some()
}

/// Checks a header against the checksum in it.
pub(super) fn check_header(header: &[u8]) -> Result<(), String> {
    let digits = place(header).ok_or("it is damaged: its header has no checksum")?;
    let found = header[digits.clone()].to_vec();
    let mut zeroed = header.to_vec();
    zeroed[digits].copy_from_slice(ZEROS.as_bytes());
    match format!("{:08x}", hash(&zeroed)).into_bytes() == found {
        true => Ok(()),
        false => Err("it is damaged: its header does not match its checksum".to_string()),
    }
}

/// Checks the bytes of an array.
pub(super) fn check_array(name: &str, bytes: &[u8], expected: Option<u32>) -> Result<(), String> {
    match expected {
        Some(expected) if expected == hash(bytes) => Ok(()),
        Some(_) => Err(format!("it is damaged: `{name}` does not match its checksum")),
        None => Err(format!("it is damaged: `{name}` has no checksum")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_header_is_accepted_and_every_flipped_bit_of_it_is_found() {
        let mut header =
            br#"{"__metadata__":{"bridged":"{\"version\":3,\"crc32\":\"00000000\",\"k\":7}"}}  "#
                .to_vec();
        seal_header(&mut header);
        check_header(&header).expect("as it was sealed");
        for at in 0..header.len() {
            for bit in 0..8 {
                let mut damaged = header.clone();
                damaged[at] ^= 1 << bit;
                assert!(check_header(&damaged).is_err(), "byte {at}, bit {bit}");
            }
        }
    }
}
