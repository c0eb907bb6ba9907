//! `bridged drift`: whether new data are as those that a model was fitted on.

use crate::bridge_view::examples;
use crate::failure::Judged;
use crate::passes::PassFlags;
use crate::pools::{self, Columns, Ids, Unknown};
use crate::printer::{self, Align, Grid, bold, count, cut, number, plural};
use crate::progress::{Stages, Talk};
use crate::table_flags::{ColumnFlags, ReadFlags};
use anyhow::{Context, Result, anyhow};
use bridged::{
    BridgedModel, Direction, Drift, DriftAsk, DriftVerdict, NewPairs, NewRows, SideDrift,
};
use bridged_io::{PairsTable, Source, StoredRows, TableError};
use bridged_math::rows::InMemory;
use bridged_math::{Matrix, Rows};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Clusters that are printed.
const PRINTED: usize = 20;
/// Pairs that are printed.
const PAIRS: usize = 5;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    model: PathBuf,
    /// The new rows: files, a folder, a pattern, a URL or -
    #[arg(required = true)]
    rows: Vec<PathBuf>,
    /// The side that they belong to
    #[arg(long, value_name = "SIDE", default_value = "x", value_parser = ["x", "y"])]
    side: String,
    /// New rows of the other side, which are looked at as well
    #[arg(long, value_name = "ROWS", num_args = 1..)]
    other: Vec<PathBuf>,
    /// Known pairs that the fit did not have: a table of an id of x and an id of y, of new rows or of rows that the
    /// model holds
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Compare the rows with these instead of those that the model holds: the rows of the fit, or rows that were fine
    #[arg(long, value_name = "ROWS", num_args = 1..)]
    against: Vec<PathBuf>,
    /// The probability of a false alarm, 0.001 to 0.5: that the verdict is `shifted` although nothing has changed
    #[arg(long, value_name = "P", default_value_t = DriftAsk::LEVEL, value_parser = level)]
    level: f64,
    /// From which verdict on the exit code is 3; `shifted` includes `unknown`
    #[arg(long, value_name = "VERDICT", default_value = "broken", value_parser = ["shifted", "broken", "never"])]
    fail_on: String,
    /// The id column of the rows
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The vector column of the rows [default: the one the model was fitted on, else the only one]
    #[arg(long, value_name = "COLUMN")]
    vector: Option<String>,
    /// Leave out pairs that name an id that no row has
    #[arg(long, requires = "pairs")]
    skip_unknown: bool,
    #[command(flatten)]
    columns: ColumnFlags,
    #[command(flatten)]
    read: ReadFlags,
    #[command(flatten)]
    passes: PassFlags,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

fn level(text: &str) -> Result<f64, String> {
    let level = text.parse().ok().filter(|p| (0.001..=0.5).contains(p));
    level.ok_or_else(|| "give a number from 0.001 to 0.5".to_string())
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let stages = talk.watch();
    let model = stages.time("read model", || BridgedModel::load(&args.model))?;
    let own = if args.side == "y" { Direction::Reverse } else { Direction::Forward };
    let other = if args.side == "y" { Direction::Forward } else { Direction::Reverse };
    let mut notes = Vec::new();
    let work = Work { args, model: &model, talk, stages: &stages };
    let mut broken = Vec::new();
    let mut open = |direction, names: &[PathBuf], named: Columns<'_>| -> Result<Option<Given>> {
        if names.is_empty() {
            return Ok(None);
        }
        match work.open(direction, names, named, &mut notes) {
            Ok(given) => Ok(Some(given)),
            Err(error) => {
                broken.push(other_columns(error)?);
                Ok(None)
            }
        }
    };
    let named = Columns {
        id: args.id.as_deref(),
        vector: args.vector.as_deref(),
        columns: &args.columns.columns,
        exclude: &args.columns.exclude,
        ..Columns::default()
    };
    let new = open(own, &args.rows, named)?;
    let of_other = open(other, &args.other, Columns::default())?;
    let against = match &args.against[..] {
        [] => None,
        names => Some(work.open(own, names, named, &mut notes)?),
    };
    let mut found = match broken.is_empty() {
        true => work.drift((own, new.as_ref(), against.as_ref()), of_other.as_ref(), &mut notes)?,
        false => Drift::of_other_columns(broken, args.level),
    };
    // Columns first: whatever else is odd follows from them.
    found.not_judged.dedup();
    let mut out = printer::out();
    if args.json {
        let seconds: serde_json::Map<_, _> =
            stages.seconds().into_iter().map(|(stage, s)| (stage, json!(s))).collect();
        let mut report = serde_json::to_value(&found)?;
        report["notes"] = json!(notes);
        report["seconds"] = seconds.into();
        printer::print_json(&report, &mut out)?;
    } else if !talk.quiet || found.verdict != DriftVerdict::Same {
        print(&model, &found, &mut out)?;
    }
    out.flush()?;
    let fails = match args.fail_on.as_str() {
        "never" => false,
        "shifted" => found.verdict != DriftVerdict::Same,
        _ => found.verdict == DriftVerdict::Broken,
    };
    if fails { Err(anyhow!(Judged)) } else { Ok(()) }
}

