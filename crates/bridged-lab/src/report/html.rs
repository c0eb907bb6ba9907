//! The page as one HTML file that needs no network.

use super::MADE_BY;
use super::page::{Figure, Section, Table, TableCell, is_ours};
use super::svg::escape;
use std::fmt::Write;

/// A table in a section without charts is open up to this many rows.
const OPEN_ROWS: usize = 40;

/// A text longer than this is broken into lines inside its cell.
const LONG: usize = 48;

/// How to read marks, once for all tables.
const KEY: &str = "In tables and charts, <b>bold</b> is the best of what is compared, and \
                   <span class=\"ours\">a dot</span> marks forms of Bridged Clustering. \
                   Point at a mark or a number for more.";

pub fn page(title: &str, sections: &[Section]) -> String {
    let mut out = String::new();
    let links: Vec<String> = sections
        .iter()
        .map(|s| format!("<a href=\"#{}\">{}</a>", s.id, escape(&s.title)))
        .collect();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"generator\" content=\"{MADE_BY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>\n{style}</style>\n</head>\n<body>\n\
         <header><button id=\"theme\" type=\"button\">light / dark</button><h1>{title}</h1>\
         <details class=\"contents\"><summary>contents</summary><nav>{links}</nav></details></header>\n<main>\n",
        title = escape(title),
        style = include_str!("style.css"),
        links = links.join(" ")
    );
    let mut keyed = false;
    for section in sections {
        let _ = write!(
            out,
            "<section id=\"{}\">\n<h2>{}</h2>\n{}",
            section.id,
            escape(&section.title),
            paragraphs(&section.text)
        );
        if section.figures.iter().any(|f| !f.table.rows.is_empty()) && !keyed {
            keyed = true;
            let _ = writeln!(out, "<p class=\"key\">{KEY}</p>");
        }
        // Charts first, then tables without one.
        let (charts, tables): (Vec<&Figure>, Vec<&Figure>) =
            section.figures.iter().partition(|f| !f.panels.is_empty());
        let open = if charts.is_empty() { OPEN_ROWS } else { 0 };
        charts.iter().chain(&tables).for_each(|f| figure(&mut out, f, open));
        out.push_str("</section>\n");
    }
    let _ = write!(
        out,
        "</main>\n<div id=\"tip\" role=\"tooltip\"></div>\n<script>\n{}</script>\n</body>\n</html>\n",
        include_str!("script.js")
    );
    out
}

fn paragraphs(text: &str) -> String {
    let paragraphs = text.split("\n\n").filter(|p| !p.trim().is_empty());
    paragraphs.map(|p| format!("<p>{}</p>\n", escape(p))).collect()
}

/// A figure, with its table open where it has no chart and at most `open` rows.
fn figure(out: &mut String, figure: &Figure, open: usize) {
    out.push_str("<figure>\n");
    if !figure.legend.is_empty() {
        out.push_str("<ul class=\"legend\">");
        for (colour, name) in &figure.legend {
            let _ = write!(
                out,
                "<li><i style=\"background:{}\"></i>{}</li>",
                colour.css(),
                escape(name)
            );
        }
        out.push_str("</ul>\n");
    }
    if !figure.panels.is_empty() {
        out.push_str("<div class=\"panels\">\n");
        for (heading, svg) in &figure.panels {
            let _ = writeln!(out, "<div class=\"panel\"><h3>{}</h3>{svg}</div>", escape(heading));
        }
        out.push_str("</div>\n");
    }
    let _ = writeln!(out, "<figcaption>{}</figcaption>", escape(&figure.caption));
    if !figure.table.rows.is_empty() {
        let table = table(&figure.table);
        if figure.panels.is_empty() && figure.table.rows.len() <= open {
            out.push_str(&table);
        } else {
            let _ = write!(out, "<details><summary>the numbers</summary>\n{table}</details>\n");
        }
    }
    out.push_str("</figure>\n");
}

fn table(table: &Table) -> String {
    // What is wider than the page scrolls in a box of its own, which the keyboard reaches too.
    let mut out = String::from(
        "<div class=\"wide\"><p class=\"hint\">wider than the page: scroll sideways →</p>\
         <div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>",
    );
    for (c, name) in table.columns.iter().enumerate() {
        let number = table.rows.iter().any(|row| row[c].number);
        let class = classes(&[("number", number), ("ours", is_ours(name))]);
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        row.iter().for_each(|cell| td(&mut out, cell));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></div>\n");
    out
}

fn td(out: &mut String, cell: &TableCell) {
    let class = classes(&[
        ("number", cell.number),
        ("best", cell.best),
        ("ours", is_ours(&cell.text)),
        ("long", cell.text.chars().count() > LONG),
    ]);
    let tip = match cell.tip.is_empty() {
        true => String::new(),
        false => format!(" data-tip=\"{}\"", escape(&cell.tip)),
    };
    let _ = write!(out, "<td{class}{tip}>{}</td>", escape(&cell.text));
}

/// The classes of an element that apply.
fn classes(all: &[(&str, bool)]) -> String {
    let there: Vec<&str> = all.iter().filter(|c| c.1).map(|c| c.0).collect();
    if there.is_empty() { String::new() } else { format!(" class=\"{}\"", there.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bold_is_the_best_alone_and_ours_has_a_mark_of_its_own() {
        let mut table = Table::new(["method", "bridged-soft"]);
        table.row(vec!["bridged".into(), TableCell::number("1").best(true)]);
        table.row(vec!["knn".into(), TableCell::number("2")]);
        let html = super::table(&table);
        assert!(html.contains("<td class=\"ours\">bridged</td>"), "{html}");
        assert!(
            html.contains("<th scope=\"col\" class=\"number ours\">bridged-soft</th>"),
            "{html}"
        );
        assert!(html.contains("<td class=\"number best\">1</td>"), "{html}");
        assert!(html.contains("<td>knn</td>") && html.matches("best").count() == 1, "{html}");
        let style = include_str!("style.css");
        assert!(style.contains(".best { font-weight: 700; }"));
        let ours = style.lines().filter(|l| l.contains("ours")).collect::<String>();
        assert!(!ours.contains("font-weight"), "{ours}");
    }

    #[test]
    fn charts_come_before_tables_in_a_section() {
        let mut table = Table::new(["a"]);
        table.row(vec!["b".into()]);
        let plain = Figure { table: table.clone(), ..Figure::default() };
        let chart = Figure { panels: vec![("p".into(), "<svg></svg>".into())], ..plain.clone() };
        let figures = vec![plain, chart];
        let html =
            page("t", &[Section { id: "s", title: "S".into(), text: String::new(), figures }]);
        assert!(html.find("<svg").unwrap() < html.find("<table").unwrap());
        assert_eq!(
            html.matches("<details><summary>the numbers").count(),
            2,
            "both tables are behind"
        );
    }
}
