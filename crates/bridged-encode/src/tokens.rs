//! The tokeniser of BERT: a text as numbers of word pieces.
//!
//! ```text
//! clean ─► space around ideographs ─► accents off ─► lower case ─► words and punctuation ─► longest known pieces ─► [CLS] … [SEP]
//! ```
//!
//! It reads the `tokenizer.json` of a model, or its `vocab.txt`, and gives what the `BertTokenizerFast` of transformers
//! gives (a golden file holds this). Written out because the library that reads every kind of tokeniser brings some forty crates along
//! for these steps. O(letters), times the length of a word where pieces are looked for.
//!
//! Schuster & Nakajima 2012; Devlin et al. 2019.

use crate::{EncodeError, ItemError, Weights};
use bridged_math::memory;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// A word longer than this is unknown.
const LONGEST_WORD: usize = 100;

/// A vocabulary and how texts are cut into it.
#[derive(Clone, Debug)]
pub struct Tokens {
    pieces: HashMap<String, u32>,
    /// Pieces that stand for themselves wherever they are in a text, such as `[MASK]`.
    special: Vec<(String, u32)>,
    prefix: String,
    longest_word: usize,
    /// Bytes of the longest piece, so that longer ones are not looked for.
    longest_piece: usize,
    lowercase: bool,
    strip_accents: bool,
    ideographs: bool,
    clean: bool,
    unknown: u32,
    first: u32,
    last: u32,
}

impl Tokens {
    /// The tokeniser that lies beside the weights.
    pub fn beside(weights: &Weights) -> Result<Self, EncodeError> {
        let (json, text) = (weights.beside("tokenizer.json"), weights.beside("vocab.txt"));
        if json.is_file() {
            let settings = read_json(&json)?;
            return Self::from_json(&settings)
                .map_err(|reason| EncodeError::BadFile { path: json, reason });
        }
        if text.is_file() {
            let words = read_text(&text, 8)?;
            let beside = weights.beside("tokenizer_config.json");
            let settings = if beside.is_file() { read_json(&beside)? } else { Value::Null };
            return Self::from_vocabulary(&words, &settings)
                .map_err(|reason| EncodeError::BadFile { path: text, reason });
        }
        let reason = "is missing: the weights of a text encoder need the `tokenizer.json` or `vocab.txt` of the same model \
                      beside them; copy it there";
        Err(EncodeError::BadFile { path: json, reason: reason.into() })
    }

