//! The tables of the page as LaTeX: one `table` each, with `booktabs`, to be taken into a paper by `\\input`.

use super::page::{Section, Table, TableCell};
use std::fmt::Write;

pub fn page(title: &str, sections: &[Section]) -> String {
    let mut out = format!("% {}\n% Needs \\usepackage{{booktabs}}.\n", one_line(title));
    for section in sections {
        for (number, figure) in section.figures.iter().enumerate() {
            if !figure.table.rows.is_empty() {
                let label = format!("tab:{}-{}", section.id, number + 1);
                table(&mut out, &figure.table, &figure.caption, &label);
            }
        }
    }
    out
}

fn table(out: &mut String, table: &Table, caption: &str, label: &str) {
    let is_number = |c: usize| table.rows.iter().any(|row| row[c].number);
    let columns: String =
        (0..table.columns.len()).map(|c| if is_number(c) { 'r' } else { 'l' }).collect();
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let _ = write!(
        out,
        "\n\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{{label}}}\n\
         \\begin{{tabular}}{{{columns}}}\n\\toprule\n",
        escape(caption)
    );
    out.push_str(&line(table.columns.iter().map(|name| escape(name)).collect()));
    out.push_str("\\midrule\n");
    for row in &table.rows {
        out.push_str(&line(row.iter().map(cell).collect()));
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
}

fn cell(cell: &TableCell) -> String {
    let text = escape(&cell.text);
    if cell.best { format!("\\textbf{{{text}}}") } else { text }
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A text without what LaTeX would act on.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '–' => out.push_str("--"),
            '−' => out.push_str("$-$"),
            '×' => out.push_str("$\\times$"),
            '÷' => out.push_str("$\\div$"),
            '→' => out.push_str("$\\rightarrow$"),
            '±' => out.push_str("$\\pm$"),
            '≤' => out.push_str("$\\leq$"),
            '≥' => out.push_str("$\\geq$"),
            'Δ' => out.push_str("$\\Delta$"),
            'σ' => out.push_str("$\\sigma$"),
            'ε' => out.push_str("$\\varepsilon$"),
            'ρ' => out.push_str("$\\rho$"),
            'χ' => out.push_str("$\\chi$"),
            '²' => out.push_str("$^2$"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::page::Figure;
    use super::*;

    #[test]
    fn a_table_is_one_that_latex_takes() {
        let mut table = Table::new(["method_a", "wins"]);
        table.row(vec!["\\input{/etc/passwd} & 5 %".into(), TableCell::number("50 %").best(true)]);
        let caption = "Who wins, R² #1".into();
        let figures = vec![Figure::default(), Figure { caption, table, ..Figure::default() }];
        let section = Section { id: "wins", title: "W".into(), text: String::new(), figures };
        assert_eq!(
            page("T\n", &[section]),
            "% T \n% Needs \\usepackage{booktabs}.\n\n\\begin{table}\n\\centering\n\
             \\caption{Who wins, R$^2$ \\#1}\n\\label{tab:wins-2}\n\\begin{tabular}{lr}\n\\toprule\n\
             method\\_a & wins \\\\\n\\midrule\n\
             \\textbackslash{}input\\{/etc/passwd\\} \\& 5 \\% & \\textbf{50 \\%} \\\\\n\
             \\bottomrule\n\\end{tabular}\n\\end{table}\n"
        );
    }
}