/// What is wrong with the columns of rows that cannot be read for it; any other error is one.
fn other_columns(error: anyhow::Error) -> Result<String> {
    use TableError::{NoVector, NotAVector, NotAsFitted, OutOfRange};
    match error.downcast_ref() {
        Some(NotAsFitted { .. } | NoVector { .. } | NotAVector { .. } | OutOfRange { .. }) => {
            Ok(error.to_string())
        }
        _ => Err(error),
    }
}

/// Rows that a user gave: in memory, or in their files.
enum Given {
    Held { rows: InMemory, ids: Vec<String>, dropped: HashSet<String>, path: PathBuf },
    Stored(Box<StoredRows>),
}

impl Given {
    fn rows(&self) -> &dyn Rows {
        match self {
            Self::Held { rows, .. } => rows,
            Self::Stored(rows) => rows.as_ref(),
        }
    }

    /// The rows that have these ids.
    fn find(&self, wanted: &HashSet<&str>) -> Result<HashMap<String, u32>> {
        Ok(match self {
            Self::Held { ids, .. } => {
                let wanted = (0u32..).zip(ids).filter(|(_, id)| wanted.contains(id.as_str()));
                wanted.map(|(row, id)| (id.clone(), row)).collect()
            }
            Self::Stored(rows) => {
                let found = rows.find_ids(wanted)?;
                found.into_iter().map(|(id, row)| (id, row as u32)).collect()
            }
        })
    }
}

struct Work<'a> {
    args: &'a Args,
    model: &'a BridgedModel,
    talk: &'a Talk,
    stages: &'a Stages,
}

