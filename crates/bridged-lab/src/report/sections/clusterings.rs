//! The clusterings below the same bridge.

use super::compare;
use crate::report::data::ReportData;
use crate::report::page::Section;

const CLUSTERINGS: [&str; 6] = [
    "bridged",
    "bridged-kmeans",
    "bridged-minibatch",
    "bridged-gmm",
    "bridged-spectral",
    "bridged-agglomerative",
];

pub fn section(data: &ReportData) -> Option<Section> {
    let caption = "Mean error with other clusterings on both sides, majority vote throughout; \
                   `bridged` is balanced k-means.";
    let figure = compare::figure(data, &CLUSTERINGS, caption)?;
    Some(Section {
        id: "clusterings",
        title: "Clusterings".into(),
        text: "The same bridge on other clusterings. Balanced k-means is told that groups are \
               equally large, which the draws of the paper make true."
            .into(),
        figures: vec![figure],
    })
}
