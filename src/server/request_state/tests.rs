use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::*;
use crate::base64::Base64;
use crate::handle::Principal;
use crate::json::Raw;

/// A TOY: a keyed checksum, which anyone can forge. The first key signs, and all keys verify.
struct Toy(Vec<u64>);

impl Toy {
    fn checksum(key: u64, message: &[u8]) -> [u8; 32] {
        let mut tag = [0; 32];
        for (lane, part) in (1_u64..).zip(tag.chunks_exact_mut(8)) {
            let start = key.wrapping_mul(lane) ^ 0xcbf2_9ce4_8422_2325;
            let hash = message.iter().fold(start, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(7)
            });
            part.copy_from_slice(&hash.to_be_bytes());
        }
        tag
    }
}

impl Authenticator for Toy {
    fn tag(&self, message: &[u8]) -> [u8; 32] {
        Self::checksum(self.0[0], message)
    }

    fn verify(&self, message: &[u8], tag: &[u8; 32]) -> bool {
        self.0.iter().any(|key| Self::checksum(*key, message) == *tag)
    }
}

/// An authenticator that must not be called.
struct Untouchable;

impl Authenticator for Untouchable {
    fn tag(&self, _: &[u8]) -> [u8; 32] {
        panic!("a tag is made")
    }

    fn verify(&self, _: &[u8], _: &[u8; 32]) -> bool {
        panic!("a tag is verified")
    }
}

/// An authenticator that accepts every tag.
struct Credulous;

impl Authenticator for Credulous {
    fn tag(&self, _: &[u8]) -> [u8; 32] {
        [0xff; 32]
    }

    fn verify(&self, _: &[u8], _: &[u8; 32]) -> bool {
        true
    }
}

const NOW: Instant = Instant::from_millis(1_000);
const EXPIRY: Instant = Instant::from_millis(2_000);

/// The tag of [`Credulous`].
const TAG: &str = "__________________________________________8";

fn toy() -> StateSealer<Toy> {
    StateSealer::new(Toy(vec![1]))
}

