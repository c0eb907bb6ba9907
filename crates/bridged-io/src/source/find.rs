//! From what a user names to files: a file, a folder, a pattern, standard input or a URL.
//!
//! Files of a folder or a pattern come in the order of their names, folder by folder, compared as texts: `part-10` is
//! before `part-2`, so number parts with zeros in front. What begins with `_` or `.` in a folder is no part, and
//! neither is a file whose extension names no format.

use super::error::SourceError;
use super::part::{Place, Stamp};
use crate::FORMATS;
use crate::error::TableError;
use crate::format::{Format, extensions, known_format, read_format};
use bridged_math::cancel::checkpoint;
use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// As a name: standard input.
pub const STANDARD_INPUT: &str = "-";

/// A file that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub name: PathBuf,
    pub place: Place,
    pub format: &'static Format,
    pub stamp: Stamp,
}

/// The files that one name stands for, in order; and how many others its folder holds.
pub(crate) fn find(name: &Path) -> Result<(Vec<Found>, usize), TableError> {
    if name == Path::new(STANDARD_INPUT) {
        // What was read is gone.
        static TAKEN: AtomicBool = AtomicBool::new(false);
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(SourceError::StandardInput.into());
        }
        return Ok((vec![keep(io::stdin().lock())?], 0));
    }
    if let Some(url) = name.to_str().filter(|text| is_url(text)) {
        return find_remote(url);
    }
    match fs::metadata(name) {
        Ok(metadata) if metadata.is_dir() => find_folder(name),
        Ok(metadata) => {
            let (format, place) = (read_format(name)?, Place::File(name.to_path_buf()));
            let stamp = Stamp::of(&metadata);
            Ok((vec![Found { name: name.to_path_buf(), place, format, stamp }], 0))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_pattern(name) => {
            find_pattern(name)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(TableError::Missing { path: name.to_path_buf() })
        }
        Err(source) => Err(TableError::Unreadable { path: name.to_path_buf(), source }),
    }
}

