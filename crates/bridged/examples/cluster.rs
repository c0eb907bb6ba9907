//! Cluster one table on its own: k-means without pairs, bridge or model file.
//!
//! ```text
//! cargo run -p bridged --example cluster --no-default-features
//! ```

use bridged::cluster::{ClusterError, Clusterer, KMeans};
use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{Seed, Silent};

fn main() -> Result<(), ClusterError> {
    let mixture = Mixture { classes: 4, ..Mixture::default() };
    let sizes = Sizes { x: 1_000, y: 0, test: 5, pairs: Pairs::Iid(0) };
    let sample = mixture.draw(sizes, Seed(1));

    let clustering = KMeans { k: 4, ..KMeans::default() }.fit(sample.x.view(), Seed(0), &Silent)?;
    println!("sizes: {:?}", clustering.sizes);
    println!("inertia: {:.1} after {} iterations", clustering.inertia, clustering.iterations);
    println!("clusters of new rows: {:?}", clustering.assign(sample.test_x.view()));
    Ok(())
}
