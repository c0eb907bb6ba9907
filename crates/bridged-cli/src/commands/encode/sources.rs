//! Where items come from: each with an id, in an order that is always the same, and not read before
//! its turn.

use super::Columns;
use crate::printer::{self, plural};
use crate::progress::Talk;
use anyhow::{Context, Result, bail};
use bridged_encode::{ItemError, fasta};
use bridged_math::memory;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The endings of pictures.
const PICTURES: &[&str] = &["jpg", "jpeg", "png", "webp", "gif"];

/// An item that is not read yet.
pub struct Item<T> {
    pub id: String,
    pub load: Box<dyn FnOnce() -> Result<T, ItemError> + Send>,
}

/// All items.
pub struct Source<T> {
    /// What they are called in messages.
    pub path: PathBuf,
    pub total: usize,
    pub items: Box<dyn Iterator<Item = Result<Item<T>>> + Send>,
}

impl<T: Send + 'static> Source<T> {
    /// Reads all items, in order: each with its id, and why it cannot be read if so.
    pub fn load(self) -> Result<Vec<(String, Result<T, ItemError>)>> {
        self.items.map(|item| item.map(|Item { id, load }| (id, load()))).collect()
    }

    /// Items that were read already.
    pub fn in_memory(path: &Path, items: Vec<(String, Result<T, ItemError>)>) -> Self {
        let total = items.len();
        let items = items.into_iter().map(|(id, item)| Ok(Item { id, load: Box::new(|| item) }));
        Self { path: path.to_path_buf(), total, items: Box::new(items) }
    }
}

/// The pictures of a folder and of the folders in it, by their paths; or one picture.
pub fn pictures(path: &Path, talk: &Talk) -> Result<Source<Vec<u8>>> {
    let known = |path: &Path| {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        PICTURES.contains(&extension.to_lowercase().as_str())
    };
    let (root, names) = if path.is_file() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (path.parent().unwrap_or(Path::new("")).to_path_buf(), vec![name])
    } else {
        let mut files = Vec::new();
        walk(path, "", &mut files)?;
        let (mut names, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|name| known(Path::new(name)));
        if names.is_empty() {
            let endings = PICTURES.join(", .");
            bail!("there are no pictures in `{}`: no file ends in .{endings}", path.display());
        }
        if !others.is_empty() && !talk.quiet {
            printer::say(&format!(
                "{} left out, which end like no picture: {}",
                plural(others.len(), "file"),
                few(&others)
            ));
        }
        names.sort_unstable();
        (path.to_path_buf(), names)
    };
    let total = names.len();
    let items = names.into_iter().map(move |id| {
        let file = root.join(&id);
        let read = move || picture(&file);
        Ok(Item { id, load: Box::new(read) })
    });
    Ok(Source { path: path.to_path_buf(), total, items: Box::new(items) })
}

/// The bytes of a picture, if there is memory for them.
fn picture(file: &Path) -> Result<Vec<u8>, ItemError> {
    let unreadable = |e: std::io::Error| ItemError(format!("cannot be read: {e}"));
    let len = std::fs::metadata(file).map_err(unreadable)?.len();
    memory::require("its file", len).map_err(|e| ItemError(e.to_string()))?;
    std::fs::read(file).map_err(unreadable)
}

/// The files below a folder, by their paths in it; what is hidden is left out.
fn walk(folder: &Path, inside: &str, files: &mut Vec<String>) -> Result<()> {
    let failed = || format!("the folder `{}` cannot be read", folder.display());
    for entry in std::fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let kind = entry.file_type().with_context(failed)?;
        let inside = if inside.is_empty() { name } else { format!("{inside}/{name}") };
        // A link to a file is a file; a link to a folder may lead in circles.
        if kind.is_dir() {
            walk(&entry.path(), &inside, files)?;
        } else if kind.is_file() || entry.path().is_file() {
            files.push(inside);
        }
    }
    Ok(())
}

fn few(names: &[String]) -> String {
    let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > 3 { format!("{shown} …") } else { shown }
}

