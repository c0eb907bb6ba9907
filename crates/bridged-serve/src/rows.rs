//! Rows that come as JSON: `{"rows": [[…], …], "ids": [...]}` or `{"row": […]}`.
//!
//! Numbers go straight into the rows of the model, counted from its offset as those of a file are.

use crate::failure::Failure;
use bridged::range::check_largest;
use bridged::{Direction, Matrix, Side};
use bridged_math::words::plural;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Magnitudes that need no look at all others.
const ORDINARY: f64 = 1e-15;

/// The rows of a request.
#[derive(Debug)]
pub(crate) struct Given {
    pub rows: Matrix,
    pub ids: Option<Vec<String>>,
}

/// Reads a body.
pub(crate) fn parse(body: &[u8], direction: Direction, side: &Side) -> Result<Given, Failure> {
    let mut sink = Sink {
        side,
        name: direction.input(),
        data: Vec::new(),
        rows: 0,
        largest: 0.0,
        unfit: None,
    };
    let mut json = serde_json::Deserializer::from_slice(body);
    let parsed = Body(&mut sink).deserialize(&mut json).and_then(|ids| json.end().map(|()| ids));
    let Sink { data, rows, largest, unfit, .. } = sink;
    if let Some(message) = unfit {
        return Err(Failure::unfit(message));
    }
    let ids = parsed.map_err(|e| {
        Failure::malformed(format!("the body is not the JSON that is asked for: {e}"))
    })?;
    if rows == 0 {
        return Err(Failure::unfit("there are no rows in the body"));
    }
    if let Some(ids) = ids.as_ref().filter(|ids| ids.len() != rows) {
        let (ids, rows) = (plural(ids.len(), "id"), plural(rows, "row"));
        let message = format!("the body has {ids} for {rows}; give one id per row");
        return Err(Failure::unfit(message));
    }
    if largest < ORDINARY {
        let name = direction.input();
        check_largest(largest)
            .map_err(|e| Failure::unfit(format!("the body, rows of {name}, {e}")))?;
    }
    let rows = Matrix::new(rows, side.cols(), data).map_err(|e| Failure::defect(e.to_string()))?;
    Ok(Given { rows, ids })
}

/// Where numbers go.
struct Sink<'a> {
    side: &'a Side,
    name: &'static str,
    data: Vec<f32>,
    rows: usize,
    largest: f64,
    /// What the model cannot take of what is good JSON.
    unfit: Option<String>,
}

impl Sink<'_> {
    fn refuse<E: Error>(&mut self, message: String) -> E {
        let error = E::custom(&message);
        self.unfit = Some(message);
        error
    }
}

struct Body<'r, 's>(&'r mut Sink<'s>);

impl<'de> DeserializeSeed<'de> for Body<'_, '_> {
    type Value = Option<Vec<String>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Body<'_, '_> {
    type Value = Option<Vec<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `rows` or `row`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut ids, mut had_rows) = (None, false);
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Rows | Key::Row if had_rows => {
                    return Err(A::Error::custom("`rows` or `row` is there twice"));
                }
                Key::Rows => {
                    had_rows = true;
                    map.next_value_seed(Rows(self.0))?;
                }
                Key::Row => {
                    had_rows = true;
                    map.next_value_seed(Row(self.0))?;
                }
                Key::Ids if ids.is_some() => {
                    return Err(A::Error::custom("`ids` is there twice"));
                }
                Key::Ids => ids = Some(map.next_value::<Vec<String>>()?),
            }
        }
        match had_rows {
            true => Ok(ids),
            false => Err(A::Error::custom("`rows` or `row` is needed")),
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Rows,
    Row,
    Ids,
}

struct Rows<'r, 's>(&'r mut Sink<'s>);

impl<'de> DeserializeSeed<'de> for Rows<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while rows.next_element_seed(Row(self.0))?.is_some() {}
        Ok(())
    }
}

struct Row<'r, 's>(&'r mut Sink<'s>);

