use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;

fn of(schema: &str) -> Result<ParamHeaders, InvalidAnnotation> {
    ParamHeaders::of(&Raw::new(schema).unwrap())
}

/// Reads the annotations of a schema with these properties.
fn with(properties: &str) -> Result<ParamHeaders, InvalidAnnotation> {
    of(&format!(r#"{{"type":"object","properties":{{{properties}}}}}"#))
}

fn invalid(place: &str, flaw: AnnotationFlaw) -> Result<ParamHeaders, InvalidAnnotation> {
    Err(InvalidAnnotation { place: place.to_owned(), flaw })
}

/// Returns the headers of a call: names without their common prefix, and values.
fn sent(
    params: &ParamHeaders,
    arguments: &str,
) -> Result<Vec<(String, String)>, IntegerOutOfRange> {
    let headers = params.of_call(Some(&Raw::new(arguments).unwrap()))?;
    let short = |name: String| name.strip_prefix("Mcp-Param-").unwrap().to_owned();
    Ok(headers.into_iter().map(|(name, value)| (short(name), value)).collect())
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn checked(
    params: &ParamHeaders,
    arguments: &str,
    headers: &[(&str, &str)],
) -> Result<(), ParamCause> {
    let headers: Vec<(String, &[u8])> = headers
        .iter()
        .map(|(name, value)| (format!("mcp-PARAM-{name}"), value.as_bytes()))
        .collect();
    let fields: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let result =
        params.check(Some(&Raw::new(arguments).unwrap()), Headers::from(fields.as_slice()));
    result.map_err(|mismatch| mismatch.cause)
}

const FLAT: &str = r#""region":{"type":"string","x-mcp-header":"Region"},
    "priority":{"x-mcp-header":"Priority","type":"integer"},
    "verbose":{"type":"boolean","x-mcp-header":"Verbose"},
    "method":{"type":"string","x-mcp-header":"Method"},
    "query":{"type":"string"},"float_val":{"type":"number"}"#;

const NESTED: &str = r#""a":{"type":"object","properties":{
        "b":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"C"}}},
        "d":{"type":"integer","x-mcp-header":"D"}}},
    "c":{"type":"string"}"#;

