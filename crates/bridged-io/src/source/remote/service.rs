//! The services that URLs name: how each is reached, and what to set if it refuses.

use crate::error::TableError;
use crate::source::SourceError;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, Error, ObjectStore, RetryConfig};
use std::borrow::Cow;
use std::str::FromStr;
use std::sync::{Arc, Once};
use std::time::Duration;

/// Seconds without a byte after which a server is given up, unless `BRIDGED_TIMEOUT` says otherwise.
const TIMEOUT: u64 = 30;

/// Who answers for a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Google,
    Azure,
    Web,
}

/// What a user wrote.
#[derive(Clone, Debug)]
pub(super) struct Url {
    pub service: Service,
    scheme: String,
    /// The bucket, the container or the host.
    host: String,
    /// As it was written, for patterns.
    pub path: String,
    pub key: Key,
    /// What follows a question mark: a signature, as a rule.
    pub secret: Option<String>,
}

impl Url {
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let shown = text.split(['?', '#']).next().unwrap_or_default().to_owned();
        let wrong = |detail: String| SourceError::Remote { url: shown.clone(), detail };
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let scheme = scheme.to_lowercase();
        let service = match scheme.as_str() {
            "s3" | "s3a" => Service::S3,
            "gs" => Service::Google,
            "az" | "abfs" | "abfss" => Service::Azure,
            "http" | "https" => Service::Web,
            _ => {
                let detail =
                    "this kind of URL is not known; s3://, gs://, az:// and https:// are read";
                return Err(wrong(detail.to_owned()).into());
            }
        };
        // `?` is a letter of patterns elsewhere.
        let (rest, secret) = match (service, rest.split_once('?')) {
            (Service::Web, Some((rest, secret))) => (rest, Some(secret.to_owned())),
            _ => (rest, None),
        };
        let rest =
            if service == Service::Web { rest.split('#').next().unwrap_or("") } else { rest };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() {
            let what = if service == Service::Web { "host" } else { "bucket" };
            return Err(wrong(format!("no {what} is named")).into());
        }
        let key = match service {
            Service::Web => Key::from_url_path(path),
            _ => Key::parse(path.trim_end_matches('/')).or_else(|_| Ok(Key::from(path))),
        };
        let key = key.map_err(|e: object_store::path::Error| wrong(e.to_string()))?;
        let (host, path) = (host.to_owned(), path.to_owned());
        Ok(Self { service, scheme, host, path, key, secret })
    }

    /// Without what may be secret.
    pub fn shown(&self) -> String {
        // A name and a password may stand before the host.
        let host = self.host.rsplit('@').next().unwrap_or_default();
        format!("{}://{host}/{}", self.scheme, self.path)
    }

    /// The URL of an object of the same bucket.
    pub fn shown_key(&self, key: &Key) -> String {
        match self.service {
            Service::Web => self.shown(),
            _ => format!("{}://{}/{key}", self.scheme, self.host),
        }
    }

    pub fn is_pattern(&self) -> bool {
        let letters: &[char] = if self.service == Service::Web { &['*'] } else { &['*', '?', '['] };
        self.path.contains(letters)
    }

    /// The folders before the first letter of a pattern.
    pub fn fixed(&self) -> Key {
        let start = self.path.find(['*', '?', '[']).unwrap_or(self.path.len());
        let folder = self.path[..start].rsplit_once('/').map_or("", |(folder, _)| folder);
        Key::parse(folder).unwrap_or_else(|_| Key::from(folder))
    }

    /// Who answers for it.
    pub fn store(&self) -> Result<Arc<dyn ObjectStore>, TableError> {
        // Without it, TLS asks which of several implementations is meant.
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let made: Result<Arc<dyn ObjectStore>, Error> = match self.service {
            Service::S3 => {
                let builder = AmazonS3Builder::new().with_retry(retry()).with_client_options(
                    options()
                        .with_allow_http(is_http("AWS_ENDPOINT_URL") || is_http("AWS_ENDPOINT")),
                );
                let builder = from_env("AWS_", builder, |b, key: AmazonS3ConfigKey, value| {
                    b.with_config(key, value)
                });
                builder.with_bucket_name(&self.host).build().map(|s| Arc::new(s) as _)
            }
            Service::Google => {
                let builder = GoogleCloudStorageBuilder::new().with_retry(retry());
                let builder = builder.with_client_options(options());
                let builder = from_env("GOOGLE_", builder, |b, key: GoogleConfigKey, value| {
                    b.with_config(key, value)
                });
                let builder = match std::env::var("SERVICE_ACCOUNT") {
                    Ok(path) => builder.with_service_account_path(path),
                    Err(_) => builder,
                };
                builder.with_bucket_name(&self.host).build().map(|s| Arc::new(s) as _)
            }
            Service::Azure => {
                let builder = MicrosoftAzureBuilder::new().with_retry(retry());
                let builder = builder.with_client_options(
                    options().with_allow_http(is_http("AZURE_STORAGE_ENDPOINT")),
                );
                let builder = from_env("AZURE_", builder, |b, key: AzureConfigKey, value| {
                    b.with_config(key, value)
                });
                builder.with_container_name(&self.host).build().map(|s| Arc::new(s) as _)
            }
            Service::Web => {
                let secret =
                    self.secret.as_ref().map_or(String::new(), |secret| format!("?{secret}"));
                let base = format!("{}://{}/{secret}", self.scheme, self.host);
                let options = options().with_allow_http(self.scheme == "http");
                let builder = HttpBuilder::new().with_url(base).with_retry(retry());
                builder.with_client_options(options).build().map(|s| Arc::new(s) as _)
            }
        };
        made.map_err(|error| {
            let detail = self.service.explain(error, self.secret.as_deref());
            SourceError::Remote { url: self.shown(), detail }.into()
        })
    }
}

