//! Fit a model: two pools and a few pairs in, a model file and what the bridge says out.
//!
//! ```text
//! cargo run -p bridged --example fit -- model.bridged
//! ```
//!
//! The pools are synthetic: three hidden classes, and four known pairs of each.

use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{BridgedClustering, Direction, Problem};
use bridged::{Seed, Silent};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).map_or_else(default_path, PathBuf::from);

    let mixture = Mixture { classes: 3, ..Mixture::default() };
    let sizes = Sizes { x: 300, y: 200, test: 0, pairs: Pairs::Stratified(4) };
    let sample = mixture.draw(sizes, Seed(1));

    // Rows of x and y need not be in any common order: only the pairs say what belongs together.
    let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
    let model = BridgedClustering::with_k(3).fit(problem, Seed(0), &Silent)?;

    let verdict = model.verdict(Direction::Forward);
    println!("y from x: {}", verdict.grade.name());
    if let Some(error) = verdict.error {
        println!("  error of left-out pairs: {error:.2} times that of the best constant");
    }
    for line in model.link_table(Direction::Forward).rows() {
        let links = line.why.links.iter().map(|t| format!("{} ({:.2})", t.cluster, t.weight));
        let (links, status) = (links.collect::<Vec<_>>().join(", "), line.why.status);
        println!("  x cluster {} -> y cluster {links}: {status}", line.cluster);
    }
    for warning in model.warnings() {
        println!("warning: {warning}");
    }

    model.save(&path)?;
    println!("wrote {}", path.display());
    Ok(())
}

fn default_path() -> PathBuf {
    std::env::temp_dir().join("example.bridged")
}
