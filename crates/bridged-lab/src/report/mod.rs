//! The page of one or more studies: who wins, by how much, why, and at what cost.
//!
//! ```text
//! folders of results ─► ReportData (data sets, their main study, other conditions)
//!                    ─► the conclusion in three sentences, then sections (one file each) ─► figures: panels of charts, with
//!                       their tables behind them
//!                    ─► one HTML file that needs nothing else, or the tables as Markdown, LaTeX or CSV
//! ```
//!
//! A new chart is a file in `charts/`, a new analysis a file in `sections/` and a line in the list
//! below.

mod charts;
mod csv;
mod data;
mod html;
mod latex;
mod markdown;
mod page;
mod sections;
mod shared;
mod svg;

use crate::{LabError, Results};
use bridged::files::Kind;
use data::ReportData;
use page::Section;

/// What every page says of itself, so that it can be told from a file of the user.
const MADE_BY: &str = "bridged lab report";

/// The kind of file that a report is written to.
pub const REPORT_FILE: Kind = Kind {
    name: "a page that `bridged lab report` wrote",
    extension: None,
    holds: |path| {
        let html = format!("<meta name=\"generator\" content=\"{MADE_BY}\">");
        let markdown = format!("\n<!-- {MADE_BY} -->\n");
        let text = std::fs::read_to_string(path);
        text.is_ok_and(|text| text.contains(&html) || text.ends_with(&markdown))
    },
};

/// What is shown, before it is HTML or Markdown.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    sections: Vec<Section>,
}

/// Every section, in the order of the page: the conclusion, the charts, then what is tables alone. One that has nothing
/// to show is left out.
const SECTIONS: &[fn(&ReportData) -> Option<Section>] = &[
    sections::conclusion::section,
    sections::natural::section,
    sections::errors::section,
    sections::stacked::section,
    sections::variants::section,
    sections::clusterings::section,
    sections::bridging::section,
    sections::quality::section,
    sections::conditions::section,
    sections::encoders::section,
    sections::texts::section,
    sections::cost::section,
    sections::growth::section,
    sections::spaces::section,
    sections::overview::section,
    sections::wins::section,
    sections::default::section,
    sections::findings::section,
    sections::scores::section,
    sections::made::section,
];

impl Report {
    /// Analyses the results of one or more studies. `command` is what the page says it was made by.
    pub fn new(results: Vec<Results>, command: &str) -> Result<Self, LabError> {
        let data = ReportData::new(results, command)?;
        let sections = SECTIONS.iter().filter_map(|section| section(&data)).collect();
        Ok(Self { title: data.title(), sections })
    }

    /// One self-contained HTML file.
    pub fn html(&self) -> String {
        html::page(&self.title, &self.sections)
    }

    /// The tables, without the charts.
    pub fn markdown(&self) -> String {
        markdown::page(&self.title, &self.sections)
    }

    /// The tables as LaTeX.
    pub fn latex(&self) -> String {
        latex::page(&self.title, &self.sections)
    }

    /// The tables as CSV, a row for each cell.
    pub fn csv(&self) -> String {
        csv::page(&self.sections)
    }
}
