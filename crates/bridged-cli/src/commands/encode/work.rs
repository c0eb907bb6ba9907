//! The work itself: read ahead, encode, keep, and make the table at the end.
//!
//! One thread reads the next block while the others decode and encode this one, so at most three blocks
//! are in memory, however many items there are. A block ends early where its items are large.

use super::Common;
use super::choice::{Choice, Kind};
use super::resume_log::{self, Begin, Block, ResumeLog};
use super::sources::{Item, Source};
use super::vocabulary;
use crate::outputs;
use crate::printer::{self, count, number, plural};
use crate::progress::{Kept, Talk};
use anyhow::{Context, Result, bail};
use bridged::files::{self, Overwrite};
use bridged_encode::{Encoder, ItemError};
use bridged_io::{Column, ColumnData, Table, TableError};
use bridged_math::{Matrix, Stage};
use serde_json::{Value, json};
use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

/// What is to be done with items of type `T`.
pub struct Task<'a, T> {
    pub common: &'a Common,
    /// What an item is called.
    pub what: &'static str,
    /// Items that are read and kept at once, at most.
    pub block: usize,
    /// The bytes of an item, of which a block has no more than [`BLOCK_BYTES`] and one item.
    pub bytes: fn(&T) -> usize,
    /// The column in which items are kept, if they are texts.
    pub text: Option<Carried<T>>,
    /// The options that matter for the vectors.
    pub asked: Value,
}

/// Bytes of items after which a block ends.
const BLOCK_BYTES: usize = 64 << 20;

/// How items are kept as texts.
pub struct Carried<T> {
    pub column: &'static str,
    pub text: fn(&T) -> &str,
}

/// An item that was read, or why not.
struct Loaded<T> {
    id: String,
    content: Result<T, ItemError>,
}

/// Whether all files of the output can be written: said before anything is read.
pub fn make_room<K: Kind>(common: &Common, choice: &Choice<K>, source: &Path) -> Result<()> {
    let (output, part) = (&common.output, ResumeLog::path_for(&common.output));
    let mut inputs = vec![source];
    inputs.extend(choice.weights.as_deref());
    outputs::beside(&part, resume_log::FILE, &inputs)?;
    outputs::beside(&failed_path(output), FAILED_FILE, &inputs)?;
    if choice.learns() {
        outputs::beside(&vocabulary::path_for(output), vocabulary::FILE, &inputs)?;
    }
    let overwrite = match (common.force, part.exists()) {
        (true, _) => Overwrite::AnyKind,
        (false, true) => Overwrite::SameKind, // an earlier run was allowed to
        (false, false) => Overwrite::Nothing,
    };
    outputs::check(output, bridged_io::TABLE_FILE, &inputs, overwrite)
}

/// The list of items without a vector.
const FAILED_FILE: files::Kind = files::Kind {
    name: "a list of items that could not be encoded",
    extension: None,
    holds: |path| {
        let columns = |t: Table| t.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
        bridged_io::read(path).is_ok_and(|table| columns(table) == ["id", "reason"])
    },
};

/// Encodes a source into the output, from where an earlier run stopped. `keep` writes what is kept beside
/// the output, once it is clear that no other command is making it.
pub fn work<T, I: ?Sized>(
    task: Task<'_, T>,
    source: Source<T>,
    encoder: &dyn Encoder<I>,
    keep: impl FnOnce() -> Result<()>,
    talk: &Talk,
) -> Result<()>
where
    T: Borrow<I> + Send + Sync,
{
    let output = &task.common.output;
    let part = ResumeLog::path_for(output);
    let (start, total) = (Instant::now(), source.total);
    let mut asked = json!({"bridged encode": 1, "encoder": encoder.name(), "source": source.path});
    asked
        .as_object_mut()
        .expect("made above")
        .extend(task.asked.as_object().cloned().unwrap_or_default());
    let begin = if task.common.force { Begin::Anew } else { Begin::WhereItStopped };
    let (mut log, done) = ResumeLog::open(output, &asked, begin)?;
    if begin == Begin::Anew {
        remove(&failed_path(output))?;
    }
    keep()?;
    let mut items = source.items;
    for (at, id) in done.iter().enumerate() {
        let now = items.next().transpose()?.map(|item| item.id);
        if now.as_ref() != Some(id) {
            bail!(
                "`{}` is not what it was when `{}` was begun: {} {} was `{id}`; begin anew with --force",
                source.path.display(),
                part.display(),
                task.what,
                at + 1
            );
        }
    }
    if !done.is_empty() && !talk.quiet {
        printer::say(&format!(
            "{} of {} are done already; going on",
            count(done.len()),
            plural(total, task.what)
        ));
    }
    encode_rest(&task, items, total - done.len(), encoder, &mut log, talk).map_err(|error| {
        if !crate::progress::was_stopped() {
            return error;
        }
        Kept(format!("what is done is in {}; the same command goes on", part.display())).into()
    })?;
    finish(&task, &log, encoder)?;
    log.remove()?;
    if !talk.quiet {
        let (dim, name) = (count(encoder.dim()), encoder.name());
        let (seconds, new) = (start.elapsed().as_secs_f64(), total - done.len());
        let rate = number(new as f64 / seconds.max(1e-9));
        let mut out = printer::out();
        writeln!(
            out,
            "{} by {name}, {dim} numbers each, in {} s ({rate} a second); wrote {}",
            plural(new, task.what),
            number(seconds),
            output.display()
        )?;
        let list = failed_path(output);
        if list.exists() {
            writeln!(out, "some have no vector: {} says which and why", list.display())?;
        }
    }
    Ok(())
}

