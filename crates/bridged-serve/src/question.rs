//! What a request asks besides its rows: the options of its query, one list for the parser and for OpenAPI.

use crate::failure::Failure;
use bridged::{Ask, Direction};
use serde_json::{Value, json};

/// Real rows that may be asked for.
const MOST_NEAREST: u64 = 1000;

/// An option of a query.
pub(crate) struct Choice {
    pub name: &'static str,
    pub about: &'static str,
    pub schema: fn() -> Value,
}

fn share() -> Value {
    json!({"type": "number", "minimum": 0, "maximum": 1})
}

fn flag() -> Value {
    json!({"type": "boolean", "default": true})
}

pub(crate) const DIRECTION: Choice = Choice {
    name: "direction",
    about: "Which side the rows are of, and which is predicted.",
    schema: || json!({"type": "string", "enum": ["x_to_y", "y_to_x"], "default": "x_to_y"}),
};
const MIN_CONFIDENCE: Choice = Choice {
    name: "min_confidence",
    about: "Give no answer where the output cluster is less likely than this.",
    schema: share,
};
const LEVEL: Choice = Choice {
    name: "level",
    about: "Also give the radius of a ball that holds the true output with this probability.",
    schema: share,
};
const UNFAMILIAR: Choice = Choice {
    name: "unfamiliar",
    about: "Call a row unfamiliar if at most this share of the pool's rows are as far from their clusters.",
    schema: || json!({"type": "number", "minimum": 0, "maximum": 1, "default": bridged::UNFAMILIAR}),
};
const VALUES: Choice =
    Choice { name: "values", about: "Whether the predicted vectors are given.", schema: flag };
const EXPLAIN: Choice =
    Choice { name: "explain", about: "Whether the reasons are given.", schema: flag };
const NEAREST: Choice = Choice {
    name: "nearest",
    about: "So many real rows of the other side that fit best are named.",
    schema: || json!({"type": "integer", "minimum": 0, "maximum": MOST_NEAREST, "default": 0}),
};
const N: Choice = Choice {
    name: "n",
    about: "How many real rows are named.",
    schema: || json!({"type": "integer", "minimum": 1, "maximum": MOST_NEAREST, "default": 1}),
};

/// What is asked of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Predict,
    Explain,
    Nearest,
}

impl Verb {
    /// The options of its query.
    pub fn choices(self) -> &'static [&'static Choice] {
        match self {
            Verb::Predict => {
                &[&DIRECTION, &VALUES, &EXPLAIN, &NEAREST, &MIN_CONFIDENCE, &LEVEL, &UNFAMILIAR]
            }
            Verb::Explain => &[&DIRECTION, &MIN_CONFIDENCE, &LEVEL, &UNFAMILIAR],
            Verb::Nearest => &[&DIRECTION, &N, &MIN_CONFIDENCE],
        }
    }
}

/// What is asked of the rows of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Question {
    pub direction: Direction,
    pub ask: Ask,
    pub values: bool,
    pub explain: bool,
    pub nearest: usize,
}

impl Question {
    /// What a query says.
    pub fn parse(verb: Verb, query: Option<&str>) -> Result<Self, Failure> {
        let mut question = Self {
            direction: Direction::Forward,
            ask: Ask::default(),
            values: verb == Verb::Predict,
            explain: verb != Verb::Nearest,
            nearest: usize::from(verb == Verb::Nearest),
        };
        for (name, text) in options(query, verb.choices())? {
            let text = text.as_str();
            match name {
                "direction" => question.direction = direction(text)?,
                "values" => question.values = truth(name, text)?,
                "explain" => question.explain = truth(name, text)?,
                "nearest" => question.nearest = count(name, text, 0)?,
                "n" => question.nearest = count(name, text, 1)?,
                "min_confidence" => question.ask.min_confidence = Some(probability(name, text)?),
                "level" => question.ask.level = Some(probability(name, text)?),
                _ => question.ask.unfamiliar = probability(name, text)?,
            }
        }
        Ok(question)
    }
}

/// The direction that the query of a request for nothing else names.
pub(crate) fn only_direction(query: Option<&str>) -> Result<Direction, Failure> {
    let given = options(query, &[&DIRECTION])?;
    given.first().map_or(Ok(Direction::Forward), |(_, text)| direction(text))
}

