//! Arrow IPC: the file format (also known as Feather version 2) and the stream format.
//!
//! Which of the two it is, the first bytes tell. Written files are in the file format,
//! zstd-compressed.

use crate::Input;
use crate::atomic::{Sink, WriteError};
use crate::batches::{Collector, EvenBatches, schema};
use crate::error::TableError;
use crate::format::{Format, Layout};
use crate::pass::{Each, Pass, Schema, Survey, batch_table, wanted_ranges};
use crate::table::Table;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer as ArrowBuffer;
use arrow_ipc::reader::{FileDecoder, FileReader, StreamReader, read_footer_length};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{
    Block, BodyCompression, Buffer, CompressionType, MetadataVersion, root_as_footer,
    root_as_message,
};
use arrow_schema::{ArrowError, SchemaRef};
use bridged_math::cancel::checkpoint;
use bridged_math::guard::quietly;
use bridged_math::memory;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
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
    write_pieces: Some(write_file),
    write_stream: Some(write_stream),
};

const MAGIC: &[u8; 6] = b"ARROW1";

/// Batches of more bytes than this are mapped: programs that know no pieces write a whole table as one.
const MAPPED: i64 = if cfg!(test) { 1 << 12 } else { 64 << 20 };

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
    opened(input, |file, is_file, contents| {
        let schema = schema_of(file, is_file)?;
        let rows = contents.batches.iter().map(|batch| batch.rows).sum();
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
    let result = opened(input, |file, is_file, contents| {
        let mut hand_out = |batch: &RecordBatch, first: usize| -> Result<bool, ArrowError> {
            checkpoint();
            for range in wanted_ranges(first, batch.num_rows(), &pass) {
                still_whole(file, input.len)?;
                let table = batch_table(&batch.slice(range.start, range.len()), input.path)?;
                if let Err(error) = each(table) {
                    stopped = Some(error);
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let mut first = 0;
        if is_file {
            let mut reader = Batches::open(file, contents, pass.columns)?;
            for (at, batch) in contents.batches.iter().enumerate() {
                let end = first + batch.rows;
                let wanted = pass.only.is_none_or(|only| {
                    only.get(only.partition_point(|&row| row < first)).is_some_and(|&row| row < end)
                });
                if wanted {
                    still_whole(file, input.len)?;
                    let Some(batch) = reader.get(at)? else { break };
                    if !hand_out(&batch, first)? {
                        break;
                    }
                }
                first = end;
            }
        } else {
            let last = pass.only.map(|only| only.last().copied().unwrap_or(0));
            let columns = Some(pass.columns.to_vec());
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

/// Refuses a file that was cut off since it was opened. The system would end the process that looks at a mapped page
/// behind the end, so this is asked before every few rows; a cut while they are copied remains.
fn still_whole(file: &File, len: u64) -> Result<(), ArrowError> {
    match file.metadata()?.len() {
        now if now < len => {
            let detail = format!("it was cut off while it was read: {now} of {len} bytes are left");
            Err(ArrowError::IpcError(detail))
        }
        _ => Ok(()),
    }
}

/// What `then` makes of a file, or of a stream, of which the sizes were checked; it is told what is in it.
fn opened<T>(
    input: &Input<'_>,
    then: impl FnOnce(&File, bool, &Contents) -> Result<T, ArrowError>,
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
        let contents = match is_file {
            true => check_footer(file, input.len, &messages)?,
            false => Contents::of_stream(&messages),
        };
        file.rewind()?;
        then(file, is_file, &contents)
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
    /// Whether its numbers lie in the file as they are in memory.
    plain: bool,
}

impl Message {
    fn block(&self) -> Block {
        let [offset, head, body] = self.place;
        Block::new(offset, head as i32, body)
    }
}

/// What a file holds, checked.
struct Contents {
    version: MetadataVersion,
    dictionaries: Vec<Block>,
    batches: Vec<Batch>,
}

struct Batch {
    block: Block,
    rows: usize,
    plain: bool,
}

impl Contents {
    fn of_stream(messages: &[Message]) -> Self {
        let batches = messages.iter().filter_map(|message| {
            let (block, plain) = (message.block(), message.plain);
            Some(Batch { block, rows: message.rows?, plain })
        });
        let (version, batches) = (MetadataVersion::V5, batches.collect());
        Self { version, dictionaries: Vec::new(), batches }
    }

    /// Whether a batch is so large that its pages are better left to the system.
    fn is_mapped(&self) -> bool {
        let large = |batch: &Batch| batch.block.bodyLength() > MAPPED;
        self.batches.iter().all(|batch| batch.plain) && self.batches.iter().any(large)
    }
}

/// Batches by their number: read into memory, or mapped where one of them is large.
enum Batches<'a> {
    Read(FileReader<BufReader<&'a File>>),
    Mapped { decoder: FileDecoder, bytes: ArrowBuffer, blocks: Vec<Block> },
}

impl<'a> Batches<'a> {
    fn open(file: &'a File, contents: &Contents, columns: &[usize]) -> Result<Self, ArrowError> {
        if !contents.is_mapped() {
            let reader = FileReader::try_new(BufReader::new(file), Some(columns.to_vec()))?;
            return Ok(Self::Read(reader));
        }
        let schema = schema_of(file, true)?;
        // SAFETY: the pages are read only. Another process that writes into the file meanwhile could change numbers
        // under a reader, as it could between two reads; what was validated is copied into columns at once, and the
        // file is refused after the pass if its size or time has changed.
        let map = unsafe { memmap2::Mmap::map(file)? };
        let bytes = ArrowBuffer::from(Bytes::from_owner(map));
        let mut decoder =
            FileDecoder::new(schema, contents.version).with_projection(columns.to_vec());
        for block in &contents.dictionaries {
            decoder.read_dictionary(block, &slice(&bytes, block))?;
        }
        let blocks = contents.batches.iter().map(|batch| batch.block).collect();
        Ok(Self::Mapped { decoder, bytes, blocks })
    }

    fn get(&mut self, at: usize) -> Result<Option<RecordBatch>, ArrowError> {
        match self {
            Self::Read(reader) => {
                reader.set_index(at)?;
                reader.next().transpose()
            }
            Self::Mapped { decoder, bytes, blocks } => {
                decoder.read_record_batch(&blocks[at], &slice(bytes, &blocks[at]))
            }
        }
    }
}

/// The bytes of a message, which lie in the file.
fn slice(bytes: &ArrowBuffer, block: &Block) -> ArrowBuffer {
    let len = block.metaDataLength() as usize + block.bodyLength() as usize;
    bytes.slice_with_length(block.offset() as usize, len)
}

/// Refuses a footer that lists anything but the messages of the file: the decoder takes its word
/// for how much room a block needs and where in it the numbers begin. Gives what it lists.
fn check_footer(mut file: &File, len: u64, messages: &[Message]) -> Result<Contents, ArrowError> {
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
    let mut contents =
        Contents { version: footer.version(), dictionaries: Vec::new(), batches: Vec::new() };
    for block in footer.dictionaries().iter().flatten() {
        contents.dictionaries.push(find(block)?.block());
    }
    for block in footer.recordBatches().iter().flatten() {
        let message = find(block)?;
        let (rows, plain) = (message.rows.ok_or_else(wrong)?, message.plain);
        contents.batches.push(Batch { block: message.block(), rows, plain });
    }
    Ok(contents)
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
        let plain = data.is_some_and(|data| data.compression().is_none());
        let place = [begin as i64, (body - begin) as i64, body_len as i64];
        messages.push(Message { place, rows, plain });
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
    write_file(sink, table, &mut std::iter::empty())
}

/// Writes an Arrow file of tables with the same columns, one after the other.
fn write_file(
    sink: &mut Sink<'_>,
    first: &Table,
    rest: &mut dyn Iterator<Item = io::Result<Table>>,
) -> Result<(), WriteError> {
    let schema = schema(first)?;
    let writer = FileWriter::try_new_with_options(sink, &schema, compressed().map_err(failed)?);
    let mut writer = writer.map_err(failed)?;
    write_batches(&schema, first, rest, |batch| writer.write(batch))?;
    writer.finish().map_err(failed)
}

/// Writes an Arrow stream, which is read from its beginning alone. It is not compressed: whoever reads a pipe wants the
/// rows at once.
fn write_stream(
    sink: &mut Sink<'_>,
    first: &Table,
    rest: &mut dyn Iterator<Item = io::Result<Table>>,
) -> Result<(), WriteError> {
    let schema = schema(first)?;
    let mut writer = StreamWriter::try_new(sink, &schema).map_err(failed)?;
    write_batches(&schema, first, rest, |batch| writer.write(batch))?;
    writer.finish().map_err(failed)
}

fn compressed() -> Result<IpcWriteOptions, ArrowError> {
    IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))
}

fn failed(error: ArrowError) -> WriteError {
    WriteError::Failed(Box::new(error))
}

fn write_batches(
    schema: &SchemaRef,
    first: &Table,
    rest: &mut dyn Iterator<Item = io::Result<Table>>,
    mut write: impl FnMut(&RecordBatch) -> Result<(), ArrowError>,
) -> Result<(), WriteError> {
    let mut batches = EvenBatches::new(schema.clone(), BATCH);
    batches.push(first, &mut write).map_err(failed)?;
    for piece in rest {
        batches.push(&piece?, &mut write).map_err(failed)?;
    }
    batches.finish(&mut write).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batches::batch;
    use crate::table::{Column, ColumnData};
    use crate::{ReadOptions, Source};
    use bridged_math::Matrix;
    use bridged_math::rows::Rows;

    /// Large batches that are not compressed.
    fn plain_file(path: &Path, values: &Matrix) {
        let words = (0..5000).map(|i| Some(format!("w{}", i % 7))).collect();
        let columns = vec![
            Column::new("word", ColumnData::Text(words)),
            Column::new("v", ColumnData::Vector(values.clone())),
        ];
        let table = Table::new("t", columns).unwrap();
        let schema = schema(&table).unwrap();
        let mut writer = FileWriter::try_new(File::create(path).unwrap(), &schema).unwrap();
        writer.write(&batch(&table, &schema, 0..3000).unwrap()).unwrap();
        writer.write(&batch(&table, &schema, 3000..5000).unwrap()).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn a_mapped_file_that_is_cut_off_while_it_is_read_is_an_error() {
        let values = Matrix::from_fn(5000, 4, |i, j| (i * 4 + j) as f32);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.arrow");
        let any = Schema::Array { cols: 1, single: true };
        for kept in [0, 9_000, 60_000] {
            plain_file(&path, &values);
            let source = Source::find(&[&path]).unwrap();
            let read = source.parts()[0].open(&ReadOptions::default(), |input| {
                let some = Pass { columns: &[1], rows: 100, only: None };
                pass(input, &any, some, &mut |_| {
                    File::options().write(true).open(&path).unwrap().set_len(kept).unwrap();
                    Ok(())
                })
            });
            let error = read.unwrap_err().to_string();
            assert!(error.contains("t.arrow"), "{error}");
        }
    }

    #[test]
    fn a_large_batch_that_is_not_compressed_is_mapped_and_gives_the_same_rows() {
        let values = Matrix::from_fn(5000, 4, |i, j| (i * 4 + j) as f32);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.arrow");
        plain_file(&path, &values);
        let source = Source::find(&[&path]).unwrap();
        let mapped = source.parts()[0].open(&ReadOptions::default(), |input| {
            opened(input, |_, _, contents| Ok(contents.is_mapped()))
        });
        assert!(mapped.unwrap());
        let stored = source.stored(&ReadOptions::default(), crate::Select::default()).unwrap();
        let mut data = Vec::new();
        let scan = stored.scan(&mut |_, part| {
            data.extend_from_slice(part.data());
            Ok(())
        });
        scan.unwrap();
        assert_eq!(data, values.data());
        assert_eq!(stored.select(&[2999, 3000]).unwrap(), values.view().select([2999, 3000]));
        assert_eq!(stored.pool_of(&[3001]).unwrap().texts()[0].values[0].as_deref(), Some("w5"));
    }
}
