//! A typed call of an extension is made only if both sides have declared the extension.

use std::sync::Arc;

use mcp_sansio::call::Paging;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{Discover, Empty, Method, PagedMethod};
use mcp_sansio::{
    CallError, CallOptions, Client, ClientConfig, Framing, Instant, Limits, Outbox, Revision,
    RevisionSet,
};

const NAME: &str = "com.example/weather";

enum Cities {}

impl Method for Cities {
    const NAME: &'static str = "com.example/cities";
    const EXTENSION: Option<&'static str> = Some(NAME);
    type Params<'a> = Empty<'a>;
    type Result<'a> = Raw<'a>;
}

impl PagedMethod for Cities {
    const ITEMS: &'static str = "cities";
}

const NOW: Instant = Instant::EPOCH;

/// A client that has declared these extensions, and its outbox.
fn client(extensions: &[&'static str], change: impl FnOnce(&mut ClientConfig)) -> (Client, Outbox) {
    let mut config = ClientConfig::new("c", "1");
    for name in extensions {
        config.capabilities = config.capabilities.with_extension(*name, Raw::EMPTY_OBJECT);
    }
    change(&mut config);
    let out = Outbox::new(Framing::Lines, &Limits::default());
    (Client::new(Arc::new(config)), out)
}

fn call(client: &mut Client, out: &mut Outbox) -> Result<(), CallError> {
    let call = client.call::<Cities>(&Empty::default(), CallOptions::new(), NOW, out);
    let options = CallOptions::new().extension(NAME);
    let named = client.call_method(Cities::NAME, &Empty::default(), options, NOW, out);
    assert_eq!(named.map(drop), call.map(drop));
    let list = client.list::<Cities>(Paging::default(), CallOptions::new(), NOW, out);
    assert_eq!(list.map(drop), call.map(drop));
    call.map(drop)
}

/// Proves M-CAP-12.
#[test]
fn the_server_has_to_declare_the_extension() {
    let refused = Err(CallError::NotAllowed(NotAllowed::Extension));
    for (ours, theirs, expected) in [
        (&[NAME][..], r#""extensions":{"com.example/weather":{"units":"si"}}"#, Ok(())),
        (&["com.example/a", NAME], r#""extensions":{"x":{},"com.example/weather":{}}"#, Ok(())),
        (&[NAME], r#""extensions":{"com.example/weather":true}"#, refused),
        (&[NAME], r#""extensions":{"com.example/a":{}}"#, refused),
        (&[NAME], r#""experimental":{"com.example/weather":{}}"#, refused),
        (&[NAME], "", refused),
        (&[], r#""extensions":{"com.example/weather":{}}"#, refused),
    ] {
        let (mut client, mut out) = client(ours, |_| {});
        client.connect(NOW, &mut out).unwrap();
        let result = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{{theirs}}},"serverInfo":{{"name":"s","version":"1"}},"ttlMs":0,"cacheScope":"private"}}}}"#
        );
        assert!(client.receive(result.as_bytes(), NOW, &mut out).is_some());
        assert_eq!(client.revision(), Some(Revision::V2026_07_28));
        assert_eq!(call(&mut client, &mut out), expected, "{ours:?} {theirs}");
        // By name, without the option, and for a method without an extension, there is nothing to compare.
        let named =
            client.call_method(Cities::NAME, &Empty::default(), CallOptions::new(), NOW, &mut out);
        assert!(named.is_ok());
        client.call::<Discover>(&Empty::default(), CallOptions::new(), NOW, &mut out).unwrap();
    }
}

/// As many extensions are distinguished as a set has room for: the last of 32 can be common, and a further one cannot.
#[test]
fn the_last_extension_of_many_is_compared() {
    let refused = Err(CallError::NotAllowed(NotAllowed::Extension));
    let declared = r#""extensions":{"com.example/weather":{}}"#;
    for (others, theirs, expected) in
        [(31, declared, Ok(())), (31, "", refused), (32, declared, refused)]
    {
        let (mut client, mut out) = client(&[], |config| {
            let names = (0..others).map(|number| format!("com.example/{number}"));
            for name in names.chain([NAME.to_owned()]) {
                let capabilities = config.capabilities.clone();
                config.capabilities = capabilities.with_extension(name, Raw::EMPTY_OBJECT);
            }
        });
        client.connect(NOW, &mut out).unwrap();
        let result = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{{theirs}}},"serverInfo":{{"name":"s","version":"1"}},"ttlMs":0,"cacheScope":"private"}}}}"#
        );
        assert!(client.receive(result.as_bytes(), NOW, &mut out).is_some());
        assert_eq!(call(&mut client, &mut out), expected, "{others} {theirs}");
    }
}

/// A server that was not asked is assumed to have every extension, as it is assumed to have every capability.
#[test]
fn nothing_is_refused_before_the_server_has_declared_its_extensions() {
    let (mut unasked, mut out) = client(&[NAME], |config| {
        config.known = Some(Revision::V2026_07_28);
    });
    unasked.connect(NOW, &mut out).unwrap();
    assert_eq!(call(&mut unasked, &mut out), Ok(()));
    let (mut unready, mut out) = client(&[NAME], |_| {});
    unready.connect(NOW, &mut out).unwrap();
    assert_eq!(call(&mut unready, &mut out), Ok(()));
}

#[test]
fn the_legacy_era_has_no_extensions() {
    let (mut client, mut out) = client(&[NAME], |config| config.revisions = RevisionSet::LEGACY);
    client.connect(NOW, &mut out).unwrap();
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"extensions":{"com.example/weather":{}}},"serverInfo":{"name":"s","version":"1"}}}"#;
    assert!(client.receive(result.as_bytes(), NOW, &mut out).is_some());
    let refused = Err(CallError::NotAllowed(NotAllowed::Extension));
    assert_eq!(call(&mut client, &mut out), refused);
}
