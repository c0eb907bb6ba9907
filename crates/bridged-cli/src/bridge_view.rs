//! The bridge of a model as a person reads it: linked clusters side by side, with real members.

use crate::options::{did_you_mean, usage};
use crate::printer::{Align, Grid, bold, count, cut, dim, number, plural};
use crate::visible::visible;
use anyhow::Result;
use bridged::bridge::{LinkStatus, Target};
use bridged::{BridgedModel, Direction, Explanation, LinkRow, MemberShare, Side, Source, Status};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// How wide a list of members may be.
const MEMBERS: usize = 40;

/// Which carried column stands for the rows of each side.
#[derive(Clone, Copy, Debug, Default)]
pub struct Show<'a> {
    pub x: Option<&'a str>,
    pub y: Option<&'a str>,
}

impl<'a> Show<'a> {
    /// Refuses a column that a side does not carry.
    pub fn check(self, model: &BridgedModel) -> Result<()> {
        for (flag, side, column) in
            [("--show-x", model.x(), self.x), ("--show-y", model.y(), self.y)]
        {
            let names: Vec<&str> = side.names().texts.iter().map(|t| t.name.as_str()).collect();
            if let Some(column) = column.filter(|column| !names.contains(column)) {
                return Err(usage(format!(
                    "{flag}: the model carries no column `{column}`{}; it carries {}",
                    did_you_mean(column, &names),
                    if names.is_empty() { "none".to_string() } else { names.join(", ") }
                )));
            }
        }
        Ok(())
    }

    pub fn of(self, direction: Direction) -> (Option<&'a str>, Option<&'a str>) {
        match direction {
            Direction::Forward => (self.x, self.y),
            Direction::Reverse => (self.y, self.x),
        }
    }
}