    fn from_json(json: &Value) -> Result<Self, String> {
        let (model, normal) = (&json["model"], &json["normalizer"]);
        let kind = |value: &Value| value["type"].as_str().unwrap_or("none").to_string();
        // Files of old writers leave the type of the model out; only word pieces have this prefix.
        let pieces = kind(model) == "WordPiece" || model["continuing_subword_prefix"].is_string();
        let cut = kind(&json["pre_tokenizer"]);
        if !pieces || kind(normal) != "BertNormalizer" || cut != "BertPreTokenizer" {
            return Err(format!(
                "has the tokeniser `{}` after `{}` and `{cut}`; this encoder reads that of BERT (`WordPiece` after \
                 `BertNormalizer` and `BertPreTokenizer`)",
                kind(model),
                kind(normal)
            ));
        }
        let entries = model["vocab"].as_object().ok_or("has no vocabulary (`model.vocab`)")?;
        let number = |v: &Value| v.as_u64().and_then(|id| u32::try_from(id).ok());
        let pieces: Option<HashMap<String, u32>> =
            entries.iter().map(|(piece, id)| Some((piece.clone(), number(id)?))).collect();
        let flag = |name: &str, default: bool| normal[name].as_bool().unwrap_or(default);
        let lowercase = flag("lowercase", true);
        let added = json["added_tokens"].as_array().map_or(&[][..], Vec::as_slice);
        let special = added
            .iter()
            .filter_map(|token| {
                let content = token["content"].as_str().filter(|content| !content.is_empty())?;
                Some((content.to_string(), number(&token["id"])?))
            })
            .collect();
        Self {
            pieces: pieces.ok_or("has a piece whose number is not one (`model.vocab`)")?,
            special,
            prefix: model["continuing_subword_prefix"].as_str().unwrap_or("##").to_string(),
            longest_word: model["max_input_chars_per_word"]
                .as_u64()
                .map_or(LONGEST_WORD, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            longest_piece: 0,
            lowercase,
            strip_accents: flag("strip_accents", lowercase),
            ideographs: flag("handle_chinese_chars", true),
            clean: flag("clean_text", true),
            unknown: 0,
            first: 0,
            last: 0,
        }
        .with_special(model["unk_token"].as_str().unwrap_or("[UNK]"))
    }

    fn from_vocabulary(words: &str, settings: &Value) -> Result<Self, String> {
        let pieces = words.lines().zip(0..).map(|(word, id)| (word.trim_end().to_string(), id));
        let pieces: HashMap<String, u32> = pieces.collect();
        let names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
        let special = names.iter().filter_map(|name| Some((name.to_string(), *pieces.get(*name)?)));
        let lowercase = settings["do_lower_case"].as_bool().unwrap_or(true);
        Self {
            special: special.collect(),
            pieces,
            prefix: "##".into(),
            longest_word: LONGEST_WORD,
            longest_piece: 0,
            lowercase,
            strip_accents: settings["strip_accents"].as_bool().unwrap_or(lowercase),
            ideographs: settings["tokenize_chinese_chars"].as_bool().unwrap_or(true),
            clean: true,
            unknown: 0,
            first: 0,
            last: 0,
        }
        .with_special("[UNK]")
    }

    fn with_special(mut self, unknown: &str) -> Result<Self, String> {
        let find = |name: &str| {
            let id = self.pieces.get(name).copied();
            id.ok_or_else(|| format!("has no piece `{name}`, which every text needs"))
        };
        (self.unknown, self.first, self.last) = (find(unknown)?, find("[CLS]")?, find("[SEP]")?);
        self.longest_piece = self.pieces.keys().map(String::len).max().unwrap_or(0);
        Ok(self)
    }

    /// The largest number that a text may get: of a piece, or of a token that was added.
    pub fn largest(&self) -> u32 {
        let added = self.special.iter().map(|(_, id)| id);
        self.pieces.values().chain(added).copied().max().unwrap_or(0)
    }

    /// A text in at most `most` numbers, the first and last of which are `[CLS]` and `[SEP]`.
    pub fn ids(&self, text: &str, most: usize) -> Result<Vec<u32>, ItemError> {
        let mut ids = vec![self.first];
        // Where each special token is next, looked for again only when the text is beyond it.
        let mut next: Vec<Option<usize>> =
            self.special.iter().map(|(token, _)| text.find(token)).collect();
        let mut at = 0;
        while at < text.len() && ids.len() < most {
            for (next, (token, _)) in next.iter_mut().zip(&self.special) {
                if next.is_some_and(|found| found < at) {
                    *next = text[at..].find(token).map(|found| found + at);
                }
            }
            let found = next.iter().zip(&self.special).filter_map(|(next, s)| Some(((*next)?, s)));
            // Of those that begin at the same place the longest.
            let found = found.min_by_key(|(at, (token, _))| (*at, usize::MAX - token.len()));
            let end = found.map_or(text.len(), |(found, _)| found);
            self.plain(&text[at..end], most, &mut ids);
            at = match found {
                Some((found, (token, id))) => {
                    ids.push(*id);
                    found + token.len()
                }
                None => text.len(),
            };
        }
        if ids.len() == 1 {
            return Err(ItemError("the text is empty".into()));
        }
        ids.truncate(most.max(2) - 1);
        ids.push(self.last);
        Ok(ids)
    }

    /// The pieces of a text without special tokens, at least up to `most` numbers.
    fn plain(&self, text: &str, most: usize, ids: &mut Vec<u32>) {
        let normal = self.normal(text);
        for word in normal.split(char::is_whitespace) {
            if ids.len() >= most {
                break;
            }
            for part in word.split_inclusive(is_punctuation) {
                let mark = part.chars().next_back().filter(|c| is_punctuation(*c));
                let (word, mark) = part.split_at(part.len() - mark.map_or(0, char::len_utf8));
                self.word(word, ids);
                self.word(mark, ids);
            }
        }
    }

    fn normal(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                c if self.clean && is_control(c) => {}
                c if self.clean && c.is_whitespace() => clean.push(' '),
                c if self.ideographs && is_ideograph(c) => clean.extend([' ', c, ' ']),
                c => clean.push(c),
            }
        }
        if self.strip_accents {
            clean = clean
                .nfd()
                .filter(|c| c.general_category() != GeneralCategory::NonspacingMark)
                .collect();
        }
        if self.lowercase { clean.chars().flat_map(char::to_lowercase).collect() } else { clean }
    }

    /// The longest known piece from the left, again and again; unknown as a whole if that fails.
    fn word(&self, word: &str, ids: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let start = ids.len();
        let mut rest = word;
        let mut piece = String::new();
        let mut fits = word.chars().count() <= self.longest_word;
        while fits && !rest.is_empty() {
            let mut most = self.longest_piece.min(rest.len());
            while !rest.is_char_boundary(most) {
                most -= 1;
            }
            let ends = rest[..most].char_indices().rev().map(|(at, c)| at + c.len_utf8());
            let found = ends.into_iter().find_map(|end| {
                piece.clear();
                if rest.len() < word.len() {
                    piece.push_str(&self.prefix);
                }
                piece.push_str(&rest[..end]);
                self.pieces.get(&piece).map(|id| (end, *id))
            });
            match found {
                Some((end, id)) => {
                    ids.push(id);
                    rest = &rest[end..];
                }
                None => fits = false,
            }
        }
        if !fits {
            ids.truncate(start);
            ids.push(self.unknown);
        }
    }
}

