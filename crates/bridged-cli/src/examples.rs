//! Examples that the help of each verb ends with, and the exit codes. The tests run every one of them, in a folder with
//! the files of `bridged demo --save .`.

/// `bridged --help`.
pub const BRIDGED: &str = "\
Examples:
  bridged demo --save .
  bridged fit --x pictures.parquet --y names.parquet --pairs pairs.csv -k 7 -o emoji.bridged
  bridged predict emoji.bridged unseen-pictures.parquet --nearest 3 -o names.csv

Exit codes:
  0    done
  1    failed: a file is missing or damaged, the data do not fit together, the disk is full
  2    wrong usage: an option is unknown, missing or does not apply
  3    done, and the data or models that were looked at do not pass: `drift`, `diff --exit-code`
  130  stopped by Ctrl-C; the message says what was kept

Results go to stdout, everything else to stderr. With --json, an error is one line of JSON on
stderr: {\"error\": {\"message\": …, \"kind\": …, \"exit_code\": …}}.";

/// `bridged demo`.
pub const DEMO: &str = "\
Examples:
  bridged demo
  bridged demo --save . --seed 1";

/// `bridged fit`.
pub const FIT: &str = "\
Examples:
  bridged fit --x pictures.parquet --y names.parquet --pairs pairs.csv -k 7 -o emoji.bridged
  bridged fit --x pictures.parquet --y names.parquet --pairs pairs.csv -k 7 --json -o m.bridged";

/// `bridged predict`.
pub const PREDICT: &str = "\
Examples:
  bridged predict emoji.bridged unseen-pictures.parquet --nearest 3 -o names.xlsx
  bridged predict emoji.bridged unseen-names.parquet --reverse -o pictures.npy
  bridged predict emoji.bridged unseen-pictures.parquet --min-confidence 0.8 -o sure.csv.gz";

/// `bridged inspect`.
pub const INSPECT: &str = "\
Examples:
  bridged inspect emoji.bridged
  bridged inspect emoji.bridged --show-x glyph --show-y name
  bridged inspect emoji.bridged -o links.csv
  bridged inspect emoji.bridged --history
  bridged inspect emoji.bridged --card > emoji.md";

/// `bridged update`.
pub const UPDATE: &str = "\
Examples:
  bridged update emoji.bridged --pairs pairs.csv --in-place
  bridged update emoji.bridged --x unseen-pictures.parquet --y unseen-names.parquet -o m.bridged
  bridged update emoji.bridged --forget ids.txt -o without.bridged";

/// `bridged evaluate`.
pub const EVALUATE: &str = "\
Examples:
  bridged evaluate emoji.bridged --x unseen-pictures.parquet --y unseen-names.parquet
  bridged evaluate emoji.bridged --x pictures.parquet --y names.parquet --pairs pairs.csv
  bridged evaluate emoji.bridged --x unseen-pictures.parquet --y unseen-names.parquet \\
    --labels group --json";

/// `bridged drift`.
pub const DRIFT: &str = "\
Examples:
  bridged drift emoji.bridged unseen-pictures.parquet
  bridged drift emoji.bridged unseen-names.parquet --side y --level 0.01 --json
  bridged drift emoji.bridged pictures.parquet --other names.parquet --pairs pairs.csv
  bridged drift emoji.bridged unseen-pictures.parquet --fail-on never > report.txt

Exit codes: 0 same, shifted or unknown, 3 broken; see --fail-on. 1 is a failure, as everywhere.";

/// `bridged diff`.
pub const DIFF: &str = "\
Examples:
  bridged diff emoji.bridged emoji.bridged
  bridged diff emoji.bridged emoji.bridged --rows unseen-pictures.parquet --json
  bridged diff emoji.bridged emoji.bridged --exit-code

Exit codes: 0, also where the models differ; with --exit-code 3 where they do. 1 is a failure, as everywhere.";

/// `bridged suggest`.
pub const SUGGEST: &str = "\
Examples:
  bridged suggest emoji.bridged -n 5
  bridged suggest emoji.bridged --side x -o ask.csv
  bridged suggest emoji.bridged --kind match --json";

/// `bridged cluster`.
pub const CLUSTER: &str = "\
Examples:
  bridged cluster pictures.parquet -k 7 -o labels.csv
  bridged cluster pictures.parquet --method dbscan --set eps=30 -o labels.parquet";

/// `bridged list`.
pub const LIST: &str = "\
Examples:
  bridged list
  bridged list --json";

/// `bridged serve`.
#[cfg(feature = "serve")]
pub const SERVE: &str = "\
Examples:
  bridged serve emoji.bridged
  bridged serve pictures=emoji.bridged --port 8080";

/// `bridged completions`.
pub const COMPLETIONS: &str = "\
Examples:
  bridged completions bash > bridged.bash";

/// `bridged man`.
#[cfg(feature = "man")]
pub const MAN: &str = "\
Examples:
  bridged man > bridged.1
  bridged man pages";

/// `bridged encode`.
#[cfg(feature = "encode")]
pub const ENCODE: &str = "\
Examples:
  bridged encode list
  bridged encode text names.parquet --column name --encoder tfidf -o words.parquet
  bridged encode dna barcodes.fasta --encoder kmer -o barcodes.parquet";

/// `bridged encode images`.
#[cfg(feature = "encode")]
pub const ENCODE_IMAGES: &str = "\
Examples:
  bridged encode images photos/ -e resnet50 -w resnet50.safetensors -o photos.parquet";

/// `bridged encode text`.
#[cfg(feature = "encode")]
pub const ENCODE_TEXT: &str = "\
Examples:
  bridged encode text names.parquet --column name --encoder tfidf -o words.parquet";

/// `bridged encode dna`.
#[cfg(feature = "encode")]
pub const ENCODE_DNA: &str = "\
Examples:
  bridged encode dna barcodes.fasta --encoder kmer -o barcodes.parquet";

/// `bridged encode list`.
#[cfg(feature = "encode")]
pub const ENCODE_LIST: &str = "\
Examples:
  bridged encode list";

/// `bridged lab`.
#[cfg(feature = "lab")]
pub const LAB: &str = "\
Examples:
  bridged lab run study.toml
  bridged lab report results/study -o report.html";

/// `bridged lab run`.
#[cfg(feature = "lab")]
pub const LAB_RUN: &str = "\
Examples:
  bridged lab run study.toml
  bridged lab run studies/ --list
  bridged lab run studies/ --data kinds --condition random-pairs --data-dir .";

/// `bridged lab pack`.
#[cfg(feature = "lab")]
pub const LAB_PACK: &str = "\
Examples:
  bridged lab pack results -o packed";

/// `bridged lab report`.
#[cfg(feature = "lab")]
pub const LAB_REPORT: &str = "\
Examples:
  bridged lab report results/study -o report.html
  bridged lab report results -o tables.tex";

/// `bridged lab tune`.
#[cfg(feature = "lab")]
pub const LAB_TUNE: &str = "\
Examples:
  bridged lab tune study.toml --draws 1 -o tuned.toml
  bridged lab tune study.toml --methods knn,ridge --draws 2 -o few.toml";

/// `bridged lab curate`.
#[cfg(feature = "lab")]
pub const CURATE: &str = "\
Examples:
  bridged lab curate overlap texts.parquet --words red,blue --rows-per-group 5 -o overlap.parquet
  bridged lab curate encoders texts.parquet -o more.parquet";

/// `bridged lab curate bioscan`.
#[cfg(feature = "lab")]
pub const CURATE_BIOSCAN: &str = "\
Examples:
  bridged lab curate bioscan --metadata metadata.csv --images images.csv --dna dna.csv \\
    --rows-per-group 8 -o bioscan.parquet";

/// `bridged lab curate wit`.
#[cfg(feature = "lab")]
pub const CURATE_WIT: &str = "\
Examples:
  bridged lab curate wit --rows wit.tsv --images images.csv -o wit.parquet";

/// `bridged lab curate flickr30k`.
#[cfg(feature = "lab")]
pub const CURATE_FLICKR: &str = "\
Examples:
  bridged lab curate flickr30k --captions results.token --images images.csv -o flickr.parquet";

/// `bridged lab curate coco`.
#[cfg(feature = "lab")]
pub const CURATE_COCO: &str = "\
Examples:
  bridged lab curate coco --captions captions.json --instances instances.json \\
    --images images.csv --rows-per-group 30 -o coco.parquet";

/// `bridged lab curate overlap`.
#[cfg(feature = "lab")]
pub const CURATE_OVERLAP: &str = "\
Examples:
  bridged lab curate overlap texts.parquet --words red,blue --rows-per-group 5 -o overlap.parquet";

/// `bridged lab curate encoders`.
#[cfg(feature = "lab")]
pub const CURATE_ENCODERS: &str = "\
Examples:
  bridged lab curate encoders texts.parquet -o more.parquet";