/// Proves H-HTTP-65
#[test]
fn a_name_is_a_token_and_is_used_once() {
    let named = |name: &str| with(&format!(r#""p":{{"type":"string","x-mcp-header":{name}}}"#));
    for name in ["\"Region\"", "\"x\"", "\"!#$%&'*+-.^_`|~09azAZ\"", "\"\\u0041\""] {
        assert_eq!(named(name).map(|params| params.is_empty()), Ok(false), "{name}");
    }
    let no_tokens = [
        "\"\"",
        "\" \"",
        "\"a b\"",
        "\"a:b\"",
        "\"a\\n\"",
        "\"\\u0000\"",
        "\"\\u007f\"",
        "\"é\"",
        "\"a/b\"",
        "\"a(b)\"",
        "\"a,b\"",
        "\"a;b\"",
        "\"a=b\"",
        "\"a@b\"",
        "\"[a]\"",
        "\"{a}\"",
        "\"<a>\"",
        "\"a?\"",
        "\"a\\\\\"",
        "\"\\\"\"",
        "\"\\ud800\"",
    ];
    for name in no_tokens {
        assert_eq!(named(name), invalid("/properties/p", AnnotationFlaw::NotToken), "{name}");
    }
    for name in ["null", "true", "7", "[]", "[\"a\"]", "{}"] {
        assert_eq!(named(name), invalid("/properties/p", AnnotationFlaw::NotText), "{name}");
    }
    let twice = r#""a":{"type":"string","x-mcp-header":"X"},
        "b":{"type":"object","properties":{"c/~":{"type":"string","x-mcp-header":"x"}}}"#;
    let place = "/properties/b/properties/c~1~0";
    assert_eq!(with(twice), invalid(place, AnnotationFlaw::Duplicate));
}

/// Proves H-HTTP-66, M-AMB-49
#[test]
fn a_repeated_property_has_a_plain_type() {
    let typed = |kind: &str| with(&format!(r#""p":{{{kind}"x-mcp-header":"X"}}"#));
    for kind in ["string", "integer", "boolean", "\\u0073tring"] {
        assert!(typed(&format!(r#""type":"{kind}","#)).is_ok(), "{kind}");
    }
    let wrong = [
        "",
        r#""type":"number","#,
        r#""type":"object","#,
        r#""type":"array","#,
        r#""type":"null","#,
        r#""type":"String","#,
        r#""type":["string"],"#,
        r#""type":["string","null"],"#,
        r#""type":null,"#,
        r#""enum":["a"],"#,
        r##""$ref":"#/$defs/a","##,
        r#""anyOf":[{"type":"string"}],"#,
    ];
    for kind in wrong {
        assert_eq!(typed(kind), invalid("/properties/p", AnnotationFlaw::WrongType), "{kind}");
    }
}

/// Proves H-HTTP-67, M-AMB-25
#[test]
fn a_repeated_property_is_reached_through_properties() {
    assert_eq!(
        with(NESTED).map(|params| sent(&params, r#"{"a":{"b":{"c":"1"},"d":2}}"#)),
        Ok(Ok(pairs(&[("C", "1"), ("D", "2")])))
    );
    let note = r#"{"type":"string","x-mcp-header":"X"}"#;
    let direct = [
        "items",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
    ];
    let lists = ["items", "prefixItems", "allOf", "anyOf", "oneOf"];
    let maps = ["patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
    let mut schemas = vec![(String::new(), note.to_owned())];
    schemas.extend(direct.map(|word| (format!("/{word}"), format!(r#"{{"{word}":{note}}}"#))));
    schemas
        .extend(lists.map(|word| (format!("/{word}/1"), format!(r#"{{"{word}":[{{}},{note}]}}"#))));
    schemas
        .extend(maps.map(|word| (format!("/{word}/p"), format!(r#"{{"{word}":{{"p":{note}}}}}"#))));
    for (place, schema) in schemas {
        let misplaced = AnnotationFlaw::Misplaced;
        assert_eq!(of(&schema), invalid(&place, misplaced), "{schema}");
        if place.is_empty() {
            continue;
        }
        // The same holds for schemas below, and within a property.
        let properties = format!(r#"{{"properties":{{"a":true,"q":{schema}}}}}"#);
        assert_eq!(of(&properties), invalid(&format!("/properties/q{place}"), misplaced));
        let below = schema.replace(note, &format!(r#"{{"properties":{{"r":{note}}}}}"#));
        assert_eq!(of(&below), invalid(&format!("{place}/properties/r"), misplaced));
    }
}

/// Proves H-HTTP-68, H-HTTP-69
#[test]
fn only_subschemas_are_searched_for_header_annotations() {
    let valid = [
        r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#,
        r#"{"properties":{"a":{"properties":{"x-mcp-header":{"type":"object"}}}}}"#,
        r#"{"default":{"x-mcp-header":"A"},"const":{"x-mcp-header":"A"}}"#,
        r#"{"enum":[{"x-mcp-header":"A"}],"examples":[{"items":{"x-mcp-header":"A"}}]}"#,
        r#"{"x-other":{"x-mcp-header":1},"required":["x-mcp-header"]}"#,
        r#"{"dependencies":{"a":["x-mcp-header"]}}"#,
        r#"{"allOf":{"x-mcp-header":1},"not":[{"x-mcp-header":1}]}"#,
        r#"{"properties":{"default":{"default":{"x-mcp-header":1}}}}"#,
        r#"{"title":"{\"x-mcp-header\":1}"}"#,
        "true",
        "{}",
        "[]",
        "null",
    ];
    for schema in valid {
        assert_eq!(of(schema).map(|params| params.is_empty()), Ok(true), "{schema}");
    }
    for name in ["properties", "items", "$defs", "x-mcp-header", "allOf", "default", "a\\u0022\\n"]
    {
        let schema = format!(
            r#""{name}":{{"properties":{{"{name}":{{"type":"string","x-mcp-header":"A"}}}}}}"#
        );
        let arguments = format!(r#"{{"{name}":{{"{name}":"here"}}}}"#);
        assert_eq!(sent(&with(&schema).unwrap(), &arguments), Ok(pairs(&[("A", "here")])));
    }
}

/// Proves H-HTTP-63, H-HTTP-73, H-HTTP-76, H-HTTP-79, H-HTTP-80
#[test]
fn a_call_has_headers_for_annotated_arguments_only() {
    let params = with(FLAT).unwrap();
    let arguments = r#"{"query":"q","method":"test-method","float_val":1.5,"verbose":false,
        "priority":42,"region":"us-west1","other":"x"}"#;
    let expected = [
        ("Region", "us-west1"),
        ("Priority", "42"),
        ("Verbose", "false"),
        ("Method", "test-method"),
    ];
    assert_eq!(sent(&params, arguments), Ok(pairs(&expected)));
    let arguments = r#"{"region":"","priority":-7,"verbose":true,"method":"a\r\n\u4e16"}"#;
    let expected = [
        ("Region", ""),
        ("Priority", "-7"),
        ("Verbose", "true"),
        ("Method", "=?base64?YQ0K5LiW?="),
    ];
    assert_eq!(sent(&params, arguments), Ok(pairs(&expected)));
    let headers = params.of_call(Some(&Raw::new(arguments).unwrap())).unwrap();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["Mcp-Param-Region", "Mcp-Param-Priority", "Mcp-Param-Verbose", "Mcp-Param-Method"];
    assert_eq!(names, expected);
}

/// Proves H-HTTP-64
#[test]
fn an_absent_or_null_argument_or_parent_has_no_header() {
    let params = with(NESTED).unwrap();
    let table: [(&str, &[(&str, &str)]); 11] = [
        (r#"{"a":{"b":{"c":"1"},"d":2}}"#, &[("C", "1"), ("D", "2")]),
        (r#"{"a":{"b":{"c":null},"d":2}}"#, &[("D", "2")]),
        (r#"{"a":{"b":null,"d":null}}"#, &[]),
        (r#"{"a":{"b":[{"c":"1"}]}}"#, &[]),
        (r#"{"a":{"b":{"b":{"c":"1"}}}}"#, &[]),
        (r#"{"c":"1","d":2,"b":{"c":"1"}}"#, &[]),
        (r#"{"a":null}"#, &[]),
        (r#"{"a":"{\"d\":1}"}"#, &[]),
        (r#"{"\u0061":{"\u0064":3}}"#, &[("D", "3")]),
        // The last of several members counts.
        (r#"{"a":{"d":1,"b":{"c":"1"}},"a":{"d":2,"d":3}}"#, &[("D", "3")]),
        ("{}", &[]),
    ];
    for (arguments, expected) in table {
        assert_eq!(sent(&params, arguments), Ok(pairs(expected)), "{arguments}");
    }
    assert_eq!(params.of_call(None), Ok(vec![]));
}

/// Proves H-HTTP-74, H-HTTP-75
#[test]
fn an_integer_header_is_decimal_and_within_the_safe_range() {
    let params = with(FLAT).unwrap();
    let table = [
        ("42.0", Some("42")),
        ("4.2e1", Some("42")),
        ("1E3", Some("1000")),
        ("-0.0", Some("0")),
        ("9007199254740991", Some("9007199254740991")),
        ("-9007199254740991.0", Some("-9007199254740991")),
        ("9007199254740992", None),
        ("-9007199254740992", None),
        ("1e16", None),
        ("1e400", None),
    ];
    for (literal, expected) in table {
        let sent = sent(&params, &format!(r#"{{"priority":{literal}}}"#));
        let error = IntegerOutOfRange { header: "Mcp-Param-Priority".to_owned() };
        let expected = expected.map(|value| pairs(&[("Priority", value)])).ok_or(error);
        assert_eq!(sent, expected, "{literal}");
    }
}

/// Proves H-HTTP-83, M-AMB-50
#[test]
fn a_value_of_another_type_is_sent_as_it_is_if_it_is_plain() {
    let params = with(FLAT).unwrap();
    let table: [(&str, &[(&str, &str)]); 10] = [
        (r#"{"region":7}"#, &[("Region", "7")]),
        (r#"{"region":1.50}"#, &[("Region", "1.50")]),
        (r#"{"region":1.0}"#, &[("Region", "1.0")]),
        (r#"{"region":9007199254740992}"#, &[("Region", "9007199254740992")]),
        (r#"{"region":true}"#, &[("Region", "true")]),
        (r#"{"priority":"high"}"#, &[("Priority", "high")]),
        (r#"{"priority":1.5}"#, &[("Priority", "1.5")]),
        (r#"{"verbose":" yes"}"#, &[("Verbose", "=?base64?IHllcw==?=")]),
        (r#"{"region":{"a":1},"priority":[1],"verbose":{}}"#, &[]),
        (r#"["region"]"#, &[]),
    ];
    for (arguments, expected) in table {
        assert_eq!(sent(&params, arguments), Ok(pairs(expected)), "{arguments}");
        let headers: Vec<(&str, &str)> = expected.to_vec();
        assert_eq!(checked(&params, arguments, &headers), Ok(()), "{arguments}");
        // A wrong type is not reported here, but a header with a different value is.
        for (name, _) in headers {
            let others: Vec<(&str, &str)> = expected
                .iter()
                .map(|(one, value)| (*one, if *one == name { "other" } else { *value }))
                .collect();
            let different = Err(ParamCause::Different);
            assert_eq!(checked(&params, arguments, &others), different, "{arguments} {name}");
        }
    }
}

/// Proves H-HTTP-84
#[test]
fn each_value_has_its_header_and_the_header_says_it() {
    let params = with(FLAT).unwrap();
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], Result<(), ParamCause>);
    let table: [Row<'_>; 16] = [
        (r#"{"region":"Hello"}"#, &[("Region", "Hello")], Ok(())),
        (r#"{"region":"Hello"}"#, &[("REGION", "  Hello\t")], Ok(())),
        (r#"{"region":"Hello"}"#, &[("Region", "=?base64?SGVsbG8=?=")], Ok(())),
        (r#"{"region":"H\u0065llo"}"#, &[("Region", "Hello")], Ok(())),
        (r#"{"region":"SGVsbG8="}"#, &[("Region", "SGVsbG8=")], Ok(())),
        (r#"{"region":"=?base64?SGVsbG8="}"#, &[("Region", "=?base64?SGVsbG8=")], Ok(())),
        (r#"{"region":"\ud800a"}"#, &[("Region", "=?base64?77+9YQ==?=")], Ok(())),
        (r#"{"region":""}"#, &[("Region", "")], Ok(())),
        (r#"{"verbose":true}"#, &[("Verbose", "true")], Ok(())),
        (r#"{"region":"Hello"}"#, &[], Err(ParamCause::Missing)),
        (r#"{"region":""}"#, &[], Err(ParamCause::Missing)),
        (r#"{"region":"Hello"}"#, &[("Region", "hello")], Err(ParamCause::Different)),
        (r#"{"region":" Hello"}"#, &[("Region", " Hello")], Err(ParamCause::Different)),
        (r#"{"verbose":true}"#, &[("Verbose", "True")], Err(ParamCause::Different)),
        (r#"{"verbose":true}"#, &[("Verbose", "1")], Err(ParamCause::Different)),
        (
            r#"{"region":"a","priority":1}"#,
            &[("Region", "a"), ("Priority", "2")],
            Err(ParamCause::Different),
        ),
    ];
    for (arguments, headers, expected) in table {
        assert_eq!(checked(&params, arguments, headers), expected, "{arguments} {headers:?}");
    }
    let arguments = Raw::new(r#"{"region":"a","priority":1}"#).unwrap();
    let fields: [(&str, &[u8]); 1] = [("Mcp-Param-Region", b"a")];
    let mismatch = params.check(Some(&arguments), Headers::from(&fields[..])).unwrap_err();
    assert_eq!(mismatch.header, "Mcp-Param-Priority");
    assert_eq!(mismatch.to_string(), "Mcp-Param-Priority is missing");
}

/// Proves H-HTTP-85
#[test]
fn a_header_with_an_invalid_value_says_nothing() {
    let params = with(FLAT).unwrap();
    for value in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?/w==?=", "é", "a\0"] {
        let arguments = format!(r#"{{"region":{:?}}}"#, value.replace('\0', ""));
        let checked = checked(&params, &arguments, &[("Region", value)]);
        assert_eq!(checked, Err(ParamCause::Invalid), "{value:?}");
    }
    let twice = [("Region", "a"), ("region", "a")];
    assert_eq!(checked(&params, r#"{"region":"a"}"#, &twice), Err(ParamCause::Repeated));
}

/// Proves H-HTTP-86, M-AMB-30
#[test]
fn integers_are_compared_as_numbers() {
    let params = with(FLAT).unwrap();
    let table = [
        ("42", "42", true),
        ("42", "42.0", true),
        ("42.0", "42", true),
        ("4.2e1", "42", true),
        ("42", "=?base64?NDI=?=", true),
        ("0", "-0.0", true),
        ("9007199254740993", "9007199254740993", true),
        ("9007199254740993", "9007199254740992", false),
        ("42", "4.2e1", false),
        ("4.2e1", "4.2e1", false),
        ("42", "0x2a", false),
        ("42", "042", false),
        ("42", "+42", false),
        ("42", "42.", false),
        ("42", "42.5", false),
        ("42", "-42", false),
        ("42", "43", false),
        ("42", "0", false),
        ("0", "42", false),
        ("42", "", false),
        ("42", "42 0", false),
    ];
    for (body, header, expected) in table {
        let arguments = format!(r#"{{"priority":{body}}}"#);
        let result = checked(&params, &arguments, &[("Priority", header)]);
        let expected = if expected { Ok(()) } else { Err(ParamCause::Different) };
        assert_eq!(result, expected, "{body} {header}");
    }
}

/// Proves H-HTTP-87, H-HTTP-88, H-HTTP-89, M-AMB-11
#[test]
fn a_header_for_an_argument_without_value_is_refused() {
    let params = with(NESTED).unwrap();
    for arguments in ["{}", r#"{"a":{"d":null}}"#, r#"{"a":null}"#, r#"{"a":{"d":[1]}}"#] {
        assert_eq!(checked(&params, arguments, &[]), Ok(()), "{arguments}");
        assert_eq!(checked(&params, arguments, &[("Other", "1"), ("X", "\0")]), Ok(()));
        for value in ["", "null", "2"] {
            let checked = checked(&params, arguments, &[("D", value)]);
            assert_eq!(checked, Err(ParamCause::Unexpected), "{arguments} {value}");
        }
    }
    assert_eq!(params.check(None, Headers::from(&[][..])), Ok(()));
    let fields: [(&str, &[u8]); 1] = [("Mcp-Param-C", b"1")];
    assert!(params.check(None, Headers::from(&fields[..])).is_err());
    assert_eq!(ParamHeaders::default().check(None, Headers::from(&fields[..])), Ok(()));
}

#[test]
fn param_headers_of_a_client_are_accepted_by_a_server() {
    let params = with(FLAT).unwrap();
    for text in ["a", "", " a", "a\tb", "=?base64?x?=", "\\u0000", "世界", "\\ud83d", "\\n"] {
        for number in ["0", "42.0", "-7", "1e3"] {
            let arguments = format!(r#"{{"region":"{text}","priority":{number},"verbose":true}}"#);
            let arguments = arguments.replace('\t', "\\t");
            let headers = sent(&params, &arguments).unwrap();
            let headers: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(headers.len(), 3);
            assert_eq!(checked(&params, &arguments, &headers), Ok(()), "{arguments}");
        }
    }
}

/// A long name above many headers is stored once, and a deep schema uses no stack.
#[test]
fn memory_is_linear_in_the_schema() {
    let leaves: Vec<String> = (0..2000)
        .map(|index| format!(r#""p{index}":{{"type":"string","x-mcp-header":"H{index}"}}"#))
        .collect();
    let name = "n".repeat(1 << 20);
    let schema = format!(r#""{name}":{{"properties":{{{}}}}}"#, leaves.join(","));
    let params = with(&schema).unwrap();
    assert_eq!(params.nodes.len(), 2002);
    let names: usize = params.children.keys().map(|(_, name)| name.as_wire().len()).sum();
    assert!(names < 2 << 20);

    let depth = 100_000;
    let deep = format!("{}{}{}", r#"{"not":"#.repeat(depth), "true", "}".repeat(depth));
    assert!(annotations::read(&deep).unwrap().is_empty());
}
