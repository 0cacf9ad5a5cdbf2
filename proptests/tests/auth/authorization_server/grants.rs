//! Logins, refreshes and their failures.

use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, ClientAuthentication, ConfiguredClient, Flow,
    IssuerPlace, OAuthErrorCode, Scopes,
};
use mcp_sansio_proptests::authorization_server::{
    Client, Consent, Counts, MetadataPlace, Misbehaviour, Options,
};
use serde_json::Value;

use super::scene::*;
use crate::kit::{ISSUER, SERVER};

/// Every location of the metadata with every authentication method, for an issuer with and without a path.
#[test]
fn a_client_gets_a_token_wherever_the_metadata_are() {
    let places =
        [(MetadataPlace::OAuth, 1), (MetadataPlace::OpenId, 2), (MetadataPlace::OpenIdAppended, 3)];
    let methods = [
        ClientAuthentication::None,
        ClientAuthentication::SecretBasic,
        ClientAuthentication::SecretPost,
    ];
    for path in ["", "/", "/tenant/1"] {
        for ((place, asked), method) in
            places.iter().flat_map(|place| methods.map(|method| (*place, method)))
        {
            let mut options = Options::new(format!("{ISSUER}{path}"));
            (options.metadata, options.authentication) = (place, vec![method]);
            let mut scene = Scene::new(options);
            scene.log_in();
            let claims = scene.claims().unwrap();
            assert_eq!((claims.iss, claims.sub), (format!("{ISSUER}{path}"), "user".into()));
            assert_eq!((claims.aud.as_str(), claims.scope.as_str()), (SERVER, "read write"));
            assert_eq!((claims.iat, claims.exp), (scene.seconds(), scene.seconds() + 3600));
            // Without a path the second and the third location are the same.
            let metadata = if path.len() < 2 { asked.min(2) } else { asked };
            let counts = counts(metadata, 1, 1, 1);
            assert_eq!(scene.server.counts, counts, "{path} {place:?} {method:?}");
        }
    }
}

/// Returns the counts of metadata requests, logins, token requests and registrations.
fn counts(metadata: u64, authorize: u64, token: u64, register: u64) -> Counts {
    let mut counts = Counts::default();
    (counts.metadata, counts.authorize) = (metadata, authorize);
    (counts.token, counts.register) = (token, register);
    counts
}

#[test]
fn a_server_without_metadata_is_not_found() {
    let mut options = options();
    options.metadata = MetadataPlace::None;
    let failure = AuthorizationFailure::NoServerMetadata { issuer: ISSUER.into() };
    assert_eq!(Scene::new(options).failure(), failure);
}

#[test]
fn a_client_that_is_known_beforehand_does_not_register() {
    for secret in [None, Some("a:b c%")] {
        for method in [ClientAuthentication::SecretBasic, ClientAuthentication::SecretPost] {
            let mut config = AuthorizerConfig::new(SERVER).unwrap();
            let client = ConfiguredClient::new("me: %");
            config.clients =
                vec![secret.map_or_else(|| client.clone(), |secret| client.clone().secret(secret))];
            let mut options = options();
            options.authentication = match secret {
                Some(_) => vec![method],
                None => vec![ClientAuthentication::None],
            };
            options.clients = vec![Client::new("me: %", secret)];
            let mut scene = Scene::with(config, options);
            scene.log_in();
            assert_eq!(scene.client_id(), "me: %");
            assert_eq!(scene.server.counts, counts(1, 1, 1, 0));
        }
    }
}

#[test]
fn a_metadata_document_is_a_client_id() {
    let mut config = AuthorizerConfig::new(SERVER).unwrap();
    config.metadata_document("https://client.example/me.json").unwrap();
    let mut scene = Scene::with(config.clone(), options());
    scene.log_in();
    assert_eq!(scene.client_id(), "https://client.example/me.json");
    assert_eq!(scene.server.counts, counts(1, 1, 1, 0));
    let mut options = options();
    options.takes_metadata_documents = false;
    let failure = AuthorizationFailure::NoRegistration { issuer: ISSUER.into() };
    assert_eq!(Scene::with(config, options).failure(), failure);
}

