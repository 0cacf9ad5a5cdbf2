//! Returned `requestState` values: from unchanged requests, and with every kind of damage.

use std::time::Duration;

use mcp_sansio::json::{Raw, Str};
use mcp_sansio::request_state::{Authenticator, Binding, OpenError, OpenedState, StateSealer};
use mcp_sansio::{ErrorCode, Instant, Principal, Received, Request, Revision, ServerEvent};
use mcp_sansio_proptests::ServerSide;
use mcp_sansio_proptests::allocations::count;
use proptest::prelude::*;
use proptest::sample::Index;

/// A TOY: a checksum with a key, which anyone can forge. See the example `request_state` for a real one.
#[derive(Clone, Copy)]
struct Toy(u64);

impl Authenticator for Toy {
    fn tag(&self, message: &[u8]) -> [u8; 32] {
        let mut tag = [0; 32];
        for (lane, part) in (1_u64..).zip(tag.chunks_exact_mut(8)) {
            let start = self.0.wrapping_mul(lane) ^ 0xcbf2_9ce4_8422_2325;
            let hash = message.iter().fold(start, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(7)
            });
            part.copy_from_slice(&hash.to_be_bytes());
        }
        tag
    }

    fn verify(&self, message: &[u8], tag: &[u8; 32]) -> bool {
        self.tag(message) == *tag
    }
}

fn sealer(key: u64) -> StateSealer<Toy> {
    StateSealer::new(Toy(key))
}

/// A sealer may borrow its key.
#[test]
fn a_borrowed_authenticator_is_the_same() {
    let toy = Toy(7);
    let borrowed = &toy;
    let tag = Authenticator::tag(&borrowed, b"m");
    assert_eq!(tag, toy.tag(b"m"));
    assert!(Authenticator::verify(&borrowed, b"m", &tag));
    assert!(!Authenticator::verify(&borrowed, b"n", &tag));
}

/// A request that a server in a session receives.
fn request(principal: u64, method: &str, params: &str) -> Request<'static> {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let received = Received::from(side.now).principal(Principal::new(principal));
    match side.server.receive(frame.as_bytes(), received, &mut side.out) {
        Some(ServerEvent::Request(request)) => request.into_owned(),
        other => panic!("not a request for the application: {other:?}"),
    }
}