/// As many of the most typical members as fit, each title once.
pub fn examples(side: &Side, cluster: u32, column: Option<&str>) -> Result<String> {
    let mut names: Vec<String> = Vec::new();
    for row in side.members(cluster, 24)? {
        let name = visible(&side.member_title(row, column)).into_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let glyphs = names.iter().all(|n| n.width() <= 2);
    let (most, separator) = if glyphs { (8, " ") } else { (3, ", ") };
    names.truncate(most);
    while names.len() > 1 && names.join(separator).width() > MEMBERS {
        names.pop();
    }
    Ok(cut(&names.join(separator), MEMBERS))
}

/// Prints the links of one direction.
pub fn print(
    model: &BridgedModel,
    direction: Direction,
    show: Show<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let (from, to) = (model.from(direction), model.to(direction));
    let (from_name, to_name) = (direction.input(), direction.output());
    let (from_column, to_column) = show.of(direction);
    let title = format!("{from_name} → {to_name}");
    let (pairs, rule) = (plural(model.pairs().len(), "pair"), model.settings().bridge.name());
    writeln!(out, "{}   {pairs}, {rule} bridge", bold(&title))?;
    let mut grid = Grid::new(&[
        (from_name, Align::Right),
        ("rows", Align::Right),
        ("members", Align::Left),
        ("", Align::Left),
        (to_name, Align::Right),
        ("rows", Align::Right),
        ("members", Align::Left),
        ("votes", Align::Right),
        ("status", Align::Left),
    ]);
    for line in model.link_table(direction).rows() {
        let left = [
            line.cluster.to_string(),
            count(line.rows as usize),
            examples(from, line.cluster, from_column)?,
        ];
        let rights = right_side(&line.why, to, to_column, to_name)?;
        for (n, [mark, cluster, rows, members]) in rights.into_iter().enumerate() {
            let mut cells: Vec<String> = match n {
                0 => left.to_vec(),
                _ => vec![String::new(); 3],
            };
            cells.extend([mark, cluster, rows, members]);
            cells.extend(match n {
                0 => [format!("{}/{}", line.own_support, line.pairs), status(&line)],
                _ => [String::new(), String::new()],
            });
            grid.row(cells);
        }
    }
    Ok(grid.print(out)?)
}

/// The status of a cluster; of one without a partner with its probability.
fn status(line: &LinkRow<'_>) -> String {
    let status = line.why.status;
    match line.no_partner {
        Some(q) if status == Status::Link(LinkStatus::NoPartner) => format!("{status} {q:.2}"),
        _ => status.to_string(),
    }
}

/// A line for each link, the strongest first; more than three are cut, and what is below a tenth.
fn right_side(
    why: &Explanation<'_>,
    to: &Side,
    column: Option<&str>,
    to_name: &str,
) -> Result<Vec<[String; 4]>> {
    let instead = match why.source {
        Source::Link => None,
        Source::Nearest(cluster) => Some(format!("as cluster {cluster}, the nearest with a link")),
        Source::Mean => Some(format!("the mean of {to_name}")),
        Source::Abstain => Some("no answer".to_string()),
    };
    if let Some(instead) = instead {
        return Ok(vec![["·".into(), String::new(), String::new(), instead]]);
    }
    let line = |t: &Target| {
        let mark = if t.weight < 1.0 { format!("→ {:.2}", t.weight) } else { "→".to_string() };
        let rows = count(to.sizes()[t.cluster as usize] as usize);
        Ok([mark, t.cluster.to_string(), rows, examples(to, t.cluster, column)?])
    };
    let shown = why.links.iter().enumerate().filter(|(i, t)| *i == 0 || t.weight >= 0.1);
    shown.take(3).map(|(_, t)| line(t)).collect()
}

/// Says by what members are shown, and how to choose something else.
pub fn print_shown(model: &BridgedModel, show: Show<'_>, out: &mut dyn Write) -> io::Result<()> {
    let shown = |side: &Side, column: Option<&str>| match column.or_else(|| side.label_column()) {
        Some(column) => format!("`{column}`"),
        None => "ids".to_string(),
    };
    let carried = [model.x(), model.y()].map(|side| side.names().texts.len()).iter().sum::<usize>();
    if carried == 0 {
        return Ok(());
    }
    let (x, y) = (shown(model.x(), show.x), shown(model.y(), show.y));
    let line =
        format!("members by {x} of x and {y} of y; --show-x and --show-y choose other columns");
    writeln!(out, "{}\n", dim(&line))
}

/// Prints what predicts, and how much of it the table of links stands for.
pub fn print_members(model: &BridgedModel, out: &mut dyn Write) -> io::Result<()> {
    let members = Direction::BOTH.map(|direction| model.members(direction));
    if members.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let mut grid = Grid::new(&[
        ("what predicts", Align::Left),
        ("clusters", Align::Right),
        ("y from x", Align::Right),
        ("x from y", Align::Right),
    ]);
    // By level of detail: the cuts from coarse to fine, then the regressions.
    let mut lines: Vec<&MemberShare> = members[0].iter().collect();
    lines.sort_by_key(|m| (!m.shown, m.clusters.unwrap_or(usize::MAX), m.member.clone()));
    for line in lines {
        let same = |m: &&MemberShare| m.member == line.member && m.shown == line.shown;
        let reverse = members[1].iter().filter(same).find(|m| {
            line.clusters.is_none() == m.clusters.is_none()
                && (m.clusters == line.clusters || m.shown)
        });
        let mark = if line.shown { ", in the table above" } else { "" };
        grid.row(vec![
            format!("{}{mark}", line.member),
            line.clusters.map_or("–".to_string(), |k| k.to_string()),
            percent(line.weight),
            reverse.map_or("–".to_string(), |m| percent(m.weight)),
        ]);
    }
    let rest = members.each_ref().map(|m| 1.0 - m.iter().map(|m| m.weight).sum::<f64>());
    if rest.iter().any(|r| *r > 0.005) {
        let [forward, reverse] = rest.map(|r| percent(r.max(0.0)));
        grid.row(vec!["the mean of the pool".to_string(), "–".to_string(), forward, reverse]);
    }
    grid.print(out)?;
    writeln!(out)
}

/// Says in one line what the table of links stands for.
pub fn print_share(model: &BridgedModel, out: &mut dyn Write) -> io::Result<()> {
    let shown = Direction::BOTH.map(|direction| {
        let members = model.members(direction);
        let shown = members.iter().filter(|m| m.shown).map(|m| m.weight).sum::<f64>();
        (!members.is_empty()).then_some(shown)
    });
    let [Some(forward), Some(reverse)] = shown else { return Ok(()) };
    let line = format!(
        "these clusters stand for {} of the predictions of y and {} of those of x; `bridged inspect` shows the rest",
        percent(forward),
        percent(reverse)
    );
    writeln!(out, "{}\n", dim(&line))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Prints what the model knows about its own quality.
pub fn print_checks(model: &BridgedModel, out: &mut dyn Write) -> io::Result<()> {
    let mut grid = Grid::new(&[
        ("leaving out one pair at a time", Align::Left),
        ("error", Align::Right),
        ("mean of the pool", Align::Right),
        ("mean of the pairs", Align::Right),
    ]);
    let mut checked = false;
    for direction in Direction::BOTH {
        let (from, to) = (direction.input(), direction.output());
        if let Some(check) = model.regressor(direction).leave_one_out() {
            checked = true;
            grid.row(vec![
                format!("{to} from {from}, {} of {} answered", check.answered, check.pairs),
                number(check.bridge),
                number(check.pool_mean),
                number(check.paired_mean),
            ]);
        }
    }
    if checked {
        grid.print(out)?;
        writeln!(out)?;
    }
    let mut grid = Grid::new(&[
        ("separation", Align::Left),
        ("clusters", Align::Right),
        ("Δ", Align::Right),
        ("σ", Align::Right),
        ("Δ/σ", Align::Right),
        ("bound on ε", Align::Right),
        ("applies", Align::Left),
    ]);
    for (name, side) in [("x", model.x()), ("y", model.y())] {
        let s = side.separation();
        let or_dash = |v: Option<f64>| v.map_or("–".to_string(), number);
        let applies = if s.applies { "yes" } else { "no: the clusters are too blurred" };
        grid.row(vec![
            name.to_string(),
            side.k().to_string(),
            or_dash(s.delta),
            number(s.sigma),
            or_dash(s.ratio),
            or_dash(s.bound),
            applies.to_string(),
        ]);
    }
    grid.print(out)
}

/// Prints what to expect of each direction, with the evidence.
pub fn print_verdict(model: &BridgedModel, out: &mut dyn Write) -> io::Result<()> {
    let mut grid = Grid::new(&[
        ("will it work?", Align::Left),
        ("verdict", Align::Left),
        ("error ÷ constant", Align::Right),
        ("by chance", Align::Right),
        ("rows covered", Align::Right),
        ("clarity", Align::Right),
        ("reliability", Align::Right),
    ]);
    for direction in Direction::BOTH {
        let (from, to) = (direction.input(), direction.output());
        let verdict = model.verdict(direction);
        grid.row(vec![
            format!("{to} from {from}"),
            verdict.grade.name().to_string(),
            verdict.error.map_or("–".to_string(), |e| format!("{e:.2}")),
            format!("{:.3}", verdict.chance),
            percent(verdict.covered),
            verdict.clarity.map_or("–".to_string(), |(x, y)| format!("{x:.2} · {y:.2}")),
            verdict.reliability.map_or("–".to_string(), |q| format!("{q:.2}")),
        ]);
    }
    grid.print(out)
}

/// Prints the pairs that the others contradict most, if there are any.
pub fn print_contradictions(
    model: &BridgedModel,
    show: Show<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let found = model.contradictions(5);
    if found.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::new(&[
        ("pairs that contradict the others", Align::Left),
        ("", Align::Left),
        ("", Align::Left),
        ("", Align::Left),
        ("likelier than by chance", Align::Right),
    ]);
    // The id finds the row in its table; what it is called says what it is.
    let called = |side: &Side, row: u32, column: Option<&str>| {
        let id = side.names().id(row as usize);
        let title = side.member_title(row as usize, column);
        let title = if title == id { String::new() } else { cut(&title, MEMBERS) };
        [cut(&id, MEMBERS), title]
    };
    for c in found {
        let (x, y) = model.pairs()[c.pair];
        let (x, y) = (called(model.x(), x, show.x), called(model.y(), y, show.y));
        let agreement = format!("× {:.2}", c.agreement);
        grid.row(x.into_iter().chain(y).chain([agreement]).collect());
    }
    writeln!(out)?;
    grid.print(out)
}

/// Prints the warnings, each on lines of its own.
pub fn print_warnings(model: &BridgedModel, out: &mut dyn Write) -> io::Result<()> {
    for warning in model.warnings() {
        writeln!(out, "\n{} {warning}", bold("note:"))?;
    }
    Ok(())
}
