//! Text from outside, such as ids, names of columns and paths, as a terminal may show it.
//!
//! Control characters could move the cursor, change colours or rewrite what was printed before; marks of direction could
//! turn a name around. Both are shown as `\u{1b}`. What is too long to read is cut.

use std::borrow::Cow;

/// A quoted piece of a message is cut beyond this many characters.
const QUOTED: usize = 300;

/// A whole message is cut beyond this many characters.
const MESSAGE: usize = 6_000;

/// Whether a terminal acts on a character instead of showing it: control characters, marks of direction, separators of
/// lines and paragraphs, and the mark of byte order.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || c == '\u{feff}'
}

/// A text on one line, with everything visible.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// A message with everything visible, cut to what a person reads. It may have several lines; those after the first are
/// indented, so that a text from a file cannot pass for a line of ours.
pub fn message(text: &str) -> String {
    let text = shortened(text.trim_end());
    let lines: Vec<Cow<'_, str>> =
        text.split('\n').map(|line| visible(line.trim_end_matches('\r'))).collect();
    lines.join("\n  ")
}

/// The same text with long quotations cut, and cut itself where it is still too long.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= QUOTED {
        return Cow::Borrowed(text);
    }
    // Every second piece between backquotes is a quotation.
    let pieces = text.split('`').enumerate();
    let cut: Vec<Cow<'_, str>> = pieces
        .map(|(i, piece)| if i % 2 == 1 { head(piece, QUOTED) } else { Cow::Borrowed(piece) })
        .collect();
    Cow::Owned(head(&cut.join("`"), MESSAGE).into_owned())
}

/// The beginning of a text that is longer than that, and how long it is.
fn head(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let kept = text.char_indices().nth(most / 3).map_or(text.len(), |(at, _)| at);
            let all = crate::printer::count(text.chars().count());
            Cow::Owned(format!("{}… ({all} characters)", &text[..kept]))
        }
    }
}

/// JSON whose strings hold no hidden character: they are written as JSON's own escapes, so the data are the same.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Outside of strings the only control character is the end of a line, and JSON allows none inside.
        if c != '\n' && is_hidden(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_shown_and_all_else_stays() {
        assert_eq!(visible("a\u{1b}[2Jb\u{7}\u{9b}"), "a\\u{1b}[2Jb\\u{7}\\u{9b}");
        assert_eq!(visible("x\u{202e}gpj.exe\u{2066}"), "x\\u{202e}gpj.exe\\u{2066}");
        assert_eq!(visible("one\ntwo\tthree\r"), "one\\ntwo\\tthree\\r");
        for fine in ["Grüße", "日本語", "👩‍🔬", "a\u{301}", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]
        {
            assert_eq!(visible(fine), fine);
        }
    }

    #[test]
    fn a_message_keeps_its_lines_but_none_looks_like_a_new_message() {
        assert_eq!(message("line one\nerror: fake\u{1b}[0m"), "line one\n  error: fake\\u{1b}[0m");
    }

    #[test]
    fn ten_million_characters_in_a_message_are_cut() {
        let long = "x".repeat(10_000_000);
        let said = message(&format!("`pairs.csv`: pair 1 names `{long}`, which is not an id of x"));
        assert!(said.len() < 500, "{}", said.len());
        assert!(said.ends_with("… (10,000,000 characters)`, which is not an id of x"), "{said}");
        assert!(message(&long).len() < 7_000);
    }

    #[test]
    fn json_means_the_same_with_its_characters_escaped() {
        let value = serde_json::json!({"id": "a\u{202e}b\u{9b}c\u{7f}\u{1b}", "n": [1, 2]});
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.contains(|c| c != '\n' && is_hidden(c)));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
