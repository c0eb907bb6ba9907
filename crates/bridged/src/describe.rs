//! A model in words and counts: what `bridged inspect --json` prints and Python's `inspect` gives.

use crate::model::{BridgedModel, Direction};
use crate::side::Side;
use serde_json::{Value, json};

impl BridgedModel {
    /// Everything in a model that is not a vector.
    pub fn describe(&self) -> Value {
        let mut routes = serde_json::Map::new();
        for direction in Direction::BOTH {
            let regressor = self.regressor(direction);
            let (from, to) = (direction.input(), direction.output());
            let mut route = json!({
                    "links": regressor.bridge().links,
                    "answers": regressor.answers(),
                    "alpha": regressor.alpha(),
                    "leave_one_out": regressor.leave_one_out(),
                    "reliability": regressor.bridge().reliability,
                    "verdict": self.verdict(direction),
            });
            if self.ensemble.is_some() {
                route["members"] = json!(self.members(direction));
                route["no_partner"] = json!(regressor.partnerless());
            }
            routes.insert(format!("{from}_to_{to}"), route);
        }
        let votes: Vec<Value> = self
            .votes
            .cells()
            .iter()
            .map(|c| json!({"x": c.x, "y": c.y, "pairs": c.count, "evidence": c.evidence}))
            .collect();
        let contradictions: Vec<Value> = self
            .contradictions(20)
            .into_iter()
            .map(|c| {
                let (x, y) = self.pairs[c.pair];
                let id = |side: &Side, row: u32| side.names.id(row as usize);
                json!({
                    "pair": c.pair,
                    "x": id(&self.x, x),
                    "y": id(&self.y, y),
                    "agreement": c.agreement,
                })
            })
            .collect();
        json!({
            "format": self.version(),
            "parameters": self.settings,
            "seed": self.seed,
            "x": side(&self.x),
            "y": side(&self.y),
            "pairs": self.pairs.len(),
            "votes": votes,
            "bridge": routes,
            "contradictions": contradictions,
            "warnings": self.warnings(),
        })
    }
}

fn side(side: &Side) -> Value {
    let clustering = &side.clustering;
    json!({
        "rows": side.total(),
        "columns": side.cols(),
        "vector": side.names.vector,
        "carried": side.names.texts.iter().map(|t| &t.name).collect::<Vec<_>>(),
        "label": side.label_column(),
        "rows_kept": side.keeps_rows(),
        "clusters": side.k(),
        "sizes": clustering.sizes,
        "inertia": clustering.inertia,
        "iterations": clustering.iterations,
        "converged": clustering.converged,
        "separation": side.separation,
    })
}
