//! `bridged lab run`: carries out a study, or goes on with it.

use crate::options::usage;
use crate::printer::{Align, Grid, bold, number, plural};
use crate::progress::Talk;
use anyhow::{Context, Result};
use bridged_lab::record::{self, Journal, Outcome, Run};
use bridged_lab::{Dataset, Experiment, Runner};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The study, as TOML
    study: PathBuf,
    /// The folder of its results; a second run goes on after the runs that are there [default:
    /// results/ and the name of the study]
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    let study = Experiment::read(&args.study)?;
    let stages = talk.watch();
    let data = stages.time("read data", || Dataset::read(&study.data))?;
    let runner = Runner::new(&study, &data)?;
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => Path::new("results").join(args.study.file_stem().unwrap_or_default()),
    };
    keep_study(&folder, &study)?;
    let journal = Journal::open(&folder.join("runs.jsonl"))?;
    runner.run(&journal, rayon::current_num_threads(), &stages)?;
    let runs = record::read(&folder.join("runs.jsonl"))?;
    print(&runs, &folder)
}

/// Writes the study beside its results, and refuses to mix it with another.
fn keep_study(folder: &Path, study: &Experiment) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let path = folder.join("study.toml");
    if path.exists() {
        let earlier = Experiment::parse_file(&path)?;
        if let Some(key) = study.conflict(&earlier) {
            return Err(usage(format!(
                "`{}` holds the results of another study: its `{key}` differs; choose another \
                 --out, or move the folder away",
                folder.display()
            )));
        }
    }
    let text = toml::to_string_pretty(study).context("a study is plain data")?;
    bridged_io::replace(&path, |sink| Ok(sink.write_all(text.as_bytes())?))?;
    Ok(())
}

/// The mean error of every method beside that of the mean, over all runs.
fn print(runs: &[Run], folder: &Path) -> Result<()> {
    let mut methods: BTreeMap<&str, (Vec<f64>, usize, f64)> = BTreeMap::new();
    for run in runs {
        let (ratios, failed, seconds) = methods.entry(&run.method).or_default();
        match &run.outcome {
            Outcome::Scores(s) => {
                ratios.push(s.mse / s.mse_of_mean);
                *seconds += s.fit_seconds + s.predict_seconds;
            }
            Outcome::Failed(_) => *failed += 1,
        }
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", bold(&format!("{} in {}", plural(runs.len(), "run"), folder.display())))?;
    let mut grid = Grid::new(&[
        ("method", Align::Left),
        ("error ÷ mean's", Align::Right),
        ("runs", Align::Right),
        ("failed", Align::Right),
        ("seconds a run", Align::Right),
    ]);
    let mut lines: Vec<_> = methods.into_iter().collect();
    let mean = |ratios: &[f64]| ratios.iter().sum::<f64>() / ratios.len() as f64;
    lines.sort_by(|a, b| mean(&a.1.0).total_cmp(&mean(&b.1.0)));
    for (name, (ratios, failed, seconds)) in lines {
        grid.row(vec![
            name.to_string(),
            if ratios.is_empty() { "–".to_string() } else { number(mean(&ratios)) },
            ratios.len().to_string(),
            failed.to_string(),
            number(seconds / ratios.len().max(1) as f64),
        ]);
    }
    grid.print(&mut out)?;
    Ok(())
}
