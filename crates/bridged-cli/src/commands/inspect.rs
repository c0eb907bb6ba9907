//! `bridged inspect`: the bridge of a model as a table or as JSON.

use crate::bridge_view::{self, Show, sides};
use anyhow::Result;
use bridged::{BridgedModel, Direction, Side};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    model: PathBuf,
    /// Print everything but the vectors as JSON
    #[arg(long)]
    json: bool,
    /// The carried column that stands for rows of x [default: the first]
    #[arg(long, value_name = "COLUMN")]
    show_x: Option<String>,
    /// The carried column that stands for rows of y [default: the first]
    #[arg(long, value_name = "COLUMN")]
    show_y: Option<String>,
}

pub fn run(args: &Args) -> Result<()> {
    let model = BridgedModel::load(&args.model)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&to_json(&model))?)?;
        return Ok(());
    }
    let show = Show { x: args.show_x.as_deref(), y: args.show_y.as_deref() };
    for direction in [Direction::Forward, Direction::Reverse] {
        bridge_view::print(&model, direction, show, &mut out)?;
        writeln!(out)?;
    }
    bridge_view::print_checks(&model, &mut out)?;
    writeln!(out)?;
    bridge_view::print_verdict(&model, &mut out)?;
    bridge_view::print_contradictions(&model, show, &mut out)?;
    bridge_view::print_warnings(&model, &mut out)?;
    Ok(())
}

/// Everything in a model that is not a vector.
pub fn to_json(model: &BridgedModel) -> Value {
    let mut routes = serde_json::Map::new();
    for direction in [Direction::Forward, Direction::Reverse] {
        let route = model.route(direction);
        let (from, to) = sides(direction);
        routes.insert(
            format!("{from}_to_{to}"),
            json!({
                "links": route.bridge.links,
                "answers": route.answers[..model.from(direction).k()],
                "alpha": route.alpha,
                "leave_one_out": route.check,
                "reliability": route.bridge.reliability,
                "verdict": model.verdict(direction),
            }),
        );
    }
    let votes: Vec<Value> = model
        .votes
        .cells()
        .iter()
        .map(|c| json!({"x": c.x, "y": c.y, "pairs": c.count, "evidence": c.evidence}))
        .collect();
    json!({
        "format": bridged::MODEL_VERSION,
        "parameters": model.spec,
        "seed": model.seed,
        "x": side(&model.x),
        "y": side(&model.y),
        "pairs": model.pairs.len(),
        "votes": votes,
        "bridge": routes,
        "contradictions": model.contradictions(20),
        "warnings": model.warnings(),
    })
}

fn side(side: &Side) -> Value {
    let clustering = &side.clustering;
    json!({
        "rows": clustering.labels.len(),
        "columns": side.cols(),
        "vector": side.names.vector,
        "carried": side.names.texts.iter().map(|t| &t.name).collect::<Vec<_>>(),
        "rows_kept": side.rows.is_some(),
        "clusters": side.k(),
        "sizes": clustering.sizes,
        "inertia": clustering.inertia,
        "iterations": clustering.iterations,
        "converged": clustering.converged,
        "separation": side.separation,
    })
}
