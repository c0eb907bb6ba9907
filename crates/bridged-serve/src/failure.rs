//! What a client is told that cannot be answered: a status, and JSON like that of `bridged --json`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The status of the response.
    pub status: StatusCode,
    /// A whole sentence.
    pub message: String,
}

impl Failure {
    /// With that status.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// The request cannot be understood.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// It is understood, but the model cannot answer it.
    pub fn unfit(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// There is more to do than can be done.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// A defect of this program.
    pub fn defect(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// One word for programs.
    fn kind(&self) -> &'static str {
        match self.status {
            StatusCode::BAD_REQUEST => "malformed",
            StatusCode::UNAUTHORIZED => "unauthorized",
            StatusCode::FORBIDDEN => "forbidden",
            StatusCode::NOT_FOUND => "not-found",
            StatusCode::METHOD_NOT_ALLOWED => "method",
            StatusCode::NOT_ACCEPTABLE => "not-acceptable",
            StatusCode::REQUEST_TIMEOUT => "timeout",
            StatusCode::PAYLOAD_TOO_LARGE => "too-large",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "media-type",
            StatusCode::UNPROCESSABLE_ENTITY => "unfit",
            StatusCode::MISDIRECTED_REQUEST => "host",
            StatusCode::SERVICE_UNAVAILABLE => "busy",
            _ => "failed",
        }
    }
}

/// What the method of a model says of rows and questions.
impl From<bridged::Error> for Failure {
    fn from(error: bridged::Error) -> Self {
        use bridged::Error as E;
        match &error {
            E::Dimension { .. }
            | E::NotFinite { .. }
            | E::OutOfRange { .. }
            | E::NoProbabilities { .. }
            | E::LevelTooHigh { .. }
            | E::BadParameter(_)
            | E::NoRowsKept => Self::unfit(error.to_string()),
            E::TooLarge(_) => Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
            E::Cancelled(_) => Self::busy("the request was stopped"),
            _ => Self::defect(error.to_string()),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let kind = self.kind();
        let body = json!({"error": {"message": self.message, "kind": kind}}).to_string();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                let scheme = HeaderValue::from_static("Bearer realm=\"bridged\"");
                headers.insert(header::WWW_AUTHENTICATE, scheme);
            }
            _ => {}
        }
        response
    }
}
