//! Bodies: how they are read within the limits, and what kinds there are.

use crate::app::App;
use crate::failure::Failure;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

/// Bodies up to this size are not counted: all requests that are answered at once can have one.
const SMALL: usize = 64 << 10;
/// What bodies are counted in.
pub(crate) const UNIT: usize = 1 << 10;

/// What a body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Arrow,
}

impl Media {
    pub const ARROW: &'static str = "application/vnd.apache.arrow.stream";
    const ARROW_FILE: &'static str = "application/vnd.apache.arrow.file";

    pub fn name(self) -> &'static str {
        match self {
            Media::Json => "application/json",
            Media::Arrow => Self::ARROW,
        }
    }

    /// What a request says that its body is.
    pub fn of_body(headers: &HeaderMap) -> Result<Self, Failure> {
        let given = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
        let plain = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        match plain.to_ascii_lowercase().as_str() {
            "application/json" => Ok(Media::Json),
            Self::ARROW | Self::ARROW_FILE => Ok(Media::Arrow),
            _ => Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!(
                    "send a body of application/json or {}, and say so in Content-Type",
                    Self::ARROW
                ),
            )),
        }
    }

    /// What a request wants to have: what its body is written in, unless it says otherwise.
    pub fn of_answer(headers: &HeaderMap, body: Self) -> Result<Self, Failure> {
        let mut accepted = headers.get_all(header::ACCEPT).iter().peekable();
        if accepted.peek().is_none() {
            return Ok(body);
        }
        for value in accepted {
            for range in value.to_str().unwrap_or_default().split(',') {
                let mut parts = range.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default().to_ascii_lowercase();
                if parts.any(|p| matches!(p, "q=0" | "q=0.0" | "q=0.00" | "q=0.000")) {
                    continue;
                }
                match name.as_str() {
                    "*/*" | "application/*" => return Ok(body),
                    "application/json" => return Ok(Media::Json),
                    Self::ARROW => return Ok(Media::Arrow),
                    _ => {}
                }
            }
        }
        let message = format!("there are answers in application/json and {}", Self::ARROW);
        Err(Failure::new(StatusCode::NOT_ACCEPTABLE, message))
    }
}

/// A body in memory, which is counted as long as this is held.
pub(crate) struct Held {
    pub bytes: Bytes,
    _counted: Option<OwnedSemaphorePermit>,
}

/// Reads a body.
pub(crate) async fn read(app: &App, mut body: Body) -> Result<Held, Failure> {
    let most = app.limits().body;
    let too_large = || {
        let message = format!("the body has more than {most} bytes; send fewer rows at once");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    if body.size_hint().lower() > most {
        return Err(too_large());
    }
    let deadline = Instant::now() + app.limits().answer;
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    let mut counted: Option<OwnedSemaphorePermit> = None;
    loop {
        let frame = timeout_at(deadline, body.frame()).await.map_err(|_| {
            let seconds = app.limits().answer.as_secs();
            let message = format!("the body did not arrive within {seconds} seconds");
            Failure::new(StatusCode::REQUEST_TIMEOUT, message)
        })?;
        let data = match frame {
            None => break,
            Some(Err(error)) => {
                return Err(Failure::malformed(format!("the body was cut off: {error}")));
            }
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        let total = first.len() + rest.len() + data.len();
        if total as u64 > most {
            return Err(too_large());
        }
        if total > SMALL {
            let held = counted.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let more = total.div_ceil(UNIT).saturating_sub(held);
            let more = u32::try_from(more).map_err(|_| too_large())?;
            let permit = Arc::clone(app.bodies()).try_acquire_many_owned(more);
            let permit = permit.map_err(|_| Failure::busy("too many large bodies at once"))?;
            match &mut counted {
                Some(counted) => counted.merge(permit),
                None => counted = Some(permit),
            }
        }
        if first.is_empty() && rest.is_empty() {
            first = data; // all of it, of most
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&data);
        }
    }
    let bytes = if rest.is_empty() { first } else { rest.freeze() };
    Ok(Held { bytes, _counted: counted })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn bodies_and_answers_are_what_headers_say() {
        let body = |value| Media::of_body(&headers(header::CONTENT_TYPE, value)).ok();
        assert_eq!(body("application/json"), Some(Media::Json));
        assert_eq!(body("Application/JSON; charset=utf-8"), Some(Media::Json));
        assert_eq!(body("application/vnd.apache.arrow.stream"), Some(Media::Arrow));
        assert_eq!(body("text/plain"), None);
        assert!(Media::of_body(&HeaderMap::new()).is_err());
        let answer = |value| Media::of_answer(&headers(header::ACCEPT, value), Media::Json).ok();
        assert_eq!(answer("*/*"), Some(Media::Json));
        assert_eq!(answer("application/vnd.apache.arrow.stream"), Some(Media::Arrow));
        assert_eq!(answer("text/html, application/json;q=0.5"), Some(Media::Json));
        assert_eq!(answer("text/html"), None);
        assert_eq!(answer("application/json;q=0"), None);
        assert_eq!(Media::of_answer(&HeaderMap::new(), Media::Arrow).ok(), Some(Media::Arrow));
    }
}
