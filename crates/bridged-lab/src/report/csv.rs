//! The tables of the page as one CSV file: a row for each cell, with the section, the table and the row and column that
//! it stands in. Tables differ in their columns, so this is the form that a data frame can filter and pivot.

use super::page::Section;

const HEADER: &str = "section,table,caption,row,column,name,value\n";

pub fn page(sections: &[Section]) -> String {
    let mut out = String::from(HEADER);
    for section in sections {
        for (number, figure) in section.figures.iter().enumerate() {
            let table = &figure.table;
            for (i, row) in table.rows.iter().enumerate() {
                for (cell, column) in row.iter().zip(&table.columns) {
                    // The first cell of a row says what it is about.
                    let name = &row[0].text;
                    let number = (number + 1).to_string();
                    let cells = [
                        section.id,
                        &number,
                        &figure.caption,
                        &i.to_string(),
                        column,
                        name,
                        &cell.text,
                    ];
                    let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
                    out.push_str(&cells.join(","));
                    out.push('\n');
                }
            }
        }
    }
    out
}

/// Quoted where it must be; what a spreadsheet would run has an apostrophe before it.
fn quoted(cell: &str) -> String {
    let safe = match bridged_io::spreadsheet::is_formula(cell) {
        true => format!("'{cell}"),
        false => cell.to_string(),
    };
    if safe.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", safe.replace('"', "\"\""));
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::page::{Figure, Table, TableCell};
    use super::*;

    #[test]
    fn every_cell_says_where_it_stands() {
        let mut table = Table::new(["method", "wins, %"]);
        table.row(vec!["=1+1".into(), TableCell::number("-3")]);
        let figure = Figure { caption: "Who \"wins\".".into(), table, ..Figure::default() };
        let section =
            Section { id: "w", title: "W".into(), text: String::new(), figures: vec![figure] };
        assert_eq!(
            page(&[section]),
            "section,table,caption,row,column,name,value\n\
             w,1,\"Who \"\"wins\"\".\",0,method,'=1+1,'=1+1\n\
             w,1,\"Who \"\"wins\"\".\",0,\"wins, %\",'=1+1,-3\n"
        );
    }
}
