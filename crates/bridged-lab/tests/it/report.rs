//! The page of a study: whole, self-contained, and without errors in a real browser.

use bridged::synth::{Mixture, Pairs, Sizes};
use bridged::{Seed, Silent};
use bridged_lab::results::{Folder, Made};
use bridged_lab::{Dataset, Experiment, Report, Results, Runner};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Twelve groups of thirty rows with texts that break a careless page.
fn data() -> Dataset {
    let mixture = Mixture { classes: 12, separation: 9.0, ..Mixture::default() };
    let sizes = Sizes { x: 12, y: 12, test: 360, pairs: Pairs::Stratified(1) };
    let sample = mixture.draw(sizes, Seed(7));
    Dataset {
        name: "mixture".into(),
        entities: None,
        texts: Some(sample.test_latent.iter().map(|g| format!("a text of group {g}")).collect()),
        x: sample.test_x,
        y: sample.test_y,
        groups: sample.test_latent,
        group_names: (0..12).map(|g| format!("<b>&\"{g}\"</b>")).collect(),
    }
}

/// Carries out a study in a folder of its own below `all`.
fn carry_out(all: &Path, name: &str, text: &str) {
    let common = "data = \"mixture.parquet\"\npairs = [1, 2]\nseeds = 2\n";
    let path = all.with_file_name(format!("{name}.toml"));
    std::fs::write(&path, format!("{common}{text}")).unwrap();
    let study = Experiment::parse_file(&path).unwrap();
    let data = data();
    let runner = Runner::new(&study, &data).unwrap();
    let folder = Folder::begin(&all.join(name), &study).unwrap();
    let made = Made::now(format!("bridged lab run {name}.toml"), 2);
    folder.keep(&made, runner.spaces().unwrap().as_ref()).unwrap();
    runner.run(&folder.run_log().unwrap(), 2, &Silent).unwrap();
}

const METHODS: &str = "methods = [\"bridged\", \"bridged-soft\", \"bridged-supervised\", \
                       \"bridged-kmeans\", \"mean\", \"knn\", \"eot\", \"gw\"]\n";

/// A study with everything that a page can show, under several conditions.
fn results(directory: &Path) -> PathBuf {
    let all = directory.join("results");
    std::fs::create_dir_all(&all).unwrap();
    let slow = "[slow]\nmethods = [\"gw\"]\ngroups = [3]\npairs = [1]\nseeds = 1\n";
    let study = |keys: &str, protocol: &str| {
        format!("{keys}{METHODS}{slow}[protocol]\nrows_per_group = {protocol}\n")
    };
    carry_out(&all, "plain", &study("groups = [2, 3]\nextra_clusters = [0, 1]\n", "25"));
    carry_out(&all, "zipf", &study("groups = [2, 3]\n", "25\nsizes = \"zipf\""));
    carry_out(&all, "small", &study("groups = [2, 3]\n", "15"));
    carry_out(&all, "encoder", &study("groups = [2, 3]\nx = \"other\"\n", "25"));
    all
}

#[test]
fn a_page_shows_every_section_and_needs_nothing_from_outside() {
    let directory = tempfile::tempdir().unwrap();
    let all = results(directory.path());
    let report = || {
        Report::new(Results::read_all(std::slice::from_ref(&all)).unwrap(), "the command").unwrap()
    };
    let html = report().html();
    let figure = html.find("<svg").expect("a figure");
    assert!(html.find("id=\"conclusion\"").expect("a conclusion") < figure);
    assert!(figure < html.find("<table").expect("a table"), "figures come before tables");
    for id in [
        "conclusion",
        "overview",
        "wins",
        "stacked",
        "errors",
        "variants",
        "clusterings",
        "bridging",
        "quality",
        "conditions",
        "encoders",
        "texts",
        "cost",
        "growth",
        "findings",
        "spaces",
        "made",
    ] {
        assert!(html.contains(&format!("<section id=\"{id}\">")), "no section {id}");
    }
    for outside in ["http://", "https://", "src=", "url(", "@import"] {
        assert!(!html.contains(outside), "the page asks for {outside}");
    }
    assert!(!html.contains("NaN") && !html.contains("inf<"), "every number is one");
    assert!(html.contains("&lt;b&gt;&amp;&quot;") && !html.contains("<b>&\""), "names are escaped");
    assert_eq!(html, report().html(), "the same results, the same bytes");

    let tables = report().markdown();
    assert!(tables.contains("| experiment | draws | bridged |") && !tables.contains("<svg"));
    // A row of wins adds up to 100 %.
    let wins = tables.split("quick methods, all draws.").nth(1).expect("the quick table");
    let row = wins.lines().find(|l| l.starts_with("| mixture |")).expect("a row of wins");
    let cells =
        row.split('|').skip(3).filter_map(|c| c.trim().trim_matches('*').parse::<f64>().ok());
    let sum: f64 = cells.sum();
    assert!((sum - 100.0).abs() < 0.3, "{row}");
}

