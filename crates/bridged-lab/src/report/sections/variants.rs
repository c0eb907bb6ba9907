//! The variants of the bridge and of its refinement.

use super::compare;
use crate::report::data::ReportData;
use crate::report::page::Section;

const VARIANTS: [&str; 7] = [
    "bridged",
    "bridged-margin",
    "bridged-hungarian",
    "bridged-soft",
    "bridged-supervised",
    "bridged-supervised-centroid",
    "bridged-posterior",
];

pub fn section(data: &ReportData) -> Option<Section> {
    let caption = "Mean error of the variants with 95 % intervals, all on the same clusterings of \
                   the same draws.";
    let figure = compare::figure(data, &VARIANTS, caption)?;
    Some(Section {
        id: "variants",
        title: "Variants of the bridge".into(),
        text:
            "The paper's majority vote, its margin-based and one-to-one votes, soft bridging, and \
               the two refinements by regression inside a cluster. “Better than the first” is \
               the share of draws on which a variant has a smaller error than the majority vote, \
               equals counting half."
                .into(),
        figures: vec![figure],
    })
}
