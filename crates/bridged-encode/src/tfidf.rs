//! TF-IDF: a text as the words that set it apart, with the conventions of scikit-learn.
//!
//! ```text
//! idf(t) = ln((1 + n) / (1 + df(t))) + 1        n texts, df(t) of which hold the word t
//! v(t)   = count(t) · idf(t), then v / ‖v‖
//! ```
//!
//! Words are runs of at least two letters, digits or underscores, in lower case; the vocabulary is
//! sorted. What [`Tfidf::default`] gives is what `TfidfVectorizer()` gives (a golden file holds
//! this). Words of scripts with combining vowel signs stay whole here, where Python's `\w` cuts
//! them. Rows are sparse; the cost is that of reading the texts and sorting the vocabulary.
//!
//! Spärck Jones 1972; Pedregosa et al. 2011.

use crate::entry::{Construct, EncoderOption, Entry, OptionValue, Reads, Settings};
use crate::sparse::Sparse;
use crate::{EncodeError, Encoder, ItemError};
use serde::Deserialize;
use std::collections::HashMap;

/// In the list of encoders.
pub const ENTRY: Entry = Entry {
    name: "tfidf",
    about: "TF-IDF of the words, as scikit-learn weighs them; needs no weights",
    options: &[
        EncoderOption {
            name: "min-df",
            about: "Leave out words that fewer texts hold",
            default: "1",
            value: OptionValue::Count(0),
        },
        EncoderOption {
            name: "max-df",
            about: "Leave out words that a larger share of the texts holds",
            default: "1",
            value: OptionValue::Share,
        },
        EncoderOption {
            name: "max-features",
            about: "Keep the N words that occur most",
            default: "",
            value: OptionValue::Count(0),
        },
        EncoderOption {
            name: "stop-words",
            about: "Leave out English stop words",
            default: "",
            value: OptionValue::Flag,
        },
    ],
    reads: Reads::Text(Construct::Vocabulary {
        fit: learn,
        make: |vocabulary| Box::new(vocabulary),
    }),
};

/// Words of a vocabulary beyond which a table of all of them is hardly meant.
const MANY_WORDS: usize = 50_000;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Parameters {
    min_df: usize,
    max_df: f64,
    max_features: Option<usize>,
    stop_words: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        let Tfidf { min_df, max_df, max_features, .. } = Tfidf::default();
        Self { min_df, max_df, max_features, stop_words: false }
    }
}

/// The vocabulary of texts, as long as a table can have a column for each of its words.
fn learn(settings: &Settings, texts: &[&str]) -> Result<Vocabulary, EncodeError> {
    let Parameters { min_df, max_df, max_features, stop_words } = settings.parse()?;
    let stop_words = if stop_words { ENGLISH } else { &[] };
    let vocabulary = Tfidf { min_df, max_df, max_features, stop_words }.fit(texts);
    match vocabulary.dim() {
        0 => Err(EncodeError::NothingLearned {
            reason: "there are no words left to count; loosen --min-df and --max-df".into(),
        }),
        words @ MANY_WORDS.. => Err(EncodeError::TooManyColumns {
            reason: format!(
                "the texts have {words} words, one column each; keep fewer with --max-features or --min-df"
            ),
        }),
        _ => Ok(vocabulary),
    }
}

/// How texts become rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Tfidf {
    /// Leave out words that fewer texts hold.
    pub min_df: usize,
    /// Leave out words that a larger share of the texts holds.
    pub max_df: f64,
    /// Keep only the words that occur most, ties in the order of the alphabet.
    pub max_features: Option<usize>,
    /// Words to leave out, in lower case and sorted; see [`ENGLISH`].
    pub stop_words: &'static [&'static str],
}

impl Default for Tfidf {
    fn default() -> Self {
        Self { min_df: 1, max_df: 1.0, max_features: None, stop_words: &[] }
    }
}

/// A vocabulary and what its words weigh.
#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    /// The words, sorted; one column each.
    pub terms: Vec<String>,
    /// The weight of each.
    pub idf: Vec<f64>,
    columns: HashMap<String, u32>,
}

