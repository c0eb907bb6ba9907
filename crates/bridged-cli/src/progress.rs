//! Progress bars, seconds of each stage, and Ctrl-C.

use bridged_math::{Event, Watch};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that ends within this time shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

static STOPPED: AtomicBool = AtomicBool::new(false);

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
    bars: bool,
    pub quiet: bool,
}

impl Talk {
    pub fn new(quiet: bool) -> Self {
        // The first Ctrl-C asks the work to stop at a clean point, the second ends the process.
        let _ = ctrlc::set_handler(|| {
            if STOPPED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        Self { bars: !quiet && std::io::stderr().is_terminal(), quiet }
    }

    /// A watch for one piece of work.
    pub fn watch(&self) -> Stages {
        Stages::new(self.bars)
    }
}

/// Hears of stages: shows a bar for those that take long and keeps the seconds of each.
pub struct Stages {
    state: Arc<Mutex<State>>,
    ticker: Option<Ticker>,
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
    fn new(bars: bool) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        Self { ticker: bars.then(|| Ticker::start(Arc::clone(&state))), state }
    }

    /// Runs work that reports nothing itself, as a stage of its own.
    pub fn time<T>(&self, stage: &str, work: impl FnOnce() -> T) -> T {
        let _ = self.on(Event::Begin { stage, total: None });
        let done = work();
        let _ = self.on(Event::End { stage });
        done
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

/// Draws the bars a few times a second, also of stages that report no steps.
struct Ticker {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Ticker {
    fn start(state: Arc<Mutex<State>>) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout)
            {
                for running in &mut lock(&state).running {
                    if running.since.elapsed() > PATIENCE {
                        let bar =
                            running.bar.get_or_insert_with(|| bar(&running.stage, running.total));
                        bar.set_position(running.done);
                        bar.tick();
                    }
                }
            }
        });
        Self { stop, thread }
    }

    fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

fn bar(stage: &str, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{prefix} {bar:32} {percent:>3} %  {eta} left"),
        None => (ProgressBar::new_spinner(), "{prefix} {spinner} {elapsed}"),
    };
    let style = ProgressStyle::with_template(template).expect("a well-formed template");
    bar.with_style(style.progress_chars("━╸ ")).with_prefix(stage.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_timed_in_the_order_in_which_they_end() {
        let stages = Talk { bars: false, quiet: true }.watch();
        stages.time("outer", || stages.time("inner", || ()));
        let names: Vec<String> = stages.seconds().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["inner", "outer"]);
    }
}
