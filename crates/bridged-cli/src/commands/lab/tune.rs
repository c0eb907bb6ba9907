//! `bridged lab tune`: the best setting of every method's grid, kept in a TOML file.

use super::studies::StudyArgs;
use crate::options::usage;
use crate::printer::{self, Align, Grid, bold, number};
use crate::progress::Talk;
use anyhow::Result;
use bridged_baselines::BaselineSpec;
use bridged_lab::tune::{self, Choice, Tuned};
use bridged_lab::{Dataset, Experiment, LabError};
use bridged_math::Seed;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    studies: StudyArgs,
    /// Where the choices are kept; a second run goes on after those that are there
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Search these baselines only [default: all of the study]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    methods: Vec<String>,
    /// Draws that every setting is fitted to, in each direction
    #[arg(long, value_name = "N", default_value_t = 6)]
    draws: usize,
}

pub fn run(args: &Args, talk: &Talk) -> Result<()> {
    if args.draws == 0 {
        return Err(usage("--draws must be at least 1"));
    }
    let stages = talk.watch();
    let mut studies = args.studies.read()?;
    let study = match studies.len() {
        1 => studies.remove(0).study,
        n => return Err(usage(format!("a search is made for one study; {n} are named"))),
    };
    let data =
        stages.time("read data", || Dataset::read_columns(&study.data, &study.x, &study.y))?;
    let methods = methods(args, &study, talk)?;
    let mut tuned = Tuned::begin(&study, &data, args.draws);
    if args.out.exists() {
        let earlier = Tuned::read(&args.out)?;
        if let Some(why) = earlier.differs_from(&tuned) {
            return Err(usage(format!(
                "`{}` holds another search: {why}; choose another --out",
                args.out.display()
            )));
        }
        tuned = earlier;
    }
    for &direction in &study.directions {
        let draws = tune::draws(&study, &data, direction, args.draws)?;
        for method in &methods {
            if tuned.choice(method.name(), direction).is_some() {
                continue;
            }
            let seed = Seed(study.seed).child("tune").child(method.name());
            tuned.choices.push(tune::search(method, &draws, direction, seed, &stages)?);
            // What was found is kept at once: a search that is stopped goes on from here.
            tuned.write(&args.out)?;
        }
    }
    let mut out = printer::out();
    let title = format!("{}: searched on {}", tuned.data, tuned.groups.join(", "));
    writeln!(out, "{}", bold(&title))?;
    let mut grid = Grid::new(&[
        ("method", Align::Left),
        ("from", Align::Left),
        ("error ÷ mean's", Align::Right),
        ("of the defaults", Align::Right),
        ("settings", Align::Right),
        ("failed", Align::Right),
        ("chosen", Align::Left),
    ]);
    for choice in &tuned.choices {
        grid.row(vec![
            choice.setting.name().to_string(),
            choice.direction.input().to_string(),
            number(choice.score),
            choice.default_score.map_or("–".to_string(), number),
            choice.tried.to_string(),
            choice.failed.to_string(),
            what_differs(choice)?,
        ]);
    }
    grid.print(&mut out)?;
    writeln!(out, "kept in {}", args.out.display())?;
    Ok(())
}

/// The baselines to search: those that are named, else those of the study. Its forms of Bridged Clustering have no grid;
/// they are left out, and that is said.
fn methods(args: &Args, study: &Experiment, talk: &Talk) -> Result<Vec<BaselineSpec>> {
    if !args.methods.is_empty() {
        let named = args.methods.iter().map(|name| study.baseline(name));
        return named.collect::<Result<_, _>>().map_err(|error| match error {
            LabError::NoGrid { .. } => usage(format!("--methods: {error}")),
            error => error.into(),
        });
    }
    let (mut methods, mut without) = (Vec::new(), Vec::new());
    for name in &study.methods {
        match study.baseline(name) {
            Ok(method) => methods.push(method),
            Err(LabError::NoGrid { method }) => without.push(method),
            Err(error) => return Err(error.into()),
        }
    }
    if methods.is_empty() {
        return Err(usage("the study has no baseline to search; name some with --methods"));
    }
    if !without.is_empty() && !talk.quiet {
        printer::say(&format!("note: no grid to search, left out: {}", without.join(", ")));
    }
    Ok(methods)
}

/// The parameters of a choice that are not the method's defaults.
fn what_differs(choice: &Choice) -> Result<String> {
    let default = BaselineSpec::named(choice.setting.name());
    let default = serde_json::to_value(default)?;
    let chosen = serde_json::to_value(&choice.setting)?;
    let fields = chosen.as_object().into_iter().flatten();
    let differ = fields.filter(|(key, value)| default.get(key) != Some(value));
    let texts: Vec<String> = differ.map(|(key, value)| format!("{key} = {value}")).collect();
    Ok(if texts.is_empty() { "the defaults".to_string() } else { texts.join(", ") })
}