/// Refuses a query where none is known.
pub(crate) fn no_options(query: Option<&str>) -> Result<(), Failure> {
    options(query, &[]).map(|_| ())
}

/// The options of a query, each known and given once.
fn options(
    query: Option<&str>,
    known: &[&'static Choice],
) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for (name, text) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let Some(choice) = known.iter().find(|choice| choice.name == name) else {
            let names: Vec<&str> = known.iter().map(|choice| choice.name).collect();
            let like = bridged::columns::similar(&name, names.iter().copied());
            let hint = match like {
                Some(like) => format!("; did you mean `{like}`?"),
                None if names.is_empty() => "; there are none here".to_owned(),
                None => format!("; there are {}", names.join(", ")),
            };
            return Err(Failure::malformed(format!("there is no such option in the query{hint}")));
        };
        if found.iter().any(|(other, _)| *other == choice.name) {
            return Err(Failure::malformed(format!("`{}` is given twice", choice.name)));
        }
        found.push((choice.name, text.into_owned()));
    }
    Ok(found)
}

fn direction(text: &str) -> Result<Direction, Failure> {
    match text {
        "x_to_y" => Ok(Direction::Forward),
        "y_to_x" => Ok(Direction::Reverse),
        _ => Err(Failure::malformed("`direction` is x_to_y or y_to_x")),
    }
}

/// The word for a direction.
pub(crate) fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "x_to_y",
        Direction::Reverse => "y_to_x",
    }
}

fn truth(name: &str, text: &str) -> Result<bool, Failure> {
    let known = text.parse().ok();
    known.ok_or_else(|| Failure::malformed(format!("`{name}` is true or false")))
}

fn probability(name: &str, text: &str) -> Result<f64, Failure> {
    let number = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    number.ok_or_else(|| Failure::malformed(format!("`{name}` is a number from 0 to 1")))
}

fn count(name: &str, text: &str, least: u64) -> Result<usize, Failure> {
    let number = text.parse().ok().filter(|n| (least..=MOST_NEAREST).contains(n));
    let number = number.and_then(|n| usize::try_from(n).ok());
    number.ok_or_else(|| {
        Failure::malformed(format!("`{name}` is a whole number from {least} to {MOST_NEAREST}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_what_its_words_say() {
        let parse = |verb, query| Question::parse(verb, Some(query));
        let all = "direction=y_to_x&values=false&explain=false&nearest=3&min_confidence=0.5&level=0.9&unfamiliar=0";
        let question = parse(Verb::Predict, all).unwrap();
        let ask = Ask { min_confidence: Some(0.5), level: Some(0.9), unfamiliar: 0.0 };
        assert_eq!(
            question,
            Question {
                direction: Direction::Reverse,
                ask,
                values: false,
                explain: false,
                nearest: 3
            }
        );
        assert_eq!(parse(Verb::Nearest, "n=7").unwrap().nearest, 7);
        assert_eq!(Question::parse(Verb::Nearest, None).unwrap().nearest, 1);
        assert!(!Question::parse(Verb::Explain, None).unwrap().values);
    }

    #[test]
    fn every_option_of_the_list_is_parsed_and_nothing_else() {
        for verb in [Verb::Predict, Verb::Explain, Verb::Nearest] {
            for choice in verb.choices() {
                let text = match (choice.schema)()["type"].as_str() {
                    Some("boolean") => "true",
                    Some("string") => "y_to_x",
                    _ => "1",
                };
                let good = format!("{}={text}", choice.name);
                assert!(Question::parse(verb, Some(&good)).is_ok(), "{good}");
                for text in ["", "no", "-1", "NaN", "1e999", "2000"] {
                    let bad = format!("{}={text}", choice.name);
                    assert!(Question::parse(verb, Some(&bad)).is_err(), "{bad}");
                }
            }
        }
        for bad in ["nearst=3", "level=0.5&level=0.5", "x"] {
            assert!(Question::parse(Verb::Predict, Some(bad)).is_err(), "{bad}");
        }
        let said = Question::parse(Verb::Predict, Some("nearst=3")).unwrap_err().message;
        assert!(said.ends_with("did you mean `nearest`?"), "{said}");
    }
}
