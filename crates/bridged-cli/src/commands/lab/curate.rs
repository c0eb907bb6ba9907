//! `bridged lab curate`: the paper's data sets from their public files and the vectors of any encoder.

use crate::examples;
use crate::options::usage;
use crate::outputs;
use crate::pools::{self, Columns};
use crate::printer::{self, Align, Grid, bold, count, plural};
use crate::progress::{Stages, Talk, WRITE};
use anyhow::Result;
use bridged_io::{ColumnData, Format, Layout};
use bridged_lab::curate::coco::Classes;
use bridged_lab::curate::{
    self, Bioscan, Coco, Curated, Density, Flickr30k, Selection, Sides, Vectors, Wit, wit,
};
use bridged_math::Seed;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub enum Source {
    /// BIOSCAN-5M: images and DNA barcodes of insect species, of distinct families first
    #[command(after_help = examples::CURATE_BIOSCAN)]
    Bioscan(BioscanArgs),
    /// WIT: images and captions of Wikipedia pages whose titles are alike
    #[command(after_help = examples::CURATE_WIT)]
    Wit(WitArgs),
    /// Flickr30k: photographs and captions with the same key words
    #[command(after_help = examples::CURATE_FLICKR)]
    Flickr30k(FlickrArgs),
    /// COCO: photographs and captions by the one category on them, or by overlapping classes
    #[command(after_help = examples::CURATE_COCO)]
    Coco(CocoArgs),
    /// Any data set with texts: its groups divided by words, so that classes overlap
    #[command(after_help = examples::CURATE_OVERLAP)]
    Overlap(OverlapArgs),
    /// Any data set: more columns of vectors, from encoders that need no weights
    #[command(after_help = examples::CURATE_ENCODERS)]
    Encoders(EncodersArgs),
}

