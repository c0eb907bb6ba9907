//! `bridged suggest`: the rows whose partner is worth finding next, or the pairs that are worth judging.

use crate::bridge_view::Show;
use crate::outputs;
use crate::printer::{self, Align, Grid, bold, cut, number};
use crate::progress::{Talk, WRITE};
use crate::table_out::TableOut;
use anyhow::Result;
use bridged::{BridgedModel, Candidate, Direction, Question, Suggestion, Wanted};
use bridged_io::{Column, ColumnData};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// The widest cell of a title.
const WIDEST: usize = 28;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    model: PathBuf,
    /// How many questions, at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    count: usize,
    /// The side whose rows are asked about [default: both]
    #[arg(long, value_name = "SIDE")]
    side: Option<SideName>,
    /// What is asked: which row is the partner of this one, or whether these two belong together
    #[arg(long, value_name = "KIND", default_value = "partner")]
    kind: Kind,
    /// Write the questions to a table, with a column for the answers that `fit --pairs` reads; the extension tells the
    /// format, and - is standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over any file, not only over questions that nobody has answered; never over an input
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    out: TableOut,
    /// The carried column that stands for rows of x [default: the one that tells clusters apart best]
    #[arg(long, value_name = "COLUMN")]
    show_x: Option<String>,
    /// The carried column that stands for rows of y [default: the one that tells clusters apart best]
    #[arg(long, value_name = "COLUMN")]
    show_y: Option<String>,
    /// Print the questions as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SideName {
    /// Rows of x
    X,
    /// Rows of y
    Y,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Which row of the other side belongs to this row?
    Partner,
    /// Does this row of x belong with this row of y: yes, no, unsure?
    Match,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    if let Some(output) = &args.output {
        args.out.check_json(output, args.json)?;
        args.out.format_of(output)?;
        outputs::table(output, outputs::QUESTIONS, &[&args.model], args.force)?;
    }
    let stages = talk.watch();
    let model = stages.time("read model", || BridgedModel::load(&args.model))?;
    let show = Show { x: args.show_x.as_deref(), y: args.show_y.as_deref() };
    show.check(&model)?;
    let side = args.side.map(|side| match side {
        SideName::X => Direction::Forward,
        SideName::Y => Direction::Reverse,
    });
    let kind = match args.kind {
        Kind::Partner => Question::Partner,
        Kind::Match => Question::Match,
    };
    let wanted = Wanted { count: args.count, side, kind };
    let asked = stages.time("suggest", || model.suggest(wanted))?;
    if let Some(output) = &args.output {
        stages.time(WRITE, || args.out.write(output, columns(&model, kind, &asked)))?;
    }
    let mut out = printer::out();
    if args.json {
        let questions: Vec<Value> = asked.iter().map(|s| described(&model, kind, s)).collect();
        printer::print_json(&json!({"kind": kind, "questions": questions}), &mut out)?;
        return Ok(());
    }
    match &args.output {
        None => print(&model, kind, &asked, show, &mut out)?,
        Some(output) if !talk.quiet => {
            let wrote = format!("wrote {}", output.display());
            args.out.say(output, &wrote)?;
        }
        Some(_) => {}
    }
    Ok(())
}

fn direction(asked: &Suggestion) -> Direction {
    if asked.side == "x" { Direction::Forward } else { Direction::Reverse }
}

/// The ids of x and of y in a question; the partner that is asked for is not known.
fn ids(model: &BridgedModel, kind: Question, asked: &Suggestion) -> [Option<String>; 2] {
    let direction = direction(asked);
    let own = Some(model.from(direction).names().id(asked.row));
    let other = match kind {
        Question::Partner => None,
        Question::Match => asked.candidates.first().map(|c| model.to(direction).names().id(c.row)),
    };
    match direction {
        Direction::Forward => [own, other],
        Direction::Reverse => [other, own],
    }
}

fn described(model: &BridgedModel, kind: Question, asked: &Suggestion) -> Value {
    let names = model.to(direction(asked)).names();
    let [x, y] = ids(model, kind, asked);
    let mut value = json!(asked);
    (value["x_id"], value["y_id"]) = (json!(x), json!(y));
    for (candidate, c) in asked.candidates.iter().enumerate() {
        value["candidates"][candidate]["id"] = json!(names.id(c.row));
    }
    value
}

/// The table that a person fills in.
fn columns(model: &BridgedModel, kind: Question, asked: &[Suggestion]) -> Vec<Column> {
    let text = |name: &str, of: &dyn Fn(&Suggestion) -> Option<String>| {
        Column::new(name, ColumnData::Text(asked.iter().map(of).collect()))
    };
    let whole = |name: &str, of: &dyn Fn(&Suggestion) -> i64| {
        Column::new(name, ColumnData::Integer(asked.iter().map(|s| Some(of(s))).collect()))
    };
    let real = |name: &str, of: &dyn Fn(&Suggestion) -> f64| {
        Column::new(name, ColumnData::Number(asked.iter().map(of).collect()))
    };
    let candidates = |s: &Suggestion| {
        let names = model.to(direction(s)).names();
        let of = |c: &Candidate| format!("{} ({})", names.id(c.row), percent(c.probability));
        Some(s.candidates.iter().map(of).collect::<Vec<_>>().join("; "))
    };
    vec![
        text("x_id", &|s| ids(model, kind, s)[0].clone()),
        text("y_id", &|s| ids(model, kind, s)[1].clone()),
        text("answer", &|_| None),
        text("side", &|s| Some(s.side.to_string())),
        whole("cluster", &|s| i64::from(s.cluster)),
        real("gain", &|s| s.gain),
        real("error_falls_by", &|s| s.error_falls_by),
        text("candidates", &candidates),
        text("why", &|s| Some(s.why.clone())),
    ]
}

fn percent(p: f64) -> String {
    format!("{:.0} %", 100.0 * p)
}

fn print(
    model: &BridgedModel,
    kind: Question,
    asked: &[Suggestion],
    show: Show<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    if asked.is_empty() {
        return Ok(writeln!(
            out,
            "no question is worth asking: every link is settled, or no pair could settle it"
        )?);
    }
    let head = match kind {
        Question::Partner => "rows whose partner is worth finding next",
        Question::Match => "pairs that are worth judging: yes, no or unsure",
    };
    writeln!(out, "{}", bold(head))?;
    let mut grid = Grid::new(&[
        ("", Align::Left),
        ("row", Align::Left),
        (if kind == Question::Partner { "perhaps" } else { "belongs with" }, Align::Left),
        ("error falls by", Align::Right),
        ("why", Align::Left),
    ]);
    for s in asked {
        let direction = direction(s);
        let (own, other) = show.of(direction);
        let called = |side: &bridged::Side, row: usize, column: Option<&str>| {
            let (id, title) = (side.names().id(row), side.member_title(row, column));
            cut(&if id == title { id } else { format!("{id} {title}") }, WIDEST)
        };
        let perhaps = s.candidates.iter().take(2).map(|c| {
            format!("{} ({})", called(model.to(direction), c.row, other), percent(c.probability))
        });
        grid.row(vec![
            s.side.to_string(),
            called(model.from(direction), s.row, own),
            perhaps.collect::<Vec<_>>().join(", "),
            number(s.error_falls_by),
            s.why.clone(),
        ]);
    }
    Ok(grid.print(out)?)
}
