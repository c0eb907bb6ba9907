//! Files of the laboratory: studies, runs and the report on them.

use crate::file::with_file;
use crate::{Target, seeds};
use bridged_lab::record::{self, Outcome};
use bridged_lab::results::Made;
use bridged_lab::{Experiment, Report, Results};

pub const STUDY: Target = Target {
    name: "study",
    run: |bytes| {
        let Ok(study) = with_file(bytes, "toml", Experiment::parse_file) else { return false };
        let small = |n: usize| n <= 64;
        // The cells are the product of these lists.
        if small(study.groups.len())
            && small(study.pairs.len())
            && small(study.extra_clusters.len())
            && small(study.clusters.len())
        {
            assert!(!study.cells(3).is_empty());
        }
        true
    },
    seeds: seeds::studies,
    words: &[
        "data",
        "groups",
        "pairs",
        "seeds",
        "settings",
        "methods",
        "\"bridged\"",
        "[protocol]",
        "[parameters.knn]",
        "[slow]",
        "extra_clusters",
        "truth",
        "closest",
        "=",
        "[",
        "]",
        "-1",
        "1e30",
    ],
    rounds: 2000,
};

pub const RUNS: Target = Target {
    name: "runs",
    run: |bytes| {
        let Ok(runs) = with_file(bytes, "jsonl", record::read) else { return false };
        runs.iter().for_each(|run| {
            let _ = (run.key(), serde_json::to_string(run));
        });
        !runs.is_empty()
    },
    seeds: seeds::runs,
    words: &[
        "null",
        "scores",
        "failed",
        "mse",
        "inductive",
        "transductive",
        "forward",
        "reverse",
        "1e999",
        "{",
        "}",
        "\n",
    ],
    rounds: 2000,
};

/// What may not be in a page as it is, wherever a file has it.
const HOSTILE: &str = "<img src=x onerror=alert(1)>";

pub const REPORT: Target =
    Target { name: "report", run: report, seeds: seeds::runs, words: RUNS.words, rounds: 150 };

fn report(bytes: &[u8]) -> bool {
    let Ok(mut runs) = with_file(bytes, "jsonl", record::read) else { return false };
    if runs.len() > 200 {
        return false;
    }
    for run in &mut runs {
        run.data = format!("{HOSTILE}{}", run.data);
        if let Outcome::Failed(reason) = &mut run.outcome {
            *reason = format!("{HOSTILE}{reason}");
        }
    }
    let study = with_file(&seeds::studies()[0], "toml", Experiment::parse_file);
    let study = study.expect("the first seed is a study");
    let made = Made {
        command: HOSTILE.into(),
        version: HOSTILE.into(),
        processor: HOSTILE.into(),
        threads: 1,
    };
    let results = Results { name: HOSTILE.into(), study, runs, spaces: None, made: Some(made) };
    let Ok(report) = Report::new(vec![results], HOSTILE) else { return false };
    assert!(!report.html().contains("<img"), "a name becomes a part of the page");
    let _ = report.markdown();
    true
}
