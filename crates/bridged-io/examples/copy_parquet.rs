//! Reads Parquet files and writes their rows into one, with nothing between: what a stream of predictions is measured
//! against. One thread reads while another writes, as `bridged predict` does, with the same crates and the same settings
//! of the files.
//!
//!     cargo run --release -p bridged-io --example copy_parquet -- IN.parquet... OUT.parquet
//!
//! Prints the rows and the seconds, as JSON.

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::error::Error;
use std::fs::File;
use std::sync::mpsc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let output = names.pop().ok_or("name the files to read and the file to write")?;
    let began = Instant::now();
    let (send, receive) = mpsc::sync_channel::<RecordBatch>(4);
    let read = move || -> Result<(), String> {
        for name in names {
            let file = File::open(&name).map_err(|e| format!("{name}: {e}"))?;
            let reader =
                ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| e.to_string())?;
            for batch in reader.with_batch_size(8192).build().map_err(|e| e.to_string())? {
                let sent = send.send(batch.map_err(|e| e.to_string())?);
                sent.map_err(|_| "the writer has ended".to_owned())?;
            }
        }
        Ok(())
    };
    let reader = std::thread::spawn(read);
    let (mut rows, mut writer) = (0, None);
    for batch in receive {
        let writer = match &mut writer {
            Some(writer) => writer,
            none => {
                let file = File::create(&output)?;
                let mut properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(1 << 17));
                for field in batch.schema().fields().iter().filter(|f| f.data_type().is_nested()) {
                    for leaf in ["element", "item"] {
                        let parts = [field.name().as_str(), "list", leaf];
                        let path = ColumnPath::new(parts.map(str::to_owned).to_vec());
                        properties = properties
                            .set_column_dictionary_enabled(path.clone(), false)
                            .set_column_statistics_enabled(path, EnabledStatistics::None);
                    }
                }
                none.insert(ArrowWriter::try_new(file, batch.schema(), Some(properties.build()))?)
            }
        };
        rows += batch.num_rows();
        writer.write(&batch)?;
    }
    if let Some(writer) = writer {
        writer.close()?;
    }
    reader.join().map_err(|_| "the reader panicked")??;
    println!("{{\"rows\": {rows}, \"seconds\": {:.3}}}", began.elapsed().as_secs_f64());
    Ok(())
}
