//! Logins that take long, logins that are not finished, and authorization servers that fail.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_sansio::auth::{AuthorizationFailure, Stage};
use mcp_sansio::{Cause, Phase, Revision};
use mcp_sansio_http::CallFailure;
use mcp_sansio_proptests::authorization_server::Misbehaviour;

use super::kit::{Needs, Protected, authorization, connect, failure_of, open};
use super::requests::{call, text};
use crate::http::kit::{let_pass, soon};

/// Longer than any timeout of a call, and shorter than the time limit of the user.
const LONG: Duration = Duration::from_secs(9 * 60);

#[tokio::test]
async fn nothing_times_out_while_the_user_is_asked() {
    let protected = Protected::new().await;
    protected.needs(Needs::Containing("note"));
    let (authorization, user, mut received) = authorization(&protected.url());
    user.hold();
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    let pending = call(&connection, "note", "x");
    assert_eq!(soon(received.recv()).await.unwrap(), "asked");
    let before = authorization.clock().now();
    let_pass(LONG).await;
    assert_eq!(authorization.clock().now(), before, "the clock stands still");
    assert_eq!(authorization.stage(), Stage::AwaitingUser);
    // A new call waits as well, because only the server knows whether it needs the token.
    let other = call(&connection, "echo", "y");
    let_pass(Duration::from_secs(30)).await;
    user.ready.add_permits(1);
    assert_eq!(text(pending).await, "noted");
    assert_eq!(text(other).await, "y");
    assert!(soon(received.recv()).await.unwrap().contains("Return to the program"));
    let_pass(Duration::from_secs(1)).await;
    assert!(before + Duration::from_secs(1) <= authorization.clock().now(), "it goes on");
}

#[tokio::test]
async fn a_login_that_takes_too_long_is_abandoned() {
    let protected = Protected::new().await;
    let (authorization, user, mut received) = authorization(&protected.url());
    user.hold();
    let (url, copy) = (protected.url(), authorization.clone());
    let connecting =
        tokio::spawn(async move { open(&url, Revision::V2026_07_28, &copy).await.unwrap_err() });
    assert_eq!(soon(received.recv()).await.unwrap(), "asked");
    let_pass(Duration::from_secs(601)).await;
    let error = soon(connecting).await.unwrap();
    assert_eq!(failure_of(&error), AuthorizationFailure::Abandoned);
}

/// A login stops the clock of the connection, but not the end of the connection.
#[tokio::test]
async fn a_connection_closes_in_time_during_a_login() {
    let protected = Protected::new().await;
    protected.needs(Needs::Containing("note"));
    let (authorization, user, mut received) = authorization(&protected.url());
    user.hold();
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    let pending = call(&connection, "note", "x");
    assert_eq!(soon(received.recv()).await.unwrap(), "asked");
    // From here on the time advances to the next timer whenever nothing else happens.
    tokio::time::pause();
    let (started, grace) = (tokio::time::Instant::now(), Duration::from_secs(5));
    let handle = connection.handle().clone();
    connection.close(grace).await.unwrap();
    let took = started.elapsed();
    assert!(grace <= took && took < grace + Duration::from_secs(5), "{took:?}");
    assert_eq!(handle.phase(), Phase::Closed);
    assert_eq!(pending.await.unwrap_err(), CallFailure::Closed(Cause::ShutDown));
    assert_eq!(authorization.stage(), Stage::AwaitingUser, "other connections may need it");
}

