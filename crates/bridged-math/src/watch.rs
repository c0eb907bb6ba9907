//! Progress and cancellation in one: long work tells a [`Watch`] where it is, and the watch says
//! whether to go on. It may also keep the state of work that can go on from there another day.

use std::fmt;
use std::ops::ControlFlow;

/// What long work reports. Stage names are paths, as in `x/kmeans`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A stage begins; `total` is the number of steps where it is known.
    Begin {
        /// The stage's path.
        stage: &'a str,
        /// How many steps it takes, where that is known.
        total: Option<u64>,
    },
    /// `done` steps of the stage are behind us.
    Step {
        /// The stage's path.
        stage: &'a str,
        /// Steps that are done.
        done: u64,
    },
    /// The stage is over.
    End {
        /// The stage's path.
        stage: &'a str,
    },
    /// Nothing new: long work only asks whether to go on.
    Ask,
}

impl<'a> Event<'a> {
    /// The stage's path; empty for a mere question.
    pub fn stage(&self) -> &'a str {
        match self {
            Event::Begin { stage, .. } | Event::Step { stage, .. } | Event::End { stage } => stage,
            Event::Ask => "",
        }
    }

    fn with_stage<'b>(self, stage: &'b str) -> Event<'b> {
        match self {
            Event::Begin { total, .. } => Event::Begin { stage, total },
            Event::Step { done, .. } => Event::Step { stage, done },
            Event::End { .. } => Event::End { stage },
            Event::Ask => Event::Ask,
        }
    }
}

/// Hears of progress; breaking from [`Watch::on`] asks the work to stop.
pub trait Watch: Sync {
    /// Called often; must be cheap.
    fn on(&self, event: Event<'_>) -> ControlFlow<()>;

    /// The state that the same work left under this name when it was stopped.
    fn resume(&self, name: &str) -> Option<Vec<u8>> {
        _ = name;
        None
    }

    /// Whether a state that is at hand now should be saved. Asked after every pass.
    fn wants_state(&self) -> bool {
        false
    }

    /// Saves a state, in place of the one before it. Work goes on whether that succeeds or not.
    fn save(&self, name: &str, state: &[u8]) {
        _ = (name, state);
    }

    /// Hears of a number that the result does not hold, such as how near to the optimum it is.
    fn figure(&self, name: &str, value: f64) {
        _ = (name, value);
    }
}

/// Hears nothing and never stops the work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watch for Silent {
    fn on(&self, _: Event<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The watch asked the work to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped on request")
    }
}

impl std::error::Error for Cancelled {}

/// Puts a name before every stage that the inner work reports: `kmeans` becomes `x/kmeans`.
pub struct Scope<'w> {
    watch: &'w dyn Watch,
    name: &'w str,
}

impl<'w> Scope<'w> {
    /// Reports to `watch` under `name`.
    pub fn new(watch: &'w dyn Watch, name: &'w str) -> Self {
        Self { watch, name }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.name)
    }
}

impl Watch for Scope<'_> {
    fn on(&self, event: Event<'_>) -> ControlFlow<()> {
        if event == Event::Ask {
            return self.watch.on(event);
        }
        let path = self.path(event.stage());
        self.watch.on(event.with_stage(&path))
    }

    fn resume(&self, name: &str) -> Option<Vec<u8>> {
        self.watch.resume(&self.path(name))
    }

    fn wants_state(&self) -> bool {
        self.watch.wants_state()
    }

    fn save(&self, name: &str, state: &[u8]) {
        self.watch.save(&self.path(name), state);
    }

    fn figure(&self, name: &str, value: f64) {
        self.watch.figure(&self.path(name), value);
    }
}

/// A stage under way: `begin`, any number of `step`s, and `End` when it is dropped.
pub struct Stage<'w> {
    watch: &'w dyn Watch,
    name: &'w str,
}

impl<'w> Stage<'w> {
    /// Reports the beginning.
    pub fn begin(
        watch: &'w dyn Watch,
        name: &'w str,
        total: Option<u64>,
    ) -> Result<Self, Cancelled> {
        match watch.on(Event::Begin { stage: name, total }) {
            ControlFlow::Continue(()) => Ok(Self { watch, name }),
            ControlFlow::Break(()) => Err(Cancelled),
        }
    }

    /// Reports that `done` steps are behind us, and learns whether to go on.
    pub fn step(&self, done: u64) -> Result<(), Cancelled> {
        match self.watch.on(Event::Step { stage: self.name, done }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Cancelled),
        }
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // The work is over either way; there is nothing left to stop.
        let _ = self.watch.on(Event::End { stage: self.name });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct Log(Mutex<Vec<String>>);

    impl Watch for Log {
        fn on(&self, event: Event<'_>) -> ControlFlow<()> {
            self.0.lock().unwrap().push(format!("{event:?}"));
            match event {
                Event::Step { done: 2, .. } => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    #[test]
    fn a_stage_reports_under_its_scope_and_ends_when_it_is_stopped() {
        let log = Log(Mutex::default());
        let scope = Scope::new(&log, "x");
        let work = || -> Result<(), Cancelled> {
            let stage = Stage::begin(&scope, "kmeans", Some(9))?;
            (1..=9).try_for_each(|i| stage.step(i))
        };
        assert_eq!(work(), Err(Cancelled));
        let log = log.0.into_inner().unwrap();
        assert_eq!(log.first().unwrap(), r#"Begin { stage: "x/kmeans", total: Some(9) }"#);
        assert_eq!(log.last().unwrap(), r#"End { stage: "x/kmeans" }"#);
        assert_eq!(log.len(), 4);
    }
}
