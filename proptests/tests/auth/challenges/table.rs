//! `WWW-Authenticate` fields and their challenges.

use mcp_sansio_proptests::oracles::challenges::Challenge;

type Case = (Vec<&'static str>, Vec<Challenge>);

fn bare_challenge(scheme: &str) -> Challenge {
    Challenge::new(scheme)
}

fn token68(scheme: &str, value: &str) -> Challenge {
    Challenge::with_token68(scheme, value)
}

fn params(scheme: &str, params: &[(&str, &str)]) -> Challenge {
    Challenge::with_params(scheme, params)
}

/// Returns all cases: the fields of a response, and their challenges.
pub(crate) fn table() -> Vec<Case> {
    [of_mcp_servers(), of_other_schemes(), of_the_grammar(), of_lists()].concat()
}

/// Fields of resource servers and identity providers.
fn of_mcp_servers() -> Vec<Case> {
    const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    vec![
        (vec!["Bearer"], vec![bare_challenge("Bearer")]),
        (
            vec![
                r#"Bearer error="invalid_token", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp""#,
            ],
            vec![params("Bearer", &[("error", "invalid_token"), ("resource_metadata", METADATA)])],
        ),
        (
            vec![
                r#"Bearer error="insufficient_scope", scope="files:read files:write", error_description="You need \"files:write\", too""#,
            ],
            vec![params(
                "Bearer",
                &[
                    ("error", "insufficient_scope"),
                    ("scope", "files:read files:write"),
                    ("error_description", r#"You need "files:write", too"#),
                ],
            )],
        ),
        // Azure: one challenge with a comma in its description.
        (
            vec![
                r#"Bearer authorization_uri="https://login.example.com/common/oauth2/authorize", error="invalid_token", error_description="The token is expired, sign in again""#,
            ],
            vec![params(
                "Bearer",
                &[
                    ("authorization_uri", "https://login.example.com/common/oauth2/authorize"),
                    ("error", "invalid_token"),
                    ("error_description", "The token is expired, sign in again"),
                ],
            )],
        ),
        // Google: a realm that is a URL with a slash at its end.
        (
            vec![r#"Bearer realm="https://accounts.example.com/", error="invalid_token""#],
            vec![params(
                "Bearer",
                &[("realm", "https://accounts.example.com/"), ("error", "invalid_token")],
            )],
        ),
        (
            vec![r#"DPoP error="use_dpop_nonce", algs="ES256 PS256""#],
            vec![params("DPoP", &[("error", "use_dpop_nonce"), ("algs", "ES256 PS256")])],
        ),
        // Upper-case names, and a scheme in lower case.
        (
            vec![r#"bearer REALM="api", Scope="A b""#],
            vec![params("bearer", &[("realm", "api"), ("scope", "A b")])],
        ),
        // A parameter that occurs twice.
        (
            vec![r#"Bearer scope="a", scope="b""#],
            vec![params("Bearer", &[("scope", "a"), ("scope", "b")])],
        ),
        // A value without quotes.
        (vec!["Bearer error=invalid_token"], vec![params("Bearer", &[("error", "invalid_token")])]),
    ]
}

/// Schemes other than Bearer, alone and beside it.
fn of_other_schemes() -> Vec<Case> {
    const NONCE: &str = "dcd98b7102dd2f0e8b11d0f600bfb0c093";
    vec![
        (vec!["Negotiate"], vec![bare_challenge("Negotiate")]),
        (vec!["Negotiate oYG2MIGzoAMKAQA="], vec![token68("Negotiate", "oYG2MIGzoAMKAQA=")]),
        (vec!["NTLM TlRMTVNTUAACAAAA=="], vec![token68("NTLM", "TlRMTVNTUAACAAAA==")]),
        (
            vec!["Negotiate", "NTLM", r#"Basic realm="intranet""#],
            vec![
                bare_challenge("Negotiate"),
                bare_challenge("NTLM"),
                params("Basic", &[("realm", "intranet")]),
            ],
        ),
        (
            vec![
                r#"Digest realm="a, b", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", stale=FALSE"#,
            ],
            vec![params(
                "Digest",
                &[
                    ("realm", "a, b"),
                    ("qop", "auth,auth-int"),
                    ("nonce", NONCE),
                    ("stale", "FALSE"),
                ],
            )],
        ),
        (
            vec![
                r#"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
            ],
            vec![
                params(
                    "Newauth",
                    &[("realm", "apps"), ("type", "1"), ("title", r#"Login to "apps""#)],
                ),
                params("Basic", &[("realm", "simple")]),
            ],
        ),
        (
            vec![r#"Negotiate a87421000492aa874209af8bc028==, Bearer realm="api""#],
            vec![
                token68("Negotiate", "a87421000492aa874209af8bc028=="),
                params("Bearer", &[("realm", "api")]),
            ],
        ),
    ]
}

/// White space, quotes and escapes.
fn of_the_grammar() -> Vec<Case> {
    vec![
        (vec!["Bearer a\t=\t\"b\" ,c= d"], vec![params("Bearer", &[("a", "b"), ("c", "d")])]),
        (vec!["Bearer    a=b"], vec![params("Bearer", &[("a", "b")])]),
        (vec![" \tBearer a=b\t "], vec![params("Bearer", &[("a", "b")])]),
        (vec![r#"Bearer a="""#], vec![params("Bearer", &[("a", "")])]),
        (vec![r#"Bearer a="\\\"\a\,""#], vec![params("Bearer", &[("a", r#"\"a,"#)])]),
        (vec!["Bearer a=\"tab\there\""], vec![params("Bearer", &[("a", "tab\there")])]),
        (vec!["Bearer realm=\"Zürich 界\""], vec![params("Bearer", &[("realm", "Zürich 界")])]),
        (vec![r#"Bearer a="Basic realm=x""#], vec![params("Bearer", &[("a", "Basic realm=x")])]),
        (vec!["!#$%&'*+-.^_`|~ a=b"], vec![params("!#$%&'*+-.^_`|~", &[("a", "b")])]),
        // `obs-text` contains control characters; `Headers::combined` replaces them.
        (
            vec!["Bearer a=\"\tb\u{85}\", c=\"\u{9f}\""],
            vec![params("Bearer", &[("a", "\tb\u{85}"), ("c", "\u{9f}")])],
        ),
        // One equals sign and a token form a parameter; equals signs alone are padding.
        (vec!["Bearer a=b"], vec![params("Bearer", &[("a", "b")])]),
        (vec!["Bearer a="], vec![token68("Bearer", "a=")]),
        (vec!["Bearer a"], vec![token68("Bearer", "a")]),
    ]
}

/// Commas: between challenges, between parameters, and superfluous ones.
fn of_lists() -> Vec<Case> {
    let basic_and_bearer = || vec![bare_challenge("Basic"), params("Bearer", &[("x", "y")])];
    vec![
        (vec![], vec![]),
        (vec![""], vec![]),
        (vec![" , ,,\t"], vec![]),
        (vec!["Basic, Bearer x=y"], basic_and_bearer()),
        (vec!["Basic", "Bearer x=y"], basic_and_bearer()),
        (vec![",, Basic ,,, Bearer ,, x=y ,,"], basic_and_bearer()),
        (vec!["", "Basic,", ",Bearer x=y"], basic_and_bearer()),
        (vec!["Bearer , x=y"], vec![params("Bearer", &[("x", "y")])]),
        // The same field twice.
        (
            vec!["Bearer realm=a", "Bearer realm=b"],
            vec![params("Bearer", &[("realm", "a")]), params("Bearer", &[("realm", "b")])],
        ),
        // White space ends a scheme, an equals sign ends a parameter name.
        (
            vec!["Bearer a=b, c =d, e f=g, h"],
            vec![
                params("Bearer", &[("a", "b"), ("c", "d")]),
                params("e", &[("f", "g")]),
                bare_challenge("h"),
            ],
        ),
        (vec!["Basic a, Bearer"], vec![token68("Basic", "a"), bare_challenge("Bearer")]),
        (
            vec!["Basic realm=a, Bearer"],
            vec![params("Basic", &[("realm", "a")]), bare_challenge("Bearer")],
        ),
    ]
}

/// Values that the grammar does not allow.
pub(crate) const MALFORMED: [&[&str]; 18] = [
    &["="],
    &["\"Bearer\""],
    &["Bearer\ta=b"],
    &["Bearer a=b c=d"],
    &["Bearer a=b;c=d"],
    &["Bearer a=\"b"],
    &["Bearer a=\"b\\"],
    &["Bearer a=\"b\"c"],
    &["Bearer a=b/c"],
    &["Bearer a==b"],
    &["Bearer a= =b"],
    &["Bearer a=, b=c"],
    &["Bearer a, b=c"],
    &["Bearer a=\"b\nc\""],
    &["Bearer a=\"\u{7f}\""],
    &["Bearer a=\"\\\0\""],
    &["x=y"],
    &["Bürger"],
];