/// Whether a name is that of something on a server.
pub fn is_url(name: &str) -> bool {
    let scheme = name.split_once("://").map_or("", |(scheme, _)| scheme);
    !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

#[cfg(feature = "remote")]
fn find_remote(url: &str) -> Result<(Vec<Found>, usize), TableError> {
    super::remote::find(url)
}

#[cfg(not(feature = "remote"))]
fn find_remote(url: &str) -> Result<(Vec<Found>, usize), TableError> {
    let detail = "this build reads files of this machine only; build it with `--features remote`";
    let url = url.split(['?', '#']).next().unwrap_or_default().to_owned();
    Err(SourceError::Remote { url, detail: detail.to_owned() }.into())
}

pub(crate) fn is_pattern(name: &Path) -> bool {
    name.to_str().is_some_and(|text| text.contains(['*', '?', '[']))
}

/// `*` and `?` stand for letters of one name, `**` for any folders; what is hidden must be named.
pub(crate) const MATCHING: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

fn find_pattern(pattern: &Path) -> Result<(Vec<Found>, usize), TableError> {
    let text = pattern.to_str().expect("a pattern is text");
    let files = glob::glob_with(text, MATCHING).map_err(|e| SourceError::BadPattern {
        pattern: pattern.to_path_buf(),
        detail: e.to_string(),
    })?;
    let mut found: Vec<Found> = Vec::new();
    for file in files {
        checkpoint();
        let name = file.map_err(|e| {
            let path = e.path().to_path_buf();
            TableError::Unreadable { path, source: e.into() }
        })?;
        let unreadable = |source| TableError::Unreadable { path: name.clone(), source };
        let metadata = fs::metadata(&name).map_err(unreadable)?;
        if metadata.is_file() {
            let (format, stamp) = (read_format(&name)?, Stamp::of(&metadata));
            found.push(Found { place: Place::File(name.clone()), name, format, stamp });
        } else if metadata.is_dir() {
            // A pattern may name folders, as in `year=*`.
            found.extend(find_folder(&name)?.0);
        }
    }
    if found.is_empty() {
        return Err(SourceError::NothingMatches { pattern: pattern.to_path_buf() }.into());
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    Ok((found, 0))
}

fn find_folder(folder: &Path) -> Result<(Vec<Found>, usize), TableError> {
    let (mut found, mut others) = (Vec::new(), 0);
    let mut folders = vec![folder.to_path_buf()];
    let mut seen = HashSet::new();
    while let Some(folder) = folders.pop() {
        checkpoint();
        let unreadable = |source| TableError::Unreadable { path: folder.clone(), source };
        // A link may lead back.
        if !seen.insert(fs::canonicalize(&folder).map_err(unreadable)?) {
            continue;
        }
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.path();
            if is_left_out(&name) {
                continue;
            }
            let unreadable = |source| TableError::Unreadable { path: name.clone(), source };
            let metadata = fs::metadata(&name).map_err(unreadable)?;
            if metadata.is_dir() {
                folders.push(name);
            } else if let Some(format) = known_format(&name).filter(|format| format.reads) {
                let (place, stamp) = (Place::File(name.clone()), Stamp::of(&metadata));
                found.push(Found { name, place, format, stamp });
            } else {
                others += 1;
            }
        }
    }
    if found.is_empty() {
        return Err(no_tables(folder));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((found, others))
}

pub(crate) fn no_tables(folder: &Path) -> TableError {
    let known = extensions(|format| format.reads).join(", ");
    SourceError::NoTables { path: folder.to_path_buf(), known }.into()
}

/// Names such as `_SUCCESS`, `_metadata` and `.part-0.crc`, which tools put beside the parts. A partition may begin
/// so: `_day=3`.
pub(crate) fn is_left_out(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.starts_with('.') || (name.starts_with('_') && !name.contains('='))
}

/// Keeps all of a stream in a temporary file: it is read more than once. Its first bytes tell the format, and what
/// tells nothing is CSV.
fn keep(mut stream: impl Read) -> Result<Found, TableError> {
    let failed = |e: io::Error| TableError::from(SourceError::NotKept(e));
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        checkpoint();
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => file.write_all(&buffer[..count]).map_err(failed)?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                let path = PathBuf::from("standard input");
                return Err(TableError::Unreadable { path, source });
            }
        }
    }
    file.flush().and_then(|()| file.rewind()).map_err(failed)?;
    let mut head = Vec::new();
    file.as_file_mut().take(16).read_to_end(&mut head).map_err(failed)?;
    let metadata = file.as_file().metadata().map_err(failed)?;
    let name = PathBuf::from("standard input");
    if head.is_empty() {
        return Err(TableError::Empty { path: name });
    }
    let format = FORMATS.iter().find(|format| format.reads && format.sniff(&head).is_some());
    let format = format.unwrap_or(&crate::delimited::CSV);
    let place = Place::Kept(Arc::new(file.into_temp_path()));
    Ok(Found { name, place, format, stamp: Stamp::of(&metadata) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &[Found], root: &Path) -> Vec<String> {
        let relative = |f: &Found| f.name.strip_prefix(root).unwrap().display().to_string();
        found.iter().map(relative).collect()
    }

    #[test]
    fn a_folder_gives_its_tables_in_the_order_of_their_names_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for file in [
            "b.csv",
            "a/z.csv",
            "a/10.csv",
            "a/2.csv",
            "_SUCCESS",
            "_delta/x.csv",
            ".crc/a.csv",
            "a/.2.csv.crc",
            "README.md",
            "_d=1/q.csv",
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "id\n").unwrap();
        }
        let (found, others) = find(root).unwrap();
        assert_eq!(names(&found, root), ["_d=1/q.csv", "a/10.csv", "a/2.csv", "a/z.csv", "b.csv"]);
        assert_eq!(others, 1);
        let pattern = |text: &str| names(&find(&root.join(text)).unwrap().0, root);
        assert_eq!(pattern("*.csv"), ["b.csv"]);
        assert_eq!(pattern("**/*.csv").len(), 6);
        assert_eq!(pattern("[ab]"), ["a/10.csv", "a/2.csv", "a/z.csv"]);
        let nothing = find(&root.join("*.parquet")).unwrap_err().to_string();
        assert!(nothing.contains("*.parquet` matches no file"), "{nothing}");
        fs::create_dir(root.join("empty")).unwrap();
        let empty = find(&root.join("empty")).unwrap_err().to_string();
        assert!(empty.contains("holds no table: no file in it ends in .parquet, .pq,"), "{empty}");
        assert!(matches!(find(&root.join("c.csv")), Err(TableError::Missing { .. })));
        assert!(find(&root.join("[.csv")).unwrap_err().to_string().contains("is no pattern"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_back_is_followed_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.csv"), "id\n").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("again")).unwrap();
        assert_eq!(find(folder.path()).unwrap().0.len(), 1);
    }

    #[test]
    fn a_stream_is_told_by_its_first_bytes() {
        let format = |bytes: &[u8]| keep(bytes).unwrap().format.name;
        assert_eq!(format(b"id,a\n1,2\n"), "CSV");
        assert_eq!(format(b"\xff\xff\xff\xff....."), "Arrow IPC");
        assert_eq!(format(b"PAR1 and so on"), "Parquet");
        assert_eq!(format(b"\x93NUMPY"), "npy");
        assert_eq!(keep(&b""[..]).unwrap_err().to_string(), "`standard input` is empty (0 bytes)");
    }

    #[test]
    fn a_url_is_told_by_its_scheme() {
        for url in ["s3://bucket/a", "https://host/x.csv", "az://c/p", "gs://b"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["a.csv", "C:\\a.csv", "://x", "a b://c", "./s3:/x"] {
            assert!(!is_url(path), "{path}");
        }
    }
}
