//! The listener for the redirect of the browser.

use std::io;
use std::net::SocketAddr;

use mcp_sansio::Revision;
use mcp_sansio::auth::{AuthorizationFailure, BrowserUrl, OAuthErrorCode, Stage};
use mcp_sansio_http::{Authorization, AuthorizationHost, Connection, HostFuture, OpenError};
use mcp_sansio_proptests::authorization_server::{Consent, Form};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::kit::{Protected, authorizer_config, connect, failure_of, visit};
use crate::http::kit::soon;
use crate::http::raw::{Answer, Raw};

const SENT_BACK: &str =
    "The authorization server has sent you back. Return to the program; you can close this window.";

/// A host that sends the authorization URL to the test.
struct ReportsUrl(UnboundedSender<String>);

impl AuthorizationHost for ReportsUrl {
    fn open_url<'a>(&'a self, url: &'a BrowserUrl, _: &'a Authorization) -> HostFuture<'a, ()> {
        _ = self.0.send(url.as_str().into());
        Box::pin(async {})
    }
}

/// A login that waits for its user.
struct Login {
    authorization: Authorization,
    /// The authorization URL.
    url: String,
    /// The address of the redirect listener.
    listener: SocketAddr,
    connecting: JoinHandle<Result<Connection, OpenError>>,
}

impl Login {
    async fn begin(protected: &Protected) -> Self {
        let (sender, mut urls) = unbounded_channel();
        let authorization =
            Authorization::new(authorizer_config(&protected.url()), ReportsUrl(sender));
        let (url, copy) = (protected.url(), authorization.clone());
        let connecting =
            tokio::spawn(async move { connect(&url, Revision::V2026_07_28, &copy).await });
        let url = soon(urls.recv()).await.unwrap();
        let query = Form::read(url.split_once('?').unwrap().1.as_bytes());
        let redirect = query.find("redirect_uri").unwrap();
        let address = redirect.strip_prefix("http://").unwrap().strip_suffix("/callback").unwrap();
        let listener: SocketAddr = address.parse().unwrap();
        assert!(listener.ip().is_loopback());
        Self { authorization, url, listener, connecting }
    }

    async fn raw(&self) -> Raw {
        Raw::connect(self.listener).await
    }

    /// Sends a request without a body.
    async fn ask(&self, start: &str) -> Answer {
        let mut raw = self.raw().await;
        raw.send(format!("{start} HTTP/1.1\r\nHost: {}\r\n\r\n", self.listener)).await;
        raw.answer().await
    }

    /// Logs the user in, and returns the response that the browser gets for the redirect.
    async fn finish(&self) -> Answer {
        let location = visit(&self.url).await.0.unwrap();
        let target = location.strip_prefix(&format!("http://{}", self.listener)).unwrap();
        self.ask(&format!("GET {target}")).await
    }

    fn is_waiting(&self) -> bool {
        self.authorization.stage() == Stage::AwaitingUser
    }
}

fn page(text: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Login</title><p>{text}</p></html>\n"
    )
}

const NOTHING: &str = "There is nothing here.";
const UNKNOWN: &str = "This belongs to no login that is under way.";

/// Proves A-RESP-12.
#[tokio::test]
async fn only_the_return_of_the_browser_ends_the_login() {
    let protected = Protected::new().await;
    let login = Login::begin(&protected).await;
    // Browsers open connections ahead of time, and may never use them.
    let mut silent = Vec::new();
    for _ in 0..10 {
        silent.push(login.raw().await);
    }
    for (start, status, text) in [
        ("GET /", "404", NOTHING),
        ("GET /favicon.ico", "404", NOTHING),
        ("GET /callback/", "404", NOTHING),
        ("POST /callback?code=x&state=y", "404", NOTHING),
        ("OPTIONS /callback", "404", NOTHING),
        ("GET /callback", "400", UNKNOWN),
        ("GET /callback?code=x", "400", UNKNOWN),
        ("GET /callback?code=x&state=wrong", "400", UNKNOWN),
        ("GET /callback?error=access_denied&state=wrong", "400", UNKNOWN),
        ("GET /callback?%ff=%zz&&&==&state", "400", UNKNOWN),
    ] {
        let answer = login.ask(start).await;
        assert_eq!((answer.status(), answer.body.as_str()), (status, &*page(text)), "{start}");
        assert!(login.is_waiting(), "{start}");
    }
    for garbage in [&b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"[..], b"\0\0\r\n\r\n", b"GET\r\n\r\n"] {
        let mut raw = login.raw().await;
        raw.send(garbage).await;
        raw.count().await;
        assert!(login.is_waiting());
    }
    // An incomplete request that never continues.
    let mut half = login.raw().await;
    half.send("GET /callback?code=").await;

    let answer = login.finish().await;
    assert_eq!(answer.status(), "200");
    assert_eq!(answer.body, page(SENT_BACK));
    assert_eq!(answer.field("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.field("cache-control"), Some("no-store"));
    assert_eq!(answer.field("content-security-policy"), Some("default-src 'none'"));
    soon(login.connecting).await.unwrap().unwrap();
    assert_eq!(protected.issuer.lock().counts.token, 1);
    // The listener is closed.
    let gone = async {
        loop {
            match TcpStream::connect(login.listener).await {
                Ok(_) => tokio::task::yield_now().await,
                Err(error) => break error.kind(),
            }
        }
    };
    assert_eq!(soon(gone).await, io::ErrorKind::ConnectionRefused);
    drop((silent, half));
}

#[tokio::test]
async fn the_browser_shows_an_error_page_after_a_denied_login() {
    let protected = Protected::with(|options| options.consent = Consent::Deny).await;
    let login = Login::begin(&protected).await;
    let answer = login.finish().await;
    let text = "The login has failed. The program that asked for it says why.";
    assert_eq!((answer.status(), &answer.body), ("200", &page(text)));
    let error = soon(login.connecting).await.unwrap().unwrap_err();
    match failure_of(&error) {
        AuthorizationFailure::Denied(error) => assert_eq!(error.code, OAuthErrorCode::AccessDenied),
        other => panic!("{other:?}"),
    }
}
