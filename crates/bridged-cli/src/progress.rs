//! Progress bars or lines, seconds of each stage, and Ctrl-C.
//!
//! On a terminal, bars. Elsewhere (a log, a job of a cluster) a line every 30 seconds that says which stage runs, how far
//! it is and for how long it has run.

use crate::failure::{self, wants_json};
use crate::printer::{count, say};
use crate::visible::visible;
use anyhow::Result;
use bridged::checkpoint::Checkpoint;
use bridged_math::cancel::cancellable;
use bridged_math::{Event, Stage, Watch};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that ends within this time shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Seconds between two lines where there are no bars, unless [`INTERVAL`] says otherwise.
const LINES: f64 = 30.0;

/// The stage in which files are written.
pub const WRITE: &str = "write";

/// The variable that sets these seconds.
const INTERVAL: &str = "BRIDGED_PROGRESS_SECONDS";

/// How long work that was stopped may take to its next checkpoint.
const GRACE: Duration = Duration::from_millis(700);

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Whether the work that runs leaves nothing behind if the process ends at once: it only reads or computes.
static LEAVES_NOTHING: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed.
pub fn was_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// What is kept of work that was stopped, and how it goes on.
#[derive(Debug)]
pub struct Kept(pub String);

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Kept {}

/// How the command talks while it works.
pub struct Talk {
    progress: Progress,
    pub quiet: bool,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Progress {
    Nothing,
    Bars,
    /// A line after each such time.
    Lines(Duration),
}

impl Progress {
    fn choose(quiet: bool, terminal: bool, interval: Option<&str>) -> Self {
        let seconds = interval.and_then(|s| s.parse().ok()).unwrap_or(LINES);
        match (quiet, terminal, Duration::try_from_secs_f64(seconds)) {
            (true, _, _) => Self::Nothing,
            (_, true, _) => Self::Bars,
            (_, _, Ok(every)) if !every.is_zero() => Self::Lines(every),
            _ => Self::Nothing,
        }
    }
}

impl Talk {
    pub fn new(quiet: bool) -> Self {
        // The first Ctrl-C asks the work to stop at a clean point, the second ends the process. Work that leaves
        // nothing behind ends with the process if it comes to no checkpoint, as in a decoder of another crate.
        let _ = ctrlc::set_handler(|| {
            if STOPPED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            std::thread::sleep(GRACE);
            if LEAVES_NOTHING.load(Ordering::Relaxed) {
                std::process::exit(failure::report_stopped());
            }
        });
        let interval = std::env::var(INTERVAL).ok();
        let terminal = std::io::stderr().is_terminal();
        Self { progress: Progress::choose(quiet, terminal, interval.as_deref()), quiet }
    }

    /// The same, without notes.
    pub fn quietly(&self) -> Self {
        Self { quiet: true, progress: self.progress }
    }

    /// Says what is worth knowing about a file, unless it is to be quiet or to answer in JSON; gives the
    /// sentences, for the JSON.
    pub fn notes(&self, path: &Path, notes: &[String]) -> Vec<String> {
        let named = |note: &String| format!("`{}`: {note}", path.display());
        let sentences: Vec<String> = notes.iter().map(named).collect();
        if !self.quiet && !wants_json() {
            sentences.iter().for_each(|sentence| say(&format!("note: {sentence}")));
        }
        sentences
    }

    /// A watch for one piece of work.
    pub fn watch(&self) -> Stages {
        Stages::new(self.progress)
    }
}

/// Hears of stages: shows a bar for those that take long and keeps the seconds of each.
pub struct Stages {
    state: Arc<Mutex<State>>,
    ticker: Option<Ticker>,
    checkpoint: OnceLock<Checkpoint>,
    figures: Mutex<Vec<(String, f64)>>,
}

#[derive(Default)]
struct State {
    running: Vec<Running>,
    seconds: Vec<(String, f64)>,
}

struct Running {
    stage: String,
    since: Instant,
    total: Option<u64>,
    done: u64,
    bar: Option<ProgressBar>,
}

impl Stages {
    fn new(progress: Progress) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let ticker = match progress {
            Progress::Nothing => None,
            Progress::Bars => {
                Some(Ticker::start(Arc::clone(&state), Duration::from_millis(100), draw))
            }
            Progress::Lines(every) => {
                let started = Instant::now();
                let line = move |running: &mut [Running]| {
                    if let Some(line) = progress_line(running, started.elapsed()) {
                        say(&line);
                    }
                };
                Some(Ticker::start(Arc::clone(&state), every, line))
            }
        };
        Self { ticker, state, checkpoint: OnceLock::new(), figures: Mutex::default() }
    }

    /// From now on the states of work are kept there.
    pub fn keep_states_in(&self, checkpoint: Checkpoint) {
        let _ = self.checkpoint.set(checkpoint);
    }

    /// Where the states of work are kept, if they are.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.get()
    }

    /// The figure that work has told under a name that ends so, with what is before it: `x/` or nothing.
    pub fn figures(&self, ending: &str) -> Vec<(String, f64)> {
        let figures = self.figures.lock().expect("nothing panics while it holds the lock");
        let of = |(name, value): &(String, f64)| Some((name.strip_suffix(ending)?.into(), *value));
        figures.iter().filter_map(of).collect()
    }

    /// Runs work that reports nothing itself, as a stage of its own; Ctrl-C ends it. A file that it writes is whole
    /// or not there.
    pub fn time<T, E>(&self, stage: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T>
    where
        E: Into<anyhow::Error>,
    {
        let _stage = Stage::begin(self, stage, None)?;
        LEAVES_NOTHING.store(stage != WRITE, Ordering::Relaxed);
        let done = cancellable(self, work);
        LEAVES_NOTHING.store(false, Ordering::Relaxed);
        done?.map_err(Into::into)
    }

    /// The stages that ended, in that order, with their seconds.
    pub fn seconds(&self) -> Vec<(String, f64)> {
        lock(&self.state).seconds.clone()
    }
}

