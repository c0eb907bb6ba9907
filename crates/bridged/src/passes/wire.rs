//! Numbers as bytes and back: what a pass and its results look like on their way between machines.
//!
//! Little-endian, no padding, each list after its length. The bytes live as long as one fit on one
//! version of the package, so they begin with a format number and nothing else describes them.

use super::PassError;

/// The first number of all that is written.
const FORMAT: u64 = 0x6272_6467_0000_0001;

/// Writes numbers one after the other.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// Begins with the format and the `kind` of what follows.
    pub fn new(kind: u64) -> Self {
        let mut writer = Self(Vec::new());
        writer.u64(FORMAT);
        writer.u64(kind);
        writer
    }

    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    pub fn u64s(&mut self, values: &[u64]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|&v| self.u64(v));
    }

    pub fn f64s(&mut self, values: &[f64]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|&v| self.f64(v));
    }

    pub fn f32s(&mut self, values: &[f32]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|v| self.0.extend_from_slice(&v.to_le_bytes()));
    }

    pub fn matrix(&mut self, matrix: &bridged_math::Matrix) {
        self.u64(matrix.rows() as u64);
        self.u64(matrix.cols() as u64);
        self.f32s(matrix.data());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads them again. Bytes that are cut off or of another format are an error, never a panic.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The kind of what follows, and what follows.
    pub fn new(bytes: &'a [u8]) -> Result<(u64, Self), PassError> {
        let mut reader = Self(bytes);
        if reader.u64()? != FORMAT {
            return Err(PassError::OtherVersion);
        }
        Ok((reader.u64()?, reader))
    }

    fn take(&mut self, count: u64, width: usize) -> Result<&'a [u8], PassError> {
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(width));
        let (taken, rest) =
            bytes.and_then(|bytes| self.0.split_at_checked(bytes)).ok_or(PassError::CutOff)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn u64(&mut self) -> Result<u64, PassError> {
        let bytes = self.take(1, 8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes were taken")))
    }

    pub fn f64(&mut self) -> Result<f64, PassError> {
        Ok(f64::from_bits(self.u64()?))
    }

    pub fn u64s(&mut self) -> Result<Vec<u64>, PassError> {
        let count = self.u64()?;
        Ok(self.take(count, 8)?.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect())
    }

    pub fn f64s(&mut self) -> Result<Vec<f64>, PassError> {
        let count = self.u64()?;
        Ok(self.take(count, 8)?.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
    }

    pub fn f32s(&mut self) -> Result<Vec<f32>, PassError> {
        let count = self.u64()?;
        Ok(self.take(count, 4)?.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
    }

    pub fn matrix(&mut self) -> Result<bridged_math::Matrix, PassError> {
        let (rows, cols) = (self.u64()?, self.u64()?);
        let (rows, cols) = (usize::try_from(rows), usize::try_from(cols));
        let data = self.f32s()?;
        let (Ok(rows), Ok(cols)) = (rows, cols) else { return Err(PassError::CutOff) };
        bridged_math::Matrix::new(rows, cols, data).map_err(|_| PassError::CutOff)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], PassError> {
        let count = self.u64()?;
        self.take(count, 1)
    }

    /// Whether all was read.
    pub fn end(self) -> Result<(), PassError> {
        if self.0.is_empty() { Ok(()) } else { Err(PassError::CutOff) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_bytes_that_are_cut_off_are_refused() {
        let mut writer = Writer::new(7);
        writer.f64s(&[1.5, -0.0, f64::INFINITY]);
        writer.f32s(&[2.5]);
        writer.u64s(&[u64::MAX]);
        let bytes = writer.finish();
        let (kind, mut reader) = Reader::new(&bytes).unwrap();
        assert_eq!(kind, 7);
        assert_eq!(reader.f64s().unwrap()[1].to_bits(), (-0.0f64).to_bits());
        assert_eq!((reader.f32s().unwrap(), reader.u64s().unwrap()), (vec![2.5], vec![u64::MAX]));
        reader.end().unwrap();
        for cut in 0..bytes.len() {
            let read = || -> Result<(), PassError> {
                let (_, mut reader) = Reader::new(&bytes[..cut])?;
                reader.f64s()?;
                reader.f32s()?;
                reader.u64s()?;
                reader.end()
            };
            assert_eq!(read(), Err(PassError::CutOff), "{cut} bytes");
        }
        let mut other = bytes.clone();
        other[0] ^= 1;
        assert_eq!(Reader::new(&other).err(), Some(PassError::OtherVersion));
        // A length that no memory holds.
        let mut writer = Writer::new(0);
        writer.u64(u64::MAX);
        let bytes = writer.finish();
        assert_eq!(Reader::new(&bytes).unwrap().1.f64s(), Err(PassError::CutOff));
    }
}
