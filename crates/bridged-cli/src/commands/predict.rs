//! `bridged predict`: the other side of new rows.

use crate::options::{self, usage};
use crate::outputs;
use crate::parts_out::{self, Folder, PartsFlags, PartsOut};
use crate::passes::{self, PassFlags, Pieces};
use crate::pools::{self, Columns};
use crate::printer::{self, count, plural};
use crate::progress::{Stages, Talk, WRITE};
use crate::stored_nearest::Among;
use crate::table_flags::{ColumnFlags, ReadFlags};
use crate::table_out::{TableOut, before_ours};
use anyhow::{Context, Result, anyhow};
use bridged::{Ask, BridgedModel, Direction, Error, Prediction, Status};
use bridged_io::{Column, Layout, Pool, StoredRows, answers};
use bridged_math::{Rows, Stage};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    model: PathBuf,
    /// The rows to predict from: files, a folder, a pattern, a URL or -
    #[arg(required = true)]
    rows: Vec<PathBuf>,
    /// Where the predictions go: a file whose extension tells the format, - for standard output, or a folder with
    /// --rows-per-file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Write over any file, not only over one that this command has made; never over an input
    #[arg(long)]
    force: bool,
    /// Predict x from y
    #[arg(long)]
    reverse: bool,
    /// Also name the N real rows of the other pool that fit each row best, with their distance to its prediction
    #[arg(long, value_name = "N", default_value_t = 0)]
    nearest: usize,
    /// Where --nearest looks: `all` reads the files of a pool that was fitted from there again, `held` takes the rows
    /// that the model holds
    #[arg(long, value_name = "ROWS", default_value = "all", value_parser = ["all", "held"], hide_possible_values = true)]
    among: String,
    /// Give no answer where the output cluster is less likely than this, 0 to 1
    #[arg(long, value_name = "P", value_parser = options::share)]
    min_confidence: Option<f64>,
    /// Also give the radius of a ball that holds the true output with this probability
    #[arg(long, value_name = "P", value_parser = options::share)]
    level: Option<f64>,
    /// Call a row unfamiliar if at most this share of the pool's rows are as far from their
    /// clusters; 0 calls none so [default: 0.001]
    #[arg(long, value_name = "P", value_parser = options::share)]
    unfamiliar: Option<f64>,
    /// The id column of the rows
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The vector column of the rows [default: the one the model was fitted on, else the only one]
    #[arg(long, value_name = "COLUMN")]
    vector: Option<String>,
    #[command(flatten)]
    columns: ColumnFlags,
    #[command(flatten)]
    read: ReadFlags,
    /// Leave out the predicted vectors; so it is in .xlsx unless --values
    #[arg(long)]
    no_values: bool,
    /// Write the predicted vectors also to .xlsx
    #[arg(long, conflicts_with = "no_values")]
    values: bool,
    #[command(flatten)]
    out: TableOut,
    #[command(flatten)]
    parts: PartsFlags,
    #[command(flatten)]
    passes: PassFlags,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let inputs = pools::inputs(&[&args.rows], &[&args.model]);
    let rows_per_file = args.parts.rows_per_file;
    let output = (&args.out, args.output.as_path());
    let format =
        args.parts.check_output(output, outputs::PREDICTIONS, (&args.rows, &inputs), args.force)?;
    args.out.check_json(&args.output, args.json)?;
    let source = pools::find(&args.rows)?;
    let stages = talk.watch();
    let direction = if args.reverse { Direction::Reverse } else { Direction::Forward };
    let model = stages.time("read model", || BridgedModel::load(&args.model))?;
    let layout = format.layout;
    let with_values = !args.no_values && (args.values || layout != Layout::Sheet);
    if layout == Layout::Array && !with_values {
        return Err(usage("--no-values: an npy file holds the vectors and nothing else"));
    }
    let columns = Columns {
        id: args.id.as_deref(),
        vector: args.vector.as_deref(),
        columns: &args.columns.columns,
        exclude: &args.columns.exclude,
        fitted: Some(model.from(direction).fitted()),
        missing: args.read.missing(),
        read: args.read.options()?,
    };
    let ask = Ask {
        min_confidence: args.min_confidence,
        level: args.level,
        unfamiliar: args.unfamiliar.unwrap_or(Ask::default().unfamiliar),
    };
    let among = match args.nearest {
        0 => Among::Nothing,
        _ => stages.time("find rows", || {
            Among::open(
                &args.model,
                model.to(direction),
                direction,
                args.among == "all",
                columns.read,
            )
        })?,
    };
    let neighbours = among.count(model.to(direction)).min(args.nearest);
    if neighbours < args.nearest && !talk.quiet {
        let what = match model.to(direction).rows_at() {
            Some(_) if matches!(among, Among::Held) => "the model holds no more rows of the pool",
            _ => "the pool has no more rows",
        };
        printer::say(&format!("note: --nearest {neighbours}: {what}"));
    }
    let held = match model.to(direction) {
        to if matches!(among, Among::Held) && to.rows_at().is_some() => vec![format!(
            "--nearest looks among the {} of {} rows of {} that the model holds",
            count(to.len()),
            count(to.total()),
            direction.output()
        )],
        _ => Vec::new(),
    };
    let held = talk.notes(&args.model, &held);
    let task = Task {
        args,
        model: &model,
        direction,
        ask,
        among: &among,
        neighbours,
        layout,
        with_values,
        talk,
    };
    let stored = match args.passes.may_be_large(&[&source]) || rows_per_file.is_some() {
        true => {
            Some(stages.time("read rows", || source.stored(&columns.read, columns.select(&[])))?)
        }
        false => None,
    };
    let streams = format.writes_pieces();
    let mut folder = None;
    if let (Some(rows), Some(stored)) = (rows_per_file, &stored) {
        let made_of = stages.time("look at files", || args.made_of(stored))?;
        match Folder::open(&args.output, format, rows, made_of, args.force)? {
            Folder::Finished { files, rows } => {
                return parts_out::say_finished(&args.output, files, rows, args.json);
            }
            Folder::Open(open) => folder = Some(open),
        }
    }
    let is_large =
        |rows: &StoredRows| rows_per_file.is_some() || streams && args.passes.is_large(rows);
    let (summary, mut notes) = match stored.filter(is_large) {
        Some(rows) => task.stream(&rows, folder.as_mut(), &stages)?,
        None => {
            let pool = stages.time("read rows", || pools::read_pool(&source, columns, &[]))?;
            let mut notes = talk.notes(source.name(), &pool.notes);
            notes.extend(task.wrong_side(source.name(), &pool));
            let (columns, summary) = task.answer(pool, source.name(), &stages)?;
            stages.time(WRITE, || args.out.write(&args.output, columns))?;
            (summary, notes)
        }
    };
    notes.extend(held);

    let files = folder.as_ref().map(PartsOut::files);
    if args.json {
        let seconds: serde_json::Map<_, _> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let mut report = json!({
            "rows": summary.rows, "answered": summary.answered, "status": summary.status, "notes": notes,
            "output": args.output, "seconds": seconds,
        });
        if let Some(files) = files {
            report["files"] = json!(files);
            report["rows_before"] = json!(summary.before);
        }
        printer::print_json(&report, &mut printer::out())?;
    } else if !talk.quiet {
        let parts: Vec<String> =
            summary.status.iter().map(|(status, n)| format!("{} {status}", count(*n))).collect();
        let rows = plural(summary.rows, "row");
        let wrote = match files {
            Some(files) => format!("{} in {}", plural(files, "file"), args.output.display()),
            None => args.output.display().to_string(),
        };
        let before = match summary.before {
            0 => String::new(),
            rows => format!(" ({} were there already)", plural(rows, "row")),
        };
        args.out
            .say(&args.output, &format!("{rows}: {}; wrote {wrote}{before}", parts.join(", ")))?;
        if summary.status.contains_key(Status::Unfamiliar.name()) {
            eprintln!(
                "hint: unfamiliar rows are farther from every cluster than the rows that the model \
                 was fitted on; their values are guesses without a probability or a radius. Other \
                 units, other features or another source than in the fit are the usual causes."
            );
        }
    }
    Ok(())
}

