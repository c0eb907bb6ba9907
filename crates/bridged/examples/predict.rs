//! Predict with a model file: either side from the other, why, and the nearest real rows.
//!
//! ```text
//! cargo run -p bridged --example predict
//! ```
//!
//! Fits and saves a small model first, so that it runs on its own.

use bridged::synth::{Mixture, Pairs, Sample, Sizes};
use bridged::{BridgedClustering, BridgedModel, Direction, Problem};
use bridged::{Seed, Silent};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.bridged");
    let sample = draw();
    save_model(&sample, &path)?;

    let model = BridgedModel::load(&path)?;
    for (direction, rows) in
        [(Direction::Forward, &sample.test_x), (Direction::Reverse, &sample.test_y)]
    {
        println!("{} from {}", direction.output(), direction.input());
        let prediction = model.predict(direction, rows.view())?;
        let nearest = model.nearest(direction, prediction.values.view(), 3)?;
        for (i, why) in prediction.explanations().enumerate() {
            let rows: Vec<u32> = nearest[i].iter().map(|neighbor| neighbor.row).collect();
            println!(
                "  row {i}: cluster {}, {} ({} pairs), nearest rows of {} {rows:?}",
                prediction.clusters[i],
                why.status,
                why.support,
                direction.output(),
            );
        }
    }
    Ok(())
}

fn draw() -> Sample {
    let mixture = Mixture { classes: 3, ..Mixture::default() };
    let sizes = Sizes { x: 300, y: 200, test: 4, pairs: Pairs::Stratified(2) };
    mixture.draw(sizes, Seed(1))
}

fn save_model(sample: &Sample, path: &Path) -> Result<(), bridged::Error> {
    let problem = Problem::new(sample.x.view(), sample.y.view(), &sample.pairs);
    BridgedClustering::with_k(3).fit(problem, Seed(0), &Silent)?.save(path)
}
