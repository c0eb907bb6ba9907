//! What every request passes before a handler sees it: host, origin, token, and room for one more.
//!
//! A page of another site can make a browser ask a server on this machine. It cannot read the answer, unless its own name is
//! made to point here (DNS rebinding): then `Host` holds that name, which is none of ours. Addresses are accepted as they are,
//! since they cannot be made to point elsewhere.

use crate::ServeError;
use crate::app::App;
use crate::failure::Failure;
use crate::token::Token;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doors {
    pub token: Option<Token>,
    /// Names besides `localhost` that this server is called by.
    pub hosts: Vec<String>,
    /// The origin besides its own whose pages may ask.
    pub origin: Option<HeaderValue>,
}

impl Doors {
    /// The origin of a word, as browsers write it.
    pub fn origin(given: &str) -> Result<HeaderValue, ServeError> {
        let bad = || ServeError::BadOrigin { given: given.to_owned() };
        let uri: Uri = given.parse().map_err(|_| bad())?;
        let scheme = uri.scheme_str().filter(|s| matches!(*s, "http" | "https"));
        let authority = uri.authority().filter(|a| !a.as_str().contains('@'));
        let (scheme, authority) = scheme.zip(authority).ok_or_else(bad)?;
        let text = format!("{scheme}://{authority}");
        match given.eq_ignore_ascii_case(&text) {
            true => HeaderValue::from_str(&text.to_ascii_lowercase()).map_err(|_| bad()),
            false => Err(bad()),
        }
    }

    /// Whether a request may go on.
    fn admit(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Entrance, Failure> {
        let host = self.check_host(uri, headers)?;
        let entrance = self.check_origin(host, headers)?;
        let preflight = method == Method::OPTIONS
            && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
            && matches!(entrance, Entrance::Foreign(_));
        if preflight {
            return Ok(entrance); // browsers ask without the token whether they may send it
        }
        self.check_token(headers)?;
        Ok(entrance)
    }

    fn check_host<'a>(&self, uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, Failure> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, more) = (hosts.next(), hosts.next());
        let Some(host) = host.and_then(|h| h.to_str().ok()).filter(|_| more.is_none()) else {
            return Err(Failure::malformed("a request needs one Host header"));
        };
        let asked = uri.authority().map(|a| a.as_str());
        match [Some(host), asked].into_iter().flatten().all(|host| self.is_ours(host)) {
            true => Ok(host),
            false => Err(Failure::new(
                StatusCode::MISDIRECTED_REQUEST,
                "this server is not called by the name in Host; use its address, or name it with --allow-host",
            )),
        }
    }

    /// Whether this host, with or without a port, can only be this server.
    fn is_ours(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((name, port)) if port.is_empty() || port.starts_with(':') => name,
                _ => return false,
            },
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|ours| name.eq_ignore_ascii_case(ours))
    }

    fn check_origin(&self, host: &str, headers: &HeaderMap) -> Result<Entrance, Failure> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(Entrance::Own) };
        let text = origin.to_str().unwrap_or_default();
        let own = text.split_once("://").is_some_and(|(_, at)| at.eq_ignore_ascii_case(host));
        match &self.origin {
            _ if own => Ok(Entrance::Own),
            Some(allowed) if allowed == origin => Ok(Entrance::Foreign(allowed.clone())),
            _ => Err(Failure::new(
                StatusCode::FORBIDDEN,
                "pages of other origins may not ask this server; name one with --allow-origin",
            )),
        }
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let Some(token) = &self.token else { return Ok(()) };
        let given = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        let bearer = given.and_then(|given| {
            let (scheme, rest) = given.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"Bearer ").then_some(rest)
        });
        match bearer {
            Some(given) if token.is(given) => Ok(()),
            _ => Err(Failure::new(
                StatusCode::UNAUTHORIZED,
                "this server wants a token: send it as `Authorization: Bearer TOKEN`",
            )),
        }
    }
}

/// Where a request comes from.
#[derive(Clone, Debug, PartialEq)]
enum Entrance {
    /// No browser, or a page of this server.
    Own,
    /// A page of the origin that was named.
    Foreign(HeaderValue),
}

