//! Answers in a table of pairs: a column `answer` with yes, no or unsure.

use crate::error::TableError;
use bridged_math::words::{count, plural};
use std::path::Path;

/// The name of the column.
pub(crate) const COLUMN: &str = "answer";

/// What somebody said of two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// They belong together.
    Yes,
    /// They do not.
    No,
    /// Nobody knows, or nobody has said.
    Open,
}

/// The answer that a cell spells; an error if it spells none.
pub(crate) fn answer(cell: &str, path: &Path, row: usize) -> Result<Answer, TableError> {
    match cell.trim().to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok(Answer::Yes),
        "no" | "false" => Ok(Answer::No),
        "unsure" | "" => Ok(Answer::Open),
        _ => Err(TableError::NotAnAnswer { path: path.to_path_buf(), row, cell: cell.to_owned() }),
    }
}

/// How many answers are open, in a sentence; none if none is.
pub(crate) fn note(answers: &[Answer]) -> Option<String> {
    let open = answers.iter().filter(|a| **a == Answer::Open).count();
    let all = plural(answers.len(), "row");
    (open > 0)
        .then(|| format!("left out {} of {all}: their answer is unsure or empty", count(open)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_yes_no_unsure_or_nothing() {
        let read = |cell: &str| answer(cell, Path::new("p.csv"), 3);
        assert_eq!(read(" Yes ").unwrap(), Answer::Yes);
        assert_eq!(read("no").unwrap(), Answer::No);
        assert_eq!(read("UNSURE").unwrap(), Answer::Open);
        assert_eq!(read("").unwrap(), Answer::Open);
        assert_eq!(
            read("maybe").unwrap_err().to_string(),
            "`p.csv`, column `answer`: row 3 (counted from 0) holds `maybe`; an answer is yes, no or unsure"
        );
    }
}
