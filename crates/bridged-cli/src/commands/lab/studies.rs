//! Which studies a command is about: files of studies, or data sets and conditions of a folder.

use crate::options::usage;
use crate::printer::{self, Align, Grid, bold};
use anyhow::Result;
use bridged_lab::catalogue::BASE;
use bridged_lab::{Catalogue, Experiment, NamedStudy};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder that tables are looked for in unless `--data-dir` names one.
const DATA_DIR: &str = "BRIDGED_DATA";

#[derive(Debug, clap::Args)]
pub struct StudyArgs {
    /// A study as a TOML file, or a folder of data sets and conditions
    #[arg(required = true, value_name = "STUDY")]
    studies: Vec<PathBuf>,
    /// Data sets of the folder, or `all` of them
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    data: Vec<String>,
    /// Conditions of the folder, or `all` of them [default: base]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    condition: Vec<String>,
    /// The folder of the tables that are not beside the study [default: $BRIDGED_DATA]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

impl StudyArgs {
    /// The studies, each with its name and its data set found.
    pub fn read(&self) -> Result<Vec<NamedStudy>> {
        let data_dir = self.data_dir.clone().or(std::env::var_os(DATA_DIR).map(PathBuf::from));
        let data_dir = data_dir.as_deref();
        let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
            self.studies.iter().partition(|path| path.is_dir());
        if folders.is_empty() && !(self.data.is_empty() && self.condition.is_empty()) {
            return Err(usage("--data and --condition choose from a folder of studies; name one"));
        }
        let mut studies = Vec::new();
        for file in files {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            studies.push(NamedStudy { name, study: Experiment::read(file, data_dir)? });
        }
        for folder in folders {
            studies.extend(self.select(folder, data_dir)?);
        }
        Ok(studies)
    }

    fn select(&self, folder: &Path, data_dir: Option<&Path>) -> Result<Vec<NamedStudy>> {
        let catalogue = Catalogue::read(folder)?;
        if self.data.is_empty() {
            let example = &catalogue.datasets[0].name;
            return Err(usage(format!(
                "`{}` is a folder of studies; choose data sets from it, as in --data {example} \
                 (--data all: every one; `bridged lab run {0} --list` shows what there is)",
                folder.display()
            )));
        }
        let base = [BASE.to_string()];
        let conditions = if self.condition.is_empty() { &base[..] } else { &self.condition };
        let mut studies = catalogue.select(&self.data, conditions)?;
        for named in &mut studies {
            named.study.locate(folder, data_dir)?;
        }
        Ok(studies)
    }

    /// Prints the data sets and conditions of the folders.
    pub fn list(&self) -> Result<()> {
        let mut out = printer::out();
        for (i, folder) in self.studies.iter().enumerate() {
            let catalogue = Catalogue::read(folder)?;
            if i > 0 {
                writeln!(out)?;
            }
            writeln!(out, "{}", bold("data sets"))?;
            let mut grid = Grid::new(&[("", Align::Left), ("", Align::Left)]);
            for dataset in &catalogue.datasets {
                grid.row(vec![dataset.name.clone(), dataset.about.clone()]);
            }
            grid.print(&mut out)?;
            writeln!(out, "\n{}", bold("conditions"))?;
            let mut grid = Grid::new(&[("", Align::Left), ("", Align::Left)]);
            for condition in &catalogue.conditions {
                let names: Vec<&str> =
                    catalogue.datasets_of(condition).map(|d| d.name.as_str()).collect();
                let about = match names.len() == catalogue.datasets.len() {
                    true => condition.about.clone(),
                    false => format!("{} ({} only)", condition.about, names.join(", ")),
                };
                grid.row(vec![condition.name.clone(), about]);
            }
            grid.print(&mut out)?;
        }
        Ok(())
    }
}