/// Around all handlers.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let metrics = app.metrics();
    metrics.running.fetch_add(1, Ordering::Relaxed);
    let _running = Running(&app);
    let admitted = app.doors().admit(request.method(), request.uri(), request.headers());
    let mut response = match &admitted {
        Err(failure) => failure.clone().into_response(),
        Ok(Entrance::Foreign(_)) if is_preflight(&request) => preflight(),
        Ok(_) => match app.requests().try_acquire() {
            Err(_) => Failure::busy("too many requests at once").into_response(),
            Ok(_permit) => next.run(request).await,
        },
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = response.headers().get(header::ALLOW).cloned();
        let failure = Failure::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this path has no such method; `Allow` names those that it has",
        );
        response = failure.into_response();
        allowed.map(|allowed| response.headers_mut().insert(header::ALLOW, allowed));
    }
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(Entrance::Foreign(origin)) = admitted {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    }
    let path = path.as_ref().map(MatchedPath::as_str);
    metrics.count(path, response.status().as_u16(), start.elapsed());
    response
}

/// One request that is being answered, also if its client goes before it is.
struct Running<'a>(&'a App);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.metrics().running.fetch_sub(1, Ordering::Relaxed);
    }
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// What a page of the named origin may send.
fn preflight() -> Response {
    let allowed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "accept, authorization, content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn headers(given: &[(HeaderName, &'static str)]) -> HeaderMap {
        given.iter().map(|(n, v)| (n.clone(), HeaderValue::from_static(v))).collect()
    }

    fn admit(doors: &Doors, given: &[(HeaderName, &'static str)]) -> u16 {
        let admitted = doors.admit(&Method::GET, &Uri::from_static("/"), &headers(given));
        admitted.map_or_else(|failure| failure.status.as_u16(), |_| 200)
    }

    #[test]
    fn a_server_answers_to_addresses_and_to_its_names() {
        let doors = Doors { hosts: vec!["gpu7.example".into()], ..Doors::default() };
        for host in
            ["127.0.0.1", "127.0.0.1:7878", "[::1]:80", "[::1]", "LOCALHOST:1", "gpu7.example:7878"]
        {
            assert_eq!(admit(&doors, &[(header::HOST, host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "[::1]evil",
            "",
            "[::1",
        ] {
            assert_eq!(admit(&doors, &[(header::HOST, host)]), 421, "{host}");
        }
        assert_eq!(admit(&doors, &[]), 400);
        let mut two = headers(&[(header::HOST, "localhost")]);
        two.append(header::HOST, HeaderValue::from_static("localhost"));
        assert!(doors.admit(&Method::GET, &Uri::from_static("/"), &two).is_err());
        let absolute = Uri::from_static("http://evil.example/health");
        let one = headers(&[(header::HOST, "localhost")]);
        assert!(doors.admit(&Method::GET, &absolute, &one).is_err());
    }

    #[test]
    fn pages_of_other_origins_are_refused_unless_one_is_named() {
        let host = (header::HOST, "127.0.0.1:7878");
        let of = |doors: &Doors, origin| admit(doors, &[host.clone(), (header::ORIGIN, origin)]);
        let mut doors = Doors::default();
        assert_eq!(of(&doors, "http://127.0.0.1:7878"), 200);
        for origin in ["http://127.0.0.1:8000", "https://example.org", "null", ""] {
            assert_eq!(of(&doors, origin), 403, "{origin}");
        }
        doors.origin = Some(Doors::origin("https://Example.org").unwrap());
        assert_eq!(of(&doors, "https://example.org"), 200);
        assert_eq!(of(&doors, "http://example.org"), 403);
        for bad in
            ["*", "null", "example.org", "https://example.org/", "ftp://example.org", "https://a@b"]
        {
            assert!(Doors::origin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_must_be_the_token() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789abcdef").unwrap();
        let token = Some(Token::read(file.path()).unwrap());
        let doors = Doors { token, ..Doors::default() };
        let host = (header::HOST, "localhost");
        let of = |value| admit(&doors, &[host.clone(), (header::AUTHORIZATION, value)]);
        assert_eq!(of("Bearer 0123456789abcdef"), 200);
        assert_eq!(of("bearer 0123456789abcdef"), 200);
        for bad in
            ["0123456789abcdef", "Bearer 0123456789abcdeg", "Bearer ", "Basic 0123456789abcdef", ""]
        {
            assert_eq!(of(bad), 401, "{bad}");
        }
        assert_eq!(admit(&doors, std::slice::from_ref(&host)), 401);
    }
}
