//! Same input and seed, same bytes out, on any number of threads; and work that can be stopped.

use crate::support::Folder;

#[test]
fn models_are_equal_to_the_byte_on_one_and_on_two_threads() {
    let folder = Folder::with_demo();
    let fit = "fit --x pictures.parquet --y names.parquet --pairs pairs.csv -k 7";
    for method in ["kmeans", "balanced", "gmm", "spectral"] {
        for threads in [1, 2, 3] {
            folder
                .ok(&format!("{fit} --cluster {method} --threads {threads} -o {threads}.bridged"));
        }
        assert!(folder.read("1.bridged") == folder.read("2.bridged"), "{method}");
        assert!(folder.read("1.bridged") == folder.read("3.bridged"), "{method}");
    }
    folder.ok(&format!("{fit} --seed 1 -o other.bridged"));
    assert!(folder.read("other.bridged") != folder.read("m.bridged"));
}

#[test]
fn predictions_are_equal_to_the_byte_on_one_and_on_two_threads() {
    let folder = Folder::with_demo();
    for threads in [1, 2] {
        folder.ok(&format!(
            "predict m.bridged unseen-pictures.parquet --nearest 4 --threads {threads} -o {threads}.parquet"
        ));
    }
    assert!(folder.read("1.parquet") == folder.read("2.parquet"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_a_long_fit_and_leaves_nothing_behind() {
    let folder = Folder::new();
    // 30,000 rows in one blob, thousands of restarts: minutes of work.
    let rows: String = (0..30_000u32)
        .map(|i| {
            format!("{},{}\n", i.wrapping_mul(2_654_435_761) % 1000, i.wrapping_mul(40_503) % 997)
        })
        .collect();
    folder.write("x.csv", format!("a,b\n{rows}"));
    let before = folder.files();
    let outcome = folder.shell(
        "$BRIDGED cluster x.csv -k 200 --restarts 5000 -o l.csv & P=$!; sleep 1.5; kill -INT $P; wait $P",
    );
    assert_eq!(outcome.code, 130, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("stopped; nothing was written"), "{}", outcome.stderr);
    assert_eq!(folder.files(), before);
}
