//! The flags that say how tables are read, shared by the verbs that read rows.

use crate::options::usage;
use crate::pools::Columns;
use anyhow::Result;
use bridged_io::{Missing, ReadOptions};

/// How files are read.
#[derive(Debug, clap::Args)]
pub struct ReadFlags {
    /// What is done where a number is missing: refuse the table, drop the row, or take the mean of the
    /// column
    #[arg(
        long, value_name = "WHAT", default_value = "refuse", value_parser = Missing::NAMES,
        hide_possible_values = true, help_heading = "Tables"
    )]
    missing: String,
    /// What separates the cells of CSV files, as in ';' [default: what the file looks like]
    #[arg(long, value_name = "CHAR", help_heading = "Tables")]
    sep: Option<String>,
    /// What comes before decimals in CSV files, '.' or ',' [default: what the file looks like]
    #[arg(long, value_name = "CHAR", value_parser = [".", ","], hide_possible_values = true, help_heading = "Tables")]
    decimal: Option<String>,
}

impl ReadFlags {
    /// What is done where a number is missing.
    pub fn missing(&self) -> Missing {
        Missing::named(&self.missing).expect("clap accepts listed names only")
    }

    /// How text files are read.
    pub fn options(&self) -> Result<ReadOptions<'_>> {
        let separator = match self.sep.as_deref() {
            None => None,
            Some("\\t" | "tab") => Some(b'\t'),
            Some(text) => match text.as_bytes() {
                [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'"' => {
                    Some(*byte)
                }
                _ => {
                    let message = format!(
                        "--sep {text}: give one character such as ';', '|' or ',', or \\t for a tab"
                    );
                    return Err(usage(message));
                }
            },
        };
        let decimal = self.decimal.as_ref().and_then(|text| text.chars().next());
        Ok(ReadOptions { separator, decimal, ..ReadOptions::default() })
    }
}

/// Which numeric columns of one table belong to the vector.
#[derive(Debug, clap::Args)]
pub struct ColumnFlags {
    /// Numeric columns to take, separated by commas; `*` stands for any letters, as in 'f*'
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Tables")]
    pub columns: Vec<String>,
    /// Numeric columns to leave out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Tables")]
    pub exclude: Vec<String>,
}

/// The same for both sides.
#[derive(Debug, clap::Args)]
pub struct SideColumnFlags {
    /// Numeric columns of x to take, separated by commas; `*` stands for any letters, as in 'f*'
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Columns")]
    pub x_columns: Vec<String>,
    /// Numeric columns of x to leave out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Columns")]
    pub x_exclude: Vec<String>,
    /// Numeric columns of y to take
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Columns")]
    pub y_columns: Vec<String>,
    /// Numeric columns of y to leave out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Columns")]
    pub y_exclude: Vec<String>,
}

impl SideColumnFlags {
    /// The columns of x, as far as they were named.
    pub fn x<'a>(&'a self, id: &'a Option<String>, vector: &'a Option<String>) -> Columns<'a> {
        named(id, vector, &self.x_columns, &self.x_exclude)
    }

    /// The columns of y.
    pub fn y<'a>(&'a self, id: &'a Option<String>, vector: &'a Option<String>) -> Columns<'a> {
        named(id, vector, &self.y_columns, &self.y_exclude)
    }
}

fn named<'a>(
    id: &'a Option<String>,
    vector: &'a Option<String>,
    columns: &'a [String],
    exclude: &'a [String],
) -> Columns<'a> {
    let (id, vector) = (id.as_deref(), vector.as_deref());
    Columns { id, vector, columns, exclude, ..Columns::default() }
}