impl Work<'_> {
    fn open(
        &self,
        direction: Direction,
        names: &[PathBuf],
        named: Columns<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Given> {
        let Self { args, model, talk, stages } = self;
        let source: Source = pools::find(names)?;
        let columns = Columns {
            fitted: Some(model.from(direction).fitted()),
            missing: args.read.missing(),
            read: args.read.options()?,
            ..named
        };
        if args.passes.may_be_large(&[&source]) {
            let rows =
                stages.time("read rows", || source.stored(&columns.read, columns.select(&[])))?;
            if args.passes.is_large(&rows) {
                notes.extend(talk.notes(source.name(), rows.notes()));
                return Ok(Given::Stored(Box::new(rows)));
            }
        }
        let pool = stages.time("read rows", || pools::read_pool(&source, columns, &[]))?;
        notes.extend(talk.notes(source.name(), &pool.notes));
        if let Some(why) = pools::wrong_side(model, direction, &pool) {
            let other = if direction == Direction::Forward { "y" } else { "x" };
            let why = format!("{why}; did you mean to say --side {other}?");
            notes.extend(talk.notes(source.name(), &[why]));
        }
        let dropped = pool.dropped.into_iter().collect();
        let path = source.name().to_path_buf();
        Ok(Given::Held { rows: InMemory(pool.rows), ids: pool.ids, dropped, path })
    }

    fn drift(
        &self,
        (own, new, against): (Direction, Option<&Given>, Option<&Given>),
        other: Option<&Given>,
        notes: &mut Vec<String>,
    ) -> Result<Drift> {
        let against = against.map(Given::rows);
        let own_rows = new.map(|given| NewRows { rows: given.rows(), against });
        let other_rows = other.map(|given| NewRows { rows: given.rows(), against: None });
        let is_x = own == Direction::Forward;
        let (x, y) = if is_x { (own_rows, other_rows) } else { (other_rows, own_rows) };
        let pairs = match &self.args.pairs {
            Some(path) => {
                let given = if is_x { [new, other] } else { [other, new] };
                Some(
                    self.pairs(path, given, notes)
                        .with_context(|| format!("`{}`", path.display()))?,
                )
            }
            None => None,
        };
        let pairs = pairs.as_ref().map(|(x, y)| NewPairs { x: x.view(), y: y.view() });
        let ask = DriftAsk { x, y, pairs, level: self.args.level };
        let found = self.stages.time("compare", || self.model.drift(ask, self.stages));
        let path = new.map(|given| match given {
            Given::Held { path, .. } => path.as_path(),
            Given::Stored(rows) => rows.source().name(),
        });
        found.with_context(|| format!("`{}`", path.unwrap_or(Path::new("-")).display()))
    }

    /// The rows of pairs, of the new rows and of those that the model holds.
    fn pairs(
        &self,
        path: &Path,
        given: [Option<&Given>; 2],
        notes: &mut Vec<String>,
    ) -> Result<(Matrix, Matrix)> {
        let table: PairsTable = bridged_io::read_pairs_with(path, &self.args.read.options()?)?;
        let mut wanted: HashSet<String> = table.names.iter().cloned().collect();
        wanted.extend(table.rows.iter().flat_map(|(a, b)| [a.clone(), b.clone()]));
        let wanted: HashSet<&str> = wanted.iter().map(String::as_str).collect();
        let x = self.ids(Direction::Forward, given[0], &wanted)?;
        let y = self.ids(Direction::Reverse, given[1], &wanted)?;
        let unknown = if self.args.skip_unknown { Unknown::Skip } else { Unknown::Refuse };
        let found = pools::find_rows(table, &x, &y, unknown)?;
        notes.extend(self.talk.notes(path, &found.notes));
        let (of_x, of_y): (Vec<u32>, Vec<u32>) = found.rows.into_iter().unzip();
        Ok((
            self.gather(Direction::Forward, given[0], &of_x)?,
            self.gather(Direction::Reverse, given[1], &of_y)?,
        ))
    }

    /// Where ids are: new rows by their numbers, then those that the model holds.
    fn ids(
        &self,
        direction: Direction,
        given: Option<&Given>,
        wanted: &HashSet<&str>,
    ) -> Result<Ids> {
        let side = self.model.from(direction);
        let first = given.map_or(0, |given| given.rows().rows());
        let mut rows = HashMap::new();
        if side.keeps_rows() {
            let held = (0..side.len()).map(|row| (side.names().id(row), (first + row) as u32));
            rows.extend(held.filter(|(id, _)| wanted.contains(id.as_str())));
        }
        rows.extend(given.map(|given| given.find(wanted)).transpose()?.unwrap_or_default());
        let (dropped, path) = match given {
            Some(Given::Held { dropped, path, .. }) => (dropped.clone(), path.clone()),
            Some(Given::Stored(rows)) => (HashSet::new(), rows.source().name().to_path_buf()),
            None => (HashSet::new(), self.args.model.clone()),
        };
        let like = match given {
            Some(Given::Held { ids, .. }) => ids.iter().take(3).cloned().collect(),
            Some(Given::Stored(rows)) => rows.first_ids(3)?,
            None => (0..side.len().min(3)).map(|row| side.names().id(row)).collect(),
        };
        let count = given.map_or(side.len(), |given| given.rows().rows());
        Ok(Ids { rows, dropped, like, count, path })
    }

    fn gather(&self, direction: Direction, given: Option<&Given>, rows: &[u32]) -> Result<Matrix> {
        let side = self.model.from(direction);
        let first = given.map_or(0, |given| given.rows().rows());
        let of_new: Vec<usize> = rows.iter().map(|&r| r as usize).filter(|&r| r < first).collect();
        let found = match given {
            Some(given) => bridged_math::rows::select_in_order(given.rows(), &of_new)?,
            None => Matrix::zeros(0, side.cols()),
        };
        let held = match rows.iter().any(|&r| r as usize >= first) {
            true => Some(side.rows()?),
            false => None,
        };
        let mut next = found.view().iter_rows();
        let mut data = Vec::with_capacity(rows.len() * side.cols());
        for &row in rows {
            match (row as usize).checked_sub(first).zip(held) {
                Some((row, held)) => data.extend_from_slice(held.row(row)),
                None => data.extend_from_slice(next.next().unwrap_or_default()),
            }
        }
        Ok(Matrix::new(rows.len(), side.cols(), data)?)
    }
}