fn binding() -> Binding<'static> {
    Binding::new(Principal::new(7), "tools/call")
        .name("deploy")
        .arguments(Raw::trusted(r#"{"to":"a"}"#))
}

fn open(
    sealer: &StateSealer<impl Authenticator>,
    text: &str,
    binding: &Binding<'_>,
) -> Result<Vec<u8>, OpenError> {
    sealer.open(&Str::from(text), binding, NOW).map(|opened| opened.payload)
}

#[track_caller]
fn sealed(payload: &[u8]) -> String {
    toy().seal(payload, &binding(), EXPIRY).expect("short enough").into_string()
}

/// Proves M-MRTR-40, M-R-18: a new sealer needs only the key and the text.
#[test]
fn a_new_sealer_opens_a_state_sealed_by_another() {
    for payload in [&b""[..], b"x", b"two", b"\0\xff\n\"", &[0xa5; 1000]] {
        let state = toy().seal(payload, &binding(), EXPIRY).expect("short enough");
        let text = state.as_str();
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        assert!(plain, "{text}");
        assert_eq!(Str::from(text).as_plain(), Some(text), "nothing to escape");
        let opened = toy().open(&Str::from(text), &binding(), NOW);
        assert_eq!(opened, Ok(OpenedState { payload: payload.to_vec(), expiry: EXPIRY }));
        let json = Raw::from_serialize(&state).expect("a string");
        assert_eq!(json.as_json(), format!("\"{text}\""));
    }
}

/// Proves M-R-18: the text and the authenticated message are the same in every build.
#[test]
fn the_text_and_the_message_have_one_form() {
    let instant = Instant::from_nanos(0x1f);
    let state = StateSealer::new(Credulous).seal(b"hi?", &binding(), instant);
    assert_eq!(state.map(String::from), Ok(format!("s1.1f.aGk_.{TAG}")));

    let binding = Binding::new(Principal::new(0x0102), "é").uri("u").arguments(Raw::trusted("{}"));
    let mut expected = b"mcp-sansio requestState s1".to_vec();
    expected.extend([0, 0, 0, 0, 0, 0, 1, 2]);
    expected.extend([0, 0, 0, 0, 0, 0, 0, 0x1f]);
    expected.extend([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0xe9]);
    expected.extend([0]);
    expected.extend([1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x75]);
    expected.extend([1, 0, 0, 0, 0, 0, 0, 0, 2, 0x7b, 0x7d]);
    expected.extend([0, 0, 0, 0, 0, 0, 0, 2, 0x68, 0x69]);
    assert_eq!(message::of(b"hi", &binding, instant), expected);
}

/// Proves M-MRTR-29: a bound value cannot be moved into another field.
#[test]
fn different_things_give_different_messages() {
    let by = |principal: u64, method: &str| Binding::new(Principal::new(principal), method);
    let raw = Raw::trusted;
    let things = [
        (by(7, "a"), &b""[..], NOW),
        (by(7, "a"), b"", EXPIRY),
        (by(7, "a"), b"\0", NOW),
        (by(7, "a"), b"a", NOW),
        (by(7, ""), b"a", NOW),
        (by(8, "a"), b"", NOW),
        (by(7, "ab"), b"", NOW),
        (by(7, "a").name(""), b"", NOW),
        (by(7, "a").uri(""), b"", NOW),
        (by(7, "a").name("b"), b"", NOW),
        (by(7, "a").uri("b"), b"", NOW),
        (by(7, "a").name("").uri("b"), b"", NOW),
        (by(7, "a").name("b").uri(""), b"", NOW),
        (by(7, "a").name("bc"), b"", NOW),
        (by(7, "a").arguments(raw("{}")), b"", NOW),
        (by(7, "a").arguments(raw("{ }")), b"", NOW),
        (by(7, "a"), b"{}", NOW),
        (by(7, "a").name("{}"), b"", NOW),
        (by(7, "a{}"), b"", NOW),
        (by(7, "\u{fffd}"), b"", NOW),
        (Binding { method: Str::trusted(r"\ud800"), ..by(7, "") }, b"", NOW),
    ];
    let messages: Vec<Vec<u8>> =
        things.iter().map(|(binding, payload, now)| message::of(payload, binding, *now)).collect();
    for (index, message) in messages.iter().enumerate() {
        let first = messages.iter().position(|other| other == message);
        assert_eq!(first, Some(index), "{:?}", things[index].0);
    }
}

/// Proves M-MRTR-28, M-MRTR-29: another principal, method, name, URI, other arguments, another key.
#[test]
fn a_state_is_good_for_its_own_request_only() {
    let text = sealed(b"step 2");
    assert_eq!(open(&toy(), &text, &binding()), Ok(b"step 2".to_vec()));
    let by = |principal: u64, method: &str| Binding::new(Principal::new(principal), method);
    let arguments = Raw::trusted(r#"{"to":"a"}"#);
    for other in [
        by(8, "tools/call").name("deploy").arguments(arguments.clone()),
        by(7, "prompts/get").name("deploy").arguments(arguments.clone()),
        by(7, "tools/call").name("delete").arguments(arguments.clone()),
        by(7, "tools/call").uri("deploy").arguments(arguments.clone()),
        by(7, "tools/call").name("deploy").arguments(Raw::trusted(r#"{"to":"b"}"#)),
        by(7, "tools/call").arguments(arguments),
        binding().uri(""),
        binding().without_arguments(),
    ] {
        assert_eq!(open(&toy(), &text, &other), Err(OpenError::NotAuthentic), "{other:?}");
    }
    let stranger = StateSealer::new(Toy(vec![2]));
    assert_eq!(open(&stranger, &text, &binding()), Err(OpenError::NotAuthentic));
}

/// Proves M-MRTR-28: a modified or invented text is refused, and is not even verified if its form is invalid.
#[test]
fn a_state_with_an_invalid_format_is_malformed() {
    let good = format!("s1.1f.aGk_.{TAG}");
    let later = Instant::from_nanos(0x1e);
    let ours = StateSealer::new(Credulous).open(&Str::from(&*good), &binding(), later);
    assert_eq!(ours.map(|opened| opened.payload), Ok(b"hi?".to_vec()));
    let untouchable = StateSealer::new(Untouchable);
    let long = "A".repeat(64 * 1024 / 3 * 4 + 5);
    for text in [
        "",
        ".",
        "...",
        "s1",
        "s1.1f.aGk_",
        "s1.1f.aGk_.",
        &format!("s2.1f.aGk_.{TAG}"),
        &format!("S1.1f.aGk_.{TAG}"),
        &format!(".1f.aGk_.{TAG}"),
        &format!("s1..aGk_.{TAG}"),
        &format!("s1.01f.aGk_.{TAG}"),
        &format!("s1.00.aGk_.{TAG}"),
        &format!("s1.1F.aGk_.{TAG}"),
        &format!("s1.+1.aGk_.{TAG}"),
        &format!("s1.1g.aGk_.{TAG}"),
        &format!("s1.10000000000000000.aGk_.{TAG}"),
        &format!("s1.1f.aGk/.{TAG}"),
        &format!("s1.1f.aGk+.{TAG}"),
        &format!("s1.1f.aGl.{TAG}"),
        &format!("s1.1f.aG=.{TAG}"),
        &format!("s1.1f.aG==.{TAG}"),
        &format!("s1.1f.a.{TAG}"),
        &format!("s1.1f.ab.{TAG}"),
        &format!("s1.1f.aGk_.{TAG}A"),
        &format!("s1.1f.aGk_.{}", &TAG[1..]),
        &format!("s1.1f.aGk_.{}9", &TAG[1..]),
        &format!("s1.1f.aGk_.{TAG}."),
        &format!(" {good}"),
        &format!("{good}\n"),
        &format!("{good}é"),
        &good.replace('.', "\0"),
        &format!("s1.1f.{long}.{TAG}"),
    ] {
        assert_eq!(open(&untouchable, text, &binding()), Err(OpenError::Malformed), "{text:?}");
    }
    let escaped: String = good.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    for suffix in [r"\ud800", r"\udc00", r"\ud83d\ude00", r"\ufffd"] {
        let state = format!("{escaped}{suffix}");
        let opened = untouchable.open(&Str::trusted(&state), &binding(), NOW);
        assert_eq!(opened, Err(OpenError::Malformed), "{suffix}");
    }
    let opened = StateSealer::new(Credulous).open(&Str::trusted(&escaped), &binding(), later);
    assert_eq!(opened.map(|opened| opened.payload), Ok(b"hi?".to_vec()), "escapes mean the same");
}

/// Proves M-MRTR-29, M-R-17: a text is valid until its expiry, and a forged text is never reported as expired. A user
/// who took too long is asked again, with a new state.
#[test]
fn a_state_expires() {
    let text = sealed(b"step 2");
    let at = |text: &str, now: Instant| {
        toy().open(&Str::from(text), &binding(), now).map(|opened| opened.expiry)
    };
    let nanosecond = Duration::from_nanos(1);
    assert_eq!(at(&text, Instant::EPOCH), Ok(EXPIRY));
    assert_eq!(at(&text, EXPIRY - nanosecond), Ok(EXPIRY));
    assert_eq!(at(&text, EXPIRY), Err(OpenError::Expired));
    assert_eq!(at(&text, EXPIRY + nanosecond), Err(OpenError::Expired));
    let later = text.replacen("s1.", "s1.f", 1);
    assert_eq!(at(&later, EXPIRY), Err(OpenError::NotAuthentic), "a longer life by hand");
    let now = EXPIRY + Duration::from_secs(5);
    assert_eq!(at(&later, now), Err(OpenError::NotAuthentic));
    let fresh = toy().seal(b"step 2", &binding(), now + nanosecond).expect("short enough");
    assert_eq!(at(fresh.as_str(), now), Ok(now + nanosecond));
    let eternal = toy().seal(b"", &binding(), Instant::from_nanos(u64::MAX)).expect("short enough");
    assert!(eternal.as_str().starts_with("s1.ffffffffffffffff.."), "{}", eternal.as_str());
    assert_eq!(at(eternal.as_str(), now), Ok(Instant::from_nanos(u64::MAX)));
}

/// Proves M-MRTR-30, M-R-16: the same text opens repeatedly. A nonce in the payload and a store of the host make it
/// single use, and the expiry keeps the store small.
#[test]
fn single_use_is_a_store_of_the_host() {
    let text = sealed(b"nonce 5");
    let mut used: Vec<OpenedState> = Vec::new();
    let mut accept = |text: &str, now: Instant| {
        let opened = toy().open(&Str::from(text), &binding(), now).ok()?;
        used.retain(|state| now < state.expiry);
        let is_new = !used.contains(&opened);
        used.push(opened);
        is_new.then_some(used.len())
    };
    assert_eq!(open(&toy(), &text, &binding()), Ok(b"nonce 5".to_vec()));
    assert_eq!(open(&toy(), &text, &binding()), Ok(b"nonce 5".to_vec()), "as often as it comes");
    assert_eq!(accept(&text, NOW), Some(1));
    assert_eq!(accept(&text, NOW), None, "replayed");
    assert_eq!(accept(&text, EXPIRY), None, "no use even if it were forgotten");
    let other = toy().seal(b"nonce 6", &binding(), EXPIRY + Duration::from_secs(1));
    let other = other.expect("short enough").into_string();
    assert_eq!(accept(&other, EXPIRY), Some(1), "what has expired need not be remembered");
}

/// Proves M-MRTR-28: during a rotation the old key still verifies and the new one signs.
#[test]
fn keys_can_be_changed() {
    let [old, both, new] = [vec![1], vec![2, 1], vec![2]].map(|keys| StateSealer::new(Toy(keys)));
    let seal = |sealer: &StateSealer<Toy>| {
        sealer.seal(b"x", &binding(), EXPIRY).expect("short enough").into_string()
    };
    assert_eq!(open(&both, &seal(&old), &binding()), Ok(b"x".to_vec()));
    assert_eq!(seal(&both), seal(&new));
    assert_eq!(open(&both, &seal(&new), &binding()), Ok(b"x".to_vec()));
    assert_eq!(open(&new, &seal(&old), &binding()), Err(OpenError::NotAuthentic));
    let borrowed = StateSealer::new(&both.authenticator);
    assert_eq!(open(&borrowed, &seal(&new), &binding()), Ok(b"x".to_vec()));
}

/// Proves M-SECL-05: `Debug` and `Display` reveal neither payload, tag, key, name nor arguments.
#[test]
fn a_state_debugs_without_payload() {
    let sealer = StateSealer::new(Toy(vec![0x5ec2_e7aa]));
    let state = sealer.seal(b"secret", &binding(), EXPIRY).expect("short enough");
    assert_eq!(format!("{state:?}"), "SealedState(64 bytes)");
    let opened = sealer.open(&Str::from(state.as_str()), &binding(), NOW).expect("ours");
    assert_eq!(format!("{opened:?}"), "OpenedState(6 bytes, expiry: 2s)");
    assert_eq!(format!("{sealer:?}"), "StateSealer { payload_bytes: 65536, .. }");
    assert_eq!(
        format!("{:?}", binding()),
        "Binding { principal: Principal(7), method: Str(10 bytes), name: Some(Str(6 bytes)), \
         uri: None, arguments: Some(Raw(object, 10 bytes)) }"
    );
    let errors = [OpenError::Malformed, OpenError::NotAuthentic, OpenError::Expired];
    assert_eq!(
        errors.map(|error| error.to_string()),
        [
            "the request state is malformed",
            "the request state is not authentic",
            "the request state has expired",
        ]
    );
}

#[test]
fn a_payload_has_a_longest_length() {
    for longest in 0..10 {
        let sealer = toy().payload_bytes(longest);
        let payload = vec![b'a'; longest + 1];
        let state = sealer.seal(&payload[1..], &binding(), Instant::from_nanos(u64::MAX));
        let text = state.expect("just short enough").into_string();
        assert_eq!(open(&sealer, &text, &binding()), Ok(payload[1..].to_vec()));
        let escaped: String = text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
        let opened = sealer.open(&Str::trusted(&escaped), &binding(), NOW);
        assert_eq!(opened.map(|opened| opened.payload), Ok(payload[1..].to_vec()));
        assert_eq!(sealer.seal(&payload, &binding(), EXPIRY), Err(SealError::PayloadTooLong));
        let longer = toy().seal(&payload, &binding(), EXPIRY).expect("short enough").into_string();
        assert_eq!(open(&toy(), &longer, &binding()), Ok(payload));
        assert_eq!(open(&sealer, &longer, &binding()), Err(OpenError::Malformed));
    }
    let endless = toy().payload_bytes(usize::MAX);
    assert_eq!(open(&endless, &sealed(b"x"), &binding()), Ok(b"x".to_vec()));
}

/// The vectors of [RFC 4648](https://www.rfc-editor.org/rfc/rfc4648#section-10), unpadded, and the two symbols that
/// only base64url has.
#[test]
fn base64_is_that_of_urls() {
    for (bytes, text) in [
        (&b""[..], ""),
        (b"f", "Zg"),
        (b"fo", "Zm8"),
        (b"foo", "Zm9v"),
        (b"foob", "Zm9vYg"),
        (b"fooba", "Zm9vYmE"),
        (b"foobar", "Zm9vYmFy"),
        (b"\xfb\xff\xbf", "-_-_"),
    ] {
        let mut encoded = String::new();
        Base64::Url.encode(bytes, &mut encoded);
        assert_eq!(encoded, text);
        assert_eq!(Base64::Url.decode(text), Some(bytes.to_vec()));
    }
}

/// Every text of up to three characters is either the only text of its value, or invalid.
#[test]
fn base64_has_one_encoding_for_each_value() {
    let mut values = [0; 4];
    let mut check = |text: &[u8]| {
        let Ok(text) = core::str::from_utf8(text) else { return };
        if let Some(bytes) = Base64::Url.decode(text) {
            let mut encoded = String::new();
            Base64::Url.encode(&bytes, &mut encoded);
            assert_eq!(encoded, text);
            values[text.len()] += 1;
        }
    };
    check(b"");
    for first in 0..=127 {
        check(&[first]);
        for second in 0..=127 {
            check(&[first, second]);
            for third in 0..=127 {
                check(&[first, second, third]);
            }
        }
    }
    assert_eq!(values, [1, 0, 256, 65_536]);
}
