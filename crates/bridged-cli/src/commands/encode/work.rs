//! The work itself: read ahead, encode, keep, and make the table at the end.
//!
//! One thread reads the next block while the others decode and encode this one, so at most three blocks
//! are in memory, however many items there are.

use super::Common;
use super::resume_log::{Block, ResumeLog};
use super::sources::{Item, Source};
use crate::options::usage;
use crate::printer::{self, count, number, plural};
use crate::progress::{Kept, Talk};
use anyhow::{Context, Result, bail};
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
    /// Items that are read and kept at once.
    pub block: usize,
    /// The column in which items are kept, if they are texts.
    pub text: Option<Carried<T>>,
    /// The options that matter for the vectors.
    pub asked: Value,
}

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

/// Makes room for the output, or refuses: said before anything is read or written.
pub fn make_room(common: &Common) -> Result<()> {
    let (output, part) = (&common.output, ResumeLog::path_for(&common.output));
    if common.force {
        return [&part, &failed_path(output)].into_iter().try_for_each(remove);
    }
    if output.exists() && !part.exists() {
        let output = output.display();
        return Err(usage(format!("`{output}` is there already; --force makes it anew")));
    }
    Ok(())
}

/// Encodes a source into the output, from where an earlier run stopped.
pub fn work<T, I: ?Sized>(
    task: Task<'_, T>,
    source: Source<T>,
    encoder: &dyn Encoder<I>,
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
    let (mut log, done) = ResumeLog::open(output, &asked)?;
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
    let size = task.block;
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(1);
        scope.spawn(move || {
            loop {
                let load = |item: Result<Item<T>>| {
                    item.map(|Item { id, load }| Loaded { id, content: load() })
                };
                let block: Result<Vec<Loaded<T>>> = items.by_ref().take(size).map(load).collect();
                let last = block.as_ref().map_or(true, |block| block.len() < size);
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
