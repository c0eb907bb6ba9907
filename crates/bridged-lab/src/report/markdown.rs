//! The tables of the page as Markdown. Names of data sets, methods and groups come from files: what Markdown or HTML
//! would give a meaning to is escaped.

use super::MADE_BY;
use super::page::{Section, Table};
use std::fmt::Write;

pub fn page(title: &str, sections: &[Section]) -> String {
    let mut out = format!("# {}\n", plain(title));
    for section in sections {
        let paragraphs: Vec<String> = section.text.trim().split("\n\n").map(plain).collect();
        let _ = write!(out, "\n## {}\n\n{}\n", plain(&section.title), paragraphs.join("\n\n"));
        for figure in &section.figures {
            if !figure.table.rows.is_empty() {
                let _ = write!(out, "\n{}\n\n{}", plain(&figure.caption), table(&figure.table));
            }
        }
    }
    let _ = write!(out, "\n<!-- {MADE_BY} -->\n");
    out
}

/// A text on one line, without what Markdown or HTML would act on: tags and entities, links and pictures, the borders
/// of cells, and code. What stands alone stays: `p < 0.05`, `a & b`, `a * b`.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        match c {
            '&' if next.is_alphanumeric() || next == '#' => out.push_str("&amp;"),
            '<' if next.is_alphabetic() || "/!?".contains(next) => out.push_str("&lt;"),
            '>' | '#' | '-' | '+' if out.is_empty() && !next.is_ascii_digit() => {
                out.extend(['\\', c]);
            }
            '\\' | '|' | '[' | ']' | '`' => out.extend(['\\', c]),
            '*' if next != ' ' => out.push_str("\\*"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn table(table: &Table) -> String {
    let names: Vec<String> = table.columns.iter().map(|c| plain(c)).collect();
    let rules: Vec<&str> = (0..table.columns.len())
        .map(|c| if table.rows.iter().any(|row| row[c].number) { "---:" } else { "---" })
        .collect();
    let mut out = format!("| {} |\n| {} |\n", names.join(" | "), rules.join(" | "));
    for row in &table.rows {
        let cells: Vec<String> = row
            .iter()
            .map(|cell| match cell.best {
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
    fn names_cannot_break_the_page() {
        let mut table = Table::new(["a|b<script>"]);
        table.row(vec!["<img src=x onerror=alert(1)> [x](javascript:1) `c` a&b\nc".into()]);
        let caption = "<b>bold</b> * 2".into();
        let figure = Figure { caption, table, ..Figure::default() };
        let title = "<h1> p < 0.05".into();
        let section = Section { id: "w", title, text: "a < b\n\nc".into(), figures: vec![figure] };
        assert_eq!(
            page("T|", &[section]),
            "# T\\|\n\n## &lt;h1> p < 0.05\n\na < b\n\nc\n\n&lt;b>bold&lt;/b> * 2\n\n\
             | a\\|b&lt;script> |\n| --- |\n| &lt;img src=x onerror=alert(1)> \
             \\[x\\](javascript:1) \\`c\\` a&amp;b c |\n\n<!-- bridged lab report -->\n"
        );
    }

    #[test]
    fn tables_become_markdown_and_charts_are_left_out() {
        let mut table = Table::new(["method", "wins"]);
        table.row(vec!["a|b".into(), TableCell::number("50 %").best(true)]);
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
