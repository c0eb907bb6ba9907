//! The OpenAPI document, and the page that shows it without a script or a foreign host.

use crate::body::Media;
use crate::models::{Entry, Shelf};
use crate::question::Choice;
use crate::routes::Route;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What the page may do: nothing but look as it does.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                                 frame-ancestors 'none'";

/// An operation that is being described.
pub(crate) struct Operation {
    id: &'static str,
    about: &'static str,
    parameters: Vec<Value>,
    rows: bool,
    model: bool,
    content: Value,
}

impl Operation {
    pub fn new(id: &'static str, about: &'static str) -> Self {
        let (parameters, content) = (Vec::new(), Value::Null);
        Self { id, about, parameters, rows: false, model: false, content }
    }

    /// It is about a model by its name.
    pub fn model(mut self) -> Self {
        self.model = true;
        self.parameters.push(json!({
            "name": "model", "in": "path", "required": true,
            "description": "The name of a model, as in `/v1/models`.",
            "schema": {"$ref": "#/components/schemas/Name"},
        }));
        self
    }

    /// It takes rows.
    pub fn rows(mut self) -> Self {
        self.rows = true;
        self
    }

    /// Its query.
    pub fn choices(mut self, choices: &[&Choice]) -> Self {
        self.parameters.extend(choices.iter().map(|choice| {
            json!({
                "name": choice.name, "in": "query", "description": choice.about,
                "schema": (choice.schema)(),
            })
        }));
        self
    }

    /// It answers JSON of this schema.
    pub fn answer(mut self, schema: &str) -> Self {
        let schema = json!({"$ref": format!("#/components/schemas/{schema}")});
        self.content = json!({Media::Json.name(): {"schema": schema}});
        self
    }

    /// It answers a text.
    pub fn text(mut self, media: &str) -> Self {
        self.content = json!({media: {"schema": {"type": "string"}}});
        self
    }

    pub fn build(self) -> Value {
        let Self { id, about, parameters, rows, model, mut content } = self;
        let arrow = json!({"schema": {"type": "string", "format": "binary"}});
        if rows {
            content[Media::ARROW] = arrow.clone();
        }
        let mut statuses: Vec<u16> = vec![400, 401, 403, 421, 503];
        statuses.extend(model.then_some(404));
        statuses.extend(if rows { &[406, 408, 413, 415, 422, 500][..] } else { &[] });
        statuses.sort_unstable();
        let mut responses = Map::new();
        responses.insert("200".into(), json!({"description": "The answer.", "content": content}));
        for status in statuses {
            let name = json!({"$ref": format!("#/components/responses/{status}")});
            responses.insert(status.to_string(), name);
        }
        let mut operation = json!({
            "operationId": id, "summary": about, "parameters": parameters, "responses": responses,
        });
        if rows {
            operation["requestBody"] = json!({
                "required": true,
                "content": {
                    Media::Json.name(): {"schema": {"$ref": "#/components/schemas/Rows"}},
                    Media::ARROW: arrow,
                },
            });
        }
        operation
    }
}

/// The document of these routes.
pub(crate) fn document(routes: &[Route], with_token: bool) -> Value {
    let mut paths = Map::new();
    for route in routes {
        let methods =
            route.operations.iter().map(|(name, about)| ((*name).to_owned(), about.clone()));
        paths.insert(route.path.to_owned(), Value::Object(methods.collect()));
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "bridged",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0"},
            "description": "Predictions of bridged models: rows of one collection in, rows of the other out, with the reasons. \
                Bodies and answers are JSON or Arrow IPC streams; an Arrow table has the columns that `bridged predict` reads and \
                writes.",
        },
        "paths": paths,
        "components": {"schemas": schemas(), "responses": responses()},
    });
    if with_token {
        let scheme = json!({"type": "http", "scheme": "bearer"});
        document["components"]["securitySchemes"] = json!({"token": scheme});
        document["security"] = json!([{"token": []}]);
    }
    document
}

