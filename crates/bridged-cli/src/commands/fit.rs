//! `bridged fit`: two pools and pairs in, a model out.

use crate::bridge_view::{self, Show};
use crate::checkpoints::{CheckpointFlags, optimality};
use crate::history;
use crate::outputs;
use crate::passes::{self, PassFlags, ScratchFlags};
use crate::peak::{self, Then};
use crate::pools::{self, Columns, Named, Pairs, Unknown};
use crate::printer::{self, count, plural};
use crate::progress::{Stages, Talk, WRITE};
use crate::setting_flags::SettingFlags;
use crate::table_flags::{ReadFlags, SideColumnFlags};
use anyhow::Result;
use bridged::history::source_date;
use bridged::{BridgedClustering, BridgedModel, Direction};
use bridged_io::{Pool, ReadOptions, Source, StoredRows};
use bridged_math::Seed;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(
        long, value_name = "ROWS", num_args = 1.., required = true,
        help = format!("The input pool: files, a folder, a pattern, a URL or - ({})", bridged_io::format_names())
    )]
    x: Vec<PathBuf>,
    /// The output pool
    #[arg(long, value_name = "ROWS", num_args = 1.., required = true)]
    y: Vec<PathBuf>,
    /// The known pairs: a table of two columns, an id of x and an id of y
    #[arg(long, value_name = "FILE")]
    pairs: PathBuf,
    /// Where the model goes, a .bridged file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Write over a file of any kind and under any name; an input is never written over
    #[arg(long)]
    force: bool,
    /// Leave the history out of the model: which files it was fitted from, with what fingerprints
    #[arg(long)]
    no_history: bool,

    #[command(flatten)]
    settings: SettingFlags,
    /// Where random numbers come from
    #[arg(long, default_value_t = 0, help_heading = "Clustering")]
    seed: u64,

    /// The id column of x [default: `id`, or the one that ends in `_id`, else the row number]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    x_id: Option<String>,
    /// The vector column of x [default: the list column, else all numeric columns]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    x_vector: Option<String>,
    /// The id column of y
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    y_id: Option<String>,
    /// The vector column of y
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    y_vector: Option<String>,

    #[command(flatten)]
    columns: SideColumnFlags,
    /// The column of the pairs that holds ids of x [default: `x_id` or `x`, else the first of two]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pairs_x: Option<String>,
    /// The column of the pairs that holds ids of y
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pairs_y: Option<String>,
    /// Leave out pairs that name an id that no row has
    #[arg(long, help_heading = "Tables")]
    skip_unknown: bool,
    #[command(flatten)]
    read: ReadFlags,
    #[command(flatten)]
    passes: PassFlags,
    #[command(flatten)]
    scratch: ScratchFlags,
    #[command(flatten)]
    checkpoint: CheckpointFlags,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let settings = args.settings.settings()?;
    let inputs = pools::inputs(&[&args.x, &args.y], &[&args.pairs]);
    outputs::model(&args.output, &inputs, args.force)?;
    let (x_source, y_source) = (pools::find(&args.x)?, pools::find(&args.y)?);
    let stages = talk.watch();
    let read = ReadOptions {
        pairs_x: args.pairs_x.as_deref(),
        pairs_y: args.pairs_y.as_deref(),
        ..args.read.options()?
    };
    let missing = args.read.missing();
    let x_columns = Columns { missing, read, ..args.columns.x(&args.x_id, &args.x_vector) };
    let y_columns = Columns { missing, read, ..args.columns.y(&args.y_id, &args.y_vector) };
    let task = Task {
        settings: &settings,
        x: Given { source: &x_source, columns: x_columns, likely: &["x".to_string()] },
        y: Given { source: &y_source, columns: y_columns, likely: &["y".to_string()] },
        pairs: &args.pairs,
        read: &read,
        unknown: if args.skip_unknown { Unknown::Skip } else { Unknown::Refuse },
        seed: Seed(args.seed),
    };
    let stored = match args.passes.may_be_large(&[&x_source, &y_source]) {
        true => Some(
            stages.time("read", || Ok::<_, anyhow::Error>((task.x.stored()?, task.y.stored()?)))?,
        ),
        false => None,
    };
    let mut stored = stored.filter(|(x, y)| args.passes.are_large([x, y], &settings));
    if let Some((x, y)) = &mut stored {
        args.scratch.apply(&mut [x, y])?;
    }
    let save = |model: BridgedModel| -> Result<BridgedModel> {
        let model = match args.no_history {
            true => model,
            false => {
                let rows = [("x", &x_source), ("y", &y_source)];
                let event =
                    model.fit_event(history::VERSION, history::files(&rows, Some(&args.pairs))?);
                model.with_event(event).dated(source_date())
            }
        };
        stages.time(WRITE, || match args.force {
            true => model.save_over(&args.output),
            false => model.save(&args.output),
        })?;
        Ok(model)
    };
    let (model, notes, peak) = match &stored {
        Some((x, y)) => {
            let pairs = task.find_pairs((x, y), &stages)?;
            let peak = peak::predict(&task.pools((x, y)), Then::Bridge(settings.members))?;
            let settings = task.identity((x, y), &pairs);
            let checkpoints =
                args.checkpoint.begin(&args.output, settings, &[x, y], (talk, &stages))?;
            let fitted = task.fit_in_passes((x, y), &pairs, peak, talk, &stages);
            let (model, mut notes) = checkpoints.told(fitted)?;
            notes.extend(checkpoints.notes.iter().cloned());
            let model = save(model)?;
            checkpoints.finish();
            (model, notes, Some(peak))
        }
        None => {
            let (model, notes) = task.fit_in_memory(talk, &stages)?;
            (save(model)?, notes, None)
        }
    };
    let optimality = optimality(&stages);

    let mut out = printer::out();
    if args.json {
        let seconds: serde_json::Map<String, Value> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let mut report = model.describe();
        report["model"] = json!(args.output);
        report["notes"] = json!(notes);
        report["seconds"] = Value::Object(seconds);
        if let Some(peak) = peak {
            report["predicted_peak"] = json!(peak);
        }
        if !optimality.figures.is_empty() {
            report["relative_gap"] = Value::Object(optimality.figures);
        }
        printer::print_json(&report, &mut out)?;
    } else if !talk.quiet {
        summarise(&model, &mut out)?;
        for sentence in optimality.sentences {
            writeln!(out, "{sentence}")?;
        }
        writeln!(out, "\nwrote {}", args.output.display())?;
    }
    Ok(())
}

