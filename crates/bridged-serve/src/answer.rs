//! From the rows of a request to its answer.

use crate::app::App;
use crate::body::{self, Media};
use crate::failure::Failure;
use crate::models::Loaded;
use crate::predictor::{FEW, Predicted};
use crate::question::{Question, Verb, direction_name};
use crate::rows;
use crate::why::Why;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bridged::{Matrix, MatrixRef, Neighbor};
use bridged_io::answers;
use bridged_io::{Column, ColumnData, Select, Table, TableError};
use bytes::Bytes;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::path::Path;
use std::sync::Arc;

/// Bodies up to this size are parsed where they arrive.
const INLINE: usize = 32 << 10;

/// What errors call the rows.
const BODY: &str = "the body";

/// Answers a request about rows.
pub(crate) async fn answer(
    app: &App,
    name: &str,
    verb: Verb,
    request: Request,
) -> Result<Response, Failure> {
    let entry = app.shelf().find(name)?;
    let question = Question::parse(verb, request.uri().query())?;
    let body_is = Media::of_body(request.headers())?;
    let answer_is = Media::of_answer(request.headers(), body_is)?;
    let held = body::read(app, request.into_body()).await?;
    let loaded = entry.current();
    let task = Task { loaded, name: name.to_owned(), question, body_is, answer_is };
    let json = body_is == Media::Json && answer_is == Media::Json;
    let (bytes, rows) = if json && held.bytes.len() <= INLINE {
        task.answer_few(app, &held.bytes).await?
    } else {
        app.compute(move || task.answer_many(&held.bytes)).await?
    };
    entry.count_rows(question.direction, rows);
    let mut response = Bytes::from(bytes).into_response();
    let media = HeaderValue::from_static(answer_is.name());
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    Ok(response)
}

/// What is to be done with a body.
struct Task {
    loaded: Arc<Loaded>,
    name: String,
    question: Question,
    body_is: Media,
    answer_is: Media,
}

/// Rows and what is to come out beside their answers.
struct Asked {
    rows: Matrix,
    ids: Option<Vec<String>>,
    /// The columns of a table, its ids first.
    input: Vec<Column>,
}

impl Task {
    /// Answers JSON by JSON, on this thread as far as it takes no time.
    async fn answer_few(self, app: &App, body: &[u8]) -> Result<(Vec<u8>, usize), Failure> {
        let Question { direction, ask, nearest, .. } = self.question;
        let given = rows::parse(body, direction, self.loaded.model().from(direction))?;
        let count = given.rows.rows();
        if count > FEW {
            let asked = Asked { rows: given.rows, ids: given.ids, input: Vec::new() };
            return app.compute(move || self.answer_rows(asked)).await;
        }
        let predictor = self.loaded.predictor(direction)?;
        if nearest == 0 {
            let predicted = app.in_time(predictor.predict(given.rows, ask)).await?;
            return Ok((self.json(&predicted, given.ids.as_deref(), None)?, count));
        }
        let predicted = app.in_time(predictor.predict(given.rows.clone(), ask)).await?;
        let work = move || {
            let values = predicted.prediction.values.view().slice(predicted.rows.clone());
            let found = self.nearest(given.rows.view(), values)?;
            Ok((self.json(&predicted, given.ids.as_deref(), Some(&found))?, count))
        };
        app.compute(work).await
    }

    /// Answers a body of any kind and size.
    fn answer_many(&self, body: &[u8]) -> Result<(Vec<u8>, usize), Failure> {
        let direction = self.question.direction;
        let side = self.loaded.model().from(direction);
        let asked = match self.body_is {
            Media::Json => {
                let given = rows::parse(body, direction, side)?;
                Asked { rows: given.rows, ids: given.ids, input: Vec::new() }
            }
            Media::Arrow => {
                let format = bridged_io::format_named("arrow").ok_or_else(no_arrow)?;
                let table = bridged_io::read_bytes(format, Path::new(BODY), body)?;
                let select = Select { fitted: Some(side.fitted()), ..Select::default() };
                let mut pool = table.into_pool(select)?;
                let ids = pool.id_name.is_some().then(|| std::mem::take(&mut pool.ids));
                let mut input = vec![match &ids {
                    // `take_ids` of numbered rows looks at the ids.
                    None => pool.take_ids(),
                    Some(_) => pool.id_column.take().unwrap_or_else(|| numbered(pool.rows.rows())),
                }];
                input.append(&mut pool.carried);
                Asked { rows: pool.rows, ids, input }
            }
        };
        self.answer_rows(asked)
    }

