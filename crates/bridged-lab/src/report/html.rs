//! The page as one HTML file that needs no network.

use super::MADE_BY;
use super::page::{Figure, Section, Table, TableCell};
use super::svg::escape;
use std::fmt::Write;

/// A table without a chart is open up to this many rows.
const OPEN_ROWS: usize = 40;

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
         <header><h1>{title}</h1><button id=\"theme\" type=\"button\">light / dark</button>\
         <nav>{links}</nav></header>\n<main>\n",
        title = escape(title),
        style = include_str!("style.css"),
        links = links.join(" ")
    );
    for section in sections {
        let _ = write!(
            out,
            "<section id=\"{}\">\n<h2>{}</h2>\n{}",
            section.id,
            escape(&section.title),
            paragraphs(&section.text)
        );
        section.figures.iter().for_each(|f| figure(&mut out, f));
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

fn figure(out: &mut String, figure: &Figure) {
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
        if figure.panels.is_empty() && figure.table.rows.len() <= OPEN_ROWS {
            out.push_str(&table);
        } else {
            let _ = write!(out, "<details><summary>the numbers</summary>\n{table}</details>\n");
        }
    }
    out.push_str("</figure>\n");
}

fn table(table: &Table) -> String {
    let mut out = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
    for (c, name) in table.columns.iter().enumerate() {
        let class = match table.rows.iter().any(|row| row[c].number) {
            true => " class=\"number\"",
            false => "",
        };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        row.iter().for_each(|cell| td(&mut out, cell));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

fn td(out: &mut String, cell: &TableCell) {
    let mut classes = Vec::new();
    classes.extend(cell.number.then_some("number"));
    classes.extend(cell.strong.then_some("strong"));
    let class = match classes.is_empty() {
        true => String::new(),
        false => format!(" class=\"{}\"", classes.join(" ")),
    };
    let tip = match cell.tip.is_empty() {
        true => String::new(),
        false => format!(" data-tip=\"{}\"", escape(&cell.tip)),
    };
    let _ = write!(out, "<td{class}{tip}>{}</td>", escape(&cell.text));
}
