//! `bridged demo`: the main job on embedded real data.
//!
//! Pictures of emoji on one side, their names on the other. The two pools share no emoji except the
//! pairs; a fifth of all emoji are in neither, and are predicted.

use super::evaluate::mse;
use crate::bridge_view::{self, Show};
use crate::outputs;
use crate::printer::{self, Align, Grid, bold, cut, dim, plural};
use crate::progress::Talk;
use anyhow::{Context, Result};
use bridged::files::Overwrite;
use bridged::{BridgedClustering, BridgedModel, Direction, Names, Pool, TextColumn};
use bridged_io::{Column, ColumnData, Select, TABLE_FILE, Table};
use bridged_math::{Matrix, Seed};
use rand::seq::SliceRandom;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

const EMOJI: &[u8] = include_bytes!("../../demo/emoji.parquet");

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also write the files of the demo into this folder, to try the commands on
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
    /// Write over files of the same names in that folder
    #[arg(long, requires = "save")]
    force: bool,
    /// Known pairs in each group
    #[arg(long, value_name = "N", default_value_t = 3)]
    pairs: usize,
    /// Where random numbers come from: another seed, other pools and pairs
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    if let Some(folder) = args.save.as_ref().filter(|folder| folder.exists()) {
        let overwrite = if args.force { Overwrite::AnyKind } else { Overwrite::Nothing };
        for file in FILES {
            outputs::check(&folder.join(file), TABLE_FILE, &[], overwrite)?;
        }
    }
    let emoji = Emoji::load()?;
    let split = Split::draw(&emoji, args.pairs, Seed(args.seed));
    let mut out = printer::out();
    introduce(&emoji, &split, &mut out)?;

    let (x, y) = (emoji.x.view().select(split.x.clone()), emoji.y.view().select(split.y.clone()));
    let x = Pool { rows: x, names: emoji.names(&split.x, "x"), ..Pool::default() };
    let y = Pool { rows: y, names: emoji.names(&split.y, "y"), ..Pool::default() };
    let started = std::time::Instant::now();
    let k = emoji.groups().len();
    let (settings, seed) = (BridgedClustering::with_k(k), Seed(args.seed));
    let model = settings.fit_pools(x, y, &split.pairs, seed, &talk.watch())?;
    let seconds = started.elapsed().as_secs_f64();

    writeln!(out, "{}", bold("2. Each pool is clustered on its own, then the pairs vote"))?;
    writeln!(out, "   balanced k-means into {k} clusters on both sides; {seconds:.2} s\n")?;
    bridge_view::print(&model, Direction::Forward, SHOW, &mut out)?;
    bridge_view::print_warnings(&model, &mut out)?;

    let unseen = Unseen {
        x: emoji.x.view().select(split.test.clone()),
        y: emoji.y.view().select(split.test.clone()),
    };
    predict(&emoji, &model, &split, &unseen, &mut out)?;
    score(&emoji, &model, &split, &unseen, &mut out)?;
    match &args.save {
        Some(folder) => save(&emoji, &split, folder, &mut out)?,
        None => writeln!(
            out,
            "\n{}",
            dim("bridged demo --save demo-files  writes these pools, to try the commands on")
        )?,
    }
    Ok(())
}

/// What --save writes.
const FILES: [&str; 5] = [
    "pictures.parquet",
    "names.parquet",
    "unseen-pictures.parquet",
    "unseen-names.parquet",
    "pairs.csv",
];

const SHOW: Show<'_> = Show { x: Some("glyph"), y: Some("name") };

struct Unseen {
    x: Matrix,
    y: Matrix,
}

/// The embedded table.
struct Emoji {
    id: Vec<String>,
    glyph: Vec<String>,
    name: Vec<String>,
    group: Vec<String>,
    x: Matrix,
    y: Matrix,
}

impl Emoji {
    fn load() -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let path = folder.path().join("emoji.parquet");
        std::fs::write(&path, EMOJI).context("cannot write to the temporary folder")?;
        let table = bridged_io::read(&path)?;
        let text = |name: &str| -> Result<Vec<String>> {
            let column = table.column(name).and_then(Column::to_text).context("a known column")?;
            Ok(column.values.into_iter().map(Option::unwrap_or_default).collect())
        };
        let vectors = |name: &str| -> Result<Matrix> {
            let select = Select { vector: Some(name), ..Select::default() };
            Ok(bridged_io::read(&path)?.into_pool(select)?.rows)
        };
        Ok(Self {
            id: text("id")?,
            glyph: text("glyph")?,
            name: text("name")?,
            group: text("group")?,
            x: vectors("x")?,
            y: vectors("y")?,
        })
    }

    /// The rows of each group.
    fn groups(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (row, group) in self.group.iter().enumerate() {
            groups.entry(group).or_default().push(row);
        }
        groups
    }

    fn names(&self, rows: &[usize], vector: &str) -> Names {
        let pick = |values: &[String]| rows.iter().map(|&i| values[i].clone()).collect();
        let text = |name: &str, values: &[String]| TextColumn {
            name: name.to_string(),
            values: pick(values),
        };
        let texts = vec![text("glyph", &self.glyph), text("name", &self.name)];
        Names { ids: pick(&self.id), texts, vector: vec![vector.to_string()], ..Names::default() }
    }
}