/// Texts of a table, or the lines of a `.txt` file.
pub fn texts(path: &Path, columns: &Columns) -> Result<Source<String>> {
    if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("txt")) {
        return table(path, columns);
    }
    let failed = || format!("`{}` cannot be read", path.display());
    let len = std::fs::metadata(path).with_context(failed)?.len();
    memory::require("its texts", len.saturating_mul(2)).with_context(failed)?;
    let (mut items, most) = (Vec::new(), columns.most_letters());
    let mut lines = BufReader::new(File::open(path).with_context(failed)?);
    while let Some(line) = line(&mut lines, most).with_context(failed)? {
        let text = line.and_then(|text| present((!text.trim().is_empty()).then_some(text)));
        items.push(((items.len() + 1).to_string(), text));
    }
    Ok(Source::in_memory(path, items))
}

/// The next line without its end; what is longer than `most` bytes is not kept.
fn line(input: &mut impl BufRead, most: usize) -> io::Result<Option<Result<String, ItemError>>> {
    let mut bytes = Vec::new();
    // Two bytes more than that may end a line.
    let read =
        input.by_ref().take((most as u64).saturating_add(2)).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    let ended = bytes.last() == Some(&b'\n');
    let end = bytes
        .strip_suffix(b"\n")
        .map_or(bytes.len(), |line| line.strip_suffix(b"\r").unwrap_or(line).len());
    bytes.truncate(end);
    if bytes.len() > most {
        if !ended {
            input.skip_until(b'\n')?;
        }
        return Ok(Some(Err(fasta::too_long("text", most))));
    }
    let text = String::from_utf8(bytes);
    text.map(|text| Some(Ok(text))).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

/// A column of a table.
fn table(path: &Path, columns: &Columns) -> Result<Source<String>> {
    let table = bridged_io::read(path)?;
    let texts = table.into_texts(columns.id.as_deref(), columns.column.as_deref())?;
    let most = columns.most_letters();
    let short = |text: String| match text.len() <= most {
        true => Ok(text),
        false => Err(fasta::too_long("text", most)),
    };
    let items = texts.texts.into_iter().map(|text| present(text).and_then(short));
    Ok(Source::in_memory(path, texts.ids.into_iter().zip(items).collect()))
}

fn present(text: Option<String>) -> Result<String, ItemError> {
    text.ok_or_else(|| ItemError("there is no text".to_string()))
}

/// Sequences of a table, or of a FASTA or FASTQ file whatever its name.
pub fn sequences(path: &Path, columns: &Columns) -> Result<Source<String>> {
    if bridged_io::known_format(path).is_some() {
        return table(path, columns);
    }
    // Once through the whole file: what is wrong with it is said before the work begins.
    let most = columns.most_letters();
    let mut seen = HashMap::new();
    for record in fasta::open(path)?.at_most(0) {
        let record = record?;
        if let Some(first) = seen.insert(record.id.clone(), record.line) {
            bail!(
                "`{}`, line {}: the id `{}` was there before, in line {first}; ids must differ",
                path.display(),
                record.line,
                record.id
            );
        }
    }
    let items = fasta::open(path)?.at_most(most).map(|record| {
        let fasta::Record { id, sequence, .. } = record?;
        Ok(Item { id, load: Box::new(move || sequence) })
    });
    Ok(Source { path: path.to_path_buf(), total: seen.len(), items: Box::new(items) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], most: usize) -> io::Result<Vec<Result<String, ItemError>>> {
        let mut input = text;
        std::iter::from_fn(|| line(&mut input, most).transpose()).collect()
    }

    #[test]
    fn a_line_is_read_up_to_a_limit_and_the_others_go_on() {
        let long = || Err(fasta::too_long("text", 3));
        let ok = |text: &str| Ok(text.to_string());
        let expected = vec![ok("abc"), ok("abc"), long(), long(), ok(""), ok("ab"), long()];
        assert_eq!(lines(b"abc\nabc\r\nabcd\nabcdefg\n\nab\nabcd", 3).unwrap(), expected);
        assert_eq!(lines(b"abcde\r\nx", 3).unwrap(), [long(), ok("x")]);
        assert_eq!(lines(b"", 3).unwrap(), []);
        assert!(lines(b"\xff\n", 3).is_err());
    }
}