#[test]
fn a_client_gets_a_token_for_itself() {
    for method in [ClientAuthentication::SecretBasic, ClientAuthentication::SecretPost] {
        let mut config = AuthorizerConfig::new(SERVER).unwrap();
        config.flow = Flow::ClientCredentials;
        config.clients = vec![ConfiguredClient::new("robot").secret("s")];
        let mut options = options();
        options.authentication = vec![method];
        options.clients = vec![Client::new("robot", Some("s"))];
        let mut scene = Scene::with(config, options);
        scene.log_in();
        let claims = scene.claims().unwrap();
        assert_eq!((claims.sub.as_str(), claims.scope.as_str()), ("robot", "read write"));
        assert_eq!(scene.refresh_token(), None);
        assert_eq!(scene.server.counts, counts(1, 0, 1, 0));
    }
}

#[test]
fn a_user_can_be_asked() {
    let mut asks = options();
    asks.consent = Consent::Ask;
    let mut scene = Scene::new(asks);
    scene.log_in();
    assert_eq!(scene.server.counts.authorize, 2);
    assert!(scene.claims().is_some());
    // The user denies the request.
    let mut denies = options();
    denies.consent = Consent::Deny;
    match Scene::new(denies).failure() {
        AuthorizationFailure::Denied(error) => assert_eq!(error.code, OAuthErrorCode::AccessDenied),
        other => panic!("{other:?}"),
    }
}

#[test]
fn fewer_scopes_can_be_granted() {
    let mut options = options();
    options.grantable = Some(vec!["write".into(), "other".into()]);
    let mut scene = Scene::new(options);
    scene.log_in();
    assert_eq!(scene.claims().unwrap().scope, "write");
    assert_eq!(scene.lab.authorizer.granted(), Some(&Scopes::parse("write")));
}

/// Each misbehaviour of the server has a failure of its own.
#[test]
fn each_misbehaviour_has_a_failure_of_its_own() {
    let mismatch = |place| AuthorizationFailure::IssuerMismatch { place, expected: ISSUER.into() };
    let (metadata, token) = ("the metadata of the authorization server", "the token endpoint");
    let transient =
        |place, status| AuthorizationFailure::Transient { place, status, retry_after: None };
    let expected = |misbehaviour| match misbehaviour {
        Misbehaviour::WrongIssuer | Misbehaviour::MissingIssuer => {
            Some(mismatch(IssuerPlace::Response))
        }
        Misbehaviour::OtherIssuer => Some(mismatch(IssuerPlace::Metadata)),
        Misbehaviour::NoPkce => Some(AuthorizationFailure::NoPkce),
        Misbehaviour::Slow => Some(transient(metadata, None)),
        Misbehaviour::TokenUnavailable => {
            Some(AuthorizationFailure::LoginLost(Box::new(transient(token, Some(503)))))
        }
        Misbehaviour::RedirectsToken => {
            Some(AuthorizationFailure::UnexpectedStatus { place: token, status: 307 })
        }
        Misbehaviour::GarbageMetadata => {
            Some(AuthorizationFailure::NoServerMetadata { issuer: ISSUER.into() })
        }
        Misbehaviour::GarbageToken => Some(AuthorizationFailure::InvalidToken("access_token")),
        Misbehaviour::HugeMetadata => Some(AuthorizationFailure::TooLarge { place: metadata }),
        Misbehaviour::HugeToken => Some(AuthorizationFailure::TooLarge { place: token }),
        // The login succeeds.
        Misbehaviour::ForgetsClients
        | Misbehaviour::DropsRefreshTokens
        | Misbehaviour::NoRotation => None,
    };
    for misbehaviour in Misbehaviour::ALL.iter().copied() {
        assert_eq!(misbehaviour.name().parse(), Ok(misbehaviour));
        let mut scene = misbehaving(misbehaviour);
        match expected(misbehaviour) {
            Some(failure) => assert_eq!(scene.failure(), failure, "{misbehaviour:?}"),
            None => scene.log_in(),
        }
    }
    assert!(
        "no-such-thing".parse::<Misbehaviour>().unwrap_err().starts_with("not one of wrong-iss, ")
    );
}

