//! The methods that Bridged Clustering is compared with: the eleven of the paper, the plain ones
//! that anybody would try first, and those that appeared after the paper.
//!
//! Each is a struct whose public fields are its parameters, with `Default`, serde, the limits of its
//! numbers, and `grid()`, the settings that the paper's appendix searches. [`BaselineSpec`] is the one
//! list of them: a line there gives a method its name in commands and TOML, its entry in `bridged
//! list` and its conformance tests.
//!
//! ```
//! use bridged::{Matrix, Seed, Silent};
//! use bridged::{Method, Problem};
//! use bridged_baselines::BaselineSpec;
//!
//! let x = Matrix::from_rows(&[[0.0], [1.0], [8.0], [9.0]]);
//! let y = Matrix::from_rows(&[[5.0], [7.0]]);
//! let problem = Problem::new(x.view(), y.view(), &[(0, 0), (3, 1)]);
//! let nearest = BaselineSpec::named("knn").expect("listed");
//! let predictor = nearest.fit(problem, Seed(0), &Silent)?;
//! let predicted = predictor.predict(Matrix::from_rows(&[[7.0]]).view())?;
//! assert_eq!(predicted.data(), [7.0]);
//! # Ok::<(), bridged::MethodError>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`kernel`] | radial kernels and their widths |
//! | [`kernel_ridge`] | weighted kernel ridge regression with many outputs |
//! | `manifold` | a pool as a graph whose weights follow its density, and how a row joins it |
//! | [`nn`] | small dense networks with gradients derived by hand |
//! | [`prepare`] | the pairs as two matrices, standard columns, centred outputs |
//! | [`transport`] | Sinkhorn and entropic Gromov–Wasserstein |
//! | `directions` | where the rows of a pool point, in at most 128 columns |
//! | `students` | two linear maps into one space, trained by gradients |
//! | `retrieval` | from scores of the y rows to a ranking and a value |
//! | [`svr`] | ε-SVR of many outputs over one kernel matrix |

#![forbid(unsafe_code)]

mod asif;
mod cca;
mod constant;
mod directions;
mod em;
mod eot;
mod fixmatch;
mod gcn;
mod gw;
pub mod kernel;
pub mod kernel_ridge;
mod kmm;
mod knn;
mod laprls;
mod limits;
mod linear;
mod local_cka;
mod manifold;
mod mash;
mod nearest_pair;
pub mod nn;
mod pls;
pub mod prepare;
mod retrieval;
mod ridge;
mod rosetta;
mod sotalign;
mod spud;
mod structure;
mod students;
mod subspace;
mod sue;
pub mod svr;
mod tnnr;
pub mod transport;
mod tsvr;
mod ucvme;

pub use asif::Asif;
pub use cca::Cca;
pub use constant::{Mean, PairedMean};
pub use em::Em;
pub use eot::Eot;
pub use fixmatch::FixMatch;
pub use gcn::Gcn;
pub use gw::{FusedGw, Gw};
pub use kmm::Kmm;
pub use knn::{Knn, Weights};
pub use laprls::{Kernel, Laplacian, Laprls};
pub use local_cka::LocalCka;
pub use mash::Mash;
pub use nearest_pair::NearestPair;
pub use pls::Pls;
pub use ridge::Ridge;
pub use rosetta::Rosetta;
pub use sotalign::Sotalign;
pub use spud::Spud;
pub use structure::Structure;
pub use subspace::Components;
pub use sue::Sue;
pub use tnnr::Tnnr;
pub use tsvr::Tsvr;
pub use ucvme::Ucvme;

use bridged::settings::{BadParameter, Check, Limits, Named};
use bridged::{Method, MethodError, Predictor, Problem, ProblemSize};
use bridged::{Seed, Watch};
use serde::{Deserialize, Serialize};

/// Which rows a method learns from, besides the pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uses {
    /// The pairs alone.
    Pairs,
    /// Also the unpaired rows of x.
    X,
    /// Also the unpaired rows of y.
    Y,
    /// Also the unpaired rows of both.
    Both,
}

/// One line of `bridged list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in commands, TOML and Python.
    pub name: &'static str,
    /// What it is, in half a line.
    pub about: &'static str,
    /// Which rows it learns from.
    pub uses: Uses,
}

