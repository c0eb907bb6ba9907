//! The secret that requests carry where the server can be reached from elsewhere.

use crate::ServeError;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use subtle::ConstantTimeEq;

/// Characters that a secret must have.
const SHORTEST: usize = 16;
/// And may have.
const LONGEST: usize = 4096;

/// A secret; it is never printed.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// The secret in a file that nobody else can read; spaces and line ends around it do not count.
    pub fn read(path: &Path) -> Result<Self, ServeError> {
        let refused = |reason: String| ServeError::TokenFile { path: path.to_path_buf(), reason };
        let file =
            File::open(path).map_err(|e| refused(format!("the token cannot be read: {e}")))?;
        let about = file.metadata().map_err(|e| refused(e.to_string()))?;
        if !about.is_file() {
            return Err(refused("a file with a token is needed, and this is none".into()));
        }
        if let Some(reason) = readable_by_others(&about) {
            return Err(refused(reason));
        }
        let mut text = String::new();
        let read = file.take(LONGEST as u64 + 3).read_to_string(&mut text);
        read.map_err(|e| refused(format!("the token cannot be read: {e}")))?;
        let token = text.trim();
        match token.len() {
            0..SHORTEST => Err(refused(format!(
                "a token has at least {SHORTEST} characters, so that nobody can guess it; make one with \
                 `openssl rand -hex 32`"
            ))),
            SHORTEST..=LONGEST if token.bytes().all(|b| b.is_ascii_graphic()) => {
                Ok(Self(token.to_owned()))
            }
            SHORTEST..=LONGEST => Err(refused(
                "a token is one word of letters, digits and signs of ASCII, since a header carries it"
                    .into(),
            )),
            _ => Err(refused(format!("a token has at most {LONGEST} characters"))),
        }
    }

    /// Whether this is the secret. How long the answer takes tells nothing but its length.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

/// Why others than the owner can read a file; `None` if they cannot, or where the system does not say.
#[cfg(unix)]
fn readable_by_others(about: &std::fs::Metadata) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = about.permissions().mode();
    (mode & 0o077 != 0).then(|| {
        format!(
            "other users may read the token (its mode is {:03o}); take that from them with `chmod 600`",
            mode & 0o777
        )
    })
}

#[cfg(not(unix))]
fn readable_by_others(_: &std::fs::Metadata) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap(); // its mode is 600
        std::fs::write(file.path(), content).unwrap();
        file
    }

    #[test]
    fn a_token_is_one_long_word() {
        let token = Token::read(file("  0123456789abcdef\n").path()).unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for other in [&b"0123456789abcdeg"[..], b"0123456789abcde", b"", b"0123456789abcdef "] {
            assert!(!token.is(other));
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
        for (content, said) in [
            ("short", "at least 16 characters"),
            ("", "at least 16 characters"),
            ("two words that are long", "one word"),
            (&"a".repeat(5000), "at most 4096"),
        ] {
            let error = Token::read(file(content).path()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_read_is_no_secret() {
        use std::os::unix::fs::PermissionsExt;
        let file = file("0123456789abcdef");
        for mode in [0o604, 0o640, 0o660, 0o602] {
            std::fs::set_permissions(file.path(), PermissionsExt::from_mode(mode)).unwrap();
            let error = Token::read(file.path()).unwrap_err().to_string();
            assert!(error.contains("other users may read the token"), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(Token::read(folder.path()).is_err());
    }
}
