//! Where a command may write, decided before it does any work.
//!
//! Never over one of its inputs, whatever leads there; over an existing file only if that is of the
//! kind that would be written, or if the user says so; and only into a directory that is there and
//! can be written to.

use super::error::FileError;
use super::identity::same_file;
use super::replace::Target;
use super::temporary::Temporary;
use std::fs;
use std::path::{Path, PathBuf};

/// What a command writes.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// What it is called: "a bridged model".
    pub name: &'static str,
    /// How its files are named, if that is asked for.
    pub extension: Option<&'static str>,
    /// Whether an existing file is one.
    pub holds: fn(&Path) -> bool,
}

/// What may be written over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// A file of the same kind.
    SameKind,
    /// Nothing: there must be no such file.
    Nothing,
    /// Any file but an input.
    AnyKind,
}

impl Overwrite {
    /// Any kind if the user forces it, else the same kind.
    pub fn forced(force: bool) -> Self {
        if force { Self::AnyKind } else { Self::SameKind }
    }
}

/// A path that may be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    path: PathBuf,
}

impl Output {
    /// Checks a path. `inputs` are files or folders, and need not exist; of a folder, every file in it
    /// is an input but the one that is named as the output.
    pub fn check<P: AsRef<Path>>(
        path: &Path,
        kind: Kind,
        inputs: &[P],
        overwrite: Overwrite,
    ) -> Result<Self, FileError> {
        let Target { parent, existing, .. } = Target::of(path)?;
        let is_device = existing.as_ref().is_some_and(|m| !m.is_file());
        if is_device {
            return Ok(Self { path: path.to_path_buf() });
        }
        if let Some(metadata) = &existing {
            if let Some(input) = inputs.iter().find_map(|input| find_in(input.as_ref(), path)) {
                return Err(FileError::IsInput { path: path.to_path_buf(), input });
            }
            // Of an empty file nothing is lost: `mktemp` makes such.
            let empty = metadata.len() == 0;
            match overwrite {
                Overwrite::Nothing if !empty => {
                    return Err(FileError::Exists { path: path.to_path_buf() });
                }
                Overwrite::SameKind if !empty && !(kind.holds)(path) => {
                    let (path, kind) = (path.to_path_buf(), kind.name);
                    return Err(FileError::OtherKind { path, kind });
                }
                _ => {}
            }
        }
        if let Some(extension) = kind.extension.filter(|_| overwrite != Overwrite::AnyKind)
            && !path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
        {
            return Err(FileError::Extension {
                path: path.to_path_buf(),
                kind: kind.name,
                extension,
            });
        }
        // The one way to know that a file can be made there.
        Temporary::new_in(&parent)
            .map_err(|e| FileError::Unwritable { path: path.to_path_buf(), source: e.into() })?;
        Ok(Self { path: path.to_path_buf() })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The input that an output is: `input` itself, or a file below it.
fn find_in(input: &Path, output: &Path) -> Option<PathBuf> {
    if !input.is_dir() {
        return same_file(input, output).then(|| input.to_path_buf());
    }
    let place = place(output);
    let mut folders = vec![input.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if same_file(&path, output) && self::place(&path) != place {
                return Some(path);
            }
        }
    }
    None
}

/// A path as a name in a folder, the folder's own links followed.
fn place(path: &Path) -> Option<(PathBuf, std::ffi::OsString)> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((fs::canonicalize(parent).ok()?, path.file_name()?.to_os_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: Kind = Kind {
        name: "a note",
        extension: Some("txt"),
        holds: |path| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"note")),
    };

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    #[cfg(unix)]
    #[test]
    fn an_input_is_never_an_output_whatever_leads_there() {
        let folder = folder(&[("a.txt", "note"), ("d/b.txt", "note"), ("d/out.txt", "note")]);
        let at = |name: &str| folder.path().join(name);
        fs::hard_link(at("a.txt"), at("hard.txt")).unwrap();
        std::os::unix::fs::symlink(at("a.txt"), at("soft.txt")).unwrap();
        std::os::unix::fs::symlink(at("d/b.txt"), at("deep.txt")).unwrap();
        let check = |name: &str, input: &str| {
            Output::check(&at(name), TEXT, &[at(input)], Overwrite::AnyKind)
        };
        for name in ["a.txt", "hard.txt", "soft.txt", "d/../a.txt"] {
            let error = check(name, "a.txt").unwrap_err();
            assert!(matches!(error, FileError::IsInput { .. }), "{name}: {error}");
        }
        assert!(matches!(check("deep.txt", "d"), Err(FileError::IsInput { .. })));
        check("d/out.txt", "d").expect("an output in a folder of inputs may be made again");
        check("other.txt", "a.txt").expect("a new file");
        check("a.txt", "missing.txt").expect("an input that is not there");
    }

    #[test]
    fn a_file_of_another_kind_must_be_forced() {
        let folder = folder(&[("a.txt", "note"), ("b.txt", "a letter"), ("empty.txt", "")]);
        let check = |name: &str, overwrite| {
            let path = folder.path().join(name);
            Output::check::<&Path>(&path, TEXT, &[], overwrite)
        };
        for name in ["a.txt", "empty.txt", "new.txt"] {
            check(name, Overwrite::SameKind).expect(name);
        }
        let error = check("b.txt", Overwrite::SameKind).unwrap_err().to_string();
        assert!(error.ends_with("is there already and is not a note; choose another name"));
        check("b.txt", Overwrite::AnyKind).unwrap();
        assert!(check("a.txt", Overwrite::Nothing).is_err());
        let error = check("new.csv", Overwrite::SameKind).unwrap_err().to_string();
        assert!(
            error.ends_with("new.csv` should end in `.txt`, as it will hold a note"),
            "{error}"
        );
        check("new.csv", Overwrite::AnyKind).unwrap();
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 3, "a check leaves nothing behind");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_can_always_be_written_to() {
        Output::check::<&Path>(Path::new("/dev/null"), TEXT, &[], Overwrite::SameKind).unwrap();
    }
}