/// Whether the server that a variable names is reached without TLS.
fn is_http(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|url| url.starts_with("http://"))
}

/// What the environment says, as the tools of the service understand it.
fn from_env<B, K: FromStr>(start: &str, builder: B, set: impl Fn(B, K, String) -> B) -> B {
    let variables = std::env::vars_os().filter_map(|(key, value)| {
        let (key, value) = (key.into_string().ok()?, value.into_string().ok()?);
        let key = key.starts_with(start).then(|| key.to_ascii_lowercase().parse().ok())??;
        Some((key, value))
    });
    variables.fold(builder, |builder, (key, value)| set(builder, key, value))
}

fn timeout() -> Duration {
    let said = std::env::var("BRIDGED_TIMEOUT").ok().and_then(|text| text.trim().parse().ok());
    Duration::from_secs(said.filter(|seconds| *seconds > 0).unwrap_or(TIMEOUT))
}

/// A long answer is fine, a long silence is not.
fn options() -> ClientOptions {
    let timeout = timeout();
    let connect = timeout.min(Duration::from_secs(10));
    ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(connect)
        .with_read_timeout(timeout)
}

/// Five more attempts, after a tenth of a second and then about twice as long each time.
fn retry() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(5),
        base: 2.0,
    };
    RetryConfig { backoff, max_retries: 5, retry_timeout: Duration::from_secs(120) }
}

impl Service {
    /// Whether it can be asked which objects there are.
    pub fn can_list(self) -> bool {
        self != Self::Web
    }