/// Proves M-MRTR-29: a request is bound by its principal, method, name, URI and arguments.
#[test]
fn a_binding_covers_principal_method_name_uri_and_arguments() {
    let by = |method: &str| Binding::new(Principal::new(7), method);
    let raw = |text: &'static str| Raw::new(text).unwrap();
    for (method, params, expected) in [
        ("tools/call", r#"{"name":"t"}"#, by("tools/call").name("t")),
        (
            "tools/call",
            r#"{"name":"t","arguments":{"a": 1}}"#,
            by("tools/call").name("t").arguments(raw(r#"{"a": 1}"#)),
        ),
        ("tools/call", r#"{"name":"t","arguments":null}"#, by("tools/call").name("t")),
        ("tools/call", r#"{"name":"x","name":"\u0074"}"#, by("tools/call").name("t")),
        (
            "prompts/get",
            r#"{"arguments":{"a":"b"},"name":"p"}"#,
            by("prompts/get").name("p").arguments(raw(r#"{"a":"b"}"#)),
        ),
        ("resources/read", r#"{"uri":"a:b"}"#, by("resources/read").uri("a:b")),
        ("x/own", r#"{"uri":"u","name":"n","more":1}"#, by("x/own").name("n").uri("u")),
        ("x/own", r#"{"uri":1,"name":{},"arguments":[]}"#, by("x/own").arguments(raw("[]"))),
    ] {
        assert_eq!(Binding::of(&request(7, method, params)), expected, "{params}");
        assert_ne!(Binding::of(&request(8, method, params)), expected, "{params}");
    }
    let bare = request(7, "x/own", "{}");
    assert_eq!(Binding::of(&bare), by("x/own"));
    let call = request(7, "tools/call", r#"{"name":"t","arguments":{"a":1}}"#);
    assert_eq!(Binding::of(&call).without_arguments(), by("tools/call").name("t"));
    let odd = request(7, "tools/call", r#"{"name":"\ud800"}"#);
    assert_ne!(Binding::of(&odd), by("tools/call").name("\u{fffd}"));
}

/// Proves M-MRTR-29, M-R-18: a retry has the binding of the request that it continues, on any instance.
#[test]
fn a_retry_opens_its_state_on_another_instance() {
    let now = Instant::from_millis(5_000);
    let first = request(7, "tools/call", r#"{"name":"t","arguments":{"a":1},"_meta":{"x":1}}"#);
    let state = sealer(1).seal(b"step 2", &Binding::of(&first), now + Duration::from_secs(60));
    let state = Raw::from_serialize(&state.unwrap()).unwrap();
    let retry = request(
        7,
        "tools/call",
        &format!(
            r#"{{"_meta":{{"x":2}},"requestState":{state},"arguments":{{"a":1}},"name":"\u0074","inputResponses":{{"q":{{}}}}}}"#
        ),
    );
    let echoed = retry.params.as_ref().unwrap().get("requestState").unwrap().into_str().unwrap();
    let opened = sealer(1).open(&echoed, &Binding::of(&retry), now).unwrap();
    assert_eq!(opened.payload, b"step 2");
    assert_eq!(opened.expiry, now + Duration::from_secs(60));
}

/// Proves M-MRTR-18: the states of parallel calls are not interchangeable.
#[test]
fn parallel_calls_do_not_cross() {
    let now = Instant::from_millis(5_000);
    let expiry = now + Duration::from_secs(60);
    let calls = [
        request(7, "tools/call", r#"{"name":"a","arguments":{"file":"x"}}"#),
        request(7, "tools/call", r#"{"name":"a","arguments":{"file":"y"}}"#),
        request(7, "tools/call", r#"{"name":"b","arguments":{"file":"x"}}"#),
        request(8, "tools/call", r#"{"name":"a","arguments":{"file":"x"}}"#),
        request(7, "prompts/get", r#"{"name":"a","arguments":{"file":"x"}}"#),
        request(7, "resources/read", r#"{"uri":"a"}"#),
    ];
    let sealer = sealer(1);
    let states: Vec<String> = (0..)
        .zip(&calls)
        .map(|(number, call)| {
            sealer.seal(&[number], &Binding::of(call), expiry).unwrap().into_string()
        })
        .collect();
    for (mine, call) in calls.iter().enumerate() {
        for (theirs, state) in states.iter().enumerate() {
            let opened = sealer.open(&Str::from(&**state), &Binding::of(call), now);
            let opened = opened.map(|opened| opened.payload);
            if mine == theirs {
                assert_eq!(opened, Ok(vec![u8::try_from(mine).unwrap()]));
            } else {
                assert_eq!(opened, Err(OpenError::NotAuthentic), "{mine} with {theirs}");
            }
        }
    }
}

/// Proves M-MRTR-28, M-R-17: a changed or expired state is answered with -32602.
#[test]
fn a_bad_state_is_answered_with_invalid_params() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let binding = Binding::new(Principal::default(), "tools/call").name("t");
    let seal = |expiry| sealer(1).seal(b"x", &binding, expiry).unwrap().into_string();
    let good = seal(side.now + Duration::from_nanos(1));
    let expired = seal(side.now);
    let changed = format!("{}A", &good[..good.len() - 1]);
    let moved = good.replacen("s1.", "s1.1", 1);
    for (state, message) in [
        (&*moved, "the request state is not authentic"),
        (&*changed, "the request state is not authentic"),
        (&*expired, "the request state has expired"),
        ("", "the request state is malformed"),
        (r"\ud800", "the request state is malformed"),
    ] {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","requestState":"{state}"}}}}"#
        );
        let Some(ServerEvent::Request(request)) = side.receive(&frame) else { panic!("{frame}") };
        let echoed = request.params.as_ref().and_then(|params| params.get("requestState"));
        let echoed = echoed.and_then(Raw::into_str).unwrap();
        let error = sealer(1).open(&echoed, &Binding::of(&request), side.now).unwrap_err();
        let (code, text) = (ErrorCode::INVALID_PARAMS, error.to_string());
        side.server.reject(request.id, code, &text, &mut side.out).unwrap();
        assert_eq!(
            side.sent(),
            [format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"{message}"}}}}"#
            )]
        );
    }
    let opened = sealer(1).open(&Str::from(&*good), &binding, side.now);
    assert_eq!(opened.map(|opened| opened.payload), Ok(b"x".to_vec()));
}

/// Proves M-MRTR-28: a client cannot make a server copy or decode a state that is too long.
#[test]
fn an_oversized_state_is_refused_without_allocation() {
    let binding = Binding::new(Principal::new(1), "tools/call");
    let sealer = sealer(1).payload_bytes(1000);
    let tail = ".__________________________________________8";
    for long in [
        "A".repeat(1_000_000),
        format!("s1.1f.{}{tail}", "A".repeat(1_000_000)),
        format!("s1.1f.{}{tail}", r"\u0041".repeat(1_000_000)),
        r"\ud800".repeat(1_000_000),
    ] {
        let raw = Raw::try_from(format!("\"{long}\"")).unwrap();
        let state = raw.as_string().unwrap();
        let (opened, allocations) = count(|| sealer.open(&state, &binding, Instant::EPOCH));
        assert_eq!((opened, allocations), (Err(OpenError::Malformed), 0), "{}", &long[..20]);
    }
}

/// The bound values of a state, from few alternatives, so that two are often equal or similar.
fn bound() -> impl Strategy<Value = (u64, String, Option<String>, Option<String>, Option<String>)> {
    let target = || prop::option::of(prop_oneof![Just("a".to_string()), "[ab{}\0é]{0,2}"]);
    let arguments = prop::option::of(prop::sample::select(vec![
        "{}",
        "{ }",
        r#"{"a":1}"#,
        r#"{"a":1.0}"#,
        r#"{"a":"1"}"#,
        r#"{"\u0061":1}"#,
        "[]",
    ]));
    (0..2_u64, "(a|ab|tools/call|prompts/get)", target(), target(), arguments).prop_map(
        |(principal, method, name, uri, arguments)| {
            (principal, method, name, uri, arguments.map(String::from))
        },
    )
}

type Bound = (u64, String, Option<String>, Option<String>, Option<String>);

fn binding((principal, method, name, uri, arguments): &Bound) -> Binding<'_> {
    let mut binding = Binding::new(Principal::new(*principal), method);
    if let Some(name) = name {
        binding = binding.name(name);
    }
    if let Some(uri) = uri {
        binding = binding.uri(uri);
    }
    if let Some(arguments) = arguments {
        binding = binding.arguments(Raw::new(arguments).unwrap());
    }
    binding
}

/// A changed text, different from the original.
fn changed(text: &str, kind: u8, at: Index, character: char) -> Option<String> {
    let mut changed: Vec<char> = text.chars().collect();
    let at = at.index(changed.len());
    match kind {
        0 => changed[at] = character,
        1 => changed.insert(at, character),
        2 => _ = changed.remove(at),
        3 => changed.truncate(at),
        4 => changed.push(character),
        _ => changed.rotate_left(at),
    }
    let changed = String::from_iter(changed);
    (changed != text).then_some(changed)
}

/// A replacement character: mostly one that is valid at this position.
fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        4 => prop::sample::select(('a'..='z').chain('A'..='Z').chain('0'..='9').collect::<Vec<_>>()),
        2 => prop::sample::select("-_.=+/ \n\"\\\0".chars().collect::<Vec<_>>()),
        1 => any::<char>(),
    ]
}

proptest! {
    /// Proves M-MRTR-40, M-R-18: any payload is returned, by any instance with the key, until it expires.
    #[test]
    fn a_sealed_state_opens_to_its_payload_until_expiry(
        payload in prop::collection::vec(any::<u8>(), 0..100),
        bound in bound(),
        key: u64,
        expiry: u64,
        now: u64,
    ) {
        let (expiry, now) = (Instant::from_nanos(expiry), Instant::from_nanos(now));
        let state = sealer(key).seal(&payload, &binding(&bound), expiry).unwrap();
        prop_assert!(state.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
        let opened = sealer(key).open(&Str::from(state.as_str()), &binding(&bound), now);
        if now < expiry {
            let OpenedState { payload: again, expiry: until, .. } = opened.unwrap();
            prop_assert_eq!((again, until), (payload, expiry));
        } else {
            prop_assert_eq!(opened, Err(OpenError::Expired));
        }
    }

    /// Proves M-MRTR-28: no changed text is accepted, at any time.
    #[test]
    fn no_change_of_the_text_is_taken(
        payload in prop::collection::vec(any::<u8>(), 0..20),
        expiry: u64,
        kind in 0..6_u8,
        at: Index,
        character in character(),
        now in prop_oneof![Just(0), any::<u64>()],
    ) {
        let binding = Binding::new(Principal::new(1), "tools/call").name("t");
        let state = sealer(1).seal(&payload, &binding, Instant::from_nanos(expiry)).unwrap();
        if let Some(changed) = changed(state.as_str(), kind, at, character) {
            let opened = sealer(1).open(&Str::from(&*changed), &binding, Instant::from_nanos(now));
            let refused = matches!(opened, Err(OpenError::Malformed | OpenError::NotAuthentic));
            prop_assert!(refused, "{opened:?}: {changed}");
        }
    }

    /// Proves M-MRTR-18, M-MRTR-28, M-MRTR-29: a state opens if and only if all bound values are equal.
    #[test]
    fn a_state_opens_for_the_same_things_only(
        sealed in bound(),
        mut brought in bound(),
        same: bool,
        keys in (0..2_u64, 0..2_u64),
    ) {
        if same {
            brought = sealed.clone();
        }
        let state = sealer(keys.0).seal(b"x", &binding(&sealed), Instant::from_nanos(1)).unwrap();
        let echoed = Str::from(state.as_str());
        let opened = sealer(keys.1).open(&echoed, &binding(&brought), Instant::EPOCH);
        if sealed == brought && keys.0 == keys.1 {
            prop_assert_eq!(opened.unwrap().payload, b"x");
        } else {
            prop_assert_eq!(opened, Err(OpenError::NotAuthentic));
        }
    }

    /// Proves M-MRTR-28, M-MRTR-29: one changed byte of the method, the name, the URI or the arguments is enough.
    #[test]
    fn one_byte_of_the_request_is_enough(
        (method, name, uri) in ("[a-z/]{1,12}", "[a-z]{1,8}", "[a-z:]{1,8}"),
        text in "[a-z]{1,8}",
        which in 0..4_usize,
        at: Index,
        character in prop::char::range('a', 'z'),
    ) {
        let arguments = |text: &str| Raw::from_serialize(&[text]).unwrap();
        let mut parts = [method, name, uri, text];
        let bind = |[method, name, uri, text]: &[String; 4]| {
            Binding::new(Principal::new(1), method).name(name).uri(uri).arguments(arguments(text))
        };
        let original = bind(&parts);
        let state = sealer(1).seal(b"x", &original, Instant::from_nanos(1)).unwrap();
        let other = changed(&parts[which], 0, at, character);
        prop_assume!(other.is_some());
        parts[which] = other.unwrap();
        let echoed = Str::from(state.as_str());
        let opened = sealer(1).open(&echoed, &bind(&parts), Instant::EPOCH);
        prop_assert_eq!(opened, Err(OpenError::NotAuthentic));
    }

    /// Proves M-MRTR-28: any JSON string is answered, including one that is not valid text.
    #[test]
    fn any_other_string_is_refused(
        pieces in prop::collection::vec(
            prop_oneof![
                "[ -!#-\\[\\]-~]{0,20}",
                r"\\u[0-9a-fA-F]{4}",
                r#"\\["\\/bfnrt]"#,
                Just("s1.".to_string()),
                Just("1f.aGk_.__________________________________________8".to_string()),
            ],
            0..5,
        ),
    ) {
        let text = format!("\"{}\"", pieces.concat());
        let raw = Raw::new(&text).unwrap();
        let binding = Binding::new(Principal::new(1), "tools/call");
        let opened = sealer(1).open(&raw.as_string().unwrap(), &binding, Instant::EPOCH);
        prop_assert!(matches!(opened, Err(OpenError::Malformed | OpenError::NotAuthentic)));
    }
}