/// The same with the names of the models that are served, and the width of their rows where all sides have the same.
pub(crate) fn of_models(document: &Value, shelf: &Shelf) -> Value {
    let mut document = document.clone();
    let names: Vec<&str> = shelf.entries().iter().map(Entry::name).collect();
    let widths: BTreeSet<usize> = (shelf.entries().iter())
        .flat_map(|entry| {
            let loaded = entry.current();
            [loaded.model().x().cols(), loaded.model().y().cols()]
        })
        .collect();
    let schemas = &mut document["components"]["schemas"];
    schemas["Name"] = json!({"type": "string", "enum": names});
    if let (1, Some(width)) = (widths.len(), widths.first()) {
        schemas["Row"]["minItems"] = json!(width);
        schemas["Row"]["maxItems"] = json!(width);
    }
    document
}

fn responses() -> Value {
    let all = [
        (400, "The request cannot be understood: its query, its JSON or its Arrow data."),
        (401, "The token is missing or wrong."),
        (403, "A page of another origin asks."),
        (404, "There is no model of that name."),
        (406, "There is no answer in a type that the request accepts."),
        (408, "The body did not arrive in time."),
        (413, "The body, or what is in it, is too large."),
        (415, "The body is of another type."),
        (421, "The name in Host is not that of this server."),
        (
            422,
            "The model cannot answer this: rows of another width, numbers that are not finite, a level that the pairs do not allow.",
        ),
        (500, "A defect of the server."),
        (503, "There is more to do than can be done; come back later."),
    ];
    let content = json!({Media::Json.name(): {"schema": {"$ref": "#/components/schemas/Failure"}}});
    let response = |(status, about): (u16, &str)| {
        (status.to_string(), json!({"description": about, "content": content}))
    };
    Value::Object(all.into_iter().map(response).collect())
}