#[test]
fn a_server_that_was_out_of_order_once_is_good_later() {
    let mut scene = misbehaving(Misbehaviour::TokenUnavailable);
    scene.failure();
    scene.log_in();
    assert_eq!(scene.server.counts.token, 2);
}

#[test]
fn a_forgotten_client_registers_once_more() {
    let mut scene = misbehaving(Misbehaviour::ForgetsClients);
    scene.log_in();
    assert_eq!(scene.server.counts, counts(1, 2, 2, 2));
}

/// The token is refreshed before its end; an old refresh token is refused, and revokes the whole grant.
#[test]
fn refresh_tokens_rotate_and_one_that_comes_again_ends_the_grant() {
    let mut scene = Scene::new(options());
    scene.log_in();
    let (client, old, first) =
        (scene.client_id(), scene.refresh_token().unwrap(), scene.claims().unwrap());
    scene.lab.wait(3550);
    assert_eq!(scene.carry_out(), []);
    scene.accept();
    let second = scene.claims().unwrap();
    assert_ne!(second.jti, first.jti);
    assert_eq!(second.exp, scene.seconds() + 3600);
    let new = scene.refresh_token().unwrap();
    assert_ne!(new, old);
    assert_eq!((scene.server.counts.token, scene.server.counts.refresh), (2, 1));
    assert_eq!(scene.server.revoked_grants(), 0);

    assert_eq!(error(&scene.refresh(&client, &old)), (400, "invalid_grant".into()));
    assert_eq!(scene.server.revoked_grants(), 1);
    assert_eq!(scene.claims(), None, "nothing of the grant is good any more");
    assert_eq!(error(&scene.refresh(&client, &new)), (400, "invalid_grant".into()));
    // The user has to log in again.
    scene.log_in();
    assert_eq!(scene.server.counts.authorize, 2);
    assert!(scene.claims().is_some());
}

#[test]
fn a_server_need_not_rotate() {
    let mut scene = misbehaving(Misbehaviour::NoRotation);
    scene.log_in();
    let (client, token) = (scene.client_id(), scene.refresh_token().unwrap());
    for _ in 0..2 {
        let answer = scene.refresh(&client, &token);
        assert_eq!((answer.status, &body(&answer)["refresh_token"]), (200, &Value::Null));
    }
    scene.lab.wait(3550);
    assert_eq!(scene.carry_out(), []);
    assert_eq!(scene.refresh_token(), Some(token));
    assert_eq!(scene.server.revoked_grants(), 0);
}

#[test]
fn a_lost_refresh_token_means_a_new_login() {
    let mut scene = misbehaving(Misbehaviour::DropsRefreshTokens);
    scene.log_in();
    scene.lab.wait(3601);
    scene.log_in();
    assert_eq!((scene.server.counts.authorize, scene.server.counts.refresh), (2, 1));
}

#[test]
fn tokens_end_and_can_be_revoked() {
    let mut options = options();
    options.access_token_seconds = 60;
    let mut scene = Scene::new(options);
    scene.log_in();
    let token = scene.lab.field().unwrap().split_off("Bearer ".len());
    let now = scene.seconds();
    assert!(scene.server.introspect(&token, now + 59).is_some());
    assert_eq!(scene.server.introspect(&token, now + 60), None);
    assert_eq!(scene.server.introspect("other", now), None);
    scene.server.revoke_access_tokens();
    assert_eq!(scene.server.introspect(&token, now), None);
}
