//! What the history of a model tells of a source.

use super::Source;
use super::part::Part;
use crate::error::TableError;
use bridged::history::FileRead;

impl Source {
    /// Its files for a history, where they held `role`. Files of this machine are read once more for their fingerprints.
    pub fn files_read(&self, role: &str) -> Result<Vec<FileRead>, TableError> {
        let of = |part: &Part| match part.file() {
            Some(path) => FileRead::of(role, path)
                .map_err(|source| TableError::Unreadable { path: path.to_path_buf(), source }),
            None => Ok(FileRead {
                role: role.to_string(),
                name: part.name().to_string_lossy().into_owned(),
                bytes: (!part.is_temporary()).then_some(part.stamp().size),
                fingerprint: None,
            }),
        };
        self.parts().iter().map(of).collect()
    }
}
