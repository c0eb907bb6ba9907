//! Arrow IPC: the file format (also known as Feather version 2) and the stream format.
//!
//! Which of the two it is, the first bytes tell. Written files are in the file format,
//! zstd-compressed.

use crate::Input;
use crate::atomic::{Sink, WriteError};
use crate::batches::{Collector, batch, ranges, schema};
use crate::error::TableError;
use crate::format::{Format, Layout};
use crate::pass::{Each, Pass, Schema, Survey, batch_table, runs};
use crate::table::Table;
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{BodyCompression, Buffer, CompressionType, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};
use bridged_math::cancel::checkpoint;
use bridged_math::guard::quietly;
use bridged_math::memory;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

const NAME: &str = "Arrow IPC";

/// In the list of formats.
pub(crate) const FORMAT: Format = Format {
    name: NAME,
    extensions: &["arrow", "feather", "ipc"],
    about: "Arrow files and streams, Feather version 2; vectors as lists.",
    layout: Layout::Columns,
    beginnings: &[
        (MAGIC, NAME),
        (b"FEA1", "Feather version 1"),
        (b"\xff\xff\xff\xff", "an Arrow IPC stream"),
    ],
    never_text: false, // an old stream begins with the length of its first message
    reads: true,
    asks_for_ranges: false,
    read,
    read_pairs: |input| read(input)?.into_pairs(input.options),
    peek,
    survey,
    pass,
    write,
    write_pieces: None,
};

const MAGIC: &[u8; 6] = b"ARROW1";

/// Rows written at a time.
const BATCH: usize = 1 << 14;

/// Reads an Arrow IPC file or stream.
fn read(input: &Input<'_>) -> Result<Table, TableError> {
    opened(input, |file, is_file, _| match is_file {
        true => decode_file(file, input.path),
        false => decode_stream(file, input.path),
    })
}

/// The columns of an Arrow IPC file or stream.
fn peek(input: &Input<'_>) -> Result<crate::Columns, TableError> {
    opened(input, |file, is_file, _| Ok(crate::peek_schema(schema_of(file, is_file)?.as_ref())))
}

fn schema_of(file: &File, is_file: bool) -> Result<SchemaRef, ArrowError> {
    let file = BufReader::new(file);
    Ok(match is_file {
        true => FileReader::try_new(file, None)?.schema(),
        false => StreamReader::try_new(file, None)?.schema(),
    })
}

/// The columns, and the rows that the messages announce.
fn survey(input: &Input<'_>) -> Result<Survey, TableError> {
    opened(input, |file, is_file, batches| {
        let schema = schema_of(file, is_file)?;
        let rows = batches.iter().sum();
        let collector = Collector::new(&schema, 0);
        let cells: u64 = collector.wanted().iter().map(|&at| collector.row_bytes(at)).sum();
        // Lists and texts are told by the size of the file.
        let bytes = (rows as u64).saturating_mul(cells).saturating_add(input.len);
        Ok(Survey { schema: Schema::Typed(schema), rows, bytes })
    })
}

