//! Names of columns: patterns that choose among them, the one that was meant, and how messages show them.

use bridged_math::words::count;

/// Whether a name is that of a pattern in which `*` stands for any letters.
pub fn fits_pattern(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|start| name.strip_prefix(start)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(end) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(end)
}

/// The name that is spelled most like the one given, if one is.
pub fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // What nobody types is not compared: it costs the product of the lengths.
    if name.len() > 200 {
        return None;
    }
    // `Photo-ID` is `photo_id`.
    let plain = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(name);
    let like = known.filter(|k| !k.is_empty() && k.len() <= 200 && *k != name);
    let score = |k: &str| {
        let k = plain(k);
        // One slip of a finger, as in `fti`, weighs much in a short name.
        let slip = wanted.len() > 2 && strsim::osa_distance(&k, &wanted) == 1;
        strsim::jaro_winkler(&k, &wanted).max(if slip { 0.9 } else { 0.0 })
    };
    let like = like.map(|k| (score(k), k));
    let best = like.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.8);
    best.map(|(_, k)| k.to_owned())
}

/// The end of a sentence that names an unknown column.
pub fn did_you_mean(similar: &Option<String>) -> String {
    similar.as_ref().map_or(String::new(), |name| format!("; did you mean `{}`?", shown(name)))
}

/// A name or an id as messages show it: at most 80 letters of it.
pub fn shown(name: &str) -> std::borrow::Cow<'_, str> {
    match name.char_indices().nth(80) {
        None => name.into(),
        Some((end, _)) => format!("{}… ({} bytes)", &name[..end], name.len()).into(),
    }
}

/// The first few of those names, and how many there are.
pub fn some_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const FEW: usize = 6;
    let mut names = names.into_iter();
    let first: Vec<String> =
        names.by_ref().take(FEW).map(|name| format!("`{}`", shown(name))).collect();
    match names.count() {
        0 => first.join(", "),
        more => format!("{}, … ({} in all)", first.join(", "), count(FEW + more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::no_such_column;

    #[test]
    fn long_names_are_cut_in_messages() {
        let long = "é".repeat(5_000_000);
        let error = no_such_column(&long, ["a"].into_iter()).to_string();
        assert!(error.len() < 300, "{}", error.len());
        assert!(error.contains("(10000000 bytes)"), "{error}");
        assert_eq!(some_names(["a", "b"]), "`a`, `b`");
        let many: Vec<String> = (0..1000).map(|i| format!("f{i}")).collect();
        let shown = some_names(many.iter().map(String::as_str));
        assert_eq!(shown, "`f0`, `f1`, `f2`, `f3`, `f4`, `f5`, … (1,000 in all)");
    }
}