    fn answer_rows(&self, asked: Asked) -> Result<(Vec<u8>, usize), Failure> {
        let Question { direction, ask, nearest, .. } = self.question;
        let (rows, count) = (asked.rows.view(), asked.rows.rows());
        let predicted = Predicted::from(self.loaded.model().predict_asked(direction, rows, ask)?);
        let found = match nearest {
            0 => None,
            _ => Some(self.nearest(rows, predicted.prediction.values.view())?),
        };
        let bytes = match self.answer_is {
            Media::Json => self.json(&predicted, asked.ids.as_deref(), found.as_deref())?,
            Media::Arrow => self.arrow(asked, predicted, found.as_deref())?,
        };
        Ok((bytes, count))
    }

    /// The real rows that fit best, among those that the model holds.
    fn nearest(
        &self,
        rows: MatrixRef<'_>,
        values: MatrixRef<'_>,
    ) -> Result<Vec<Vec<Neighbor>>, Failure> {
        let Question { direction, nearest, .. } = self.question;
        Ok(self.loaded.model().retrieve(direction, rows, values, nearest)?)
    }

    fn json(
        &self,
        predicted: &Predicted,
        ids: Option<&[String]>,
        found: Option<&[Vec<Neighbor>]>,
    ) -> Result<Vec<u8>, Failure> {
        let question = self.question;
        let carried = match found {
            Some(_) => self.loaded.carried(question.direction),
            None => Vec::new(),
        };
        let page = Page { task: self, predicted, ids, found, carried };
        let answer =
            Json { model: &self.name, direction: direction_name(question.direction), rows: page };
        let entries = self.loaded.model().to(question.direction).cols();
        let mut bytes = Vec::with_capacity(256 + predicted.rows.len() * (300 + 12 * entries));
        serde_json::to_writer(&mut bytes, &answer).map_err(|e| Failure::defect(e.to_string()))?;
        Ok(bytes)
    }

    /// The table that `bridged predict` writes.
    fn arrow(
        &self,
        asked: Asked,
        predicted: Predicted,
        found: Option<&[Vec<Neighbor>]>,
    ) -> Result<Vec<u8>, Failure> {
        let Question { direction, ask, values, explain, nearest } = self.question;
        let model = self.loaded.model();
        let prediction = &predicted.prediction;
        let mut columns = Vec::new();
        if explain {
            columns.extend(answers::explained(prediction, ask.level.is_some()));
        }
        if let Some(found) = found {
            let n = nearest.min(model.to(direction).len());
            let carried = self.loaded.carried(direction);
            columns.extend(answers::nearest(model.to(direction).names(), &carried, found, n));
        }
        if values {
            let answered = (0..prediction.len()).map(|i| prediction.answered(i)).collect();
            let vectors = match Arc::try_unwrap(predicted.prediction) {
                Ok(prediction) => prediction.values,
                Err(shared) => shared.values.clone(),
            };
            let offset = model.to(direction).offset();
            columns.push(Column::new("value", answers::values(offset, vectors, answered)));
        }
        let input = match (asked.input.is_empty(), asked.ids) {
            (false, _) => asked.input,
            (true, Some(ids)) => {
                vec![Column::new("id", ColumnData::Text(ids.into_iter().map(Some).collect()))]
            }
            (true, None) => vec![numbered(asked.rows.rows())],
        };
        let (columns, _) = answers::beside(input, columns);
        let format = bridged_io::format_named("arrow").ok_or_else(no_arrow)?;
        let path = Path::new("the answer");
        let table = Table::new(path, columns)?;
        let mut bytes: Vec<u8> = Vec::new();
        bridged_io::write_stream(&mut bytes, format, path, std::iter::once(Ok(table)))?;
        Ok(bytes)
    }
}