/// Decodes some columns batch by batch, and of some rows only the batches that hold them.
fn pass(
    input: &Input<'_>,
    _: &Schema,
    pass: Pass<'_>,
    each: &mut Each<'_>,
) -> Result<(), TableError> {
    // What `each` says is not the file's fault.
    let mut stopped = None;
    let result = opened(input, |file, is_file, batches| {
        let mut hand_out = |batch: &RecordBatch, first: usize| -> Result<bool, ArrowError> {
            checkpoint();
            let end = first + batch.num_rows();
            let whole = std::iter::once(first..end).filter(|range| !range.is_empty());
            let wanted: Vec<_> = match pass.only {
                None => whole.collect(),
                Some(only) => {
                    let start = only.partition_point(|&row| row < first);
                    let stop = only.partition_point(|&row| row < end);
                    runs(&only[start..stop]).collect()
                }
            };
            for range in wanted {
                for at in range.clone().step_by(pass.rows.max(1)) {
                    let len = pass.rows.max(1).min(range.end - at);
                    let table = batch_table(&batch.slice(at - first, len), input.path)?;
                    if let Err(error) = each(table) {
                        stopped = Some(error);
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        };
        let columns = Some(pass.columns.to_vec());
        let mut first = 0;
        if is_file {
            let mut reader = FileReader::try_new(BufReader::new(file), columns)?;
            for (at, &rows) in batches.iter().enumerate() {
                let end = first + rows;
                let wanted = pass.only.is_none_or(|only| {
                    only.get(only.partition_point(|&row| row < first)).is_some_and(|&row| row < end)
                });
                if wanted {
                    reader.set_index(at)?;
                    let Some(batch) = reader.next() else { break };
                    if !hand_out(&batch?, first)? {
                        break;
                    }
                }
                first = end;
            }
        } else {
            let last = pass.only.map(|only| only.last().copied().unwrap_or(0));
            for batch in StreamReader::try_new(BufReader::new(file), columns)? {
                let batch = batch?;
                if last.is_some_and(|last| last < first) || !hand_out(&batch, first)? {
                    break;
                }
                first += batch.num_rows();
            }
        }
        Ok(())
    });
    match stopped {
        Some(error) => Err(error),
        None => result,
    }
}

/// What `then` makes of a file, or of a stream, of which the sizes were checked; it is told the rows of each batch.
fn opened<T>(
    input: &Input<'_>,
    then: impl FnOnce(&File, bool, &[usize]) -> Result<T, ArrowError>,
) -> Result<T, TableError> {
    let damaged = |detail: String| input.damaged(NAME, detail);
    let mut file = input.file;
    let mut start = [0u8; 6];
    let got = file.rewind().and_then(|()| file.read_exact(&mut start));
    got.map_err(|_| damaged("it is too short to be one".to_owned()))?;
    let is_file = &start == MAGIC;
    if start.starts_with(b"FEA1") {
        let detail =
            "it is Feather version 1, which is no longer used; write it again as version 2";
        return Err(damaged(detail.to_owned()));
    }
    if is_file {
        let mut end = [0u8; 6];
        let got = file.seek(SeekFrom::End(-6)).and_then(|_| file.read_exact(&mut end));
        if got.is_err() || &end != MAGIC || input.len < 20 {
            let detail = "its end is missing; it was cut off while being written";
            return Err(damaged(detail.to_owned()));
        }
    }
    let result = quietly(|| {
        let messages = check_promises(file, input.len, if is_file { 8 } else { 0 })?;
        let batches = match is_file {
            true => check_footer(file, input.len, &messages)?,
            false => messages.iter().filter_map(|message| message.rows).collect(),
        };
        file.rewind()?;
        then(file, is_file, &batches)
    });
    match result {
        Ok(Ok(table)) => Ok(table),
        Ok(Err(error)) => Err(input.not_collected(NAME, error)),
        Err(panic) => Err(damaged(panic)),
    }
}

fn decode_file(file: &File, path: &Path) -> Result<Table, ArrowError> {
    let all = FileReader::try_new(BufReader::new(file), None)?;
    let mut collector = Collector::new(&all.schema(), 0);
    drop(all);
    let reader = FileReader::try_new(BufReader::new(file), Some(collector.wanted()))?;
    for batch in reader {
        checkpoint();
        collector.push(&batch?)?;
    }
    Ok(collector.finish(path.to_path_buf()))
}

fn decode_stream(mut file: &File, path: &Path) -> Result<Table, ArrowError> {
    let all = StreamReader::try_new(BufReader::new(file), None)?;
    let mut collector = Collector::new(&all.schema(), 0);
    drop(all);
    file.rewind()?;
    let mut reader = StreamReader::try_new(BufReader::new(file), Some(collector.wanted()))?;
    for batch in reader.by_ref() {
        checkpoint();
        collector.push(&batch?)?;
    }
    Ok(collector.finish(path.to_path_buf()))
}

/// A message of a file or stream.
struct Message {
    /// Where it begins and how long its two parts are, as a footer lists it.
    place: [i64; 3],
    /// The rows of a batch.
    rows: Option<usize>,
}

/// Refuses a footer that lists anything but the messages of the file: the decoder takes its word
/// for how much room a block needs and where in it the numbers begin. Gives the rows of each batch.
fn check_footer(mut file: &File, len: u64, messages: &[Message]) -> Result<Vec<usize>, ArrowError> {
    let wrong = || ArrowError::IpcError("its footer does not fit the file".to_owned());
    let mut trailer = [0u8; 10];
    file.seek(SeekFrom::End(-10))?;
    file.read_exact(&mut trailer)?;
    let size = read_footer_length(trailer)? as u64;
    let start = len.checked_sub(10 + size).ok_or_else(wrong)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![0u8; size as usize];
    file.read_exact(&mut bytes)?;
    let footer = root_as_footer(&bytes).map_err(|e| ArrowError::ParseError(format!("{e:?}")))?;
    let find = |block: &arrow_ipc::Block| -> Result<&Message, ArrowError> {
        let listed = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
        // Messages are in the order of their offsets.
        let found = messages.binary_search_by_key(&listed, |message| message.place);
        found.map(|at| &messages[at]).map_err(|_| wrong())
    };
    for block in footer.dictionaries().iter().flatten() {
        find(block)?;
    }
    let batches = footer.recordBatches();
    batches.iter().flatten().map(|block| find(block)?.rows.ok_or_else(wrong)).collect()
}

/// Walks over the messages and refuses a compressed buffer that promises more than its bytes can
/// hold: the decoder would reserve the promised room at once, and a process that asks for more
/// memory than there is ends without a word. Costs one small read a buffer; gives the messages.
fn check_promises(mut file: &File, len: u64, start: u64) -> Result<Vec<Message>, ArrowError> {
    let cut_off = || ArrowError::IpcError("it is cut off inside a message".to_owned());
    let mut messages = Vec::new();
    let mut at = start;
    let mut word = [0u8; 4];
    // The end is a length of zero, or just the end.
    while at + 4 <= len {
        let begin = at;
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut word)?;
        at += 4;
        // Messages of old files lack this mark.
        if word == [0xff; 4] {
            file.read_exact(&mut word).map_err(|_| cut_off())?;
            at += 4;
        }
        let size = u64::from(u32::from_le_bytes(word));
        if size == 0 && messages.is_empty() && start > 0 {
            // Zeros between the magic number and the first message align it.
            continue;
        }
        if size == 0 {
            break;
        }
        if at + size > len {
            return Err(cut_off());
        }
        let mut bytes = vec![0u8; size as usize];
        file.read_exact(&mut bytes)?;
        let message =
            root_as_message(&bytes).map_err(|e| ArrowError::ParseError(format!("{e:?}")))?;
        let body = at + size;
        let body_len = u64::try_from(message.bodyLength()).map_err(|_| cut_off())?;
        if body.checked_add(body_len).is_none_or(|end| end > len) {
            return Err(cut_off());
        }
        let data = message
            .header_as_record_batch()
            .or_else(|| message.header_as_dictionary_batch().and_then(|d| d.data()));
        if let Some(data) = data
            && let Some(compression) = data.compression()
        {
            let mut promised = 0u64;
            for buffer in data.buffers().iter().flatten() {
                let more = check_buffer(file, body, body_len, compression, buffer)?;
                promised = promised.saturating_add(more);
            }
            memory::require("a message of the file", promised)
                .map_err(|e| ArrowError::MemoryError(e.to_string()))?;
        }
        let rows = message.header_as_record_batch().and_then(|b| usize::try_from(b.length()).ok());
        messages
            .push(Message { place: [begin as i64, (body - begin) as i64, body_len as i64], rows });
        at = body + body_len;
    }
    Ok(messages)
}

fn check_buffer(
    mut file: &File,
    body: u64,
    body_len: u64,
    compression: BodyCompression<'_>,
    buffer: &Buffer,
) -> Result<u64, ArrowError> {
    let wrong = || ArrowError::IpcError("a buffer lies outside of its message".to_owned());
    let offset = u64::try_from(buffer.offset()).map_err(|_| wrong())?;
    let held = u64::try_from(buffer.length()).map_err(|_| wrong())?;
    if offset.checked_add(held).is_none_or(|end| end > body_len) {
        return Err(wrong());
    }
    if held < 8 {
        return Ok(held);
    }
    file.seek(SeekFrom::Start(body + offset))?;
    let mut prefix = [0u8; 8];
    file.read_exact(&mut prefix)?;
    // One byte of LZ4 stands for at most 255; of zstd, a block of 128 kB may be a few bytes.
    let ratio = if compression.codec() == CompressionType::LZ4_FRAME { 256 } else { 1 << 16 };
    // Negative: the buffer is not compressed after all.
    let promised = i64::from_le_bytes(prefix);
    if u64::try_from(promised).is_ok_and(|p| p > held.saturating_mul(ratio)) {
        return Err(ArrowError::IpcError(format!(
            "a compressed buffer of {held} bytes claims to hold {promised}"
        )));
    }
    Ok(u64::try_from(promised).unwrap_or(held))
}

/// Writes an Arrow IPC file.
fn write(sink: &mut Sink<'_>, table: &Table) -> Result<(), WriteError> {
    let schema = schema(table)?;
    write_batches(sink, table, &schema).map_err(|e| WriteError::Failed(Box::new(e)))
}

fn write_batches(sink: &mut Sink<'_>, table: &Table, schema: &SchemaRef) -> Result<(), ArrowError> {
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))?;
    let mut writer = FileWriter::try_new_with_options(sink, schema, options)?;
    for range in ranges(table.rows(), BATCH) {
        writer.write(&batch(table, schema, range)?)?;
    }
    writer.finish()
}