/// An object with exactly these properties; those that are not `optional` are there.
fn object(properties: Value, optional: &[&str]) -> Value {
    let required: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(|all| all.keys())
        .filter(|name| !optional.contains(&name.as_str()))
        .collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

fn named(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn schemas() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    let text = json!({"type": "string"});
    let number = json!({"type": "number"});
    let perhaps = json!({"type": ["number", "null"]});
    let cluster = json!({"type": ["integer", "null"], "minimum": 0});
    let vector = named("Row");
    let direction = json!({"type": "string", "enum": ["x_to_y", "y_to_x"]});
    let rows = json!({
        "description": "One row or several, each with as many numbers as the side has columns.",
        "oneOf": [
            object(json!({"row": vector, "ids": {"type": "array", "items": text, "minItems": 1, "maxItems": 1}}), &["ids"]),
            object(json!({"rows": {"type": "array", "items": vector, "minItems": 1}, "ids": list(&text)}), &["ids"]),
        ],
    });
    let why = object(
        json!({
            "cluster": cluster, "linked": cluster, "probability": perhaps, "expected_error": perhaps,
            "novelty": perhaps, "weight": perhaps,
            "links": list(&object(json!({"cluster": count, "share": number}), &[])),
            "support": count, "status": text, "answer": text, "radius": perhaps,
        }),
        &["novelty", "radius"],
    );
    let near = object(
        json!({"id": text, "distance": number, "carried": {"type": "object"}}),
        &["carried"],
    );
    let row = object(
        json!({
            "id": text, "value": {"type": ["array", "null"], "items": number}, "why": named("Why"),
            "nearest": list(&near),
        }),
        &["id", "value", "why", "nearest"],
    );
    let side = object(
        json!({"rows": count, "columns": count, "clusters": count, "vector": list(&text), "carried": list(&text),
            "nearest": {"type": "boolean"}}),
        &[],
    );
    let model = object(
        json!({"name": named("Name"), "read_at": number, "pairs": count, "x": named("Side"), "y": named("Side")}),
        &[],
    );
    let served = object(
        json!({"name": named("Name"), "file": text, "read_at": number, "loads": count, "failures": count,
            "problem": {"type": ["string", "null"]}}),
        &[],
    );
    let link = object(
        json!({"cluster": count, "rows": count, "pairs": count, "own_support": count, "no_partner": perhaps,
            "why": named("Why")}),
        &[],
    );
    json!({
        "Name": {"type": "string"},
        "Row": {"type": "array", "items": {"type": "number", "minimum": -1e15, "maximum": 1e15}, "minItems": 1},
        "Rows": rows,
        "Why": why,
        "Prediction": object(json!({"model": named("Name"), "direction": direction, "rows": list(&row)}), &[]),
        "LinkTable": object(json!({"model": named("Name"), "direction": direction, "clusters": list(&link)}), &[]),
        "Side": side,
        "Models": object(json!({"models": list(&model)}), &[]),
        "Description": {"type": "object"},
        "Document": {"type": "object", "required": ["openapi", "info", "paths"]},
        "Health": object(
            json!({"status": {"type": "string", "enum": ["ok", "stale"]}, "version": text, "uptime_seconds": number,
                "models": list(&served)}),
            &[],
        ),
        "Failure": object(json!({"error": object(json!({"message": text, "kind": text}), &[])}), &[]),
    })
}

/// A page that shows the document.
pub(crate) fn page(document: &Value) -> String {
    let mut out = String::from(HEAD);
    let version = text_of(&document["info"]["version"]);
    let about = text_of(&document["info"]["description"]);
    out += &format!("<h1>bridged {version}</h1><p>{about}</p><p>Models: ");
    let names = document["components"]["schemas"]["Name"]["enum"].as_array().into_iter().flatten();
    let links = names.map(text_of).map(|name| format!("<a href=\"/v1/models/{name}\">{name}</a>"));
    out += &links.collect::<Vec<_>>().join(", ");
    out += ".</p><p>The same for programs: <a href=\"/openapi.json\">openapi.json</a>.</p>";
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let summary = text_of(&operation["summary"]);
            let method = escaped(&method.to_uppercase());
            out += &format!("<h2><code>{method} {}</code></h2><p>{summary}</p>", escaped(path));
            let query = operation["parameters"].as_array().into_iter().flatten();
            let query: Vec<&Value> = query.filter(|parameter| parameter["in"] == "query").collect();
            if !query.is_empty() {
                out += "<table><tr><th>option<th>values<th>what it does</tr>";
                for choice in query {
                    let (name, what) = (text_of(&choice["name"]), text_of(&choice["description"]));
                    out += &format!(
                        "<tr><td><code>{name}</code><td>{}<td>{what}</tr>",
                        range(&choice["schema"])
                    );
                }
                out += "</table>";
            }
            if let Some(kinds) = operation["requestBody"]["content"].as_object() {
                let kinds: Vec<String> =
                    kinds.keys().map(|kind| format!("<code>{}</code>", escaped(kind))).collect();
                out += &format!("<p>Body: {}</p>", kinds.join(" or "));
            }
        }
    }
    out += "<h2>What is in JSON</h2>";
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let pretty = serde_json::to_string_pretty(schema).unwrap_or_default();
        let name = escaped(name);
        out += &format!(
            "<details><summary><code>{name}</code></summary><pre>{}</pre></details>",
            escaped(&pretty)
        );
    }
    out += "</main>\n";
    out
}

/// What an option may be, in words.
fn range(schema: &Value) -> String {
    let words = match (&schema["enum"], &schema["minimum"], &schema["maximum"]) {
        (Value::Array(words), ..) => {
            words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        (_, Value::Number(least), Value::Number(most)) => format!("{least} to {most}"),
        _ => "true or false".to_owned(),
    };
    match &schema["default"] {
        Value::Null => escaped(&words),
        Value::String(default) => escaped(&format!("{words} [{default}]")),
        default => escaped(&format!("{words} [{default}]")),
    }
}

fn text_of(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>bridged</title>
<style>
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem; padding: 0 1rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #8888; padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
pre { overflow-x: auto; }
</style>
<main>
";