impl Tfidf {
    /// Learns the vocabulary of texts.
    ///
    /// ```
    /// use bridged_encode::tfidf::Tfidf;
    /// let texts = ["A dog runs", "a dog sleeps"];
    /// let vocabulary = Tfidf::default().fit(&texts);
    /// assert_eq!(vocabulary.terms, ["dog", "runs", "sleeps"]);
    /// assert!(vocabulary.idf[0] < vocabulary.idf[1], "what is rare weighs more");
    /// ```
    pub fn fit(&self, texts: &[impl AsRef<str>]) -> Vocabulary {
        #[derive(Default)]
        struct Seen {
            texts: usize,
            total: usize,
            last: usize,
        }
        let mut seen: HashMap<String, Seen> = HashMap::new();
        for (i, text) in texts.iter().enumerate() {
            for word in words(text.as_ref()) {
                let seen = seen.entry(word).or_default();
                seen.total += 1;
                if seen.last != i + 1 {
                    seen.last = i + 1;
                    seen.texts += 1;
                }
            }
        }
        let n = texts.len();
        let kept = |word: &str, seen: &Seen| {
            seen.texts >= self.min_df
                && seen.texts as f64 <= self.max_df * n as f64
                && self.stop_words.binary_search(&word).is_err()
        };
        let mut terms: Vec<(String, Seen)> =
            seen.into_iter().filter(|(word, seen)| kept(word, seen)).collect();
        if let Some(most) = self.max_features.filter(|&most| most < terms.len()) {
            terms.sort_unstable_by(|(a, x), (b, y)| y.total.cmp(&x.total).then_with(|| a.cmp(b)));
            terms.truncate(most);
        }
        terms.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let weight = |df: usize| ((1 + n) as f64 / (1 + df) as f64).ln() + 1.0;
        let idf = terms.iter().map(|(_, seen)| weight(seen.texts)).collect();
        let terms = terms.into_iter().map(|(term, _)| term).collect();
        Vocabulary::new(terms, idf).expect("words are different and weigh at least 1")
    }
}

impl Vocabulary {
    /// The vocabulary of these words, each with its weight; none if a word is there twice or weighs nothing.
    pub fn new(terms: Vec<String>, idf: Vec<f64>) -> Option<Self> {
        let columns: HashMap<String, u32> =
            terms.iter().enumerate().map(|(c, t)| (t.clone(), c as u32)).collect();
        let weighs = |w: &f64| w.is_finite() && *w > 0.0;
        let whole =
            columns.len() == terms.len() && idf.len() == terms.len() && idf.iter().all(weighs);
        whole.then_some(Self { terms, idf, columns })
    }

    /// Texts as rows of unit length; one without a known word is a row of zeros.
    pub fn rows(&self, texts: &[impl AsRef<str>]) -> Sparse {
        Sparse::from_rows(self.terms.len(), texts.iter().map(|text| self.row(text.as_ref())))
    }

    fn row(&self, text: &str) -> Vec<(u32, f32)> {
        let mut columns: Vec<u32> =
            words(text).filter_map(|word| self.columns.get(&word).copied()).collect();
        columns.sort_unstable();
        let counts = columns.chunk_by(|a, b| a == b);
        let row: Vec<(u32, f64)> =
            counts.map(|same| (same[0], same.len() as f64 * self.idf[same[0] as usize])).collect();
        let norm = row.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
        row.into_iter().map(|(c, v)| (c, (v / norm) as f32)).collect()
    }
}

impl Encoder<str> for Vocabulary {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn dim(&self) -> usize {
        self.terms.len()
    }

    fn encode(&self, items: &[&str]) -> Vec<Result<Vec<f32>, ItemError>> {
        let dense = |text: &&str| {
            let entries = self.row(text);
            if entries.is_empty() {
                return Err(ItemError("the text has no word of the vocabulary".into()));
            }
            let mut row = vec![0.0; self.terms.len()];
            entries.into_iter().for_each(|(c, v)| row[c as usize] = v);
            Ok(row)
        };
        items.iter().map(dense).collect()
    }
}

/// The words of a text, in lower case.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let parts: Vec<String> = text
        .to_lowercase()
        .split(|c: char| !inside(c))
        .filter(|word| word.chars().nth(1).is_some())
        .map(str::to_owned)
        .collect();
    parts.into_iter()
}