    /// What to set so that it lets somebody in.
    fn credentials(self) -> &'static str {
        match self {
            Self::S3 => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN for a temporary key), or \
                 AWS_SKIP_SIGNATURE=true for a public bucket"
            }
            Self::Google => {
                "set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account, or \
                 GOOGLE_SKIP_SIGNATURE=true for a public bucket"
            }
            Self::Azure => {
                "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or \
                 AZURE_SKIP_SIGNATURE=true for a public container"
            }
            Self::Web => "is a sign-in or a signed URL needed, or has the signature expired?",
        }
    }

    fn server(self) -> &'static str {
        match self {
            Self::S3 => "; for another server than that of AWS, set AWS_ENDPOINT_URL",
            _ => "",
        }
    }

    /// What went wrong and what to do, without the secret.
    pub fn explain(self, error: Error, secret: Option<&str>) -> String {
        let text = said(&error);
        let text = match secret.filter(|secret| !secret.is_empty()) {
            Some(secret) => text.replace(secret, "…"),
            None => text,
        };
        let credentials = self.credentials();
        // Where keys are looked for when there are none: the metadata servers of virtual machines.
        let for_keys =
            ["169.254.169.254", "metadata.google", "latest/api/token", "latest/meta-data"];
        match &error {
            Error::NotFound { .. } => {
                format!("it is not there (404); check the name{}", self.server())
            }
            Error::PermissionDenied { .. } => format!("access is denied (403); {credentials}"),
            Error::Unauthenticated { .. } => {
                format!("the server wants to know who asks (401); {credentials}")
            }
            Error::Generic { .. } if for_keys.iter().any(|place| text.contains(place)) => {
                format!("no credentials were found; {credentials}")
            }
            Error::Generic { .. }
                if text.contains("must be specified") || text.contains("not specified") =>
            {
                format!("{text}; {credentials}")
            }
            Error::Generic { .. } if is_slow(&text) => {
                let seconds = timeout().as_secs();
                format!(
                    "the server sent nothing for {seconds} seconds; try again, or set BRIDGED_TIMEOUT to more seconds ({text})"
                )
            }
            _ => format!("{text}{}", self.server()),
        }
    }
}

fn is_slow(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("timed out") || text.contains("timeout")
}

/// An error and its causes, each once.
fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text.split_whitespace().map(unsigned).collect::<Vec<_>>().join(" ")
}

/// A word without what follows the question mark of a URL: a signature or a token, as a rule.
fn unsigned(word: &str) -> Cow<'_, str> {
    let question = word.find("://").and_then(|at| Some(at + word[at..].find('?')?));
    match question {
        Some(at) => format!("{}?…", &word[..at]).into(),
        None => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_service_a_bucket_and_a_key() {
        let url = Url::parse("s3://bucket/a/b c.parquet").unwrap();
        assert_eq!((url.service, url.key.as_ref()), (Service::S3, "a/b c.parquet"));
        assert_eq!(url.shown(), "s3://bucket/a/b c.parquet");
        let url = Url::parse("gs://bucket/x/y=*/[ab]?.csv").unwrap();
        assert!(url.is_pattern() && url.fixed().as_ref() == "x");
        let url = Url::parse("https://me:pass@host:8080/a%20b.csv?X-Amz-Signature=1#top").unwrap();
        assert_eq!(url.shown(), "https://host:8080/a%20b.csv");
        assert_eq!(url.key.as_ref(), "a b.csv");
        assert_eq!(url.secret.as_deref(), Some("X-Amz-Signature=1#top"));
        let error = |text: &str| Url::parse(text).unwrap_err().to_string();
        assert!(error("ftp://host/a.csv").contains("this kind of URL is not known"));
        assert!(error("s3:///a.csv").ends_with("no bucket is named"));
    }

    #[test]
    fn what_may_be_secret_is_not_said() {
        let source = "GET https://host/a?sig=abc failed".into();
        let error = Error::Generic { store: "HTTP", source };
        let text = Service::Web.explain(error, Some("sig=abc"));
        assert!(!text.contains("abc") && text.contains("https://host/a?… failed"), "{text}");
        let source = "GET https://account.blob.host/a?sv=1&sig=abc - 500".into();
        let text = Service::Azure.explain(Error::Generic { store: "Azure", source }, None);
        assert!(!text.contains("abc") && text.contains("host/a?… - 500"), "{text}");
    }
}