#[tokio::test]
async fn an_abandoned_login_ends_only_the_calls_that_wait_for_it() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut protected = Protected::new().await;
        protected.needs(Needs::Containing("note"));
        let (authorization, user, mut received) = authorization(&protected.url());
        user.hold();
        user.gives_up.store(1, Ordering::SeqCst);
        let connection = connect(&protected.url(), revision, &authorization).await.unwrap();
        let calls = [call(&connection, "note", "1"), call(&connection, "note", "2")];
        assert_eq!(soon(received.recv()).await.unwrap(), "asked");
        user.ready.add_permits(1);
        for pending in calls {
            let error = soon(pending).await.unwrap_err();
            assert_eq!(failure_of(&error), AuthorizationFailure::Abandoned);
            let text = failure_of(&error).to_string();
            assert_eq!(text, "authorization was not finished by the user");
            // Callers that show only the outermost error still see that authorization failed.
            assert!(error.to_string().contains("authorization failed"), "{error}");
        }
        assert_eq!(text(call(&connection, "echo", "x")).await, "x");
        // A later call begins a new login.
        user.ready.add_permits(1);
        assert_eq!(text(call(&connection, "note", "3")).await, "noted");
        assert_eq!(user.was_asked(), 2);
        assert_eq!(protected.log.next().await, "note 3");
        assert!(protected.log.is_silent());
    }
}

/// The authorization server ends after the user has agreed; the next call, made after its restart, succeeds.
#[tokio::test]
async fn an_authorization_server_that_is_killed_fails_one_login() {
    let protected = Protected::new().await;
    protected.needs(Needs::Containing("note"));
    let (authorization, user, mut received) = authorization(&protected.url());
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    let issuer = Arc::clone(&protected.issuer);
    *user.before_return.lock().unwrap() = Some(Box::pin(async move { issuer.kill().await }));
    let error = soon(call(&connection, "note", "1")).await.unwrap_err();
    let place = "the token endpoint";
    let expected = AuthorizationFailure::Transient { place, status: None, retry_after: None };
    assert_eq!(failure_of(&error), AuthorizationFailure::LoginLost(Box::new(expected)));
    assert_eq!(soon(received.recv()).await.unwrap(), "asked");
    assert_eq!(text(call(&connection, "echo", "x")).await, "x");
    // The authorization server is still down.
    let error = soon(call(&connection, "note", "2")).await.unwrap_err();
    let place = "the metadata of the authorization server";
    let expected = AuthorizationFailure::Transient { place, status: None, retry_after: None };
    assert_eq!(failure_of(&error), expected);
    protected.issuer.revive().await;
    assert_eq!(text(call(&connection, "note", "3")).await, "noted");
    let counts = protected.issuer.lock().counts;
    assert_eq!((counts.authorize, counts.token, counts.register), (2, 1, 1));
}

/// Invalid responses of an authorization server end the login with a descriptive failure, and affect no later login.
#[tokio::test]
async fn garbage_of_an_authorization_server_fails_one_login() {
    let protected = Protected::new().await;
    protected.needs(Needs::Containing("note"));
    let issuer = protected.issuer.lock().options.issuer.clone();
    let (authorization, _user, _received) = authorization(&protected.url());
    let connection =
        connect(&protected.url(), Revision::V2026_07_28, &authorization).await.unwrap();
    let token = "the token endpoint";
    for (misbehaviour, expected) in [
        (Misbehaviour::GarbageMetadata, AuthorizationFailure::NoServerMetadata { issuer }),
        (
            Misbehaviour::HugeMetadata,
            AuthorizationFailure::TooLarge { place: "the metadata of the authorization server" },
        ),
        (Misbehaviour::GarbageToken, AuthorizationFailure::InvalidToken("access_token")),
        (Misbehaviour::HugeToken, AuthorizationFailure::TooLarge { place: token }),
        (
            Misbehaviour::RedirectsToken,
            AuthorizationFailure::UnexpectedStatus { place: token, status: 307 },
        ),
    ] {
        protected.issuer.lock().options.misbehaviour = Some(misbehaviour);
        let error = soon(call(&connection, "note", "1")).await.unwrap_err();
        assert_eq!(failure_of(&error), expected, "{misbehaviour:?}");
    }
    protected.issuer.lock().options.misbehaviour = None;
    assert_eq!(text(call(&connection, "note", "2")).await, "noted");
    // The client has registered once for all of these logins.
    assert_eq!(protected.issuer.lock().counts.register, 1);
}