/// Which emoji go where.
struct Split {
    x: Vec<usize>,
    y: Vec<usize>,
    pairs: Vec<(u32, u32)>, // rows of the two pools
    test: Vec<usize>,
}

impl Split {
    /// In each group: a fifth is unseen, the rest is halved, and some are in both as pairs.
    fn draw(emoji: &Emoji, pairs: usize, seed: Seed) -> Self {
        let mut split = Self { x: Vec::new(), y: Vec::new(), pairs: Vec::new(), test: Vec::new() };
        for (group, mut rows) in emoji.groups() {
            rows.shuffle(&mut seed.child("demo").child(group).rng());
            let unseen = rows.len() / 5;
            split.test.extend(rows.drain(..unseen));
            let both = pairs.clamp(1, rows.len());
            let only_x = (rows.len() - both) / 2;
            for (i, row) in rows.into_iter().enumerate() {
                if i < both {
                    split.pairs.push((split.x.len() as u32, split.y.len() as u32));
                }
                if i < both + only_x {
                    split.x.push(row);
                }
                if i < both || i >= both + only_x {
                    split.y.push(row);
                }
            }
        }
        split
    }
}

fn introduce(emoji: &Emoji, split: &Split, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", bold("1. Two collections that nobody linked"))?;
    let (columns_x, columns_y) = (emoji.x.cols(), emoji.y.cols());
    let glyphs: Vec<&str> = split.x.iter().step_by(9).take(9).map(|&i| &*emoji.glyph[i]).collect();
    let names: Vec<&str> = split.y.iter().step_by(25).take(4).map(|&i| &*emoji.name[i]).collect();
    let pictures = plural(split.x.len(), "picture");
    writeln!(out, "   x  {pictures}, {columns_x} numbers each     {} …", glyphs.join(" "))?;
    let texts = plural(split.y.len(), "name");
    writeln!(out, "   y  {texts}, {columns_y} numbers each        {} …", names.join(", "))?;
    let known: Vec<String> = split
        .pairs
        .iter()
        .step_by(4)
        .take(5)
        .map(|&(x, _)| split.x[x as usize])
        .map(|i| format!("{} {}", emoji.glyph[i], cut(&emoji.name[i], 18)))
        .collect();
    let pairs = plural(split.pairs.len(), "known pair");
    writeln!(out, "   and {pairs}: {} …\n", known.join(", "))?;
    Ok(())
}

fn predict(
    emoji: &Emoji,
    model: &BridgedModel,
    split: &Split,
    unseen: &Unseen,
    out: &mut dyn Write,
) -> Result<()> {
    writeln!(out, "\n{}", bold("3. Emoji that it has never seen"))?;
    // One of each group, in the order of the groups.
    let mut seen = std::collections::BTreeSet::new();
    let chosen: Vec<usize> =
        (0..split.test.len()).filter(|&t| seen.insert(&emoji.group[split.test[t]])).collect();
    let pool_title = |direction, row: u32| {
        let column = if direction == Direction::Forward { "name" } else { "glyph" };
        model.to(direction).title(row as usize, Some(column))
    };
    let retrieve = |direction, rows: &Matrix, n| {
        let rows = rows.view().select(chosen.iter().copied());
        let predicted = model.predict(direction, rows.view())?.values;
        model.retrieve(direction, rows.view(), predicted.view(), n)
    };
    let names = retrieve(Direction::Forward, &unseen.x, 2)?;
    let glyphs = retrieve(Direction::Reverse, &unseen.y, 5)?;
    let mut grid = Grid::new(&[
        ("picture", Align::Left),
        ("", Align::Left),
        ("nearest real names", Align::Left),
        ("   name", Align::Left),
        ("", Align::Left),
        ("nearest real pictures", Align::Left),
    ]);
    for (i, &t) in chosen.iter().enumerate() {
        let row = split.test[t];
        let list = |direction, found: &[bridged::Neighbor], separator: &str| {
            let titles: Vec<String> = found.iter().map(|n| pool_title(direction, n.row)).collect();
            titles.join(separator)
        };
        grid.row(vec![
            emoji.glyph[row].clone(),
            "→".into(),
            cut(&list(Direction::Forward, &names[i], ", "), 44),
            format!("   {}", cut(&emoji.name[row], 24)),
            "→".into(),
            list(Direction::Reverse, &glyphs[i], " "),
        ]);
    }
    grid.print(out)?;
    Ok(())
}