impl<'de> DeserializeSeed<'de> for Row<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<(), A::Error> {
        let sink = self.0;
        let (need, row, name) = (sink.side.cols(), sink.rows, sink.name);
        let mut got = 0;
        while let Some(number) = numbers.next_element::<f64>()? {
            if got < need {
                let value = sink.side.offset().lower(got, number);
                if !value.is_finite() {
                    let message = format!(
                        "row {row} (counted from 0) holds a number in column {got} that is too large for a \
                         32-bit float"
                    );
                    return Err(sink.refuse(message));
                }
                sink.largest = sink.largest.max(f64::from(value).abs());
                if value == 0.0 && number != 0.0 && sink.side.offset().is_none() {
                    sink.largest = sink.largest.max(number.abs());
                }
                sink.data.push(value);
            }
            got += 1;
        }
        if got != need {
            let message = format!(
                "row {row} (counted from 0) has {}, but the model's {name} side has {}",
                plural(got, "number"),
                plural(need, "column")
            );
            return Err(sink.refuse(message));
        }
        sink.rows += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::{BridgedClustering, BridgedModel, Problem, Seed, Silent};

    fn model() -> BridgedModel {
        let x = Matrix::from_fn(30, 3, |i, j| if i < 15 { 0.0 } else { 9.0 } + (i % 3 + j) as f32);
        let problem = Problem::new(x.view(), x.view(), &[(0, 0), (29, 29)]);
        BridgedClustering::with_k(2).fit(problem, Seed(0), &Silent).unwrap()
    }

    fn read(body: &str) -> Result<Given, Failure> {
        parse(body.as_bytes(), Direction::Forward, model().x())
    }

    #[test]
    fn rows_are_read_as_they_are_written() {
        let given =
            read(r#" {"ids": ["a", "b"], "rows": [[1, 2.5, -3e2], [0, -0.0, 0.1]]} "#).unwrap();
        assert_eq!(given.rows.data(), [1.0, 2.5, -300.0, 0.0, -0.0, 0.1]);
        assert_eq!(given.ids.as_deref(), Some(&["a".to_owned(), "b".to_owned()][..]));
        let one = read(r#"{"row": [1, 2, 3]}"#).unwrap();
        assert_eq!((one.rows.rows(), one.ids), (1, None));
    }

    #[test]
    fn what_is_no_such_json_is_malformed_and_what_does_not_fit_is_unfit() {
        for body in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"rows": 3}"#,
            r#"{"rows": [3]}"#,
            r#"{"rows": [["1", 2, 3]]}"#,
            r#"{"rows": [[1, 2, 3]], "rows": [[1, 2, 3]]}"#,
            r#"{"row": [1, 2, 3], "rows": []}"#,
            r#"{"rows": [[1, 2, 3]], "more": 1}"#,
            r#"{"rows": [[1, 2, 3]]} x"#,
            r#"{"rows": [[1, NaN, 3]]}"#,
            r#"{"rows": [[1, null, 3]]}"#,
            r#"{"rows": [[1, 1e999, 3]]}"#,
            r#"{"rows": [[1, 2, 3]], "ids": [1]}"#,
        ] {
            let failure = read(body).unwrap_err();
            assert_eq!(failure.status, 400, "{body}: {}", failure.message);
        }
        for (body, said) in [
            (r#"{"rows": []}"#, "no rows"),
            (r#"{"rows": [[1, 2, 3], [1, 2]]}"#, "row 1 (counted from 0) has 2 numbers"),
            (r#"{"rows": [[1, 2, 3, 4]]}"#, "has 4 numbers, but the model's x side has 3"),
            (r#"{"rows": [[1, 2, 1e39]]}"#, "too large for a 32-bit float"),
            (r#"{"rows": [[1e-30, 0, 0]]}"#, "multiply all by"),
            (r#"{"rows": [[1e-60, 0, 0]]}"#, "multiply all by"),
            (r#"{"rows": [[1, 2, 3]], "ids": []}"#, "0 ids for 1 row"),
        ] {
            let failure = read(body).unwrap_err();
            assert_eq!(failure.status, 422, "{body}: {}", failure.message);
            assert!(failure.message.contains(said), "{}", failure.message);
        }
    }
}
