//! What is counted, as Prometheus reads it.

use crate::app::App;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the histogram of seconds.
const BOUNDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];
/// Statuses that are counted one by one; all others are counted together.
const STATUSES: [u16; 16] =
    [200, 204, 400, 401, 403, 404, 405, 406, 408, 413, 415, 421, 422, 500, 503, 0];
/// What requests for no route are counted as.
const OTHER: &str = "other";

/// The counts of the whole server.
#[derive(Default)]
pub(crate) struct Metrics {
    routes: Vec<PerRoute>,
    other: PerRoute,
    pub connections: AtomicI64,
    pub accepted: AtomicU64,
    pub running: AtomicI64,
}

/// Those of one route.
#[derive(Default)]
struct PerRoute {
    path: &'static str,
    statuses: [AtomicU64; STATUSES.len()],
    within: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Metrics {
    /// Names the routes.
    pub fn set_routes(&mut self, paths: impl Iterator<Item = &'static str>) {
        self.routes = paths.map(|path| PerRoute { path, ..PerRoute::default() }).collect();
        self.other.path = OTHER;
    }

    /// Counts a request.
    pub fn count(&self, path: Option<&str>, status: u16, took: Duration) {
        let known = self.routes.iter().find(|route| Some(route.path) == path);
        let route = known.unwrap_or(&self.other);
        let at = STATUSES.iter().position(|s| *s == status).unwrap_or(STATUSES.len() - 1);
        let seconds = took.as_secs_f64();
        let bound = BOUNDS.iter().position(|b| seconds <= *b).unwrap_or(BOUNDS.len());
        for counter in [route.statuses.get(at), route.within.get(bound)].into_iter().flatten() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        route.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// Everything that is counted.
pub(crate) fn text(app: &App) -> String {
    let mut out = Text(String::new());
    let metrics = app.metrics();
    out.head("bridged_build_info", "gauge", "The version that runs.");
    out.line("bridged_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    out.head("bridged_uptime_seconds", "gauge", "Seconds since the start.");
    out.line::<&str>("bridged_uptime_seconds", &[], app.started.elapsed().as_secs_f64());
    out.head("bridged_connections", "gauge", "Connections that are open.");
    out.line::<&str>(
        "bridged_connections",
        &[],
        metrics.connections.load(Ordering::Relaxed) as f64,
    );
    out.head("bridged_connections_total", "counter", "Connections that were accepted.");
    out.line::<&str>(
        "bridged_connections_total",
        &[],
        metrics.accepted.load(Ordering::Relaxed) as f64,
    );
    out.head("bridged_requests_running", "gauge", "Requests that are being answered.");
    out.line::<&str>(
        "bridged_requests_running",
        &[],
        metrics.running.load(Ordering::Relaxed) as f64,
    );

    let routes = || metrics.routes.iter().chain([&metrics.other]);
    out.head("bridged_requests_total", "counter", "Requests that were answered, by status.");
    for route in routes() {
        for (status, count) in STATUSES.iter().zip(&route.statuses) {
            let (status, count) = (status_name(*status), count.load(Ordering::Relaxed));
            if count > 0 {
                let labels = [("route", route.path), ("status", status.as_str())];
                out.line("bridged_requests_total", &labels, count as f64);
            }
        }
    }
    out.head(
        "bridged_request_seconds",
        "histogram",
        "Seconds from a request's header to its answer.",
    );
    for route in routes() {
        let mut sum = 0;
        let labels = |le: &str| [("route", route.path.to_owned()), ("le", le.to_owned())];
        for (bound, count) in BOUNDS.iter().zip(&route.within) {
            sum += count.load(Ordering::Relaxed);
            out.line("bridged_request_seconds_bucket", &labels(&bound.to_string()), sum as f64);
        }
        sum += route.within.last().map_or(0, |count| count.load(Ordering::Relaxed));
        out.line("bridged_request_seconds_bucket", &labels("+Inf"), sum as f64);
        let seconds = route.micros.load(Ordering::Relaxed) as f64 / 1e6;
        out.line("bridged_request_seconds_sum", &[("route", route.path)], seconds);
        out.line("bridged_request_seconds_count", &[("route", route.path)], sum as f64);
    }

    out.head("bridged_rows_predicted_total", "counter", "Rows that were answered.");
    for entry in app.shelf().entries() {
        for (direction, count) in entry.rows() {
            let labels = [("model", entry.name()), ("direction", direction)];
            out.line("bridged_rows_predicted_total", &labels, count as f64);
        }
    }
    out.head("bridged_model_loads_total", "counter", "How often a model was read, by outcome.");
    for entry in app.shelf().entries() {
        let state = entry.state();
        for (outcome, count) in [("ok", state.loads), ("failed", state.failures)] {
            let labels = [("model", entry.name()), ("outcome", outcome)];
            out.line("bridged_model_loads_total", &labels, count as f64);
        }
    }
    out.head("bridged_model_current", "gauge", "Whether what is on disk is what is served.");
    for entry in app.shelf().entries() {
        let current = f64::from(u8::from(entry.state().problem.is_none()));
        out.line("bridged_model_current", &[("model", entry.name())], current);
    }
    out.0
}

fn status_name(status: u16) -> String {
    if status == 0 { OTHER.to_owned() } else { status.to_string() }
}

/// Prometheus' text format.
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}"); // a String takes all
    }

    /// Labels hold names of models and routes, which have neither quotes nor line ends.
    fn line<T: AsRef<str>>(&mut self, name: &str, labels: &[(&str, T)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", value.as_ref())).collect();
        let braces =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{braces} {value}");
    }
}
