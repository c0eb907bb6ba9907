//! `bridged list`: everything that can be named on the command line, as far as it is compiled in.

use crate::printer::{self, Align, Grid, bold};
use anyhow::Result;
use bridged::bridge::BridgeSpec;
use bridged::cluster::ClusterSpec;
use bridged::settings::Preset;
#[cfg(feature = "lab")]
use bridged_baselines::{BaselineSpec, Uses};
use serde_json::{Value, json};
use std::io::Write;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the lists as JSON, clusterings and bridges with their default parameters
    #[arg(long)]
    json: bool,
}

struct Section {
    title: &'static str,
    entries: Vec<(String, String)>,
}

pub fn run(args: &Args) -> Result<()> {
    let mut out = printer::out();
    let sections = sections();
    if args.json {
        let list = |s: &Section| -> Value {
            s.entries.iter().map(|(name, about)| json!({"name": name, "about": about})).collect()
        };
        let mut all: serde_json::Map<String, Value> =
            sections.iter().map(|s| (s.title.to_string(), list(s))).collect();
        let defaults = ClusterSpec::ALL.iter().filter_map(|e| ClusterSpec::named(e.name));
        all.insert("clustering_defaults".into(), json!(defaults.collect::<Vec<_>>()));
        #[cfg(feature = "lab")]
        {
            let defaults = BaselineSpec::ALL.iter().filter_map(|e| BaselineSpec::named(e.name));
            all.insert("baseline_defaults".into(), json!(defaults.collect::<Vec<_>>()));
        }
        printer::print_json(&all, &mut out)?;
        return Ok(());
    }
    for (i, section) in sections.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", bold(section.title))?;
        let mut grid = Grid::new(&[("", Align::Left), ("", Align::Left)]);
        for (name, about) in &section.entries {
            grid.row(vec![name.clone(), about.clone()]);
        }
        grid.print(&mut out)?;
    }
    Ok(())
}

fn sections() -> Vec<Section> {
    let own = |entries: &[(&str, &str)]| {
        entries.iter().map(|(name, about)| (name.to_string(), about.to_string())).collect()
    };
    let listed = |entries: &[bridged::cluster::Entry]| {
        entries.iter().map(|e| (e.name.to_string(), e.about.to_string())).collect()
    };
    let formats = bridged_io::FORMATS.iter().map(|f| {
        (
            f.extensions.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(" "),
            f.about.to_string(),
        )
    });
    let metrics = bridged::metrics::ALL.iter().map(|m| (m.name.to_string(), m.about.to_string()));
    vec![
        Section { title: "clusterings", entries: listed(ClusterSpec::ALL) },
        Section { title: "bridges", entries: listed(BridgeSpec::ALL) },
        Section { title: "presets", entries: listed(&Preset::ALL) },
        #[cfg(feature = "lab")]
        Section { title: "baselines", entries: baselines() },
        Section {
            title: "refinements",
            entries: own(&[
                ("none", "predictions are the centroids of the linked clusters"),
                ("supervised", "a linear map inside each linked pair of clusters, from its pairs"),
                ("supervised-centroid", "the same, from its pairs and all linked centroids"),
                ("residual", "one linear map of what the bridge leaves unexplained"),
            ]),
        },
        Section {
            title: "scalings",
            entries: own(&[
                ("none", "rows as they are (the paper)"),
                ("standardize", "every column to mean 0 and variance 1"),
                ("l2", "every row to length 1: distances become angles"),
                ("pca:N", "the first N principal components"),
            ]),
        },
        Section {
            title: "answers without evidence",
            entries: own(&[
                ("mean", "the mean of the other pool"),
                ("nearest", "what the nearest cluster with a link predicts"),
                ("abstain", "nothing"),
            ]),
        },
        #[cfg(feature = "encode")]
        Section { title: "encoders", entries: encoders() },
        Section { title: "metrics", entries: metrics.collect() },
        Section { title: "formats", entries: formats.collect() },
    ]
}

/// The encoders.
#[cfg(feature = "encode")]
fn encoders() -> Vec<(String, String)> {
    bridged_encode::ALL.iter().map(|e| (e.name.to_string(), e.about.to_string())).collect()
}

/// The baselines, each with the rows that it learns from besides the pairs.
#[cfg(feature = "lab")]
fn baselines() -> Vec<(String, String)> {
    let uses = |uses| match uses {
        Uses::Pairs => "the pairs alone",
        Uses::X => "also unpaired x",
        Uses::Y => "also unpaired y",
        Uses::Both => "also unpaired x and y",
    };
    let line = |e: &bridged_baselines::Entry| {
        (e.name.to_string(), format!("{} (uses {})", e.about, uses(e.uses)))
    };
    BaselineSpec::ALL.iter().map(line).collect()
}
