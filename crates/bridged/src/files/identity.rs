//! Whether two paths are one file: by device and inode, so that links of both kinds are seen through;
//! by their canonical paths on systems that have no inodes.

use std::fs::{self, File};
use std::path::Path;

/// Whether two paths lead to the same existing file.
pub fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        matches!((fs::metadata(a), fs::metadata(b)), (Ok(a), Ok(b)) if identity(&a) == identity(&b))
    }
    #[cfg(not(unix))]
    {
        matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
    }
}

/// Whether an open file is still the one at `path`.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        matches!(
            (file.metadata(), fs::symlink_metadata(path)),
            (Ok(open), Ok(there)) if identity(&open) == identity(&there)
        )
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}