impl Watch for Stages {
    fn on(&self, event: Event<'_>) -> ControlFlow<()> {
        let mut state = lock(&self.state);
        let at = state.running.iter().rposition(|r| r.stage == event.stage());
        match (event, at) {
            (Event::Begin { stage, total }, _) => {
                let (stage, since) = (stage.to_string(), Instant::now());
                state.running.push(Running { stage, since, total, done: 0, bar: None });
            }
            // Parallel work may report slightly out of order.
            (Event::Step { done, .. }, Some(at)) => {
                let running = &mut state.running[at];
                running.done = running.done.max(done);
            }
            (Event::End { .. }, Some(at)) => {
                let running = state.running.remove(at);
                if let Some(bar) = running.bar {
                    bar.finish_and_clear();
                }
                state.seconds.push((running.stage, running.since.elapsed().as_secs_f64()));
            }
            (Event::Ask, _) | (_, None) => {}
        }
        if was_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn resume(&self, name: &str) -> Option<Vec<u8>> {
        self.checkpoint()?.resume(name)
    }

    fn wants_state(&self) -> bool {
        self.checkpoint().is_some_and(Checkpoint::is_due)
    }

    fn save(&self, name: &str, state: &[u8]) {
        let Some(checkpoint) = self.checkpoint() else { return };
        checkpoint.save(name, state);
        if let Some(reason) = checkpoint.failure() {
            say(&format!("note: the state of the work could not be kept, which goes on: {reason}"));
        }
    }

    fn figure(&self, name: &str, value: f64) {
        let figures = self.figures.lock();
        figures.expect("nothing panics while it holds the lock").push((name.to_string(), value));
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        if let Some(ticker) = self.ticker.take() {
            ticker.stop();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("nothing panics while it holds the lock")
}

/// Shows what runs again and again, also stages that report no steps.
struct Ticker {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Ticker {
    fn start(
        state: Arc<Mutex<State>>,
        every: Duration,
        show: impl Fn(&mut [Running]) + Send + 'static,
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                show(&mut lock(&state).running);
            }
        });
        Self { stop, thread }
    }

    fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

/// Draws a bar for each stage that has run for a while.
fn draw(running: &mut [Running]) {
    for running in running.iter_mut().filter(|r| r.since.elapsed() > PATIENCE) {
        let bar = running.bar.get_or_insert_with(|| bar(&running.stage, running.total));
        bar.set_position(running.done);
        bar.tick();
    }
}

/// The innermost stage that runs, how far it is, and the time since the work began.
fn progress_line(running: &[Running], elapsed: Duration) -> Option<String> {
    let Running { stage, total, done, .. } = running.last()?;
    let (stage, done, seconds) = (visible(stage), *done as usize, elapsed.as_secs());
    Some(match total {
        Some(total) => {
            format!("progress: {stage}, {} of {}, {seconds} s", count(done), count(*total as usize))
        }
        None if done > 0 => format!("progress: {stage}, {}, {seconds} s", count(done)),
        None => format!("progress: {stage}, {seconds} s"),
    })
}

fn bar(stage: &str, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{prefix} {bar:32} {percent:>3} %  {eta} left"),
        None => (ProgressBar::new_spinner(), "{prefix} {spinner} {elapsed}"),
    };
    let style = ProgressStyle::with_template(template).expect("a well-formed template");
    bar.with_style(style.progress_chars("━╸ ")).with_prefix(visible(stage).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_timed_in_the_order_in_which_they_end() {
        let stages = Talk { progress: Progress::Nothing, quiet: true }.watch();
        stages.time("outer", || stages.time("inner", || anyhow::Ok(()))).unwrap();
        let names: Vec<String> = stages.seconds().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["inner", "outer"]);
    }

    #[test]
    fn lines_are_for_those_who_have_no_terminal_and_want_to_hear() {
        let every = |seconds| Progress::Lines(Duration::from_secs(seconds));
        assert_eq!(Progress::choose(false, false, None), every(30));
        assert_eq!(Progress::choose(false, false, Some("5")), every(5));
        assert_eq!(Progress::choose(false, true, Some("5")), Progress::Bars);
        assert_eq!(Progress::choose(true, false, None), Progress::Nothing);
        assert_eq!(Progress::choose(false, false, Some("0")), Progress::Nothing);
        assert_eq!(Progress::choose(false, false, Some("soon")), every(30));
    }

    #[test]
    fn a_line_says_what_runs_how_far_it_is_and_for_how_long() {
        let running = |stage: &str, total, done| Running {
            stage: stage.to_string(),
            since: Instant::now(),
            total,
            done,
            bar: None,
        };
        let line = |stages: &[Running]| progress_line(stages, Duration::from_secs(90));
        let both = [running("fit", None, 0), running("cluster\u{1b} x", Some(4000), 1200)];
        let said = "progress: cluster\\u{1b} x, 1,200 of 4,000, 90 s";
        assert_eq!(line(&both).as_deref(), Some(said));
        assert_eq!(line(&both[..1]).as_deref(), Some("progress: fit, 90 s"));
        assert_eq!(line(&[]), None);
    }
}
