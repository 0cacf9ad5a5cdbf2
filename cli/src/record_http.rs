//! `--record` for a server at a URL: a proxy on this computer, between a host and the server.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::{self, Authority, PathAndQuery, Scheme};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use mcp_sansio::http::{Headers, HostPolicy, OriginPolicy, SseDecoder};
use mcp_sansio_http::{Transport, plain, tls};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::ending::{Counted, Signals};
use crate::http::{Background, without_secrets};
use crate::recording::{Recorder, Sender};
use crate::say::say;

/// The longest body of a request, and the longest event, in bytes.
const LONGEST: usize = 64 << 20;

/// The server behind the proxy.
struct Upstream<T> {
    transport: T,
    scheme: Scheme,
    authority: Authority,
    /// The path and the query of its URL.
    target: PathAndQuery,
    /// The fields of the command line, for every request.
    fields: HeaderMap,
    /// The names under which this proxy is reached. A web page must not use it with the fields of the user.
    hosts: HostPolicy,
    recorder: Recorder,
}

/// Passes requests on to the server and responses back, until Ctrl-C, and records their messages. Prints the URL for the
/// host, which is that of the server with the address of this proxy.
///
/// Requests and responses keep their header fields, so a session, a login and a resumed event stream of the host work.
pub(crate) fn proxy(
    url: &str,
    headers: &[(String, String)],
    listen: SocketAddr,
    recorder: Recorder,
) -> Result<(), String> {
    let (scheme, authority, target) = parts(url)?;
    let mut fields = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::try_from(name).map_err(|error| format!("{name}: {error}"))?;
        let value = HeaderValue::try_from(value).map_err(|error| format!("{name}: {error}"))?;
        fields.append(name, value);
    }
    let stopped = Arc::new(Notify::new());
    stop_on_signals(&stopped)?;
    let runtime = Background::new().map_err(|error| error.to_string())?;
    // The query may hold a key, which is added to the requests of the host.
    let path = target.path().to_owned();
    let is_plain = scheme == Scheme::HTTP;
    let serve = async {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let hosts = HostPolicy::local().allow(&address.to_string()).map_err(io::Error::other)?;
        // Standard output may be closed.
        _ = writeln!(io::stdout(), "http://{address}{path}");
        if is_plain {
            let transport = plain();
            let upstream =
                Upstream { transport, scheme, authority, target, fields, hosts, recorder };
            accept(&listener, Arc::new(upstream), &stopped).await;
        } else {
            let transport = tls()?;
            let upstream =
                Upstream { transport, scheme, authority, target, fields, hosts, recorder };
            accept(&listener, Arc::new(upstream), &stopped).await;
        }
        io::Result::Ok(())
    };
    runtime.block_on(serve).map_err(|error| format!("{listen}: {error}"))
}

/// At the first signal the proxy stops, at the second one this process exits.
fn stop_on_signals(stopped: &Arc<Notify>) -> Result<(), String> {
    let (stop, signals) = (Arc::clone(stopped), Signals::default());
    let handler = move || match signals.count() {
        Counted::First => stop.notify_one(),
        Counted::WithLast => {}
        Counted::Another => std::process::exit(130),
    };
    ctrlc::set_handler(handler).map_err(|error| error.to_string())
}

/// Returns the parts of the URL of a server.
fn parts(url: &str) -> Result<(Scheme, Authority, PathAndQuery), String> {
    let shown = || without_secrets(url);
    let uri: Uri = url.parse().map_err(|error| format!("{}: {error}", shown()))?;
    match uri.into_parts() {
        uri::Parts { scheme: Some(scheme), authority: Some(authority), path_and_query, .. } => {
            let target = path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
            Ok((scheme, authority, target))
        }
        _ => Err(format!("{}: not a URL with a host", shown())),
    }
}

/// Returns the path and the query of a request to the server: those of the server's URL if the host requests the URL that
/// this proxy has printed, which has no query.
fn forwarded(requested: &Uri, server: &PathAndQuery) -> PathAndQuery {
    let requested = requested.path_and_query().cloned();
    let requested = requested.unwrap_or_else(|| PathAndQuery::from_static("/"));
    match requested.query() {
        None if requested.path() == server.path() => server.clone(),
        _ => requested,
    }
}