/// Prints what was found, the verdict last.
fn print(model: &BridgedModel, found: &Drift, out: &mut dyn Write) -> Result<()> {
    for side in &found.sides {
        print_side(model, side, out)?;
        writeln!(out)?;
    }
    if let Some(pairs) = &found.pairs {
        writeln!(
            out,
            "{}",
            bold(&format!("{} beside the links", plural(pairs.pairs, "new pair")))
        )?;
        writeln!(
            out,
            "  {} contradict; of {} that the fit left out, {} did",
            count(pairs.contradict),
            plural(pairs.fit_pairs, "pair"),
            count(pairs.fit_contradict)
        )?;
        for pair in pairs.worst.iter().take(PAIRS) {
            let named = |c: Option<u32>| c.map_or("none".to_string(), |c| c.to_string());
            let sure =
                pair.probability.map_or(String::new(), |p| format!(" with probability {p:.2}"));
            writeln!(
                out,
                "  pair {}: x cluster {} is linked to y cluster {}{sure}, not to {}",
                count(pair.pair + 1),
                named(pair.x_cluster),
                named(pair.linked),
                named(pair.y_cluster)
            )?;
        }
        writeln!(out)?;
    }
    if !found.tests.is_empty() {
        let mut grid =
            Grid::new(&[("test", Align::Left), ("p", Align::Right), ("adjusted", Align::Right)]);
        for test in &found.tests {
            let name = match test.side {
                Some(side) => format!("{} of {side}", test.name),
                None => test.name.to_string(),
            };
            grid.row(vec![name, format!("{:.3}", test.p), format!("{:.3}", test.adjusted)]);
        }
        grid.print(out)?;
        writeln!(out)?;
    }
    for what in &found.not_judged {
        writeln!(out, "not judged: {what}")?;
    }
    let what = match found.verdict {
        DriftVerdict::Same => "nothing speaks against it that the data are as in the fit",
        DriftVerdict::Shifted => "the data have changed; look whether predictions still hold",
        DriftVerdict::Broken => "predictions of these data must not be trusted",
        DriftVerdict::Unknown => {
            "not broken as far as can be told, but nothing was there to test it against"
        }
    };
    writeln!(out, "{} – {what}", bold(found.verdict.name()))?;
    found.reasons.iter().try_for_each(|reason| writeln!(out, "  {reason}"))?;
    Ok(())
}

fn print_side(model: &BridgedModel, side: &SideDrift, out: &mut dyn Write) -> Result<()> {
    let direction = if side.side == "x" { Direction::Forward } else { Direction::Reverse };
    let fitted = model.from(direction);
    let beside = match side.against {
        0 => "beside the fit".to_string(),
        rows => format!("beside {}", plural(rows, "row")),
    };
    writeln!(
        out,
        "{}",
        bold(&format!("{} of {} {beside}", plural(side.rows, "new row"), side.side))
    )?;
    let mut shown: Vec<_> = side.clusters.iter().collect();
    let left = shown.len().saturating_sub(PRINTED);
    if left > 0 {
        shown.sort_by(|a, b| (b.share - b.fit).abs().total_cmp(&(a.share - a.fit).abs()));
        shown.truncate(PRINTED);
    }
    let mut grid = Grid::new(&[
        ("cluster", Align::Right),
        ("fit", Align::Right),
        ("new", Align::Right),
        ("interval", Align::Left),
        ("", Align::Left),
        ("members", Align::Left),
    ]);
    for c in shown {
        let outside = c.fit < c.low || c.fit > c.high;
        grid.row(vec![
            c.cluster.to_string(),
            percent(c.fit),
            percent(c.share),
            format!("{} to {}", percent(c.low), percent(c.high)),
            if outside { "*".to_string() } else { String::new() },
            cut(&examples(fitted, c.cluster, None)?, 40),
        ]);
    }
    grid.print(out)?;
    if left > 0 {
        writeln!(out, "  and {} that moved less", plural(left, "cluster"))?;
    }
    if side.outside > 0 {
        writeln!(out, "{} outside all clusters", plural(side.outside, "row"))?;
    }
    if let [half, tenth, hundredth] = &side.distances[..] {
        writeln!(
            out,
            "farther from their clusters than 50 % of the fit: {} of the rows; than 90 %: {}; than 99 %: {}",
            percent(half.new),
            percent(tenth.new),
            percent(hundredth.new)
        )?;
    }
    if let Some(nowhere) = &side.nowhere {
        let rows = plural(nowhere.rows as usize, "row");
        writeln!(out, "like none of the fit: {rows} ({})", percent(nowhere.share))?;
    }
    let mut grid = Grid::new(&[
        ("column", Align::Left),
        ("mean", Align::Right),
        ("now", Align::Right),
        ("deviation", Align::Right),
        ("now", Align::Right),
        ("p", Align::Right),
    ]);
    for c in &side.columns {
        grid.row(vec![
            cut(&c.name, 40),
            number(c.fit_mean),
            number(c.new_mean),
            c.fit_deviation.map_or("–".to_string(), number),
            number(c.new_deviation),
            c.p.map_or("–".to_string(), |p| format!("{p:.3}")),
        ]);
    }
    writeln!(out, "columns that moved most")?;
    Ok(grid.print(out)?)
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p == 0.0 || p >= 9.95 => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}
