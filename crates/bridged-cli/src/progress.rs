//! Progress bars, seconds of each stage, and Ctrl-C.

use bridged_math::{Event, Watch};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Work that ends within this time shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed.
pub fn was_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

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
        Stages { bars: self.bars, state: Mutex::default() }
    }
}

/// Hears of stages: shows a bar for those that take long and keeps the seconds of each.
pub struct Stages {
    bars: bool,
    state: Mutex<State>,
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
    bar: Option<ProgressBar>,
}

impl Stages {
    /// Runs work that reports nothing itself, as a stage of its own.
    pub fn time<T>(&self, stage: &str, work: impl FnOnce() -> T) -> T {
        let _ = self.on(Event::Begin { stage, total: None });
        let done = work();
        let _ = self.on(Event::End { stage });
        done
    }

    /// The stages that ended, in that order, with their seconds.
    pub fn seconds(&self) -> Vec<(String, f64)> {
        self.state.lock().expect("no watch panics").seconds.clone()
    }
}

impl Watch for Stages {
    fn on(&self, event: Event<'_>) -> ControlFlow<()> {
        let mut state = self.state.lock().expect("no watch panics");
        let at = state.running.iter().rposition(|r| r.stage == event.stage());
        match (event, at) {
            (Event::Begin { stage, total }, _) => {
                let (stage, since) = (stage.to_string(), Instant::now());
                state.running.push(Running { stage, since, total, bar: None });
            }
            (Event::Step { done, .. }, Some(at)) => {
                let running = &mut state.running[at];
                if self.bars && running.bar.is_none() && running.since.elapsed() > PATIENCE {
                    running.bar = Some(bar(&running.stage, running.total));
                }
                if let Some(bar) = &running.bar {
                    bar.set_position(done);
                }
            }
            (Event::End { .. }, Some(at)) => {
                let running = state.running.remove(at);
                if let Some(bar) = running.bar {
                    bar.finish_and_clear();
                }
                state.seconds.push((running.stage, running.since.elapsed().as_secs_f64()));
            }
            (_, None) => {}
        }
        if was_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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