/// English words that say nothing about what a text is about: articles, pronouns, prepositions,
/// conjunctions and auxiliary verbs.
pub const ENGLISH: &[&str] = &[
    "about",
    "above",
    "across",
    "after",
    "against",
    "all",
    "along",
    "also",
    "am",
    "among",
    "an",
    "and",
    "another",
    "any",
    "are",
    "around",
    "as",
    "at",
    "be",
    "been",
    "before",
    "behind",
    "being",
    "below",
    "beside",
    "between",
    "both",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "doing",
    "down",
    "during",
    "each",
    "either",
    "every",
    "few",
    "for",
    "from",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "if",
    "in",
    "inside",
    "into",
    "is",
    "it",
    "its",
    "itself",
    "may",
    "me",
    "might",
    "more",
    "most",
    "must",
    "my",
    "near",
    "no",
    "nor",
    "not",
    "of",
    "off",
    "on",
    "onto",
    "or",
    "other",
    "others",
    "our",
    "out",
    "outside",
    "over",
    "own",
    "same",
    "shall",
    "she",
    "should",
    "so",
    "some",
    "such",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "toward",
    "towards",
    "under",
    "until",
    "up",
    "upon",
    "very",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "within",
    "without",
    "would",
    "you",
    "your",
    "yours",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_weights_agree_with_scikit_learn() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/golden/tfidf.json")).unwrap();
        let texts: Vec<&str> =
            golden["texts"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        let new: Vec<&str> =
            golden["new"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        for case in golden["cases"].as_array().unwrap() {
            let tfidf = Tfidf {
                min_df: case["min_df"].as_u64().unwrap() as usize,
                max_df: case["max_df"].as_f64().unwrap(),
                max_features: case["max_features"].as_u64().map(|m| m as usize),
                stop_words: &[],
            };
            let vocabulary = tfidf.fit(&texts);
            let terms: Vec<&str> =
                case["terms"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
            assert_eq!(vocabulary.terms, terms, "{tfidf:?}");
            for (rows, expected) in [
                (vocabulary.rows(&texts).to_dense(), &case["rows"]),
                (vocabulary.rows(&new).to_dense(), &case["new_rows"]),
            ] {
                for (i, row) in expected.as_array().unwrap().iter().enumerate() {
                    for (j, v) in row.as_array().unwrap().iter().enumerate() {
                        let (got, want) = (f64::from(rows.row(i)[j]), v.as_f64().unwrap());
                        assert!((got - want).abs() < 2e-7, "{tfidf:?} row {i}: {got} {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_words_and_more_than_a_table_can_hold_are_errors_that_name_the_options() {
        let none = Settings::default();
        let error = learn(&none, &["a", "?"]).unwrap_err().to_string();
        assert_eq!(error, "there are no words left to count; loosen --min-df and --max-df");
        let text: String = (0..MANY_WORDS).map(|i| format!("w{i} ")).collect();
        let error = learn(&none, &[&text]).unwrap_err().to_string();
        assert!(error.starts_with("the texts have 50000 words, one column each"), "{error}");
        let few = Settings([("max_features".to_string(), 7.into())].into_iter().collect());
        assert_eq!(learn(&few, &[&text]).unwrap().dim(), 7);
    }

    #[test]
    fn stop_words_are_sorted_and_left_out() {
        assert!(ENGLISH.is_sorted_by(|a, b| a < b));
        let tfidf = Tfidf { stop_words: ENGLISH, ..Tfidf::default() };
        let texts = ["The dog is on the grass", "of and the"];
        let vocabulary = tfidf.fit(&texts);
        assert_eq!(vocabulary.terms, ["dog", "grass"]);
        assert_eq!(vocabulary.rows(&texts).row(1).count(), 0);
    }

    #[test]
    fn encoded_texts_are_the_rows_and_those_without_known_words_are_errors() {
        let texts = ["a dog runs", "the dog sleeps"];
        let vocabulary = Tfidf::default().fit(&texts);
        let encoded = vocabulary.encode(&["dog dog runs", "a cat"]);
        let rows = vocabulary.rows(&["dog dog runs"]).to_dense();
        assert_eq!(encoded[0].as_ref().unwrap(), rows.row(0));
        assert_eq!(encoded[1], Err(ItemError("the text has no word of the vocabulary".into())));
    }
}