/// The tokens of a text by a `tokenizer.json` or a `vocab.txt`, none beyond the largest; for fuzzing.
pub fn fuzz_tokens(file: &str, text: &str) -> Option<Vec<u32>> {
    let tokens = match serde_json::from_str::<Value>(file) {
        Ok(json) => Tokens::from_json(&json),
        Err(_) => Tokens::from_vocabulary(file, &Value::Null),
    };
    let tokens = tokens.ok()?;
    let ids = tokens.ids(text, 64).ok()?;
    assert!((2..=64).contains(&ids.len()), "{} tokens", ids.len());
    assert!(ids.iter().all(|id| *id <= tokens.largest()), "a token beyond the largest");
    Some(ids)
}

fn is_control(c: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse};
    let written = matches!(c, '\t' | '\n' | '\r');
    c == '\u{fffd}' || !written && matches!(c.general_category(), Control | Format | PrivateUse)
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Ideographs, which are words of their own; the ranges are those of BERT.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

/// A file of JSON.
pub fn read_json(path: &Path) -> Result<Value, EncodeError> {
    let text = read_text(path, 16)?;
    serde_json::from_str(&text).map_err(|e| EncodeError::BadFile {
        path: PathBuf::from(path),
        reason: format!("is not the JSON that it should be: {e}"),
    })
}

/// A text file that becomes a table of words; `growth` is how much larger that table may be than the file.
fn read_text(path: &Path, growth: u64) -> Result<String, EncodeError> {
    let len = std::fs::metadata(path).map_err(|e| unreadable(path, e))?.len();
    memory::require("its table of words", len.saturating_mul(growth)).map_err(|e| {
        EncodeError::BadFile { path: PathBuf::from(path), reason: format!("is too large: {e}") }
    })?;
    std::fs::read_to_string(path).map_err(|e| unreadable(path, e))
}

