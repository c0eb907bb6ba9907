//! `bridged lab run`: carries out a study, or goes on with it.

use super::studies::StudyArgs;
use crate::options::usage;
use crate::outputs;
use crate::printer::{self, Align, Grid, bold, number, plural};
use crate::progress::{Kept, Talk, was_stopped};
use anyhow::Result;
use bridged_lab::record::{Outcome, RunRecord};
use bridged_lab::results::{Folder, Made};
use bridged_lab::stats::{Interval, Standing, Standings, standings};
use bridged_lab::{Dataset, Experiment, LabError, NamedStudy, Runner, Setting};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    studies: StudyArgs,
    /// Show the data sets and conditions of the folder, and run nothing
    #[arg(long)]
    list: bool,
    /// The folder of the results of a single study; a second run goes on after the runs that are
    /// there [default: results/ and the name of the study]
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    if args.list {
        return args.studies.list();
    }
    // Whatever is wrong with a study is said before the first one takes its time.
    let studies = args.studies.read()?;
    if args.out.is_some() && studies.len() > 1 {
        return Err(usage("--out names the folder of one study; leave it out for several"));
    }
    let folder = |name: &str| match &args.out {
        Some(folder) => folder.clone(),
        None => Path::new("results").join(name),
    };
    for NamedStudy { name, study } in &studies {
        let mut inputs = args.studies.paths();
        inputs.push(&study.data);
        outputs::results(&folder(name), &inputs)?;
    }
    for NamedStudy { name, study } in &studies {
        carry_out(study, &folder(name), talk)?;
    }
    Ok(())
}

fn carry_out(study: &Experiment, path: &Path, talk: &Talk) -> Result<()> {
    let stages = talk.watch();
    let data =
        stages.time("read data", || Dataset::read_columns(&study.data, &study.x, &study.y))?;
    let runner = Runner::new(study, &data)?;
    let folder = Folder::begin(path, study).map_err(|error| match error {
        LabError::Taken { .. } => usage(error.to_string()),
        error => error.into(),
    })?;
    let threads = rayon::current_num_threads();
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    folder.keep(&Made::now(command, threads), runner.spaces()?.as_ref())?;
    runner.run(&folder.run_log()?, threads, &stages).map_err(|error| match error {
        _ if was_stopped() => {
            let kept =
                format!("the runs that ended are in {}; the same command goes on", path.display());
            anyhow::Error::from(Kept(kept))
        }
        error => error.into(),
    })?;
    print(&folder.runs()?, study, path)
}

/// Who stands where, for each direction and setting: the quick methods on every draw, and all of
/// them on the draws that the slow ones ran on.
fn print(runs: &[RunRecord], study: &Experiment, folder: &Path) -> Result<()> {
    let mut out = printer::out();
    writeln!(out, "{}", bold(&format!("{} in {}", plural(runs.len(), "run"), folder.display())))?;
    let slow: &[String] = study.slow.as_ref().map_or(&[], |slow| &slow.methods);
    let first = study.methods.iter().find(|m| !slow.contains(m)).unwrap_or(&study.methods[0]);
    for &direction in &study.directions {
        for &setting in &study.settings {
            let same = |r: &&RunRecord| r.cell.direction == direction && r.cell.setting == setting;
            let part: Vec<&RunRecord> = runs.iter().filter(same).collect();
            let quick = part.iter().copied().filter(|r| !slow.contains(&r.method)).collect();
            let tables = if slow.is_empty() { vec![part] } else { vec![quick, part] };
            for part in tables {
                let Some(table) = standings(&part, first) else { continue };
                let (from, to) = (direction.input(), direction.output());
                let setting = match setting {
                    Setting::Transductive => "transductive",
                    Setting::Inductive => "inductive",
                };
                let draws = plural(table.draws, "draw");
                writeln!(out, "\n{}", bold(&format!("{to} from {from}, {setting}, {draws}")))?;
                if table.incomplete > 0 {
                    let left = plural(table.incomplete, "draw");
                    writeln!(out, "{left} without a run of every method left out")?;
                }
                print_table(&table, &part, first, &mut out)?;
            }
        }
    }
    Ok(())
}

fn print_table(
    table: &Standings,
    runs: &[&RunRecord],
    first: &str,
    out: &mut dyn Write,
) -> Result<()> {
    let against = format!("p against {first}");
    let mut grid = Grid::new(&[
        ("method", Align::Left),
        ("error ÷ mean's", Align::Right),
        ("95 %", Align::Left),
        ("wins", Align::Right),
        ("95 %", Align::Left),
        ("rank", Align::Right),
        (against.as_str(), Align::Right),
        ("failed", Align::Right),
        ("seconds", Align::Right),
    ]);
    let mut lines: Vec<&Standing> = table.lines.iter().collect();
    let error = |line: &Standing| line.error.map_or(f64::INFINITY, |e| e.value);
    lines.sort_by(|a, b| error(a).total_cmp(&error(b)));
    let mut floors = false;
    for line in lines {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let range = |i: Interval| match i.is_known() {
            true => format!("{} – {}", number(i.low), number(i.high)),
            false => "one draw".to_string(),
        };
        let p = line.p.map_or(String::new(), |p| match (p.p < 1e-4, p.at_floor && p.draws > 0) {
            (true, _) => "< 0.0001".into(),
            (false, false) => number(p.p),
            (false, true) => {
                floors = true;
                format!("{} *", number(p.p))
            }
        });
        grid.row(vec![
            line.method.clone(),
            line.error.map_or("–".to_string(), |e| number(e.value)),
            line.error.map_or(String::new(), range),
            percent(line.wins.value),
            format!("{} – {}", percent(line.wins.low), percent(line.wins.high)),
            format!("{:.2}", line.rank),
            p,
            line.failed.to_string(),
            number(mean_seconds(runs, &line.method)),
        ]);
    }
    grid.print(out)?;
    if floors {
        writeln!(out, "* the smallest p-value that is possible with so few draws")?;
    }
    Ok(())
}

/// Seconds of one thread to fit and predict, per run.
fn mean_seconds(runs: &[&RunRecord], method: &str) -> f64 {
    let seconds: Vec<f64> = runs
        .iter()
        .filter(|r| r.method == method)
        .filter_map(|r| match &r.outcome {
            Outcome::Scores(s) => Some(s.fit_seconds + s.predict_seconds),
            Outcome::Failed(_) => None,
        })
        .collect();
    seconds.iter().sum::<f64>() / seconds.len().max(1) as f64
}
