//! Compares the transition table of stages with the authorizer, and generates its section of the manual.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use alloc::collections::{BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::activity::{Activity, Request};
use super::authorizer::Authorizer;
use super::client_id::ConfiguredClient;
use super::config::{AuthorizerConfig, ClientMetadata, Flow, IdentityProvider};
use super::effect::{FetchError, RequestKey};
use super::login::LoginMaterial;
use super::response::FetchedResponse;
use super::saved::Saved;
use super::stage::{Stage, TRANSITIONS};
use crate::auth::{Challenged, Challenges, Secret};
use crate::manual::states_tests::Chart;
use crate::time::Instant;

const SERVER: &str = "https://mcp.example/mcp";

/// Performs one step and returns the time after it.
type Act = fn(&mut Authorizer, Instant) -> Instant;

/// The steps that are possible at a stage, each with a name for the manual.
fn steps(stage: Stage) -> Vec<(&'static str, Act)> {
    let mut steps: Vec<(&'static str, Act)> = match stage {
        Stage::Idle => beginnings(),
        Stage::FindingResource | Stage::FindingServer => documents(stage),
        Stage::Claiming => claims(),
        Stage::NamingClient | Stage::AwaitingUser => of_user(stage),
        Stage::PreparingLogin => alloc::vec![("a redirect URI", |it, now| {
            let material = LoginMaterial::new([1; 64], "http://127.0.0.1:1/callback");
            it.login_prepared(it.inner.job, &material, now);
            now
        })],
        Stage::Registering => alloc::vec![
            ("a client id", |it, now| fetched(it, 201, r#"{"client_id":"c"}"#, now)),
            ("a refusal", |it, now| fetched(it, 400, r#"{"error":"invalid_redirect_uri"}"#, now)),
        ],
        Stage::AwaitingAssertion => alloc::vec![("an assertion", |it, now| {
            it.assertion_given(it.inner.job, &Secret::new("a"), "urn:x", now);
            now
        })],
        Stage::ExchangingAssertion => alloc::vec![
            ("an assertion for the authorization server", |it, now| fetched(it, 200, ID_JAG, now)),
            ("a refusal", |it, now| fetched(it, 400, r#"{"error":"invalid_grant"}"#, now)),
        ],
        Stage::Signing => alloc::vec![("a signature", |it, now| {
            it.signed(it.inner.job, &[1], now);
            now
        })],
        Stage::RequestingToken | Stage::Refreshing => tokens(),
    };
    if matches!(stage, Stage::Claiming | Stage::Signing | Stage::Refreshing) {
        steps.push(("a newer token is restored", restored));
    }
    if stage != Stage::Idle {
        steps.push(("the user gives up", |it, now| {
            it.abandoned(now);
            now
        }));
        steps.push(("no answer in time", timeout));
    }
    steps
}

const ID_JAG: &str = concat!(
    r#"{"issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","#,
    r#""access_token":"jag","token_type":"N_A"}"#
);

/// The steps that begin an authorization.
fn beginnings() -> Vec<(&'static str, Act)> {
    alloc::vec![
        ("status 401", |it, now| challenged(it, 401, "Bearer", now)),
        ("status 403 for want of scope", |it, now| {
            challenged(it, 403, r#"Bearer error="insufficient_scope", scope="more""#, now)
        }),
        ("a request, and the token has expired", |it, now| {
            let now = now + Duration::from_secs(4_000);
            _ = it.permit(RequestKey(1), SERVER, now);
            now
        }),
        ("the token expires soon", timeout),
    ]
}

/// The possible contents of a locked storage.
fn claims() -> Vec<(&'static str, Act)> {
    alloc::vec![
        ("the storage is locked", |it, now| claimed(it, it.inner.saved.clone(), now)),
        ("the storage is locked and has a newer token", |it, now| {
            let mut stored = it.inner.saved.clone();
            stored.generation += 1;
            if let Some(grant) = &mut stored.grant {
                grant.expires_at = Some(now + Duration::from_secs(3_600));
            }
            claimed(it, stored, now)
        }),
        ("the storage is locked and has no token", |it, now| {
            let generation = it.inner.saved.generation + 1;
            claimed(it, Saved { generation, ..Saved::default() }, now)
        }),
    ]
}

/// The possible steps of a user.
fn of_user(stage: Stage) -> Vec<(&'static str, Act)> {
    match stage {
        Stage::NamingClient => alloc::vec![
            ("a client id with a secret", |it, now| {
                named(it, ConfiguredClient::new("c").secret("s"), now)
            }),
            ("a client id with a key", |it, now| {
                named(it, ConfiguredClient::new("c").key("ES256", None), now)
            }),
        ],
        _ => alloc::vec![
            ("the user agrees", |it, now| back(it, "code=x", now)),
            ("the user refuses", |it, now| back(it, "error=access_denied", now)),
        ],
    }
}

/// The responses at the stages of discovery.
fn documents(stage: Stage) -> Vec<(&'static str, Act)> {
    let mut steps: Vec<(&'static str, Act)> = match stage {
        Stage::FindingResource => alloc::vec![("a document", |it, now| fetched(
            it,
            200,
            r#"{"resource":"https://mcp.example","authorization_servers":["https://as.example"]}"#,
            now
        ))],
        _ => alloc::vec![
            ("a document", |it, now| fetched(it, 200, &server_metadata("https://as.example"), now)),
            // A server that has registered clients may stop doing so.
            ("a document", |it, now| {
                let text = server_metadata("https://as.example");
                fetched(it, 200, &text.replace("registration_endpoint", "x"), now)
            }),
        ],
    };
    steps.push(("a document that must not be used", |it, now| {
        let of_other = server_metadata("https://other.example");
        fetched(it, 200, &of_other.replace('{', r#"{"resource":"https://other.example","#), now)
    }));
    steps.push(("no document", |it, now| fetched(it, 404, "", now)));
    steps
}

/// The responses of a token endpoint.
fn tokens() -> Vec<(&'static str, Act)> {
    alloc::vec![
        ("a token", |it, now| fetched(
            it,
            200,
            r#"{"access_token":"t","token_type":"Bearer","refresh_token":"r","expires_in":3600}"#,
            now
        )),
        ("`invalid_client`", |it, now| fetched(it, 401, r#"{"error":"invalid_client"}"#, now)),
        ("`invalid_grant`", |it, now| fetched(it, 400, r#"{"error":"invalid_grant"}"#, now)),
        ("nothing was sent", |it, now| {
            it.fetch_failed(it.inner.job, FetchError::NotSent, now);
            now
        }),
    ]
}

fn server_metadata(issuer: &str) -> String {
    let auth = "https://as.example/";
    format!(
        concat!(
            r#"{{"issuer":"{}","authorization_endpoint":"{}a","token_endpoint":"{}t","#,
            r#""registration_endpoint":"{}r","code_challenge_methods_supported":["S256"],"#,
            r#""token_endpoint_auth_methods_supported":["none","client_secret_post","private_key_jwt"]}}"#
        ),
        issuer, auth, auth, auth
    )
}

fn challenged(it: &mut Authorizer, status: u16, challenge: &str, now: Instant) -> Instant {
    // The server accepted the token before: a refused token that was just issued is a separate case.
    let generation = it.inner.token(now).map(|token| token.generation());
    it.accepted(generation, None);
    let challenges = Challenges::parse(challenge);
    it.challenged(RequestKey(1), Challenged::new(status, &challenges).generation(generation), now);
    now
}

fn fetched(it: &mut Authorizer, status: u16, body: &str, now: Instant) -> Instant {
    it.fetched(it.inner.job, FetchedResponse::new(status, body.as_bytes()), now);
    now
}

fn claimed(it: &mut Authorizer, stored: Saved, now: Instant) -> Instant {
    it.claimed(it.inner.job, Some(stored), now);
    now
}

fn restored(it: &mut Authorizer, now: Instant) -> Instant {
    let mut stored = it.inner.saved.clone();
    stored.generation += 1;
    if let Some(grant) = &mut stored.grant {
        grant.access_token = Secret::new(format!("t{}", stored.generation));
    }
    it.restore(stored);
    now
}

fn named(it: &mut Authorizer, client: ConfiguredClient, now: Instant) -> Instant {
    it.client_named(it.inner.job, client, now);
    now
}

fn back(it: &mut Authorizer, answer: &str, now: Instant) -> Instant {
    let Activity::AwaitingUser { login, .. } = &it.activity else { return now };
    let query = format!("{answer}&state={}", login.state.expose());
    it.redirected(&query, now);
    now
}

fn timeout(it: &mut Authorizer, now: Instant) -> Instant {
    let now = it.poll_timeout().map_or(now, |due| due.max(now));
    it.handle_timeout(now);
    now
}

/// Every way to obtain a client id and a token.
fn configs() -> Vec<AuthorizerConfig> {
    let provider = IdentityProvider::new("https://idp.example/token", "h").unwrap();
    let flows = [Flow::AuthorizationCode, Flow::ClientCredentials, Flow::Enterprise(provider)];
    let mut configs = Vec::new();
    for flow in flows {
        let clients = [
            None,
            Some(ConfiguredClient::new("c").secret("s")),
            Some(ConfiguredClient::new("c").key("ES256", None)),
        ];
        for client in clients {
            let mut config = AuthorizerConfig::new(SERVER).unwrap();
            config.flow = flow.clone();
            config.can_name_client = client.is_none();
            config.clients.extend(client);
            configs.push(config.clone());
            config.registration = Some(ClientMetadata::native("n"));
            configs.push(config);
        }
    }
    configs
}

/// The part of the state that determines which steps are possible and where they lead: the authorizer without
/// counters and times.
fn kind(it: &Authorizer, now: Instant) -> String {
    let mut activity = it.activity.clone();
    if let Activity::Signing { request, input } = &mut activity {
        input.clear();
        if let Request::Refresh(refresh) = request {
            refresh.found = None;
        }
    }
    let grant = it.inner.saved.grant.as_ref();
    let grant = grant.map(|grant| (&grant.client, &grant.refresh_token, grant.is_expired(now)));
    let flags =
        (it.inner.waiting.is_empty(), it.inner.holds_storage, it.inner.pacing.rest.is_some());
    format!(
        "{activity:?} {grant:?} {:?} {flags:?} {}",
        it.inner.saved.clients,
        it.inner.token(now).is_some()
    )
}

/// Performs every step at every reachable stage. Returns the transitions with the steps that caused them.
fn explored() -> BTreeSet<(Stage, usize, Stage)> {
    let mut seen = BTreeSet::new();
    let mut found = BTreeSet::new();
    for (number, config) in configs().into_iter().enumerate() {
        let first = Authorizer::new(Arc::new(config));
        let mut open = VecDeque::from([(first, Instant::from_millis(1_800_000_000_000))]);
        while let Some((authorizer, now)) = open.pop_front() {
            let from = authorizer.stage();
            for (name, act) in steps(from) {
                let step = steps(from).iter().position(|step| step.0 == name).unwrap_or_default();
                let mut after = authorizer.clone();
                let now = act(&mut after, now);
                after.inner.effects.clear();
                let to = after.stage();
                if to != from || (to != Stage::Idle && after.inner.job != authorizer.inner.job) {
                    found.insert((from, step, to));
                }
                if seen.insert((number, kind(&after, now))) {
                    open.push_back((after, now));
                }
            }
        }
    }
    found
}

/// Maps each stage to the next one, so that the compiler requires an arm for a new stage.
const fn next(stage: Option<Stage>) -> Option<Stage> {
    Some(match stage {
        None => Stage::Idle,
        Some(Stage::Idle) => Stage::FindingResource,
        Some(Stage::FindingResource) => Stage::FindingServer,
        Some(Stage::FindingServer) => Stage::Claiming,
        Some(Stage::Claiming) => Stage::NamingClient,
        Some(Stage::NamingClient) => Stage::PreparingLogin,
        Some(Stage::PreparingLogin) => Stage::Registering,
        Some(Stage::Registering) => Stage::AwaitingUser,
        Some(Stage::AwaitingUser) => Stage::AwaitingAssertion,
        Some(Stage::AwaitingAssertion) => Stage::ExchangingAssertion,
        Some(Stage::ExchangingAssertion) => Stage::Signing,
        Some(Stage::Signing) => Stage::RequestingToken,
        Some(Stage::RequestingToken) => Stage::Refreshing,
        Some(Stage::Refreshing) => return None,
    })
}

fn stages() -> impl Iterator<Item = Stage> {
    core::iter::successors(next(None), |stage| next(Some(*stage)))
}

/// Generates the section of the manual: the table of [`Stage::next`], and the steps that cause each transition.
pub(crate) fn section() -> String {
    let name = |stage: Stage| format!("`{stage:?}`");
    let mut next = String::from("| stage | next |\n|---|---|\n");
    for stage in stages() {
        let all: Vec<String> = stage.next().iter().map(|stage| name(*stage)).collect();
        next += &format!("| {} | {} |\n", name(stage), all.join(", "));
    }
    let mut chart = Chart::default();
    for (from, step, to) in explored() {
        chart.row(&name(from), steps(from)[step].0, &name(to));
    }
    format!(
        "## Authorization\n\n\
         The [`Stage`](crate::auth::Stage)s of an [`Authorizer`](crate::auth::Authorizer), with the answer of \
         [`Stage::next`](crate::auth::Stage::next).\n\n{next}\n\
         The steps between them. Where one step leads to several stages, the next stage depends on the flow, \
         on the client id that is known, and on the tokens that are stored. A step that is not in the table \
         does not change the stage. The drawing leaves out the steps that lead back to `Idle`.\n\n{}\n{}",
        chart.table(),
        chart.drawing("The stages of an authorization", "Idle")
    )
}

/// A user can give up a login at any stage of it, but not the tokens or the client id that are on their way.
#[test]
fn a_login_can_be_abandoned_at_every_stage() {
    let ended: BTreeSet<Stage> = explored()
        .into_iter()
        .filter(|(from, step, _)| steps(*from)[*step].0 == "the user gives up")
        .map(|(from, _, to)| {
            assert_eq!(to, Stage::Idle);
            from
        })
        .collect();
    let others = [
        Stage::Idle,
        Stage::Claiming,
        Stage::Registering,
        Stage::RequestingToken,
        Stage::Refreshing,
    ];
    let expected: BTreeSet<Stage> = stages().filter(|stage| !others.contains(stage)).collect();
    assert_eq!(ended, expected);
}

/// [`Stage::next`] contains exactly the stages that the authorizer can move to.
#[test]
fn the_stage_table_matches_the_authorizer() {
    let taken: BTreeSet<(Stage, Stage)> =
        explored().into_iter().map(|(from, _, to)| (from, to)).collect();
    let listed: BTreeSet<(Stage, Stage)> =
        TRANSITIONS.iter().flat_map(|(from, all)| all.iter().map(move |to| (*from, *to))).collect();
    let missing: Vec<_> = taken.difference(&listed).collect();
    let never: Vec<_> = listed.difference(&taken).collect();
    assert!(missing.is_empty() && never.is_empty(), "not listed: {missing:?}; never: {never:?}");
}