impl Args {
    /// What the files of a folder are made of: with anything else, others would come out.
    fn made_of(&self, rows: &StoredRows) -> Result<serde_json::Map<String, serde_json::Value>> {
        let model = bridged::files::fingerprint(&self.model)
            .with_context(|| format!("`{}`", self.model.display()))?;
        let read = self.read.options()?;
        let settings = json!({
            "reverse": self.reverse, "nearest": self.nearest, "among": self.among,
            "min_confidence": self.min_confidence, "level": self.level, "unfamiliar": self.unfamiliar,
            "id": self.id, "vector": self.vector, "columns": self.columns.columns,
            "exclude": self.columns.exclude, "missing": self.read.missing().name(),
            "separator": read.separator, "decimal": read.decimal, "no_values": self.no_values,
            "values": self.values, "safe_csv": self.out.is_safe(),
        });
        let format = self.out.format_of_parts()?.name;
        let files = json!({"format": format, "rows": self.parts.rows_per_file});
        let all = [
            ("command", json!("predict")),
            ("version of bridged", json!(env!("CARGO_PKG_VERSION"))),
            ("model", json!(model)),
            ("rows", parts_out::rows_of(rows)),
            ("settings", settings),
            ("files", files),
        ];
        Ok(all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// What is predicted how.
struct Task<'a> {
    args: &'a Args,
    model: &'a BridgedModel,
    direction: Direction,
    ask: Ask,
    among: &'a Among,
    neighbours: usize,
    layout: Layout,
    with_values: bool,
    talk: &'a Talk,
}

impl Task<'_> {
    /// Why rows seem to belong to the other side, if they do.
    fn wrong_side(&self, path: &Path, pool: &Pool) -> Vec<String> {
        let Some(why) = pools::wrong_side(self.model, self.direction, pool) else {
            return Vec::new();
        };
        let meant = if self.args.reverse { "leave out --reverse" } else { "say --reverse" };
        self.talk.notes(path, &[format!("{why}; did you mean to {meant}?")])
    }

    /// The columns of the output for some rows.
    fn answer(
        &self,
        mut pool: Pool,
        path: &Path,
        stages: &Stages,
    ) -> Result<(Vec<Column>, Summary)> {
        let (model, direction, args) = (self.model, self.direction, self.args);
        let prediction = stages.time("predict", || {
            let prediction = model.predict_asked(direction, pool.rows.view(), self.ask);
            prediction.map_err(|error| match error {
                Error::NoProbabilities { .. } => {
                    usage(format!("--min-confidence: {error} (fit --bridge posterior)"))
                }
                error => anyhow!(error).context(format!("`{}`", path.display())),
            })
        })?;
        let nearest = stages.time("nearest", || {
            let values = prediction.values.view();
            self.among.columns(model, direction, (pool.rows.view(), values), self.neighbours)
        })?;
        let mut columns = answers::explained(&prediction, args.level.is_some());
        columns.extend(nearest);
        let answered: Vec<bool> = (0..prediction.len()).map(|i| prediction.answered(i)).collect();
        let summary = Summary::of(&answered, &prediction);
        if self.layout == Layout::Array {
            columns.clear();
        }
        let values = answers::values(model.to(direction).offset(), prediction.values, answered);
        columns.extend(self.with_values.then(|| Column::new("value", values)));
        if self.layout != Layout::Array {
            let mut input = vec![pool.take_ids()];
            input.append(&mut pool.carried);
            columns = before_ours(input, columns, self.talk);
        }
        Ok((columns, summary))
    }

    /// Predicts rows that stay in their files, some at a time: while some are predicted, the next are read and the
    /// ones before are written.
    fn stream(
        &self,
        rows: &StoredRows,
        folder: Option<&mut PartsOut>,
        stages: &Stages,
    ) -> Result<(Summary, Vec<String>)> {
        let path = rows.source().name();
        stages.time("read ids", || rows.check_ids())?;
        let mut notes = self.talk.notes(path, rows.notes());
        let (mut summary, mut sides) = (Summary::default(), Vec::new());
        let quiet = self.talk.quietly();
        let start = folder.as_ref().map_or(0, |folder| folder.start());
        summary.before = start;
        let out = &self.args.out;
        let write = |pieces: Pieces| match folder {
            Some(folder) => folder.write_columns(out, pieces),
            None => out.write_pieces(&self.args.output, pieces),
        };
        passes::stream(write, |write| {
            let stage = Stage::begin(stages, "rows", Some(rows.rows() as u64))?;
            rows.for_each_pool_from(start, passes::BATCH, |first, pool| {
                if first == start {
                    sides = self.wrong_side(path, &pool);
                }
                let done = (first + pool.rows.rows()) as u64;
                let talk = if first == start { self.talk } else { &quiet };
                let (columns, of_pool) = Task { talk, ..*self }.answer(pool, path, stages)?;
                summary.add(of_pool);
                stage.step(done)?;
                write(columns)
            })
        })?;
        notes.extend(sides);
        Ok((summary, notes))
    }
}

#[derive(Default)]
struct Summary {
    rows: usize,
    answered: usize,
    /// Rows that an earlier run has written.
    before: usize,
    status: std::collections::BTreeMap<&'static str, usize>,
}

impl Summary {
    fn of(answered: &[bool], prediction: &Prediction) -> Self {
        let mut status = std::collections::BTreeMap::new();
        for why in prediction.explanations() {
            *status.entry(why.status.name()).or_insert(0) += 1;
        }
        Self {
            rows: answered.len(),
            answered: answered.iter().filter(|a| **a).count(),
            before: 0,
            status,
        }
    }

    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.answered += other.answered;
        other.status.into_iter().for_each(|(why, n)| *self.status.entry(why).or_insert(0) += n);
    }
}
