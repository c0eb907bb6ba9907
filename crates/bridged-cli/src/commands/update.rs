//! `bridged update`: more pairs, new rows and rows to forget for a model that is there.

use crate::history;
use crate::options::{share, usage};
use crate::outputs;
use crate::pools::{self, Columns, Ids, Unknown};
use crate::printer::{self, Align, Grid, count, plural};
use crate::progress::{Stages, Talk, WRITE};
use crate::table_flags::{ReadFlags, SideColumnFlags};
use anyhow::{Context, Result, bail};
use bridged::files::FileLock;
use bridged::history::Event;
use bridged::update::{Changes, NewPool, PoolChange, Updated};
use bridged::{BridgedModel, Side};
use bridged_io::{ReadOptions, Source};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A probability that moved by less is not worth a line.
const WORTH_A_LOOK: f64 = 0.05;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    model: PathBuf,
    /// More known pairs, or answers yes, no and unsure: their rows are in the pools already, or come with --x and --y
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// New rows of the input pool: files, a folder, a pattern, a URL or -
    #[arg(long, value_name = "ROWS", num_args = 1..)]
    x: Vec<PathBuf>,
    /// New rows of the output pool
    #[arg(long, value_name = "ROWS", num_args = 1..)]
    y: Vec<PathBuf>,
    /// Take the rows with these ids out of both pools, and their pairs with them: a text file, one id per line
    #[arg(long, value_name = "FILE")]
    forget: Option<PathBuf>,
    /// The same for x alone
    #[arg(long, value_name = "FILE")]
    forget_x: Option<PathBuf>,
    /// The same for y alone
    #[arg(long, value_name = "FILE")]
    forget_y: Option<PathBuf>,
    /// How much less all rows so far count in the centroids than the new ones, 0 to 1
    #[arg(long, value_name = "RATE", default_value_t = 0.0, value_parser = share)]
    forgetting: f64,
    /// Make clusters of new rows that lie together and that no cluster explains; without it they are only shown
    #[arg(long)]
    new_clusters: bool,
    /// Where the new model goes
    #[arg(long, short, value_name = "FILE", required_unless_present = "in_place")]
    output: Option<PathBuf>,
    /// Put the new model in the place of the old one
    #[arg(long, conflicts_with = "output")]
    in_place: bool,
    /// Write over a file of any kind and under any name; an input is never written over
    #[arg(long)]
    force: bool,
    /// Write nothing into the history of the model, and take out what is there
    #[arg(long)]
    no_history: bool,

    /// The id column of x [default: that of the fit]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    x_id: Option<String>,
    /// The vector column of x [default: that of the fit]
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
    /// Leave out pairs, and ids to forget, that name an id that no row has
    #[arg(long, help_heading = "Tables")]
    skip_unknown: bool,
    #[command(flatten)]
    read: ReadFlags,

    /// Print what has changed as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    if args.forgetting >= 1.0 {
        return Err(usage("--forgetting 1 would forget everything; give a rate below 1"));
    }
    let target = args.output.as_deref().unwrap_or(&args.model);
    let mut others: Vec<&Path> = Vec::new();
    others.extend(args.pairs.as_deref());
    others.extend(
        [&args.forget, &args.forget_x, &args.forget_y].into_iter().flatten().map(PathBuf::as_path),
    );
    if !args.in_place {
        others.push(&args.model);
    }
    let inputs = pools::inputs(&[&args.x, &args.y], &others);
    outputs::model(target, &inputs, args.force)?;
    // Two updates of one file at once would lose one of them.
    let _lock = FileLock::acquire(&lock_path(target), target)?;
    let stages = talk.watch();
    let model = stages.time("read model", || BridgedModel::load(&args.model))?;
    let (updated, event, notes) = args.update(&model, talk, &stages)?;
    let changes = updated.changes;
    let updated = match args.no_history {
        true => updated.model.without_history(),
        false => updated.model.dated(history::written(&args.model)).with_event(event.clone()),
    };
    stages.time(WRITE, || match args.force {
        true => updated.save_over(target),
        false => updated.save(target),
    })?;
    let mut out = printer::out();
    if args.json {
        let seconds: serde_json::Map<String, Value> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let report = json!({
            "model": target, "changes": changes, "notes": notes, "seconds": seconds,
            "warnings": updated.warnings(),
        });
        printer::print_json(&report, &mut out)?;
    } else if !talk.quiet {
        writeln!(out, "{}", history::in_words(&event))?;
        print(&changes, &mut out)?;
        writeln!(out, "\nwrote {}", target.display())?;
    }
    Ok(())
}

