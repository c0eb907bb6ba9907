//! The one list of routes: the router, the OpenAPI document and the names in `/metrics` are made of it.

use crate::answer::answer;
use crate::app::App;
use crate::body::Media;
use crate::failure::Failure;
use crate::metrics;
use crate::openapi::{self, Operation};
use crate::question::{DIRECTION, Verb, direction_name, no_options, only_direction};
use crate::why::Why;
use axum::extract::{FromRequestParts, Path, RawQuery, Request, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use bridged::{BridgedModel, Direction, Side};
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A path, what answers there, and what the OpenAPI document says of it.
pub struct Route {
    pub(crate) path: &'static str,
    pub(crate) methods: MethodRouter<Arc<App>>,
    pub(crate) operations: Vec<(&'static str, Value)>,
}

impl Route {
    /// A path as axum writes it, with `{name}` for a part that may be anything.
    pub fn new(path: &'static str) -> Self {
        Self { path, methods: MethodRouter::new(), operations: Vec::new() }
    }

    /// What answers GET, and its [operation object](https://spec.openapis.org/oas/v3.1.0#operation-object).
    pub fn get<T: 'static>(self, handler: impl Handler<T, Arc<App>>, operation: Value) -> Self {
        self.on(MethodFilter::GET, "get", handler, operation)
    }

    /// What answers POST, and its operation object.
    pub fn post<T: 'static>(self, handler: impl Handler<T, Arc<App>>, operation: Value) -> Self {
        self.on(MethodFilter::POST, "post", handler, operation)
    }

    fn on<T: 'static>(
        mut self,
        filter: MethodFilter,
        name: &'static str,
        handler: impl Handler<T, Arc<App>>,
        operation: Value,
    ) -> Self {
        self.methods = self.methods.on(filter, handler);
        self.operations.push((name, operation));
        self
    }
}

/// The routes of this crate.
pub(crate) fn all() -> Vec<Route> {
    let of_rows = |verb, id, about, answer| {
        Operation::new(id, about).model().rows().choices(Verb::choices(verb)).answer(answer).build()
    };
    vec![
        Route::new("/").get(
            page,
            Operation::new("page", "This document, to be read in a browser.").text("text/html").build(),
        ),
        Route::new("/health").get(
            health,
            Operation::new("health", "Whether the server answers, and which models it serves.")
                .answer("Health")
                .build(),
        ),
        Route::new("/metrics").get(
            prometheus,
            Operation::new("metrics", "Counts and times in the text format of Prometheus.")
                .text("text/plain")
                .build(),
        ),
        Route::new("/openapi.json").get(
            document,
            Operation::new("openapi", "This document.").answer("Document").build(),
        ),
        Route::new("/v1/models").get(
            models,
            Operation::new("models", "The models that are served.").answer("Models").build(),
        ),
        Route::new("/v1/models/{model}").get(
            model,
            Operation::new("model", "Everything in a model that is not a vector, as `bridged inspect --json`.")
                .model()
                .answer("Description")
                .build(),
        ),
        Route::new("/v1/models/{model}/links").get(
            links,
            Operation::new("links", "The bridge: why the rows of each input cluster are answered as they are.")
                .model()
                .choices(&[&DIRECTION])
                .answer("LinkTable")
                .build(),
        ),
        Route::new("/v1/models/{model}/predict").post(
            |app: State<Arc<App>>, Model(model): Model, request: Request| async move {
                answer(&app, &model, Verb::Predict, request).await
            },
            of_rows(
                Verb::Predict,
                "predict",
                "The rows of the other side that belong to these rows, and why.",
                "Prediction",
            ),
        ),
        Route::new("/v1/models/{model}/explain").post(
            |app: State<Arc<App>>, Model(model): Model, request: Request| async move {
                answer(&app, &model, Verb::Explain, request).await
            },
            of_rows(
                Verb::Explain,
                "explain",
                "Why these rows are answered as they are, without the values.",
                "Prediction",
            ),
        ),
        Route::new("/v1/models/{model}/nearest").post(
            |app: State<Arc<App>>, Model(model): Model, request: Request| async move {
                answer(&app, &model, Verb::Nearest, request).await
            },
            of_rows(
                Verb::Nearest,
                "nearest",
                "The real rows of the other side that fit these rows best, among those that the model holds.",
                "Prediction",
            ),
        ),
    ]
}

