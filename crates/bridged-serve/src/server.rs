//! A server from its options to its end.

use crate::app::App;
use crate::guard::{Doors, guard};
use crate::models::{Named, Shelf};
use crate::routes::{self, Route, nowhere};
use crate::token::Token;
use crate::{Limits, Log, ServeError, connections, openapi};
use axum::Router;
use axum::middleware::from_fn_with_state;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// How often the model files are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Files that are open besides those of connections.
const OTHER_FILES: u64 = 128;

/// What is served where, and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// The models.
    pub models: Vec<Named>,
    /// The name or address to listen on.
    pub host: String,
    /// The port; 0 takes any that is free.
    pub port: u16,
    /// What requests must carry. Anything but loopback needs it.
    pub token: Option<Token>,
    /// Names besides `localhost`, and the one listened on, that the server is called by.
    pub allow_hosts: Vec<String>,
    /// An origin whose pages may ask.
    pub allow_origin: Option<String>,
    /// How much clients may ask for.
    pub limits: Limits,
}

impl Options {
    /// The port that nobody asked for another than.
    pub const PORT: u16 = 7878;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            host: "127.0.0.1".to_owned(),
            port: Self::PORT,
            token: None,
            allow_hosts: Vec::new(),
            allow_origin: None,
            limits: Limits::default(),
        }
    }
}

/// A server that listens, and answers once it [runs](Server::run).
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: App,
    routes: Vec<Route>,
    with_token: bool,
}

impl Server {
    /// Checks the options, listens, and reads the models.
    pub fn bind(options: Options, log: Log) -> Result<Self, ServeError> {
        let Options { models, host, port, token, mut allow_hosts, allow_origin, limits } = options;
        let origin = allow_origin.as_deref().map(Doors::origin).transpose()?;
        let address = resolve(&host, port)?;
        if token.is_none() && !address.ip().is_loopback() {
            return Err(ServeError::TokenNeeded { address });
        }
        let listener = TcpListener::bind(address).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::PortInUse { address },
            _ => ServeError::Listen { address, source },
        })?;
        let address = listener.local_addr()?;
        allow_hosts.push(host);
        let with_token = token.is_some();
        let doors = Doors { token, hosts: allow_hosts, origin };
        let app = App::new(Shelf::open(models)?, limits, doors, log);
        Ok(Self { listener, address, app, routes: routes::all(), with_token })
    }

    /// The same with more routes.
    pub fn with_routes(mut self, routes: impl IntoIterator<Item = Route>) -> Self {
        self.routes.extend(routes);
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until SIGTERM or SIGINT, and then finishes the requests that are under way.
    pub fn run(self) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let result = runtime.block_on(self.serve());
        // What is computed for nobody is left behind.
        runtime.shutdown_background();
        result
    }

    async fn serve(self) -> Result<(), ServeError> {
        let Self { listener, address, mut app, routes, with_token } = self;
        more_files(app.limits().connections, app.log());
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let stop = stop_signal()?;

        app.document = openapi::document(&routes, with_token);
        let names: Vec<&str> = app.shelf().entries().iter().map(|entry| entry.name()).collect();
        let names = names.join(", ");
        app.metrics_mut().set_routes(routes.iter().map(|route| route.path));
        let app = Arc::new(app);
        let router = router(routes, &app);

        (app.log())(&format!("listening on http://{address} with {names}"));
        let watching = tokio::spawn(watch(Arc::clone(&app)));
        let log = Arc::clone(app.log());
        let stopped = async move {
            let signal = stop.await;
            log(&format!("{signal}: stopping when the requests under way are finished"));
        };
        connections::serve(listener, router, &app, stopped).await;
        watching.abort();
        (app.log())("stopped");
        Ok(())
    }
}

/// The handlers behind the guard.
fn router(routes: Vec<Route>, app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for Route { path, methods, .. } in routes {
        router = router.route(path, methods);
    }
    router
        .fallback(nowhere)
        .layer(from_fn_with_state(Arc::clone(app), guard))
        .with_state(Arc::clone(app))
}