/// One pool as the user names it.
struct Given<'a> {
    source: &'a Source,
    columns: Columns<'a>,
    likely: &'a [String],
}

impl Given<'_> {
    fn read(&self) -> Result<Pool> {
        pools::read_pool(self.source, self.columns, self.likely)
    }

    fn stored(&self) -> Result<StoredRows> {
        Ok(self.source.stored(&self.columns.read, self.columns.select(self.likely))?)
    }
}

/// What is fitted to what.
struct Task<'a> {
    settings: &'a BridgedClustering,
    x: Given<'a>,
    y: Given<'a>,
    pairs: &'a Path,
    read: &'a ReadOptions<'a>,
    unknown: Unknown,
    seed: Seed,
}

impl Task<'_> {
    /// With all rows in memory. Also gives what to know about how they were read.
    fn fit_in_memory(&self, talk: &Talk, stages: &Stages) -> Result<(BridgedModel, Vec<String>)> {
        let (x_name, y_name) = (self.x.source.name(), self.y.source.name());
        let (x, y, pairs) = stages.time("read", || -> Result<_> {
            let (x, y) = (self.x.read()?, self.y.read()?);
            let (x_named, y_named) =
                (Named { pool: &x, path: x_name }, Named { pool: &y, path: y_name });
            let pairs = pools::read_pairs(self.pairs, self.read, x_named, y_named, self.unknown)?;
            Ok((x, y, pairs))
        })?;
        let mut notes = talk.notes(x_name, &x.notes);
        notes.extend(talk.notes(y_name, &y.notes));
        notes.extend(talk.notes(self.pairs, &pairs.notes));
        let distinct = [&x, &y].map(|pool| pools::distinct_rows(pool.rows.view()));
        let model =
            self.settings.fit_pools(x.into(), y.into(), pairs.known(), self.seed, stages)?;
        for (name, path, side, distinct) in
            [("x", x_name, model.x(), distinct[0]), ("y", y_name, model.y(), distinct[1])]
        {
            notes.extend(talk.notes(path, pools::few_rows(name, side, distinct).as_slice()));
        }
        Ok((model, notes))
    }

    fn pools<'b>(&'b self, (x, y): (&'b StoredRows, &'b StoredRows)) -> [peak::Pool<'b>; 2] {
        [
            peak::Pool { name: "x", rows: x, side: &self.settings.x },
            peak::Pool { name: "y", rows: y, side: &self.settings.y },
        ]
    }

    /// What a state of this work must have been made with.
    fn identity(&self, (x, y): (&StoredRows, &StoredRows), pairs: &Pairs) -> Value {
        let columns = |rows: &StoredRows, given: &Given<'_>| {
            json!([rows.vector_names(), rows.dropped(), given.columns.missing.name()])
        };
        let mut identity = json!({
            "fit": self.settings, "seed": self.seed, "pairs": pairs.rows,
            "x": columns(x, &self.x), "y": columns(y, &self.y),
        });
        if !pairs.negatives.is_empty() {
            identity["negatives"] = json!(pairs.negatives);
        }
        identity
    }

    fn find_pairs(&self, pools: (&StoredRows, &StoredRows), stages: &Stages) -> Result<Pairs> {
        stages.time("read pairs", || {
            let table = bridged_io::read_pairs_with(self.pairs, self.read)?;
            passes::find_pairs(self.pairs, table, pools, self.unknown)
        })
    }

    /// With the rows left in their files.
    fn fit_in_passes(
        &self,
        (x, y): (&StoredRows, &StoredRows),
        pairs: &Pairs,
        peak: u64,
        talk: &Talk,
        stages: &Stages,
    ) -> Result<(BridgedModel, Vec<String>)> {
        let mut notes = Vec::new();
        for (name, rows) in [("x", x), ("y", y)] {
            let path = rows.source().name();
            notes.extend(talk.notes(path, rows.notes()));
            notes.extend(talk.notes(path, &[passes::stay(&format!("the rows of {name}"), rows)]));
        }
        notes.extend(talk.notes(self.pairs, &pairs.notes));
        notes.extend(peak::note(peak, x, talk));
        let model = passes::fit(self.settings, (x, y), pairs.known(), self.seed, stages)?;
        Ok((model, notes))
    }
}

fn summarise(model: &BridgedModel, out: &mut dyn Write) -> Result<()> {
    let settings = model.settings();
    for (name, side, spec) in [("x", model.x(), &settings.x), ("y", model.y(), &settings.y)] {
        let rows = plural(side.total(), "row");
        let (columns, clusters) = (count(side.cols()), plural(side.k(), "cluster"));
        let method = spec.cluster.name();
        writeln!(out, "{name}  {rows} × {columns}, {clusters} by {method}")?;
    }
    writeln!(out)?;
    bridge_view::print(model, Direction::Forward, Show::default(), out)?;
    writeln!(out)?;
    bridge_view::print_share(model, out)?;
    bridge_view::print_checks(model, out)?;
    writeln!(out)?;
    bridge_view::print_verdict(model, out)?;
    bridge_view::print_warnings(model, out)?;
    Ok(())
}
