//! Where items come from: each with an id, in an order that is always the same, and not read before
//! its turn.

use super::Columns;
use crate::printer::{self, plural};
use crate::progress::Talk;
use anyhow::{Context, Result, bail};
use bridged_encode::{ItemError, fasta};
use std::collections::HashMap;
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
        let read =
            move || std::fs::read(&file).map_err(|e| ItemError(format!("cannot be read: {e}")));
        Ok(Item { id, load: Box::new(read) })
    });
    Ok(Source { path: path.to_path_buf(), total, items: Box::new(items) })
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
    let lines = std::fs::read_to_string(path).with_context(failed)?;
    let texts = lines.lines().map(|line| (!line.trim().is_empty()).then(|| line.to_string()));
    let ids = (1..).map(|line: usize| line.to_string());
    Ok(Source::in_memory(path, ids.zip(texts).map(|(id, text)| (id, present(text))).collect()))
}

/// A column of a table.
fn table(path: &Path, columns: &Columns) -> Result<Source<String>> {
    let table = bridged_io::read(path)?;
    let texts = table.into_texts(columns.id.as_deref(), columns.column.as_deref())?;
    let items = texts.ids.into_iter().zip(texts.texts.into_iter().map(present));
    Ok(Source::in_memory(path, items.collect()))
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
    let mut seen = HashMap::new();
    for record in fasta::open(path)? {
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
    let items = fasta::open(path)?.map(|record| {
        let fasta::Record { id, sequence, .. } = record?;
        Ok(Item { id, load: Box::new(move || Ok(sequence)) })
    });
    Ok(Source { path: path.to_path_buf(), total: seen.len(), items: Box::new(items) })
}
