//! Small valid files of every format, made here.

use crate::file::with_file;
use bridged::{BridgedClustering, Matrix, Preset, Problem, Seed, Silent};
use bridged_io::{Column, ColumnData, Table};
use flate2::Compression;
use flate2::write::GzEncoder;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use std::io::{Cursor, Write};

fn bytes(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Tables in the format of that ending, as far as it can hold them.
pub fn tables(ending: &str) -> Vec<Vec<u8>> {
    let rows = 5;
    let matrix = Matrix::from_fn(rows, 3, |i, j| i as f32 * 1.5 - j as f32);
    let text = |start: &str| {
        let cell = |i: usize| (i != 2 || start == "r").then(|| format!("{start}{i}"));
        ColumnData::Text((0..rows).map(cell).collect())
    };
    let vector = || Column::new("value", ColumnData::Vector(matrix.clone()));
    let number = |name: &str| {
        Column::new(name, ColumnData::Number((0..rows).map(|i| i as f64 * 0.25).collect()))
    };
    let all = [
        vec![vector()],
        vec![Column::new("id", text("r")), Column::new("name", text("n")), vector()],
        vec![Column::new("id", text("r")), number("width"), number("height")],
    ];
    let written = all.into_iter().filter_map(|columns| {
        with_file(b"", ending, |path| {
            let table = Table::new(path, columns).ok()?;
            bridged_io::write(path, &table).ok()?;
            std::fs::read(path).ok()
        })
    });
    let mut seeds: Vec<Vec<u8>> = written.collect();
    match ending {
        "csv" => seeds.extend(bytes(&["a,v\n1,\"[1.0, 2.0]\"\n2,\"[3 4]\"\n"])),
        "tsv" => seeds.extend(bytes(&["id\ta\nx\t1\ny\t\n"])),
        _ => {}
    }
    seeds
}

pub fn pairs() -> Vec<Vec<u8>> {
    let mut seeds =
        bytes(&["x_id,y_id\na,b\nc,d\n", "y\tx\n1.0\t2.0\n3\t4\n", "a,b\n\"q,\"\"r\",s\n"]);
    let numbers = Matrix::from_fn(3, 2, |i, j| (2 * i + j) as f32);
    seeds.extend(with_file(b"", "npy", |path| {
        let table =
            Table::new(path, vec![Column::new("value", ColumnData::Vector(numbers))]).ok()?;
        bridged_io::write(path, &table).ok()?;
        std::fs::read(path).ok()
    }));
    seeds
}

pub fn columns() -> Vec<Vec<u8>> {
    bytes(&[
        "\n\ntid\nfa\nfb\ntname",
        "id\nvalue\ntid\nfvalue_0\nfvalue_1\nbflag",
        "#row\n\nlvalue\nrother\nifoo_id",
        "\n\nfx\nfy",
    ])
}

/// Models of both kinds of bridges, as small as they get.
pub fn models() -> Vec<Vec<u8>> {
    let x = Matrix::from_fn(12, 2, |i, j| (i / 6 * 9) as f32 + ((i * 7 + j) % 5) as f32 * 0.1);
    let y = Matrix::from_fn(10, 1, |i, _| (i / 5 * 7) as f32 + (i % 3) as f32 * 0.1);
    let problem = Problem::new(x.view(), y.view(), &[(0, 0), (3, 2), (11, 9)]);
    let settings = [BridgedClustering::with_k(2), Preset::Paper.with_k(2)];
    let models = settings.into_iter().map(|settings| {
        let model = settings.fit(problem, Seed(0), &Silent).expect("two clusters can be found");
        model.to_bytes().expect("a model can be written")
    });
    models.collect()
}

pub fn settings() -> Vec<Vec<u8>> {
    bytes(&[
        "clusters=4\nx.cluster=gmm\nx.cluster.tol=0.001\nscale=pca:2",
        "bridge=majority\nrefine=residual\nrefine.alpha=0.5\nuncovered=mean",
        "clusters = 3\nscale = \"l2\"\n[x]\nclusters = 5\n[bridge]\nrule = \"posterior\"\n",
        "[cluster]\nmethod = \"kmeans\"\nk = 3\n[y]\nscale = \"standardize\"\n",
    ])
}

pub fn texts() -> Vec<Vec<u8>> {
    bytes(&[
        "a dog runs on the beach\na dog runs\ttwo dogs\ntwo men, 1,000.5 of them\ntwo tall men talk.\n",
        "Straße İstanbul naïve\n\nx_1 2 3\nαβγ &quot;x&quot;\n",
    ])
}

pub fn studies() -> Vec<Vec<u8>> {
    bytes(&[
        "data = \"d.parquet\"\ngroups = [3]\npairs = [1]\nseeds = 2\nmethods = [\"bridged\", \"knn\"]\n",
        "data = \"d.parquet\"\nseed = 1\ngroups = [3, 4]\nsettings = [\"inductive\"]\ndirections = [\"forward\"]\nmethods = \
         [\"bridged\", \"eot\"]\ntruth = \"closest\"\nextra_clusters = [-1, 0]\n[protocol]\nrows_per_group = 25\n\
         [parameters.eot]\nridge_alpha = 0.001\n[slow]\nmethods = [\"eot\"]\ngroups = [3]\npairs = [1]\nseeds = 1\n",
    ])
}

/// Runs of two methods on two draws.
pub fn runs() -> Vec<Vec<u8>> {
    let mut lines = String::new();
    for (method, mse) in [("bridged", 0.25), ("knn", 0.5)] {
        for run in 0..2 {
            let line = json!({
                "data": "emoji", "groups": 3, "pairs": 1, "setting": "inductive", "direction": "forward",
                "extra_clusters": 0, "run": run, "seed": 7, "method": method, "version": "0.2.0",
                "scores": {"tested": 48, "mse": mse + f64::from(run) * 0.125, "mae": 0.25, "r2": null, "mse_of_mean": 1.0,
                    "clusters": {"ami_x": 0.75, "ami_y": 1.0, "accuracy": 1.0}, "fit_seconds": 0.5,
                    "predict_seconds": 0.25, "peak_bytes": 1024}
            });
            lines += &format!("{line}\n");
        }
    }
    let failed = json!({
        "data": "emoji", "groups": 3, "pairs": 1, "setting": "transductive", "direction": "reverse",
        "extra_clusters": 0, "run": 0, "seed": 7, "method": "gw", "version": "0.2.0", "failed": "no"
    });
    vec![lines.clone().into_bytes(), format!("{lines}{failed}\n").into_bytes()]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(bytes).expect("memory can be written");
    zip.finish().expect("memory can be written")
}

pub fn fasta() -> Vec<Vec<u8>> {
    let fasta = b"; made by hand\n>a|1 a beetle\nACgt\n--\nAC\n>b\n>c\nTT";
    let fastq = b"@a x\nACGT\n+\n@@@@\n@b\nAC\nGT\n+b\n>>\n;>\n";
    vec![fasta.to_vec(), fastq.to_vec(), gzip(fasta), [gzip(b">a\nAC\n"), gzip(b"GT\n")].concat()]
}

/// Pictures of every format that is read, of several kinds of pixels.
pub fn images() -> Vec<Vec<u8>> {
    use image::{DynamicImage, ImageFormat, RgbImage};
    let picture = RgbImage::from_fn(9, 7, |x, y| image::Rgb([(x * 25) as u8, (y * 30) as u8, 7]));
    let picture = DynamicImage::ImageRgb8(picture);
    let kinds = [
        picture.clone(),
        picture.to_rgba8().into(),
        picture.to_luma16().into(),
        picture.to_luma8().into(),
    ];
    let mut seeds = Vec::new();
    for format in [ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP] {
        for kind in &kinds {
            let mut file = Cursor::new(Vec::new());
            // Not every format holds every kind of pixel.
            if kind.write_to(&mut file, format).is_ok() {
                seeds.push(file.into_inner());
            }
        }
    }
    seeds.push(jpeg());
    seeds
}

/// An 8 × 8 picture of one grey block: tables, one scan, one code.
fn jpeg() -> Vec<u8> {
    let tables = b"\xFF\xC0\x00\x0B\x08\x00\x08\x00\x08\x01\x01\x11\x00\
        \xFF\xC4\x00\x14\x00\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x00\
        \xFF\xC4\x00\x14\x10\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x00\
        \xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00\x3F\xFF\xD9";
    [b"\xFF\xD8\xFF\xDB\x00\x43\x00".as_slice(), &[1; 64], tables].concat()
}

pub fn safetensors() -> Vec<Vec<u8>> {
    let four: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let view = |dtype, shape: &[usize], len: usize| {
        TensorView::new(dtype, shape.to_vec(), &four[..len]).expect("the shape has these bytes")
    };
    let tensors = [
        ("a.weight", view(Dtype::F32, &[2, 2], 16)),
        ("module.bert.LayerNorm.gamma", view(Dtype::F16, &[4], 8)),
        ("half", view(Dtype::BF16, &[2, 1], 4)),
        ("double", view(Dtype::F64, &[2], 16)),
        ("counter", view(Dtype::I64, &[1], 8)),
    ];
    vec![safetensors::serialize(tensors, None).expect("memory can be written")]
}

/// `{"a.weight": tensor of 2 × 2}` as PyTorch describes it.
fn state_dict() -> Vec<u8> {
    let text = |text: &str| {
        [b"X".as_slice(), &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
    };
    [
        b"\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01(".to_vec(),
        text("a.weight"),
        b"ctorch._utils\n_rebuild_tensor_v2\nq\x02((".to_vec(),
        text("storage"),
        b"ctorch\nFloatStorage\nq\x03".to_vec(),
        text("0"),
        text("cpu"),
        b"K\x04tQK\x00K\x02K\x02\x86K\x02K\x01\x86\x89h\x00)RtRq\x04u.".to_vec(),
    ]
    .concat()
}

pub fn pickles() -> Vec<Vec<u8>> {
    let plain = b"}(X\x01\x00\x00\x00a](K\x01J\xfe\xff\xff\xffG@\x04\x00\x00\x00\x00\x00\x00eX\x01\x00\x00\x00b\x88N\x86u.";
    vec![state_dict(), plain.to_vec(), b"Nq\x00](h\x00h\x00eq\x00](h\x00h\x00e.".to_vec()]
}

/// A checkpoint as a zip, and one of the old format.
pub fn torch() -> Vec<Vec<u8>> {
    let numbers: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let zipped = |method: zip::CompressionMethod| {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        for (name, bytes) in [
            ("m/data.pkl", state_dict()),
            ("m/byteorder", b"little".to_vec()),
            ("m/data/0", numbers.clone()),
        ] {
            archive.start_file(name, options).expect("memory can be written");
            archive.write_all(&bytes).expect("memory can be written");
        }
        archive.finish().expect("memory can be written").into_inner()
    };
    let magic =
        b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";
    let keys = b"\x80\x02]X\x01\x00\x00\x000a.";
    let row = [magic.as_slice(), &state_dict(), keys, &4u64.to_le_bytes(), &numbers].concat();
    vec![zipped(zip::CompressionMethod::Stored), zipped(zip::CompressionMethod::Deflated), row]
}

pub fn tokenizers() -> Vec<Vec<u8>> {
    let vocab = json!({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "a": 5, "dog": 6, "run": 7, "##s": 8, "中": 9});
    let json = json!({
        "added_tokens": [{"id": 4, "content": "[MASK]"}],
        "normalizer": {"type": "BertNormalizer", "lowercase": true, "strip_accents": null},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab}
    });
    let words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\ndog\nrun\n##s\n";
    vec![
        json.to_string().into_bytes(),
        format!("{json}\0A dög runs [MASK] 中!").into_bytes(),
        words.as_bytes().to_vec(),
    ]
}

/// What the log of the seeds was begun with.
pub fn asked() -> Value {
    json!({"bridged encode": 1, "encoder": "kmer", "k": 5})
}

pub fn resume_logs() -> Vec<Vec<u8>> {
    let vectors: Vec<u8> = [1.0f32, 0.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    let block = |first: usize| {
        let head = json!({
            "ids": [first.to_string(), (first + 1).to_string()], "failed": [[1, "broken"]], "texts": ["ä"],
            "bytes": vectors.len(), "check": crc32fast::hash(&vectors)
        });
        [format!("{head}\n").into_bytes(), vectors.clone()].concat()
    };
    let begun = format!("{}\n", asked()).into_bytes();
    vec![begun.clone(), [begun, block(0), block(2)].concat()]
}
