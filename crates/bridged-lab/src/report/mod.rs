//! The page of one or more studies: who wins, by how much, why, and at what cost.
//!
//! ```text
//! folders of results ─► ReportData (data sets, their main study, other conditions)
//!                    ─► sections (one file each) ─► figures: panels of charts, each with its table
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
mod svg;

use crate::{LabError, Results};
use data::ReportData;
use page::Section;

/// What is shown, before it is HTML or Markdown.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    sections: Vec<Section>,
}

/// Every section, in the order of the page. One that has nothing to show is left out.
const SECTIONS: &[fn(&ReportData) -> Option<Section>] = &[
    sections::overview::section,
    sections::wins::section,
    sections::stacked::section,
    sections::errors::section,
    sections::variants::section,
    sections::clusterings::section,
    sections::bridging::section,
    sections::quality::section,
    sections::default::section,
    sections::conditions::section,
    sections::encoders::section,
    sections::texts::section,
    sections::cost::section,
    sections::growth::section,
    sections::findings::section,
    sections::spaces::section,
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
