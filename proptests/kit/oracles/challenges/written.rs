//! Generates valid values of `WWW-Authenticate`, in every form that the grammar allows.

use mcp_sansio::testing::Choices;

use super::Challenge;

const SCHEMES: [&str; 8] =
    ["Bearer", "bearer", "DPoP", "Basic", "Negotiate", "Digest", "x-own.1", "!#$%&'*+-.^_`|~"];
const NAMES: [&str; 8] =
    ["realm", "scope", "Error", "ERROR_DESCRIPTION", "resource_metadata", "q", "bearer", "a.b-c"];
const TOKENS68: [&str; 5] = ["YII=", "TlRM==", "a", "-._~+/09azAZ", "eyJ.eyJ.sig"];
const VALUES: [&str; 12] = [
    "",
    "x",
    "insufficient_scope",
    "a, Bearer b=c",
    "files:read files:write",
    "https://example.com/.well-known/oauth-protected-resource/mcp?a=b&c",
    "say \"no\"",
    "back\\slash",
    "\ttab",
    "Zürich 界",
    "==",
    ",",
];

/// Returns the fields of a response, and the challenges that they contain.
pub fn written(choices: &mut Choices) -> (Vec<String>, Vec<Challenge>) {
    let (mut fields, mut challenges) = (vec![String::new()], Vec::new());
    for number in 0..choices.below(5) {
        let challenge = challenge(choices);
        if choices.one_in(3) {
            fields.push(String::new());
        } else if number > 0 {
            fields.last_mut().unwrap().push_str(&commas(choices, 1));
        } else if choices.one_in(4) {
            fields.last_mut().unwrap().push_str(&commas(choices, 0));
        }
        write(choices, &challenge, fields.last_mut().unwrap());
        challenges.push(challenge);
    }
    if choices.one_in(4) {
        fields.last_mut().unwrap().push_str(&commas(choices, 0));
    }
    (fields, challenges)
}

fn challenge(choices: &mut Choices) -> Challenge {
    let scheme = choices.pick(&SCHEMES).unwrap();
    let mut challenge = Challenge::new(scheme);
    match choices.below(6) {
        0 => {}
        1 => challenge.token68 = choices.pick(&TOKENS68).map(Into::into),
        _ => {
            for _ in 0..=choices.below(4) {
                let name = choices.pick(&NAMES).unwrap().to_ascii_lowercase();
                challenge.params.push((name, choices.pick(&VALUES).unwrap().into()));
            }
        }
    }
    challenge
}

fn write(choices: &mut Choices, challenge: &Challenge, to: &mut String) {
    to.push_str(&challenge.scheme);
    if let Some(token68) = &challenge.token68 {
        to.push_str(&spaces(choices, 1).replace('\t', " "));
        to.push_str(token68);
    }
    for (number, (name, value)) in challenge.params.iter().enumerate() {
        if number == 0 {
            to.push(' ');
            to.push_str(&spaces(choices, 0).replace('\t', " "));
            if choices.one_in(6) {
                to.push_str(&commas(choices, 1));
            }
        } else {
            to.push_str(&commas(choices, 1));
        }
        let name = if choices.one_in(3) { name.to_ascii_uppercase() } else { name.clone() };
        to.push_str(&name);
        to.push_str(&spaces(choices, 0));
        to.push('=');
        to.push_str(&spaces(choices, 0));
        write_value(choices, value, to);
    }
}

/// Writes a value as a token if possible and chosen, otherwise as a quoted string with superfluous escapes.
fn write_value(choices: &mut Choices, value: &str, to: &mut String) {
    let is_token = |next: char| next.is_ascii_alphanumeric() || "_-.".contains(next);
    if !value.is_empty() && value.chars().all(is_token) && choices.one_in(2) {
        to.push_str(value);
        return;
    }
    to.push('"');
    for next in value.chars() {
        if matches!(next, '"' | '\\') || choices.one_in(8) {
            to.push('\\');
        }
        to.push(next);
    }
    to.push('"');
}

/// Returns at least `least` commas with white space. Additional ones form empty elements.
fn commas(choices: &mut Choices, least: u64) -> String {
    let more = if choices.one_in(4) { choices.below(3) } else { 0 };
    (0..least + more)
        .map(|_| {
            let before = spaces(choices, 0);
            let after = if choices.one_in(4) { spaces(choices, 0) } else { " ".into() };
            format!("{before},{after}")
        })
        .collect()
}

fn spaces(choices: &mut Choices, least: u64) -> String {
    let more = if choices.one_in(4) { choices.below(3) } else { 0 };
    (0..least + more).map(|_| if choices.one_in(3) { '\t' } else { ' ' }).collect()
}