impl Args {
    /// The model as it is after the update, what its history tells of that, and what to know about the files.
    fn update(
        &self,
        model: &BridgedModel,
        talk: &Talk,
        stages: &Stages,
    ) -> Result<(Updated, Event, Vec<String>)> {
        let read = ReadOptions {
            pairs_x: self.pairs_x.as_deref(),
            pairs_y: self.pairs_y.as_deref(),
            ..self.read.options()?
        };
        let mut notes = Vec::new();
        let (forget_x, forget_y) = self.forgotten(model)?;
        let mut change = |name: &'static str,
                          side: &Side,
                          rows: &[PathBuf],
                          columns: Columns<'_>,
                          forget: &[usize]| {
            let columns = Columns {
                missing: self.read.missing(),
                read,
                fitted: Some(side.fitted()),
                ..columns
            };
            let source = (!rows.is_empty()).then(|| pools::find(rows)).transpose()?;
            let Some(source) = source else { return Ok((side.changed(name, None, forget)?, None)) };
            let likely = [name.to_string()];
            let pool = pools::read_pool(&source, columns, &likely)?;
            notes.extend(talk.notes(source.name(), &pool.notes));
            let changed = match side.rows_at() {
                Some(_) if forget.is_empty() => {
                    let stored = source.stored(&columns.read, columns.select(&likely))?;
                    let at = stored.rows_at().with_fingerprints();
                    let at = at.with_context(|| format!("`{}`", source.name().display()))?;
                    side.changed_in_files(name, pool.into(), at)
                }
                _ => side.changed(name, Some(pool.into()), forget),
            };
            let pool = changed.with_context(|| format!("`{}`", source.name().display()))?;
            Ok::<_, anyhow::Error>((pool, Some(source)))
        };
        let (x_columns, y_columns) = (
            self.columns.x(&self.x_id, &self.x_vector),
            self.columns.y(&self.y_id, &self.y_vector),
        );
        let (x, x_source) =
            stages.time("read x", || change("x", model.x(), &self.x, x_columns, &forget_x))?;
        let (y, y_source) =
            stages.time("read y", || change("y", model.y(), &self.y, y_columns, &forget_y))?;
        let (pairs, negatives) = match &self.pairs {
            Some(path) => {
                let pairs = stages.time("read pairs", || {
                    let table = bridged_io::read_pairs_with(path, &read)?;
                    let ids = (ids("x", &x, model, &x_source), ids("y", &y, model, &y_source));
                    let unknown = if self.skip_unknown { Unknown::Skip } else { Unknown::Refuse };
                    pools::find_answers(table, &ids.0, &ids.1, unknown)
                        .with_context(|| format!("`{}`", path.display()))
                })?;
                if pairs.rows.is_empty() && pairs.negatives.is_empty() {
                    bail!("`{}` holds no pair, and no answer yes or no", path.display());
                }
                notes.extend(talk.notes(path, &pairs.notes));
                (pairs.rows, pairs.negatives)
            }
            None => Default::default(),
        };
        let sources = [("x", &x_source), ("y", &y_source)];
        let sources: Vec<(&str, &Source)> =
            sources.iter().filter_map(|(role, s)| Some((*role, s.as_ref()?))).collect();
        let files = history::files(&sources, self.pairs.as_deref())?;
        let update = bridged::update::Update {
            pairs,
            negatives,
            forgetting: self.forgetting,
            new_clusters: self.new_clusters,
            ..model.begin_update(x, y)
        };
        let updated = stages.time("update", || model.update(update, stages))?;
        let event = updated.event(history::VERSION, files);
        Ok((updated, event, notes))
    }

    /// The rows of both sides whose ids are in the lists of those to forget.
    fn forgotten(&self, model: &BridgedModel) -> Result<(Vec<usize>, Vec<usize>)> {
        let numbered = |side: &Side| side.names().id.is_none();
        if self.forget.is_some() && numbered(model.x()) && numbered(model.y()) {
            return Err(usage(
                "--forget: rows of both sides are called by their numbers, which do not stand for the same on both; \
                 use --forget-x and --forget-y",
            ));
        }
        let (mut x, mut y) = (HashSet::new(), HashSet::new());
        for (path, of_x, of_y) in [
            (&self.forget, true, true),
            (&self.forget_x, true, false),
            (&self.forget_y, false, true),
        ] {
            let Some(path) = path else { continue };
            let wanted = read_ids(path)?;
            let mut unknown: HashSet<&str> = wanted.iter().map(String::as_str).collect();
            for (side, is_asked, rows) in [(model.x(), of_x, &mut x), (model.y(), of_y, &mut y)] {
                for row in (0..side.len()).filter(|_| is_asked) {
                    let id = side.names().id(row);
                    if wanted.contains(&id) {
                        rows.insert(row);
                        unknown.remove(id.as_str());
                    }
                }
            }
            if let (Some(id), false) = (unknown.iter().min(), self.skip_unknown) {
                bail!(
                    "`{}` names `{id}`, which is not an id of {}; --skip-unknown leaves such ids out",
                    path.display(),
                    match (of_x, of_y) {
                        (true, true) => "x or y",
                        (true, false) => "x",
                        _ => "y",
                    }
                );
            }
        }
        let sorted = |rows: HashSet<usize>| {
            let mut rows: Vec<usize> = rows.into_iter().collect();
            rows.sort_unstable();
            rows
        };
        Ok((sorted(x), sorted(y)))
    }
}