/// The name of a model in a path.
struct Model(String);

impl<S: Send + Sync> FromRequestParts<S> for Model {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => Err(Failure::new(StatusCode::NOT_FOUND, "there is no model of that name")),
        }
    }
}

/// What requests for no route get.
pub(crate) async fn nowhere() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "there is nothing at this path; `/` names what there is")
}

fn with_type(bytes: impl Into<Bytes>, media: &'static str) -> Response {
    let mut response = bytes.into().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

fn as_json(value: &Value) -> Response {
    with_type(value.to_string(), Media::Json.name())
}

async fn page(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Result<Response, Failure> {
    no_options(query.as_deref())?;
    let page = openapi::page(&openapi::of_models(&app.document, app.shelf()));
    let mut response = with_type(page, "text/html; charset=utf-8");
    let policy = HeaderValue::from_static(openapi::POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

async fn document(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    no_options(query.as_deref())?;
    Ok(as_json(&openapi::of_models(&app.document, app.shelf())))
}

async fn prometheus(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    no_options(query.as_deref())?;
    Ok(with_type(metrics::text(&app), "text/plain; version=0.0.4; charset=utf-8"))
}

async fn health(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    no_options(query.as_deref())?;
    let mut stale = false;
    let models: Vec<Value> = (app.shelf().entries().iter())
        .map(|entry| {
            let (state, loaded) = (entry.state(), entry.current());
            stale |= state.problem.is_some();
            json!({
                "name": entry.name(),
                "file": entry.path().display().to_string(),
                "read_at": seconds(loaded.read_at()),
                "loads": state.loads,
                "failures": state.failures,
                "problem": state.problem,
            })
        })
        .collect();
    Ok(as_json(&json!({
        "status": if stale { "stale" } else { "ok" },
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_seconds": app.started.elapsed().as_secs_f64(),
        "models": models,
    })))
}

fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

async fn models(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    no_options(query.as_deref())?;
    let models: Vec<Value> = (app.shelf().entries().iter())
        .map(|entry| {
            let loaded = entry.current();
            let model = loaded.model();
            json!({
                "name": entry.name(),
                "read_at": seconds(loaded.read_at()),
                "pairs": model.pairs().len(),
                "x": side(model.x()),
                "y": side(model.y()),
            })
        })
        .collect();
    Ok(as_json(&json!({"models": models})))
}

fn side(side: &Side) -> Value {
    json!({
        "rows": side.total(),
        "columns": side.cols(),
        "clusters": side.k(),
        "vector": side.names().vector,
        "carried": side.names().texts.iter().map(|t| &t.name).collect::<Vec<_>>(),
        "nearest": side.keeps_rows(),
    })
}

async fn model(
    State(app): State<Arc<App>>,
    Model(name): Model,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    no_options(query.as_deref())?;
    let loaded = app.shelf().find(&name)?.current();
    let describe = |model: &BridgedModel| Bytes::from(model.describe().to_string());
    let description = app.compute(move || Ok(loaded.description(describe))).await?;
    Ok(with_type(description, Media::Json.name()))
}

async fn links(
    State(app): State<Arc<App>>,
    Model(name): Model,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let direction = only_direction(query.as_deref())?;
    let loaded = app.shelf().find(&name)?.current();
    let table = app.compute(move || Ok(link_table(&name, loaded.model(), direction))).await?;
    Ok(with_type(table, Media::Json.name()))
}

fn link_table(name: &str, model: &BridgedModel, direction: Direction) -> String {
    let table = model.link_table(direction);
    let rows: Vec<Value> = (table.rows())
        .map(|row| {
            json!({
                "cluster": row.cluster,
                "rows": row.rows,
                "pairs": row.pairs,
                "own_support": row.own_support,
                "no_partner": row.no_partner,
                "why": Why::of(row.why, false),
            })
        })
        .collect();
    json!({"model": name, "direction": direction_name(direction), "clusters": rows}).to_string()
}