macro_rules! baselines {
    ($($variant:ident($name:literal, $uses:ident, $about:literal),)+) => {
        /// Any of the baselines with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method")]
        pub enum BaselineSpec {
            $(#[doc = $about] #[serde(rename = $name)] $variant($variant),)+
        }

        impl BaselineSpec {
            /// Every baseline, in the order in which `bridged list` shows them.
            pub const ALL: &[Entry] =
                &[$(Entry { name: $name, about: $about, uses: Uses::$uses },)+];

            /// The baseline of that name with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant($variant::default())),)+
                    _ => None,
                }
            }

            /// Its name in commands, TOML and Python.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }

            /// The settings that a search over this method tries: those of the paper's appendix
            /// where it has some, else the defaults alone.
            pub fn grid(&self) -> Vec<Self> {
                match self {
                    $(Self::$variant(_) => $variant::grid().into_iter().map(Self::$variant).collect(),)+
                }
            }

            fn method(&self) -> &dyn Method {
                match self { $(Self::$variant(m) => m,)+ }
            }
        }

        impl Check for BaselineSpec {
            fn limits(&self) -> &'static [(&'static str, Limits)] {
                match self { $(Self::$variant(m) => m.limits(),)+ }
            }

            fn check(&self) -> Result<(), BadParameter> {
                match self { $(Self::$variant(m) => m.check(),)+ }
            }
        }
    };
}

// Name, the rows it learns from besides the pairs, and what it is.
baselines! {
    Knn("knn", Pairs, "KNN: the outputs of the nearest pairs, averaged"),
    Laprls("laprls", X, "LapRLS: kernel least squares that are smooth along the x pool"),
    Tsvr("tsvr", X, "TSVR: support vector regression that trains itself on the rows it is surest of"),
    Gcn("gcn", X, "GCN: two graph convolutions over the nearest neighbours in the x pool"),
    FixMatch("fixmatch", X, "FixMatch: a network that agrees with its teacher on perturbed inputs"),
    Tnnr("tnnr", X, "TNNR: a network of differences, added to the outputs of all pairs"),
    Ucvme("ucvme", X, "UCVME: two Bayesian networks that agree on outputs and uncertainty"),
    Kmm("kmm", Both, "KMM: kernel ridge on pairs weighted to look like the pools"),
    Em("em", Both, "EM: a Gaussian mixture with one latent class behind both sides"),
    Eot("eot", Both, "EOT: entropic transport of ridge-mapped inputs to the outputs"),
    Gw("gw", Both, "GW: entropic Gromov-Wasserstein matching of the two pools, without the pairs"),
    FusedGw("fused-gw", Both, "GW that also minds where the ridge map of the pairs sends a row"),
    Mean("mean", Y, "the mean of the y pool, whatever the input"),
    PairedMean("paired-mean", Pairs, "the mean of the paired outputs, whatever the input"),
    NearestPair("nearest-pair", Y, "the nearest pair, and the mean of the y rows around its output"),
    Ridge("ridge", X, "ridge regression on the pairs after PCA of the x pool"),
    Pls("pls", Both, "partial least squares on the pairs after PCA of both pools"),
    Cca("cca", Both, "regularised canonical correlation on the pairs after PCA of both pools"),
    Asif("asif", Both, "ASIF: rows described by how similar they are to the pairs"),
    Rosetta("rosetta", Both, "Rosetta: a rotation of x onto y, from clusters that are matched by their geometry"),
    Sotalign("sotalign", Both, "SOTAlign: linear maps that agree with the pairs and with the transport of ridge CCA"),
    Structure("structure", Both, "STRUCTURE: linear maps that agree with the pairs and keep each pool's neighbourhoods"),
    Spud("spud", Both, "SPUD: shortest paths through both pools, which the pairs join"),
    Mash("mash", Both, "MASH: random walks on both pools, which the pairs join"),
    LocalCka("local-cka", Both, "LocalCKA: how well a row and a candidate extend the pairs"),
    Sue("sue", Both, "SUE: eigenvectors of each pool's graph, matched by CCA on the pairs"),
}

impl Named for BaselineSpec {
    fn method_name(&self) -> &'static str {
        self.name()
    }
}

impl Method for BaselineSpec {
    fn name(&self) -> &'static str {
        self.name()
    }

    fn memory(&self, size: ProblemSize) -> u64 {
        self.method().memory(size)
    }

    fn learn(
        &self,
        problem: Problem<'_>,
        seed: Seed,
        watch: &dyn Watch,
    ) -> Result<Box<dyn Predictor>, MethodError> {
        self.method().learn(problem, seed, watch)
    }
}