#[derive(Debug, clap::Args)]
pub struct OverlapArgs {
    /// A data set with the columns `group` and `text`
    data: PathBuf,
    /// The words that divide a group; a row with none or several of them is left out
    #[arg(long, value_name = "WORDS", value_delimiter = ',', required = true)]
    words: Vec<String>,
    /// The fewest rows of a class
    #[arg(long, value_name = "N", default_value_t = 50)]
    rows_per_group: usize,
    /// Where the data set goes, a .parquet file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Write over any file, not only over one that this command has made; never over an input
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
pub struct EncodersArgs {
    /// A data set with a column `sequence` (k-mers are added) or `text` (TF-IDF is added)
    data: PathBuf,
    /// Where the data set goes, a .parquet file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Write over any file, not only over one that this command has made; never over an input
    #[arg(long)]
    force: bool,
}

/// What all data sets have in common.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// Vectors of the images, a table with ids
    #[arg(long, value_name = "TABLE")]
    images: PathBuf,
    /// Where the data set goes, a .parquet file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Write over any file, not only over one that this command has made; never over an input
    #[arg(long)]
    force: bool,
    /// The fewest rows of a group, those that a run draws of it; all its rows are kept [default:
    /// 200 for BIOSCAN and COCO, 25 for WIT and Flickr30k]
    #[arg(long, value_name = "N")]
    rows_per_group: Option<usize>,
    /// Keep N groups, drawn at random [default: all; of BIOSCAN one species a family]
    #[arg(long, value_name = "N")]
    groups: Option<usize>,
    /// Keep at most N rows of a group, drawn at random
    #[arg(long, value_name = "N")]
    max_rows: Option<usize>,
    /// Leave out rows without a vector instead of stopping
    #[arg(long)]
    skip_missing: bool,
    /// Where random choices come from
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The id column of the tables of vectors
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The vector column of the tables of vectors
    #[arg(long, value_name = "COLUMN")]
    vector: Option<String>,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

/// The captions' side.
#[derive(Debug, clap::Args)]
pub struct Texts {
    /// Vectors of the captions, a table with ids [default: TF-IDF of the captions]
    #[arg(long, value_name = "TABLE")]
    texts: Option<PathBuf>,
    /// How many numbers TF-IDF is reduced to, where there are no --texts
    #[arg(long, value_name = "N", default_value_t = 128)]
    text_dim: usize,
}

/// How texts fall into groups.
#[derive(Debug, clap::Args)]
pub struct Dense {
    /// The largest cosine distance of neighbours (DBSCAN) [default: the one of eleven that
    /// gives the most groups]
    #[arg(long, value_name = "DISTANCE")]
    eps: Option<f64>,
    /// Neighbours within it, itself included, that make a row the core of a group [default: 5 for
    /// WIT, 10 for Flickr30k]
    #[arg(long, value_name = "N")]
    min_points: Option<usize>,
}

#[derive(Debug, clap::Args)]
pub struct BioscanArgs {
    /// The metadata CSV of BIOSCAN-5M
    #[arg(long, value_name = "CSV")]
    metadata: PathBuf,
    /// Vectors of the barcodes, a table with ids (processid or sampleid)
    #[arg(long, value_name = "TABLE")]
    dna: PathBuf,
    /// The split to take, or all
    #[arg(long, default_value = "test")]
    split: String,
    /// The class of animals to take
    #[arg(long, default_value = "Insecta")]
    class: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub struct WitArgs {
    /// A TSV of WIT, plain or gzip
    #[arg(long, value_name = "TSV")]
    rows: PathBuf,
    /// How many of its rows to look at
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    first: usize,
    /// The language to take
    #[arg(long, default_value = "en")]
    language: String,
    /// Which caption to take: reference (below the picture), attribution or alt-text
    #[arg(long, default_value = "reference", value_parser = ["reference", "attribution", "alt-text"])]
    caption: String,
    /// Vectors of the page titles, a table whose ids are titles, page URLs or row numbers [default:
    /// TF-IDF of the titles]
    #[arg(long, value_name = "TABLE")]
    titles: Option<PathBuf>,
    #[command(flatten)]
    dense: Dense,
    #[command(flatten)]
    texts: Texts,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub struct FlickrArgs {
    /// The token file of Flickr30k
    #[arg(long, value_name = "TOKENS")]
    captions: PathBuf,
    /// How many of its images to take
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    first: usize,
    #[command(flatten)]
    dense: Dense,
    #[command(flatten)]
    texts: Texts,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub struct CocoArgs {
    /// The captions of COCO, such as captions_val2017.json
    #[arg(long, value_name = "JSON")]
    captions: PathBuf,
    /// The objects of COCO, such as instances_val2017.json
    #[arg(long, value_name = "JSON")]
    instances: PathBuf,
    /// Take images with several categories; their sets are classes that overlap
    #[arg(long)]
    overlap: bool,
    /// The category that overlapping classes have in common [default: the most frequent]
    #[arg(long, value_name = "CATEGORY", requires = "overlap")]
    share: Option<String>,
    #[command(flatten)]
    texts: Texts,
    #[command(flatten)]
    common: Common,
}

pub fn run(source: &Source, talk: &Talk) -> Result<()> {
    let (output, inputs, force) = source.files();
    check_output(output, &inputs, force)?;
    let stages = talk.watch();
    let (common, curated) = match source {
        Source::Bioscan(args) => (&args.common, bioscan(args, &stages)?),
        Source::Wit(args) => (&args.common, wit(args, &stages)?),
        Source::Flickr30k(args) => (&args.common, flickr30k(args, &stages)?),
        Source::Coco(args) => (&args.common, coco(args, &stages)?),
        Source::Overlap(args) => return overlap(args, &stages, talk),
        Source::Encoders(args) => return encoders(args, &stages, talk),
    };
    stages.time(WRITE, || bridged_io::write(&common.output, &curated.table))?;
    print(&curated, common, &stages, talk)
}

fn overlap(args: &OverlapArgs, stages: &Stages, talk: &Talk) -> Result<()> {
    let table = stages.time("read data", || bridged_io::read(&args.data))?.in_singles();
    let (table, groups) = curate::overlap::divide(&table, &args.words, args.rows_per_group)?;
    stages.time(WRITE, || bridged_io::write(&args.output, &table))?;
    if !talk.quiet {
        let mut out = printer::out();
        print_groups(&mut out, &groups)?;
        writeln!(out, "wrote {}", args.output.display())?;
    }
    Ok(())
}

fn encoders(args: &EncodersArgs, stages: &Stages, talk: &Talk) -> Result<()> {
    let table = stages.time("read data", || bridged_io::read(&args.data))?;
    let mut table = table.in_singles();
    let added = stages.time("encode", || curate::encoders::add(&mut table))?;
    stages.time(WRITE, || bridged_io::write(&args.output, &table))?;
    if !talk.quiet {
        let mut out = printer::out();
        writeln!(out, "added {}; a study takes one as its `x` or `y`", added.join(", "))?;
        writeln!(out, "wrote {}", args.output.display())?;
    }
    Ok(())
}

fn bioscan(args: &BioscanArgs, stages: &Stages) -> Result<Curated> {
    let x = args.common.images(stages)?;
    let y = args.common.vectors(&args.dna, "--dna", stages)?;
    let bioscan = Bioscan {
        metadata: args.metadata.clone(),
        split: (args.split != "all").then(|| args.split.clone()),
        class: args.class.clone(),
    };
    let sides = Sides { x: &x, y: Some(&y), text_dim: 0 };
    Ok(bioscan.curate(&sides, &args.common.selection(200), stages)?)
}

fn wit(args: &WitArgs, stages: &Stages) -> Result<Curated> {
    let x = args.common.images(stages)?;
    let y = args.common.texts(&args.texts, stages)?;
    let titles = args.titles.as_ref().map(|path| args.common.vectors(path, "--titles", stages));
    let titles = titles.transpose()?;
    let wit = Wit {
        rows: args.rows.clone(),
        first: args.first,
        language: args.language.clone(),
        caption: match args.caption.as_str() {
            "reference" => wit::CAPTIONS[0],
            "attribution" => wit::CAPTIONS[1],
            _ => wit::CAPTIONS[2],
        },
        density: args.dense.or(Wit::DENSITY),
    };
    let sides = Sides { x: &x, y: y.as_ref(), text_dim: args.texts.text_dim };
    Ok(wit.curate(titles.as_ref(), &sides, &args.common.selection(25), stages)?)
}

fn flickr30k(args: &FlickrArgs, stages: &Stages) -> Result<Curated> {
    let x = args.common.images(stages)?;
    let y = args.common.texts(&args.texts, stages)?;
    let flickr = Flickr30k {
        captions: args.captions.clone(),
        images: args.first,
        density: args.dense.or(Flickr30k::DENSITY),
    };
    let sides = Sides { x: &x, y: y.as_ref(), text_dim: args.texts.text_dim };
    Ok(flickr.curate(&sides, &args.common.selection(25), stages)?)
}

fn coco(args: &CocoArgs, stages: &Stages) -> Result<Curated> {
    let x = args.common.images(stages)?;
    let y = args.common.texts(&args.texts, stages)?;
    let coco = Coco {
        captions: args.captions.clone(),
        instances: args.instances.clone(),
        classes: match args.overlap {
            true => Classes::Overlap(args.share.clone()),
            false => Classes::Single,
        },
    };
    let sides = Sides { x: &x, y: y.as_ref(), text_dim: args.texts.text_dim };
    Ok(coco.curate(&sides, &args.common.selection(200), stages)?)
}

/// Whether a data set can be written there, before anything takes its time.
fn check_output(path: &Path, inputs: &[&Path], force: bool) -> Result<()> {
    let keeps_vectors = |format: &Format| format.layout == Layout::Columns;
    if !bridged_io::known_format(path).is_some_and(keeps_vectors) {
        let (output, known) = (path.display(), bridged_io::extensions(keeps_vectors).join(", "));
        return Err(usage(format!(
            "--output `{output}`: a data set keeps vectors in columns; use one of {known}"
        )));
    }
    outputs::table(path, outputs::DATA_SET, inputs, force)
}

impl Source {
    /// The output, the inputs, and whether the output may be a file of any kind.
    fn files(&self) -> (&Path, Vec<&Path>, bool) {
        let (common, files): (&Common, Vec<Option<&PathBuf>>) = match self {
            Self::Overlap(args) => return (&args.output, vec![args.data.as_path()], args.force),
            Self::Encoders(args) => return (&args.output, vec![args.data.as_path()], args.force),
            Self::Bioscan(args) => (&args.common, vec![Some(&args.metadata), Some(&args.dna)]),
            Self::Wit(args) => {
                let files = [Some(&args.rows), args.titles.as_ref(), args.texts.texts.as_ref()];
                (&args.common, files.to_vec())
            }
            Self::Flickr30k(args) => {
                (&args.common, vec![Some(&args.captions), args.texts.texts.as_ref()])
            }
            Self::Coco(args) => {
                let files =
                    [Some(&args.captions), Some(&args.instances), args.texts.texts.as_ref()];
                (&args.common, files.to_vec())
            }
        };
        let files = files.into_iter().flatten().chain([&common.images]);
        (&common.output, files.map(PathBuf::as_path).collect(), common.force)
    }
}

impl Common {
    /// Reads the vectors of the images.
    fn images(&self, stages: &Stages) -> Result<Vectors> {
        self.vectors(&self.images, "--images", stages)
    }

    fn texts(&self, texts: &Texts, stages: &Stages) -> Result<Option<Vectors>> {
        let read = |path| self.vectors(path, "--texts", stages);
        texts.texts.as_deref().map(read).transpose()
    }

    fn vectors(&self, path: &Path, option: &'static str, stages: &Stages) -> Result<Vectors> {
        let columns = Columns {
            id: self.id.as_deref(),
            vector: self.vector.as_deref(),
            ..Columns::default()
        };
        let stage = format!("read {option}");
        let source = pools::find(&[path.to_path_buf()])?;
        let mut pool = stages.time(&stage, || pools::read_pool(&source, columns, &[]))?;
        // A data set of a study holds 32-bit rows in their own units.
        pool.rows = std::mem::take(&mut pool.offset).undo(pool.rows);
        Ok(Vectors::new(pool, path, option))
    }

    fn selection(&self, rows_per_group: usize) -> Selection {
        Selection {
            rows_per_group: self.rows_per_group.unwrap_or(rows_per_group),
            groups: self.groups,
            max_rows: self.max_rows,
            skip_missing: self.skip_missing,
            seed: Seed(self.seed),
        }
    }
}

impl Dense {
    fn or(&self, default: Density) -> Density {
        Density {
            eps: self.eps.or(default.eps),
            min_points: self.min_points.unwrap_or(default.min_points),
        }
    }
}

fn print(curated: &Curated, common: &Common, stages: &Stages, talk: &Talk) -> Result<()> {
    let Curated { table, groups, notes } = curated;
    let width = |name: &str| match table.column(name).map(|c| &c.data) {
        Some(ColumnData::Vector(m)) => m.cols(),
        _ => 0,
    };
    let mut out = printer::out();
    if common.json {
        // A stage may run several times: DBSCAN looks for a radius.
        let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
        for (stage, s) in stages.seconds() {
            *seconds.entry(stage).or_default() += s;
        }
        let sizes: Vec<_> =
            groups.iter().map(|(name, rows)| json!({ "name": name, "rows": rows })).collect();
        let report = json!({
            "rows": table.rows(), "x": width("x"), "y": width("y"), "groups": sizes,
            "notes": notes, "output": common.output, "seconds": seconds,
        });
        printer::print_json(&report, &mut out)?;
    } else if !talk.quiet {
        let (rows, all) = (plural(table.rows(), "row"), plural(groups.len(), "group"));
        let title = format!("{rows} in {all}; x {} numbers, y {}", width("x"), width("y"));
        writeln!(out, "{}", bold(&title))?;
        print_groups(&mut out, groups)?;
        notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
        writeln!(out, "wrote {}", common.output.display())?;
    }
    Ok(())
}

/// Groups that are listed by name.
const SHOWN: usize = 20;

fn print_groups(out: &mut dyn Write, groups: &[(String, usize)]) -> Result<()> {
    let mut grid = Grid::new(&[("group", Align::Left), ("rows", Align::Right)]);
    for (name, rows) in groups.iter().take(SHOWN) {
        grid.row(vec![name.clone(), count(*rows)]);
    }
    grid.print(out)?;
    if groups.len() > SHOWN {
        writeln!(out, "  and {} more", groups.len() - SHOWN)?;
    }
    Ok(())
}