/// Rows without ids are called by their numbers.
fn numbered(rows: usize) -> Column {
    Column::new("id", ColumnData::Integer((0..rows as i64).map(Some).collect()))
}

fn no_arrow() -> Failure {
    Failure::defect("Arrow is not in the list of formats")
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        use TableError as T;
        match &error {
            T::Damaged { .. } | T::Mismatch { .. } | T::Empty { .. } => {
                Self::malformed(error.to_string())
            }
            T::Grew { .. } => {
                Self::new(axum::http::StatusCode::PAYLOAD_TOO_LARGE, error.to_string())
            }
            T::Unreadable { .. } | T::File(_) => Self::defect(error.to_string()),
            _ => Self::unfit(error.to_string()),
        }
    }
}

#[derive(Serialize)]
struct Json<'a> {
    model: &'a str,
    direction: &'static str,
    rows: Page<'a>,
}

/// The rows of an answer, written one by one.
struct Page<'a> {
    task: &'a Task,
    predicted: &'a Predicted,
    ids: Option<&'a [String]>,
    found: Option<&'a [Vec<Neighbor>]>,
    carried: Vec<(&'a str, answers::Carried<'a>)>,
}

#[derive(Serialize)]
struct RowOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Option<Value<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Why<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<Vec<Near>>,
}

/// A predicted vector in the units of the data.
#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Single(&'a [f32]),
    Double(Vec<f64>),
}

/// A real row.
#[derive(Serialize)]
struct Near {
    id: String,
    distance: f64,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    carried: serde_json::Map<String, serde_json::Value>,
}

impl Serialize for Page<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let range = self.predicted.rows.clone();
        let mut rows = serializer.serialize_seq(Some(range.len()))?;
        for (at, i) in range.enumerate() {
            rows.serialize_element(&self.row(at, i))?;
        }
        rows.end()
    }
}

impl Page<'_> {
    /// The row of the request at `at`, which was predicted as row `i`.
    fn row(&self, at: usize, i: usize) -> RowOut<'_> {
        let Question { direction, ask, values, explain, .. } = self.task.question;
        let prediction = &self.predicted.prediction;
        let model = self.task.loaded.model();
        let offset = model.to(direction).offset();
        let value = values.then(|| {
            prediction.answered(i).then(|| {
                let row = prediction.values.row(i);
                match offset.is_none() {
                    true => Value::Single(row),
                    false => {
                        let raised = row.iter().enumerate().map(|(c, &v)| offset.raise(c, v));
                        Value::Double(raised.collect())
                    }
                }
            })
        });
        RowOut {
            id: self.ids.and_then(|ids| ids.get(at)).map(String::as_str),
            value,
            why: explain.then(|| Why::of(prediction.explain(i), ask.level.is_some())),
            nearest: self.found.map(|found| {
                let found = found.get(at).map_or(&[][..], Vec::as_slice);
                found.iter().map(|neighbor| self.near(neighbor)).collect()
            }),
        }
    }

    fn near(&self, neighbor: &Neighbor) -> Near {
        let names = self.task.loaded.model().to(self.task.question.direction).names();
        let row = neighbor.row as usize;
        let cells = self.carried.iter().map(|(name, carried)| {
            let value = match carried.of(std::iter::once(Some(row))) {
                ColumnData::Integer(v) => serde_json::json!(v.first()),
                ColumnData::Number(v) => serde_json::json!(v.first()),
                ColumnData::Bool(v) => serde_json::json!(v.first()),
                ColumnData::Text(v) => serde_json::json!(v.first()),
                _ => serde_json::Value::Null,
            };
            ((*name).to_owned(), value)
        });
        Near { id: names.id(row), distance: neighbor.distance, carried: cells.collect() }
    }
}