#[test]
fn an_empty_study_is_an_error_that_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let all = directory.path().join("results");
    carry_out(&all, "plain", "groups = [2]\nmethods = [\"mean\"]\n");
    std::fs::write(all.join("plain/runs.jsonl"), "").unwrap();
    let error = Report::new(Results::read_all(&[all]).unwrap(), "").unwrap_err().to_string();
    assert_eq!(error, "`plain`: holds no runs yet; carry the study out first");
}

/// The browser of this machine; CI must have one.
fn browser() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
    });
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI needs a browser: install chromium");
        eprintln!("skipped: no chromium on this machine, so the page was not opened in a browser");
    }
    found
}

/// What a browser makes of a page: its document, and what it wrote to its console.
fn open(browser: &str, page: &Path, more: &[&str]) -> (String, Vec<String>) {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"])
        .args(["--virtual-time-budget=3000", "--dump-dom", "--window-size=1280,2000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let console = log.lines().filter(|l| l.contains("CONSOLE")).map(String::from).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

#[test]
fn a_browser_opens_the_page_without_errors_and_shows_values_on_hover() {
    let Some(browser) = browser() else { return };
    let directory = tempfile::tempdir().unwrap();
    let all = results(directory.path());
    let html = Report::new(Results::read_all(&[all]).unwrap(), "the command").unwrap().html();
    // A pointer over the first mark of every chart, and the button for dark colours.
    let probe = "<script>let shown = 0;\
        for (const svg of document.querySelectorAll('svg')) {\
          const mark = svg.querySelector('[data-tip]'); if (!mark) continue;\
          mark.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 9, clientY: 9}));\
          if (document.getElementById('tip').textContent === mark.dataset.tip) shown++; }\
        const light = getComputedStyle(document.body).backgroundColor;\
        document.getElementById('theme').click();\
        const dark = getComputedStyle(document.body).backgroundColor;\
        document.title = 'charts ' + document.querySelectorAll('svg').length + ' shown ' + shown\
          + ' themes ' + (light === dark ? 'alike' : 'differ');</script></body>";
    let page = directory.path().join("page.html");
    std::fs::write(&page, html.replace("</body>", probe)).unwrap();
    let (document, console) = open(browser, &page, &[]);
    assert!(console.is_empty(), "{console:?}");
    let charts = html.matches("<svg").count();
    let title = format!("<title>charts {charts} shown {charts} themes differ</title>");
    assert!(charts > 20 && document.contains(&title), "{:?}", document.lines().nth(5));

    // Nothing is cut or scrolls sideways but tables in boxes of their own, which say so.
    let probe = "<script>for (const d of document.querySelectorAll('details')) d.open = true;\
        setTimeout(function () {\
          const root = document.documentElement;\
          let hidden = 0, boxes = 0;\
          for (const wide of document.querySelectorAll('.wide')) {\
            const box = wide.querySelector('.scroll');\
            if (box.scrollWidth <= box.clientWidth + 1) continue;\
            boxes++;\
            if (getComputedStyle(wide.querySelector('.hint')).display === 'none') hidden++;\
          }\
          document.title = (root.scrollWidth > root.clientWidth ? 'cut' : 'fits') + ', '\
            + (boxes > 0 ? 'some boxes' : 'no box') + ', ' + hidden + ' without a hint';\
        }, 300);</script></body>";
    std::fs::write(&page, html.replace("</body>", probe)).unwrap();
    for size in ["500,900", "1400,900"] {
        let (document, _) = open(browser, &page, &[&format!("--window-size={size}")]);
        let title = "<title>fits, some boxes, 0 without a hint</title>";
        assert!(document.contains(title), "{size}: {:?}", document.lines().nth(5));
    }
    let probe = "<script>document.title = 'first figure at '\
        + (document.querySelector('svg').getBoundingClientRect().top < 600 ? 'the top' : 'the bottom')\
        </script></body>";
    std::fs::write(&page, html.replace("</body>", probe)).unwrap();
    let (document, _) = open(browser, &page, &["--window-size=1400,900"]);
    assert!(document.contains("first figure at the top"), "{:?}", document.lines().nth(5));

    let screenshot = directory.path().join("page.png");
    open(browser, &page, &[&format!("--screenshot={}", screenshot.display())]);
    assert!(std::fs::metadata(&screenshot).unwrap().len() > 50_000, "the picture is not empty");

    // The check can fail: a page with an error is told from one without.
    std::fs::write(&page, html.replace("</body>", "<script>nothing.here()</script></body>"))
        .unwrap();
    let (_, console) = open(browser, &page, &[]);
    assert!(console.iter().any(|l| l.contains("nothing is not defined")), "{console:?}");
}