fn score(
    emoji: &Emoji,
    model: &BridgedModel,
    split: &Split,
    unseen: &Unseen,
    out: &mut dyn Write,
) -> Result<()> {
    let groups: Vec<&str> = emoji.groups().into_keys().collect();
    let class = |row: usize| groups.iter().position(|g| *g == emoji.group[row]).unwrap_or(0) as u32;
    let classes: Vec<u32> = split.test.iter().map(|&row| class(row)).collect();
    let scores = model.evaluate(unseen.x.view(), unseen.y.view(), Some(&classes))?;
    writeln!(out, "\n{}", bold("4. How good is that?"))?;
    let mut grid = Grid::new(&[
        ("mean squared error", Align::Left),
        ("bridge", Align::Right),
        ("mean of the pool", Align::Right),
        ("mean of the pairs", Align::Right),
        ("right group", Align::Right),
    ]);
    for direction in [Direction::Forward, Direction::Reverse] {
        let (label, s, rows, pool) = match direction {
            Direction::Forward => ("name from picture", &scores.forward, &unseen.x, &split.y),
            Direction::Reverse => ("picture from name", &scores.reverse, &unseen.y, &split.x),
        };
        let prediction = model.predict(direction, rows.view())?;
        let nearest = model.retrieve(direction, rows.view(), prediction.values.view(), 1)?;
        let right = nearest
            .iter()
            .zip(&classes)
            .filter(|(found, c)| found.first().is_some_and(|n| class(pool[n.row as usize]) == **c));
        grid.row(vec![
            format!("{label}, {} unseen", classes.len()),
            mse(&s.model),
            mse(&s.pool_mean),
            s.paired_mean.as_ref().map_or("–".into(), mse),
            format!("{:.0} %", 100.0 * right.count() as f64 / classes.len() as f64),
        ]);
    }
    grid.print(out)?;
    Ok(())
}

/// Writes the pools, the pairs and the unseen rows, and says what to type.
fn save(emoji: &Emoji, split: &Split, folder: &Path, out: &mut dyn Write) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("`{}`", folder.display()))?;
    let text = |name: &str, values: &[String], rows: &[usize]| {
        let values = rows.iter().map(|&i| Some(values[i].clone())).collect();
        Column::new(name, ColumnData::Text(values))
    };
    let table =
        |file: &str, rows: &[usize], title: (&str, &[String]), vectors: &Matrix, all: bool| {
            let path = folder.join(file);
            let mut columns = vec![text("id", &emoji.id, rows), text(title.0, title.1, rows)];
            if all {
                columns.push(text("group", &emoji.group, rows));
            }
            let vectors = vectors.view().select(rows.iter().copied());
            columns.push(Column::new("vector", ColumnData::Vector(vectors)));
            bridged_io::write(&path, &Table::new(&path, columns)?)
        };
    let (glyph, name) = (("glyph", &emoji.glyph[..]), ("name", &emoji.name[..]));
    let [pictures, names, unseen_pictures, unseen_names, pairs_file] = FILES;
    table(pictures, &split.x, glyph, &emoji.x, false)?;
    table(names, &split.y, name, &emoji.y, false)?;
    table(unseen_pictures, &split.test, glyph, &emoji.x, true)?;
    table(unseen_names, &split.test, name, &emoji.y, true)?;
    let pairs: Vec<usize> = split.pairs.iter().map(|&(x, _)| split.x[x as usize]).collect();
    let path = folder.join(pairs_file);
    let columns = vec![text("picture_id", &emoji.id, &pairs), text("name_id", &emoji.id, &pairs)];
    bridged_io::write(&path, &Table::new(&path, columns)?)?;
    let f = folder.display();
    writeln!(out, "\nwrote the pools, the pairs and the unseen emoji into {f}; now try")?;
    writeln!(
        out,
        "  bridged fit --x {f}/pictures.parquet --y {f}/names.parquet --pairs {f}/pairs.csv -k 7 -o {f}/emoji.bridged"
    )?;
    writeln!(out, "  bridged inspect {f}/emoji.bridged")?;
    writeln!(
        out,
        "  bridged predict {f}/emoji.bridged {f}/unseen-pictures.parquet --nearest 3 -o {f}/out.csv"
    )?;
    writeln!(
        out,
        "  bridged evaluate {f}/emoji.bridged --x {f}/unseen-pictures.parquet --y {f}/unseen-names.parquet --labels group"
    )?;
    Ok(())
}