/// The ids of a text file, one per line.
fn read_ids(path: &Path) -> Result<HashSet<String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("`{}`", path.display()))?;
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let ids: HashSet<String> = lines.filter(|line| !line.is_empty()).map(str::to_string).collect();
    match ids.is_empty() {
        true => bail!("`{}` names no id; give one id per line", path.display()),
        false => Ok(ids),
    }
}

/// Where the ids of a side are after the update.
fn ids(name: &str, pool: &NewPool, model: &BridgedModel, source: &Option<Source>) -> Ids {
    let side = if name == "x" { model.x() } else { model.y() };
    let count = side.len() + pool.added() - pool.forgotten();
    let id = |row: usize| pool.names().id(row);
    let path = source.as_ref().map_or(Path::new("the model"), Source::name).to_path_buf();
    Ids {
        rows: (0..count).map(|row| (id(row), row as u32)).collect::<HashMap<_, _>>(),
        dropped: HashSet::new(),
        like: (0..count.min(3)).map(id).collect(),
        count,
        path,
    }
}

/// The file whose lock an update holds.
fn lock_path(target: &Path) -> PathBuf {
    // A link and what it leads to are one file.
    let target = target.canonicalize().unwrap_or_else(|_| target.to_path_buf());
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.lock"))
}

/// What has changed, as a person reads it.
fn print(changes: &Changes, out: &mut dyn Write) -> Result<()> {
    let pairs = changes.pairs;
    if pairs.added + pairs.known + pairs.forgotten > 0 {
        writeln!(
            out,
            "pairs: {} added, {} known already, {} gone with their rows",
            count(pairs.added),
            count(pairs.known),
            count(pairs.forgotten)
        )?;
    }
    if pairs.denied > 0 {
        writeln!(
            out,
            "rows that do not belong together: {} known",
            plural(pairs.denied, "answer")
        )?;
    }
    let worth: Vec<_> =
        changes.links.iter().filter(|link| link.is_worth_a_look(WORTH_A_LOOK)).collect();
    if worth.is_empty() {
        writeln!(out, "\nno link has changed")?;
    } else {
        let mut grid = Grid::new(&[
            ("x", Align::Right),
            ("rows", Align::Right),
            ("pairs", Align::Right),
            ("y before", Align::Right),
            ("p", Align::Right),
            ("y now", Align::Right),
            ("p", Align::Right),
        ]);
        let linked = |to: Option<u32>| to.map_or("–".to_string(), |to| to.to_string());
        let probability = |p: Option<f64>| p.map_or(String::new(), |p| format!("{p:.2}"));
        let before_and_now = |before: String, now: String| match before == now {
            true => now,
            false => format!("{before} → {now}"),
        };
        let rows = |n: Option<u32>| n.map_or("new".to_string(), |n| count(n as usize));
        for link in &worth {
            grid.row(vec![
                link.cluster.to_string(),
                before_and_now(rows(link.rows[0]), rows(link.rows[1])),
                before_and_now(link.pairs[0].to_string(), link.pairs[1].to_string()),
                linked(link.linked[0]),
                probability(link.probability[0]),
                linked(link.linked[1]),
                probability(link.probability[1]),
            ]);
        }
        writeln!(out)?;
        grid.print(out)?;
        let rest = changes.links.len() - worth.len();
        if rest > 0 {
            writeln!(out, "the other {} are linked as before", plural(rest, "cluster"))?;
        }
    }
    let pools = [("x", &changes.x), ("y", &changes.y)];
    if pools.iter().any(|(_, pool)| pool.added + pool.forgotten > 0) {
        writeln!(out)?;
    }
    for (name, pool) in pools {
        print_pool(name, pool, out)?;
    }
    if let [Some(before), Some(now)] = changes.error {
        writeln!(out, "\nerror ÷ constant of left-out pairs, y from x: {before:.2} → {now:.2}")?;
    }
    Ok(())
}

fn print_pool(name: &str, pool: &PoolChange, out: &mut dyn Write) -> Result<()> {
    let stayed = pool.rows[0] - pool.forgotten;
    if pool.added + pool.forgotten > 0 {
        writeln!(
            out,
            "{name}: {} of {} rows that stayed are in another cluster now",
            count(pool.moved),
            count(stayed)
        )?;
    }
    for region in &pool.regions {
        let ids: Vec<&str> = region.ids.iter().take(3).map(String::as_str).collect();
        let dots = if region.ids.len() > ids.len() { ", …" } else { "" };
        writeln!(
            out,
            "{name}: {} lie together {:.1} radii from cluster {}, the nearest ({}{dots}); by chance {:.1} of the new rows \
             would lie so far out{}",
            plural(region.ids.len(), "new row"),
            region.away,
            region.nearest,
            ids.join(", "),
            region.by_chance,
            match region.added {
                true => "; they are a cluster of their own now",
                false => "; --new-clusters makes them a cluster",
            }
        )?;
    }
    Ok(())
}
