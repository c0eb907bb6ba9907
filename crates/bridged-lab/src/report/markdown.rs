//! The tables of the page as Markdown.

use super::MADE_BY;
use super::page::{Section, Table};
use std::fmt::Write;

pub fn page(title: &str, sections: &[Section]) -> String {
    let mut out = format!("# {title}\n");
    for section in sections {
        let _ = write!(out, "\n## {}\n\n{}\n", section.title, section.text.trim());
        for figure in &section.figures {
            if !figure.table.rows.is_empty() {
                let _ = write!(out, "\n{}\n\n{}", figure.caption, table(&figure.table));
            }
        }
    }
    let _ = write!(out, "\n<!-- {MADE_BY} -->\n");
    out
}

fn table(table: &Table) -> String {
    let plain = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let names: Vec<String> = table.columns.iter().map(|c| plain(c)).collect();
    let rules: Vec<&str> = (0..table.columns.len())
        .map(|c| if table.rows.iter().any(|row| row[c].number) { "---:" } else { "---" })
        .collect();
    let mut out = format!("| {} |\n| {} |\n", names.join(" | "), rules.join(" | "));
    for row in &table.rows {
        let cells: Vec<String> = row
            .iter()
            .map(|cell| match cell.strong {
                true => format!("**{}**", plain(&cell.text)),
                false => plain(&cell.text),
            })
            .collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::page::{Figure, TableCell};
    use super::*;

    #[test]
    fn tables_become_markdown_and_charts_are_left_out() {
        let mut table = Table::new(["method", "wins"]);
        table.row(vec!["a|b".into(), TableCell::number("50 %").strong(true)]);
        let figure = Figure {
            caption: "Who wins.".into(),
            panels: vec![("p".into(), "<svg/>".into())],
            table,
            ..Figure::default()
        };
        let empty = Figure::default();
        let section = Section {
            id: "w",
            title: "Wins".into(),
            text: "Text.".into(),
            figures: vec![figure, empty],
        };
        assert_eq!(
            page("T", &[section]),
            "# T\n\n## Wins\n\nText.\n\nWho wins.\n\n| method | wins |\n| --- | ---: |\n\
             | a\\|b | **50 %** |\n\n<!-- bridged lab report -->\n"
        );
    }
}