fn encode_rest<T, I: ?Sized>(
    task: &Task<'_, T>,
    mut items: Box<dyn Iterator<Item = Result<Item<T>>> + Send>,
    remaining: usize,
    encoder: &dyn Encoder<I>,
    log: &mut ResumeLog,
    talk: &Talk,
) -> Result<()>
where
    T: Borrow<I> + Send + Sync,
{
    let stages = talk.watch();
    let stage = Stage::begin(&stages, "encode", Some(remaining as u64))?;
    let (size, bytes) = (task.block, task.bytes);
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(1);
        scope.spawn(move || {
            loop {
                let block = read_block(&mut items, size, bytes);
                let last = block.as_ref().map_or(true, Vec::is_empty);
                if send.send(block).is_err() || last {
                    break;
                }
            }
        });
        let mut done = 0;
        for block in receive {
            let block = encode(task, block?, encoder)?;
            done += block.ids.len() as u64;
            if !block.ids.is_empty() {
                log.append(block)?;
            }
            stage.step(done)?;
        }
        Ok(())
    })
}

/// The next items: so many, or fewer that are large. None are left if it is empty.
fn read_block<T>(
    items: &mut dyn Iterator<Item = Result<Item<T>>>,
    size: usize,
    bytes: fn(&T) -> usize,
) -> Result<Vec<Loaded<T>>> {
    let (mut block, mut total) = (Vec::new(), 0);
    while block.len() < size && total < BLOCK_BYTES {
        let Some(item) = items.next() else { break };
        let Item { id, load } = item?;
        let content = load();
        total += content.as_ref().map_or(0, bytes);
        block.push(Loaded { id, content });
    }
    Ok(block)
}

fn encode<T, I: ?Sized>(
    task: &Task<'_, T>,
    loaded: Vec<Loaded<T>>,
    encoder: &dyn Encoder<I>,
) -> Result<Block>
where
    T: Borrow<I>,
{
    let good: Vec<&I> =
        loaded.iter().filter_map(|l| l.content.as_ref().ok()).map(Borrow::borrow).collect();
    let mut rows = encoder.encode(&good).into_iter();
    let mut block = Block::default();
    for (at, Loaded { id, content }) in loaded.into_iter().enumerate() {
        let row = content.and_then(|content| {
            let row = rows.next().expect("a row for each item that was read")?;
            Ok((content, row))
        });
        match row {
            Ok((content, row)) => {
                block.vectors.extend(row);
                block.texts.extend(task.text.as_ref().map(|t| (t.text)(&content).to_string()));
            }
            Err(reason) if task.common.strict => {
                bail!("`{id}`: {reason}; without --strict it would be listed and the rest go on")
            }
            Err(reason) => block.failed.push((at, reason.to_string())),
        }
        block.ids.push(id);
    }
    Ok(block)
}

/// Makes the table, and the list of what is not in it, in one pass over the log.
fn finish<T, I: ?Sized>(
    task: &Task<'_, T>,
    log: &ResumeLog,
    encoder: &dyn Encoder<I>,
) -> Result<()> {
    let output = &task.common.output;
    let (mut ids, mut reasons) = (Vec::new(), Vec::new());
    let mut note = |block: &Block| {
        for (at, reason) in &block.failed {
            ids.push(Some(block.ids[*at].clone()));
            reasons.push(Some(reason.clone()));
        }
    };
    let column = task.text.as_ref().map(|t| t.column);
    let pieces = log.blocks()?.filter_map(|block| match block {
        Ok(block) => {
            note(&block);
            let any = !block.vectors.is_empty();
            any.then(|| table(&block, encoder.dim(), column, output))
        }
        Err(error) => Some(Err(error)),
    });
    let written = bridged_io::write_pieces(output, pieces);
    if let Some(Some(first)) = reasons.first().cloned() {
        let list = failed_path(output);
        let columns = vec![
            Column::new("id", ColumnData::Text(ids)),
            Column::new("reason", ColumnData::Text(reasons)),
        ];
        bridged_io::write(&list, &Table::new(&list, columns)?)?;
        if let Err(TableError::NoRows { .. }) = written {
            remove(&ResumeLog::path_for(output))?;
            let (what, list) = (task.what, list.display());
            bail!("no {what} could be encoded, the first because: {first}; {list} lists all");
        }
    }
    Ok(written?)
}

fn table(block: &Block, dim: usize, text: Option<&str>, output: &Path) -> io::Result<Table> {
    let ids: Vec<Option<String>> = block.encoded().cloned().map(Some).collect();
    let vectors = Matrix::new(ids.len(), dim, block.vectors.clone()).map_err(io::Error::other)?;
    let mut columns = vec![Column::new("id", ColumnData::Text(ids))];
    if let Some(name) = text {
        let texts = block.texts.iter().cloned().map(Some).collect();
        columns.push(Column::new(name, ColumnData::Text(texts)));
    }
    columns.push(Column::new("vector", ColumnData::Vector(vectors)));
    Table::new(output, columns).map_err(io::Error::other)
}

/// `x.parquet` → `x.failed.csv`.
fn failed_path(output: &Path) -> PathBuf {
    output.with_extension("failed.csv")
}

fn remove(path: &PathBuf) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("`{}` cannot be removed", path.display()))
        }
        _ => Ok(()),
    }
}