/// Looks at the model files every second.
async fn watch(app: Arc<App>) {
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let looking = Arc::clone(&app);
        let look = tokio::task::spawn_blocking(move || looking.shelf().look(looking.log()));
        if look.await.is_err() {
            (app.log())("a model file could not be looked at; it is tried again");
        }
    }
}

/// The address of a name; loopback only if all of them are.
fn resolve(host: &str, port: u16) -> Result<SocketAddr, ServeError> {
    let unknown = |source| ServeError::Host { host: host.to_owned(), source };
    let plain = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let all: Vec<SocketAddr> = (plain, port).to_socket_addrs().map_err(unknown)?.collect();
    let outside = all.iter().find(|address| !address.ip().is_loopback());
    outside.or(all.first()).copied().ok_or_else(|| unknown(io::ErrorKind::NotFound.into()))
}

/// Ends with the name of the signal that asks the server to stop.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = &'static str>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "SIGINT",
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = &'static str>> {
    Ok(async move {
        let _ = tokio::signal::ctrl_c().await; // without signals the process is ended from outside
        "Ctrl-C"
    })
}

/// Asks the system for as many open files as there may be connections, and says so where it gives fewer.
#[cfg(unix)]
fn more_files(connections: usize, log: &Log) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let need = connections as u64 + OTHER_FILES;
    let mut limit = getrlimit(Resource::Nofile);
    let Some(now) = limit.current.filter(|now| *now < need) else { return };
    let most = limit.maximum.map_or(need, |most| most.min(need));
    limit.current = Some(most);
    let granted = if setrlimit(Resource::Nofile, limit).is_ok() { most } else { now };
    if granted < need {
        log(&format!(
            "the system allows {granted} open files; {connections} connections may need {need} (see `ulimit -n`)"
        ));
    }
}

#[cfg(not(unix))]
fn more_files(_: usize, _: &Log) {}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::extract::State;
    use axum::http::{Request, header};
    use bridged::{BridgedClustering, Matrix, Problem, Seed, Silent};
    use http_body_util::BodyExt;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;
    use serde_json::json;

    #[test]
    fn a_route_that_is_added_stands_behind_the_guard_and_in_the_document() {
        let folder = tempfile::tempdir().unwrap();
        let pool =
            Matrix::from_fn(30, 3, |i, j| if i < 15 { 0.0 } else { 9.0 } + (i % 3 + j) as f32);
        let problem = Problem::new(pool.view(), pool.view(), &[(0, 0), (29, 29)]);
        let model = BridgedClustering::with_k(2).fit(problem, Seed(0), &Silent).unwrap();
        let path = folder.path().join("m.bridged");
        model.save(&path).unwrap();
        let options = Options { models: vec![Named::parse(&path)], port: 0, ..Options::default() };
        let pairs = |State(app): State<Arc<App>>| async move {
            app.shelf().entries()[0].current().model().pairs().len().to_string()
        };
        let route = Route::new("/v1/curate").get(pairs, json!({"operationId": "curate"}));
        let server = Server::bind(options, Arc::new(|_| ())).unwrap().with_routes([route]);
        let document = openapi::document(&server.routes, false);
        assert_eq!(document["paths"]["/v1/curate"]["get"]["operationId"], "curate");

        let router = TowerToHyperService::new(router(server.routes, &Arc::new(server.app)));
        let ask = async |host| {
            let request = Request::get("/v1/curate").header(header::HOST, host);
            let response = router.call(request.body(Body::empty()).unwrap()).await.unwrap();
            let status = response.status().as_u16();
            (status, response.into_body().collect().await.unwrap().to_bytes())
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            assert_eq!(ask("localhost").await, (200, "2".into()));
            assert_eq!(ask("evil.example").await.0, 421);
        });
    }
}
