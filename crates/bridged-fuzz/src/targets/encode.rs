//! What the encoders read: sequences, pictures, checkpoints, tokenisers, and the log that a run goes on from.

// The command is a program, so its file is taken in here; it needs nothing else of it.
#[path = "../../../bridged-cli/src/commands/encode/resume_log.rs"]
#[allow(dead_code)] // of what the command uses, only reading is attacked
mod resume_log;

use crate::file::with_file;
use crate::{Target, seeds};
use bridged_encode::image::read;
use bridged_encode::kmer::{Kmers, Strand};
use bridged_encode::{Encoder, Weights, fasta, fuzzing};
use resume_log::{Begin, ResumeLog};
use std::io::Cursor;
use std::path::Path;

pub const FASTA: Target = Target {
    name: "fasta",
    run: |bytes| {
        const MOST: usize = 4096;
        let input = Cursor::new(bytes.to_vec());
        let Ok(records) = fasta::read(Path::new("s.fa"), input) else { return false };
        let mut read = 0;
        for record in records.at_most(MOST).take(4096).map_while(Result::ok) {
            assert!(!record.id.is_empty());
            // What is not UTF-8 becomes a sign of three bytes.
            assert!(record.sequence.map_or(0, |letters| letters.len()) <= 3 * MOST);
            read += 1;
        }
        read > 0
    },
    seeds: seeds::fasta,
    words: &[">", "@", "+", ";", "\n", "\r\n", "ACGT", "\x1f"],
    rounds: 10_000,
};

pub const DNA: Target = Target {
    name: "dna",
    run: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for strand in [Strand::Given, Strand::Either] {
            let kmers = Kmers::new(3, strand).expect("3 is allowed");
            if let Ok(row) = &kmers.encode(&[&*text])[0] {
                let sum: f32 = row.iter().sum();
                assert!((sum - 1.0).abs() < 1e-3, "{sum}");
            }
        }
        [258, 1027, 626].map(|size| fuzzing::barcode_words(size, &text)).iter().any(Option::is_some)
    },
    seeds: || ["ACGTACGTNNRY-.acgu", "ACGT", "AC GT\n"].map(|s| s.as_bytes().to_vec()).into(),
    words: &["ACGTACGT", "N", "-", ".", "u", "é"],
    rounds: 5_000,
};

pub const IMAGE: Target = Target {
    name: "image",
    run: |bytes| {
        const MOST: u64 = 1 << 20;
        let Ok(picture) = read::decode_within(bytes, MOST) else { return false };
        assert_eq!(picture.rgb.len(), picture.width * picture.height * 3);
        assert!((picture.width * picture.height) as u64 <= MOST);
        true
    },
    seeds: seeds::images,
    words: &[
        "IHDR", "IDAT", "PLTE", "tRNS", "eXIf", "iCCP", "IEND", "GIF89a", "RIFF", "WEBP", "VP8L",
        "VP8X", "ALPH", "Exif",
    ],
    rounds: 10_000,
};

pub const SAFETENSORS: Target = Target {
    name: "safetensors",
    run: |bytes| weights(bytes, "w.safetensors"),
    seeds: seeds::safetensors,
    words: &[
        "dtype",
        "shape",
        "data_offsets",
        "\"F16\"",
        "\"BF16\"",
        "\"F64\"",
        "\"I64\"",
        "__metadata__",
        "LayerNorm.gamma",
    ],
    rounds: 10_000,
};

pub const TORCH: Target = Target {
    name: "torch",
    run: |bytes| weights(bytes, "w.pt"),
    seeds: seeds::torch,
    words: &[
        "PK",
        "data.pkl",
        "byteorder",
        "FloatStorage",
        "_rebuild_tensor_v2",
        "torch._utils",
        "collections",
        "OrderedDict",
    ],
    rounds: 5_000,
};

pub const PICKLE: Target = Target {
    name: "pickle",
    run: |bytes| {
        let Ok(json) = fuzzing::pickle(bytes) else { return false };
        assert!(json.to_string().len() < 64 << 20);
        true
    },
    seeds: seeds::pickles,
    words: &[
        "q\0",
        "h\0",
        "](",
        "}(",
        "\u{80}",
        "ctorch\nFloatStorage\n",
        "ccollections\nOrderedDict\n",
        "tR",
        "b",
        "Q",
    ],
    rounds: 10_000,
};

pub const TOKENIZER: Target = Target {
    name: "tokenizer",
    run: |bytes| {
        // The text is what follows a zero.
        let text = String::from_utf8_lossy(bytes);
        let (file, text) = text.split_once('\0').unwrap_or((&text, "a dog runs [MASK] ##s"));
        fuzzing::tokens(file, text).is_some()
    },
    seeds: seeds::tokenizers,
    words: &[
        "[CLS]",
        "[SEP]",
        "[UNK]",
        "##",
        "\"id\":",
        "4294967295",
        "added_tokens",
        "content",
        "vocab",
        "\"\"",
        "\u{301}",
        "中",
    ],
    rounds: 10_000,
};

pub const RESUME_LOG: Target = Target {
    name: "resume_log",
    run: |bytes| {
        let asked = seeds::asked();
        with_file(bytes, "parquet.part", |path| {
            // The log is found by the name of the output.
            let output = path.with_extension("");
            let Ok((log, done)) = ResumeLog::open(&output, &asked, Begin::WhereItStopped) else {
                return false;
            };
            let blocks = log.blocks().expect("it was opened just now");
            let ids: Vec<String> = blocks
                .map_while(Result::ok)
                .flat_map(|block| {
                    assert!(block.failed.iter().all(|(at, _)| *at < block.ids.len()));
                    assert_eq!(block.encoded().count(), block.ids.len() - block.failed.len());
                    block.ids
                })
                .collect();
            assert_eq!(ids, done, "what is done is not what the log holds");
            true
        })
    },
    seeds: seeds::resume_logs,
    words: &[
        "\"ids\":",
        "\"failed\":",
        "\"texts\":",
        "\"bytes\":",
        "\"check\":",
        "[]",
        "\n",
        "18446744073709551615",
    ],
    rounds: 2000,
};

fn weights(bytes: &[u8], name: &str) -> bool {
    let Ok(mut weights) = Weights::from_bytes(bytes, Path::new(name), "sentence-bert") else {
        return false;
    };
    let _ = weights.has("pooler.bias");
    if let Some(shape) = weights.shape("a.weight").map(<[usize]>::to_vec)
        && let Ok(data) = weights.take("a.weight", &shape)
    {
        assert_eq!(data.len(), shape.iter().product::<usize>());
    }
    true
}
