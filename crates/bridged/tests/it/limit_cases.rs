//! What every struct of parameters promises about its numbers. The tests of the core and those of
//! the baselines share this file.

use bridged::settings::{Check, Keys, Limits, Named, overlay};
use serde::de::value::{Error as RawError, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::{Map, Value, json};
use std::fmt::Debug;

/// Keys that name a method instead of a parameter.
const TAGS: [&str; 2] = ["method", "rule"];

/// How a number is written where words are allowed, too: alone, or in a table of this key.
const FORMS: [Option<&str>; 5] = [None, Some("fixed"), Some("sigma"), Some("gamma"), Some("count")];

/// The numbers at both ends of the limits.
pub fn at_the_ends(limits: Limits) -> Vec<f64> {
    match limits {
        Limits::Whole(least, u64::MAX) => vec![least as f64, f64::from(u32::MAX)],
        Limits::Whole(least, most) => vec![least as f64, most as f64],
        Limits::From(least, most) => vec![least, most],
        Limits::Above(least, most) => vec![least.next_up(), most],
    }
}

/// Finite numbers just beyond the limits.
pub fn just_beyond(limits: Limits) -> Vec<f64> {
    match limits {
        Limits::Whole(least, u64::MAX) => vec![least as f64 - 1.0, least as f64 + 0.5],
        Limits::Whole(least, most) => {
            vec![least as f64 - 1.0, least as f64 + 0.5, most as f64 + 1.0]
        }
        Limits::From(least, most) => vec![least.next_down(), most.next_up()],
        Limits::Above(least, most) => vec![least, most.next_up()],
    }
}

/// The number as JSON; a whole one as TOML and the command line write it.
pub fn written(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 { json!(number as i64) } else { json!(number) }
}

fn in_form(form: Option<&str>, value: Value) -> Value {
    match form {
        Some(key) => json!({ key: value }),
        None => value,
    }
}

/// Parameters of any list: what the tests need of them.
pub trait Parameters: Check + Named + Serialize + DeserializeOwned + Debug {}

impl<T: Check + Named + Serialize + DeserializeOwned + Debug> Parameters for T {}

fn fields(parameters: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(parameters).unwrap() {
        Value::Object(fields) => fields,
        other => panic!("parameters have names: {other}"),
    }
}

fn with<T: Parameters>(parameters: &T, field: &str, value: Value) -> Option<T> {
    let mut fields = fields(parameters);
    fields.insert(field.to_string(), value);
    serde_json::from_value(Value::Object(fields)).ok()
}

/// Every number has limits, nothing else takes a number, and no limits are for what is not there.
pub fn every_number_has_limits<T: Parameters>(parameters: &T) {
    let name = parameters.method_name();
    let limits = parameters.limits();
    let fields = fields(parameters);
    for (limited, _) in limits {
        assert!(fields.contains_key(*limited), "{name} has limits for `{limited}`, but not it");
    }
    for (field, value) in &fields {
        if TAGS.contains(&field.as_str()) || limits.iter().any(|(limited, _)| limited == field) {
            continue;
        }
        assert!(!value.is_number(), "{name}: `{field}` has no limits");
        for form in FORMS {
            for number in [json!(1), json!(0.5)] {
                let taken = with(parameters, field, in_form(form, number));
                assert!(taken.is_none(), "{name}: `{field}` takes a number and has no limits");
            }
        }
    }
}

/// The overlay takes every number at the ends of its limits and refuses those just beyond, NaN and
/// infinity, with an error that names the parameter; so does the check of parameters that were made
/// without it.
pub fn numbers_are_refused_beyond_their_limits<T: Parameters>(parameters: &T) -> usize {
    parameters.check().expect("defaults are within their limits");
    let name = parameters.method_name();
    let again = || with_all(parameters);
    for &(field, limits) in parameters.limits() {
        let inside = written(at_the_ends(limits)[1]);
        let takes = |form: &&Option<&str>| {
            with(parameters, field, in_form(**form, inside.clone())).is_some()
        };
        let forms: Vec<Option<&str>> = FORMS.iter().filter(takes).copied().collect();
        assert!(!forms.is_empty(), "{name}: `{field}` takes no number");
        let named = format!("`{field}` must be ");
        for form in forms {
            let laid = |number: f64| {
                let mut keys = Keys::default();
                keys.set(field, in_form(form, written(number)));
                overlay(again(), &keys)
            };
            for number in at_the_ends(limits) {
                let taken = laid(number).unwrap_or_else(|e| panic!("{name} {number}: {e}"));
                taken.check().unwrap_or_else(|e| panic!("{name} {number}: {e}"));
            }
            for number in just_beyond(limits) {
                let error = laid(number).map(drop).expect_err(&format!("{name} {field} {number}"));
                let error = error.to_string();
                let need = format!("{named}{limits}, got ");
                assert!(error.starts_with(&need), "{name} {number}: {error}");
                if let Some(made) = with(parameters, field, in_form(form, written(number))) {
                    let error = made.check().expect_err(&format!("{made:?}"));
                    assert_eq!((error.name.as_str(), error.need), (field, limits.to_string()));
                }
            }
            let whole = matches!(limits, Limits::Whole(..));
            for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let made = raw(parameters, field, form, number);
                assert!(made.is_some() != whole, "{name}: `{field}` as {number}: {made:?}");
                let Some(made) = made else { continue };
                let error = made.check().expect_err(&format!("{made:?}"));
                assert_eq!((error.name.as_str(), error.need), (field, limits.to_string()));
            }
        }
        for text in ["NaN", "inf", "-inf", "1e999"] {
            let mut keys = Keys::default();
            keys.parse(&format!("{field}={text}")).unwrap();
            let error = overlay(again(), &keys).map(drop).expect_err(text).to_string();
            assert!(error.starts_with(&named), "{name} {text}: {error}");
        }
    }
    parameters.limits().len()
}

fn with_all<T: Parameters>(parameters: &T) -> T {
    serde_json::from_value(serde_json::to_value(parameters).unwrap()).unwrap()
}

/// The defaults with a number that JSON cannot hold; `None` if its type cannot hold it either.
fn raw<T: Parameters>(parameters: &T, field: &str, form: Option<&str>, number: f64) -> Option<T> {
    let fields = fields(parameters);
    let tag = TAGS.iter().find_map(|tag| Some((*tag, fields.get(*tag)?.as_str()?)));
    let tag = tag.map(|(tag, name)| (tag.to_string(), Raw::Word(name.to_string())));
    let value = match form {
        Some(key) => Raw::Table(key.to_string(), number),
        None => Raw::Number(number),
    };
    let map = tag.into_iter().chain([(field.to_string(), value)]);
    T::deserialize(MapDeserializer::<_, RawError>::new(map)).ok()
}

/// A value that may be NaN.
#[derive(Clone, Debug)]
enum Raw {
    Word(String),
    Number(f64),
    Table(String, f64),
}

impl IntoDeserializer<'_, RawError> for Raw {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Raw {
    type Error = RawError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RawError> {
        match self {
            Raw::Word(word) => visitor.visit_string(word),
            Raw::Number(number) => visitor.visit_f64(number),
            Raw::Table(key, number) => {
                visitor.visit_map(MapDeserializer::new([(key, number)].into_iter()))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RawError> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, RawError> {
        match self {
            Raw::Word(word) => visitor.visit_enum(word.into_deserializer()),
            Raw::Number(number) => visitor.visit_f64(number),
            Raw::Table(key, number) => {
                let map = MapDeserializer::new([(key, number)].into_iter());
                visitor.visit_enum(serde::de::value::MapAccessDeserializer::new(map))
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
