//! Both spaces in two dimensions with the pairs drawn as links.

use crate::report::charts::spaces::spaces;
use crate::report::data::ReportData;
use crate::report::page::{Colour, Figure, Section, Table, TableCell};

pub fn section(data: &ReportData) -> Option<Section> {
    let mut figures = Vec::new();
    for set in &data.sets {
        let Some(picture) = &set.main.spaces else { continue };
        let mut table = Table::new(["group", "inputs drawn", "outputs drawn", "pairs"]);
        for (g, name) in picture.groups.iter().enumerate() {
            let count = |points: &[crate::spaces::Point]| {
                TableCell::number(points.iter().filter(|p| p.group == g).count().to_string())
            };
            let pairs = picture.links.iter().filter(|l| picture.x[l.0].group == g).count();
            table.row(vec![
                name.as_str().into(),
                count(&picture.x),
                count(&picture.y),
                TableCell::number(pairs.to_string()),
            ]);
        }
        let names = picture.groups.iter().enumerate();
        let caption = format!(
            "One draw of {}: {} groups, {} {}, on the first two principal components of \
             each side. Lines join the rows of a pair; everything else is what the methods are \
             given unlinked.",
            set.data,
            picture.cell.groups,
            picture.cell.pairs,
            data.pairs_name()
        );
        figures.push(Figure {
            caption,
            legend: names.map(|(g, name)| (Colour::nth(g), name.clone())).collect(),
            panels: vec![(set.data.clone(), spaces(picture, &set.data))],
            table,
        });
    }
    (!figures.is_empty()).then(|| Section {
        id: "spaces",
        title: "Both spaces".into(),
        text: String::new(),
        figures,
    })
}