fn unreadable(path: &Path, error: std::io::Error) -> EncodeError {
    EncodeError::BadFile { path: PathBuf::from(path), reason: format!("cannot be read: {error}") }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn golden() -> Value {
        serde_json::from_str(include_str!("../../../tests/golden/encode_text.json")).unwrap()
    }

    /// The vocabulary of the golden file.
    pub fn vocabulary() -> String {
        let golden = golden();
        let words: Vec<&str> =
            golden["vocabulary"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
        words.join("\n")
    }

    #[test]
    fn texts_are_cut_as_transformers_cuts_them() {
        let golden = golden();
        for case in golden["tokens"].as_array().unwrap() {
            let settings = serde_json::json!({ "do_lower_case": case["lowercase"] });
            let plain = Tokens::from_vocabulary(&vocabulary(), &settings).unwrap();
            let json = Tokens::from_json(&case["tokenizer"]).unwrap();
            for text in case["texts"].as_array().unwrap() {
                let expected: Vec<u32> = text["ids"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|v| v.as_u64().unwrap() as u32)
                    .collect();
                let given = text["text"].as_str().unwrap();
                for tokens in [&plain, &json] {
                    // An empty text is an error here, and [CLS] [SEP] there.
                    let got = tokens.ids(given, 16).unwrap_or(vec![tokens.first, tokens.last]);
                    assert_eq!(got, expected, "{given:?}");
                }
            }
        }
    }

    #[test]
    fn other_tokenisers_are_refused_by_name() {
        let json =
            serde_json::json!({"model": {"type": "BPE"}, "pre_tokenizer": {"type": "ByteLevel"}});
        let error = Tokens::from_json(&json).unwrap_err();
        assert!(error.contains("`BPE` after `none` and `ByteLevel`"), "{error}");
        let error = Tokens::from_vocabulary("a\nb", &Value::Null).unwrap_err();
        assert!(error.contains("has no piece `[UNK]`"), "{error}");
    }

    /// A tokeniser of the golden vocabulary with these added tokens.
    fn with_added(added: Value) -> Tokens {
        let mut json = golden()["tokens"][0]["tokenizer"].clone();
        json["added_tokens"] = added;
        Tokens::from_json(&json).unwrap()
    }

    #[test]
    fn an_added_token_counts_among_the_numbers_that_a_text_may_get() {
        let tokens = with_added(serde_json::json!([{"content": "<huge>", "id": 4_000_000_000u32}]));
        assert_eq!(tokens.ids("<huge>", 16).unwrap()[1], 4_000_000_000);
        assert_eq!(tokens.largest(), 4_000_000_000);
    }

    #[test]
    fn an_added_token_without_letters_is_no_token() {
        let tokens = with_added(serde_json::json!([{"content": "", "id": 1}]));
        let plain = with_added(serde_json::json!([]));
        assert_eq!(tokens.ids("a dog", 16), plain.ids("a dog", 16));
    }

    #[test]
    fn many_added_tokens_and_a_long_text_take_a_moment() {
        let added: Vec<Value> =
            (0..2000).map(|i| serde_json::json!({"content": format!("<{i}>"), "id": 1})).collect();
        let mut tokens = with_added(Value::Array(added));
        tokens.longest_word = usize::MAX; // as a `max_input_chars_per_word` may say
        let text = ["a <7> ".repeat(200), "x".repeat(200_000)].concat();
        let start = std::time::Instant::now();
        assert_eq!(tokens.ids(&text, 512).unwrap().len(), 512);
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn a_text_without_words_is_empty() {
        let tokens = Tokens::from_vocabulary(&vocabulary(), &Value::Null).unwrap();
        for text in ["", "  \n\t", "\u{200b}\u{0}"] {
            assert_eq!(
                tokens.ids(text, 16),
                Err(ItemError("the text is empty".into())),
                "{text:?}"
            );
        }
    }
}
