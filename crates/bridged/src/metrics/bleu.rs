//! BLEU: how much of the wording of retrieved texts is that of their references.
//!
//! ```text
//! BLEU = 100 · BP · exp(¼ Σ_{n=1..4} log p_n),   p_n = matched n-grams / n-grams of the candidates
//! BP = exp(min(0, 1 − r/c)),   c the words of the candidates, r those of the closest references
//! ```
//!
//! over a whole set of texts (Papineni et al. 2002). An n-gram counts as often as it occurs in the
//! reference that has it most. Where an order has n-grams but no match, its p_n is 1/2, 1/4, … of one
//! match (the `exp` smoothing). Words are those of the `13a` rules: punctuation apart, except
//! inside numbers. As sacreBLEU with its defaults.

use super::{Better, MetricError, Score, Scorer};
use std::collections::HashMap;

pub(super) const SCORER: Scorer = Scorer {
    name: "bleu",
    title: "BLEU",
    about: "wording that retrieved texts share with their references, 0 to 100",
    better: Better::Higher,
    score: Score::Texts(|texts| bleu(texts.retrieved, texts.references)),
};

/// The longest n-grams that count.
const ORDERS: usize = 4;

/// BLEU of `candidates`, of which the i-th is held against all texts of `references[i]`; 0 to 100.
///
/// ```
/// use bridged::metrics::bleu;
/// let references = [vec!["a dog runs on the beach"], vec!["two men", "two tall men talk"]];
/// assert!((bleu(&["a dog runs on the beach", "two tall men talk"], &references)? - 100.0).abs() < 1e-9);
/// assert!(bleu(&["a dog runs in the snow", "two men talk"], &references)? < 50.0);
/// # Ok::<(), bridged::metrics::MetricError>(())
/// ```
pub fn bleu<S: AsRef<str>, R: AsRef<[S2]>, S2: AsRef<str>>(
    candidates: &[S],
    references: &[R],
) -> Result<f64, MetricError> {
    super::check_length("references", references.len(), candidates.len())?;
    if candidates.is_empty() || references.iter().any(|r| r.as_ref().is_empty()) {
        return Err(MetricError::NoRows);
    }
    let (mut matched, mut total) = ([0u64; ORDERS], [0u64; ORDERS]);
    let (mut length, mut closest) = (0, 0);
    for (candidate, references) in candidates.iter().zip(references) {
        let words = words(candidate.as_ref());
        let references: Vec<Vec<String>> =
            references.as_ref().iter().map(|r| self::words(r.as_ref())).collect();
        length += words.len();
        // The shorter of two that are equally close.
        let distance = |r: &&Vec<String>| (r.len().abs_diff(words.len()), r.len());
        closest += references.iter().min_by_key(distance).map_or(0, Vec::len);
        for n in 1..=ORDERS {
            let allowed: Vec<HashMap<&[String], u64>> =
                references.iter().map(|r| counts(r, n)).collect();
            for (gram, count) in counts(&words, n) {
                let most = allowed.iter().filter_map(|a| a.get(gram)).max();
                matched[n - 1] += count.min(most.copied().unwrap_or(0));
                total[n - 1] += count;
            }
        }
    }
    Ok(score(matched, total, length, closest))
}

fn score(matched: [u64; ORDERS], total: [u64; ORDERS], length: usize, closest: usize) -> f64 {
    if matched[0] == 0 {
        return 0.0;
    }
    let (mut log_sum, mut orders, mut smoothing) = (0.0, 0, 1.0);
    for (&matched, &total) in matched.iter().zip(&total) {
        if total == 0 {
            break;
        }
        let share = if matched == 0 {
            smoothing *= 2.0;
            1.0 / (smoothing * total as f64)
        } else {
            matched as f64 / total as f64
        };
        log_sum += share.ln();
        orders += 1;
    }
    if orders < ORDERS {
        return 0.0; // no text of four words: nothing to score at this order
    }
    let brevity = (1.0 - closest as f64 / length as f64).min(0.0).exp();
    100.0 * brevity * (log_sum / ORDERS as f64).exp()
}

/// How often each n-gram occurs.
fn counts(words: &[String], n: usize) -> HashMap<&[String], u64> {
    let mut counts = HashMap::new();
    for gram in words.windows(n) {
        *counts.entry(gram).or_insert(0) += 1;
    }
    counts
}

/// The words of a text by the rules of mteval 13a.
fn words(text: &str) -> Vec<String> {
    let text = text.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    let text = match text.contains('&') {
        true => text
            .replace("&quot;", "\"")
            .replace("&amp;", "&")
            .replace("&lt;", "<")
            .replace("&gt;", ">"),
        false => text,
    };
    let characters: Vec<char> = format!(" {text} ").chars().collect();
    let digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    let mut spaced = String::with_capacity(text.len() + 16);
    for (at, &c) in characters.iter().enumerate() {
        let apart = match c {
            '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/' => true,
            // A point or comma is apart unless it stands between digits.
            '.' | ',' => !digit(at.wrapping_sub(1)) || !digit(at + 1),
            // A dash is apart after a digit.
            '-' => digit(at.wrapping_sub(1)),
            _ => false,
        };
        if apart {
            spaced.extend([' ', c, ' ']);
        } else {
            spaced.push(c);
        }
    }
    spaced.split_whitespace().map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_sacrebleu() {
        let golden: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/golden/bleu.json")).unwrap();
        let cases = golden["cases"].as_array().unwrap();
        assert!(cases.len() >= 6);
        for case in cases {
            let candidates: Vec<String> =
                serde_json::from_value(case["candidates"].clone()).unwrap();
            let references: Vec<Vec<String>> =
                serde_json::from_value(case["references"].clone()).unwrap();
            let (found, expected) =
                (bleu(&candidates, &references).unwrap(), case["bleu"].as_f64().unwrap());
            assert!((found - expected).abs() < 1e-9, "{}: {found} {expected}", case["name"]);
        }
    }

    #[test]
    fn punctuation_is_apart_but_not_inside_numbers() {
        assert_eq!(
            words("It's 1,000.5 km, or so-so (1-2)."),
            ["It's", "1,000.5", "km", ",", "or", "so-so", "(", "1", "-", "2", ")", "."]
        );
    }

    #[test]
    fn nothing_to_score_is_an_error() {
        let none: [&str; 0] = [];
        let references: [Vec<&str>; 0] = [];
        assert!(bleu(&none, &references).is_err());
        assert!(bleu(&["a"], &[Vec::<&str>::new()]).is_err());
    }
}
