//! Every numeric parameter of every baseline below, at and above its limits.

use crate::limit_cases::*;
use crate::support::*;
use bridged::settings::Check;
use bridged::{Method, MethodError};
use bridged::{Seed, Silent};
use bridged_baselines::kernel::Width;
use bridged_baselines::transport::sinkhorn::Eps;
use bridged_baselines::*;

#[test]
fn every_number_has_its_limits() {
    all().for_each(|spec| every_number_has_limits(&spec));
}

#[test]
fn every_number_is_refused_beyond_its_limits_and_taken_at_them() {
    let numbers: usize = all().map(|spec| numbers_are_refused_beyond_their_limits(&spec)).sum();
    assert!(numbers >= 70, "{numbers}");
}

#[test]
fn the_papers_grids_are_within_the_limits() {
    for setting in all().flat_map(|spec| spec.grid()) {
        setting.check().unwrap_or_else(|e| panic!("{setting:?}: {e}"));
    }
}

#[test]
fn a_method_that_is_used_without_the_list_checks_its_numbers_too() {
    let s = sample(3, 1, 1);
    let refuses = |method: &dyn Method, by: &str, parameter: &str| {
        let error = method.fit(problem(&s), Seed(0), &Silent).err();
        let Some(MethodError::BadParameter { method, source }) = error else {
            panic!("{by} was fitted: {error:?}")
        };
        assert_eq!((method, source.name.as_str()), (by, parameter));
    };
    refuses(&Knn { k: 0, ..Knn::default() }, "knn", "k");
    refuses(&Laprls { k: 0, ..Laprls::default() }, "laprls", "k");
    refuses(&Laprls { width: Width::Gamma(0.0), ..Laprls::default() }, "laprls", "width");
    refuses(&Tsvr { c: f64::NAN, ..Tsvr::default() }, "tsvr", "c");
    refuses(&Tsvr { gamma: Width::Sigma(f64::NAN), ..Tsvr::default() }, "tsvr", "gamma");
    refuses(&Gcn { dropout: 1.0, ..Gcn::default() }, "gcn", "dropout");
    refuses(&FixMatch { views: 1, ..FixMatch::default() }, "fixmatch", "views");
    refuses(&Tnnr { batch_size: usize::MAX, ..Tnnr::default() }, "tnnr", "batch_size");
    refuses(&Ucvme { hidden: 0, ..Ucvme::default() }, "ucvme", "hidden");
    refuses(&Kmm { bound: f64::INFINITY, ..Kmm::default() }, "kmm", "bound");
    refuses(&Em { pca: Some(0), ..Em::default() }, "em", "pca");
    refuses(&Eot { eps: Eps::Value(0.0), ..Eot::default() }, "eot", "eps");
    refuses(&Gw { max_iter: 0, ..Gw::default() }, "gw", "max_iter");
    refuses(&FusedGw { alpha: -0.1, ..FusedGw::default() }, "fused-gw", "alpha");
    refuses(&NearestPair { rows: 0 }, "nearest-pair", "rows");
    refuses(&Ridge { pca: Components::Count(0), ..Ridge::default() }, "ridge", "pca");
    refuses(&Pls { components: Some(0), ..Pls::default() }, "pls", "components");
    refuses(&Cca { regularization: -1.0, ..Cca::default() }, "cca", "regularization");
    refuses(&Rosetta { k: 0, ..Rosetta::default() }, "rosetta", "k");
    refuses(&Sotalign { eps: 0.0, ..Sotalign::default() }, "sotalign", "eps");
    refuses(&Structure { tau: f64::NAN, ..Structure::default() }, "structure", "tau");
    refuses(&Spud { k: 0 }, "spud", "k");
    refuses(&Mash { steps: 0, ..Mash::default() }, "mash", "steps");
    refuses(&Sue { regularization: -1.0, ..Sue::default() }, "sue", "regularization");
}