/// Serves connections until it is stopped. Open connections end with the runtime.
async fn accept<T: Transport>(listener: &TcpListener, upstream: Arc<Upstream<T>>, stop: &Notify) {
    loop {
        let stream = tokio::select! {
            () = stop.notified() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    say!("inspect: {error}");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let upstream = Arc::clone(&upstream);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let upstream = Arc::clone(&upstream);
                async move { Ok::<_, Infallible>(forward(&upstream, request).await) }
            });
            // A connection that breaks off does not concern the others.
            _ = Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn forward<T: Transport>(
    upstream: &Arc<Upstream<T>>,
    request: Request<Incoming>,
) -> Response<Answer<T>> {
    let (parts, body) = request.into_parts();
    if !upstream.is_allowed(&parts) {
        say!("inspect: a request for another host, or from a web page, was refused");
        return refusal(StatusCode::FORBIDDEN);
    }
    let Ok(body) = Limited::new(body, LONGEST).collect().await else {
        return refusal(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let body = body.to_bytes();
    upstream.record(Sender::Client, &body);
    let path = forwarded(&parts.uri, &upstream.target);
    let (scheme, authority) = (upstream.scheme.clone(), upstream.authority.clone());
    let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build();
    let Ok(uri) = uri else { return refusal(StatusCode::BAD_REQUEST) };
    let mut outgoing = Request::new(Full::new(body));
    *outgoing.method_mut() = parts.method;
    *outgoing.uri_mut() = uri;
    *outgoing.headers_mut() = passed_on(parts.headers);
    replace_fields(outgoing.headers_mut(), &upstream.fields);
    match upstream.transport.send(outgoing).await {
        Ok(response) => answer(upstream, response).await,
        Err(error) => {
            say!("inspect: {error}");
            refusal(StatusCode::BAD_GATEWAY)
        }
    }
}

/// Passes a response on: an event stream as it arrives, anything else as a whole.
async fn answer<T: Transport>(
    upstream: &Arc<Upstream<T>>,
    response: Response<Incoming>,
) -> Response<Answer<T>> {
    let (mut parts, body) = response.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_stream = kind.is_some_and(is_event_stream);
    parts.headers = passed_on(parts.headers);
    if is_stream {
        let decoder = SseDecoder::new(LONGEST);
        let answer = Answer::Events { body, decoder, upstream: Arc::clone(upstream) };
        return Response::from_parts(parts, answer);
    }
    match Limited::new(body, LONGEST).collect().await {
        Ok(body) => {
            let body = body.to_bytes();
            upstream.record(Sender::Server, &body);
            Response::from_parts(parts, Answer::Whole(Full::new(body)))
        }
        Err(error) => {
            say!("inspect: {error}");
            refusal(StatusCode::BAD_GATEWAY)
        }
    }
}

/// Whether a content type, which may have parameters, is that of an event stream.
fn is_event_stream(kind: &[u8]) -> bool {
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

impl<T> Upstream<T> {
    /// Whether a request names this proxy as its host, and comes from no web page of another computer.
    fn is_allowed(&self, parts: &Parts) -> bool {
        let fields: Vec<(&str, &[u8])> =
            parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let headers = Headers::from(&fields[..]);
        let authority = parts.uri.authority().map(Authority::as_str);
        self.hosts.allows(headers, authority) && OriginPolicy::local().allows(headers)
    }

    /// Records a message. An empty body is none.
    fn record(&self, from: Sender, message: &[u8]) {
        if let Err(error) = self.recorder.line(from, message) {
            say!("inspect: the recording is not whole: {error}");
        }
    }
}

/// Returns the header fields of a message without those of one connection
/// ([RFC 9110, section 7.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1)), and without those that the other
/// connection sets itself.
fn passed_on(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let of_connection = [
        header::CONNECTION,
        header::HOST,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::TE,
        header::TRAILER,
        header::UPGRADE,
        HeaderName::from_static("keep-alive"),
        // The recording needs plain bytes.
        header::ACCEPT_ENCODING,
    ];
    for name in named.into_iter().chain(of_connection) {
        headers.remove(name);
    }
    headers
}

/// Replaces the fields of a request that have these names.
fn replace_fields(headers: &mut HeaderMap, fields: &HeaderMap) {
    for name in fields.keys() {
        headers.remove(name);
    }
    for (name, value) in fields {
        headers.append(name, value.clone());
    }
}

fn refusal<T>(status: StatusCode) -> Response<Answer<T>> {
    let mut response = Response::new(Answer::Whole(Full::default()));
    *response.status_mut() = status;
    response
}

/// The body of a response.
enum Answer<T> {
    Whole(Full<Bytes>),
    /// Its messages are recorded as they pass.
    Events {
        body: Incoming,
        decoder: SseDecoder,
        upstream: Arc<Upstream<T>>,
    },
}

impl<T> Unpin for Answer<T> {}

impl<T> Body for Answer<T> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Whole(body) => {
                Pin::new(body).poll_frame(context).map_err(|never: Infallible| match never {})
            }
            Self::Events { body, decoder, upstream } => {
                let polled = Pin::new(body).poll_frame(context);
                if let Poll::Ready(Some(Ok(frame))) = &polled
                    && let Some(data) = frame.data_ref()
                {
                    let mut chunk = &**data;
                    while let Some(event) = decoder.next(&mut chunk) {
                        // An event that is too long is passed on, and not recorded.
                        let message = event.as_ref().ok().and_then(|event| event.message());
                        message.into_iter().for_each(|message| {
                            upstream.record(Sender::Server, message);
                        });
                    }
                }
                polled
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_the_url_is_kept() {
        let (scheme, authority, target) = parts("https://host:1/mcp?key=K").unwrap();
        assert_eq!((scheme.as_str(), authority.as_str()), ("https", "host:1"));
        for (requested, expected) in [
            ("/mcp", "/mcp?key=K"),
            ("/mcp?own=1", "/mcp?own=1"),
            ("/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server"),
        ] {
            assert_eq!(forwarded(&requested.parse().unwrap(), &target).as_str(), expected);
        }
        let (_, _, target) = parts("http://host").unwrap();
        assert_eq!(target.as_str(), "/");
    }

    #[test]
    fn an_error_shows_no_secret_of_the_url() {
        for url in ["/mcp?key=secret", "http://user:secret@host/a b?key=secret"] {
            let error = parts(url).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_content_type_of_an_event_stream_has_any_case() {
        for kind in
            ["text/event-stream", "Text/Event-Stream; charset=utf-8", "TEXT/EVENT-STREAM ;a"]
        {
            assert!(is_event_stream(kind.as_bytes()), "{kind}");
        }
        for kind in ["text/event-streams", "application/json", ""] {
            assert!(!is_event_stream(kind.as_bytes()), "{kind}");
        }
    }

    #[test]
    fn fields_of_the_command_line_replace_those_of_the_host() {
        let fields = |fields: &[(&'static str, &'static str)]| {
            let fields = fields.iter().map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            let mut headers = HeaderMap::new();
            fields.for_each(|(name, value)| _ = headers.append(name, value));
            headers
        };
        let mut headers = fields(&[("x-key", "host"), ("x-key", "host too"), ("x-own", "host")]);
        replace_fields(&mut headers, &fields(&[("x-key", "one"), ("x-key", "two")]));
        assert_eq!(headers, fields(&[("x-own", "host"), ("x-key", "one"), ("x-key", "two")]));
    }

    #[test]
    fn fields_of_a_connection_are_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive, X-Own"),
            ("x-own", "1"),
            ("host", "localhost"),
            ("content-length", "7"),
            ("accept-encoding", "gzip"),
            ("mcp-session-id", "id"),
            ("authorization", "Bearer token"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let passed = passed_on(headers);
        let mut names: Vec<&str> = passed.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "mcp-session-id"]);
    }
}
