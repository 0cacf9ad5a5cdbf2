//! The check of an elicitation result against the schema of its form
//! ([elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation)).

use super::formats::has_format;
use crate::json::{Elements, MemberTexts, Number, Str, member};
use crate::ordered::{Ordered, OrderedSet};
use crate::schema::{Misfit, Problem, is_integral};

/// Checks the result of an elicitation against the schema of its form. The schema is `None` for a URL elicitation.
/// Both texts are objects whose shape has been checked.
///
/// Only an accepted form has content that counts.
pub(crate) fn check_answer(result: &str, schema: Option<&str>) -> Result<(), Misfit> {
    let action = member(result, "action").and_then(Str::from_literal);
    let content = member(result, "content").filter(|content| *content != "null");
    if action.is_none_or(|action| action != "accept") {
        return Ok(());
    }
    match schema {
        Some(schema) => check_content(schema, content.unwrap_or("{}")),
        // Consent to visit a URL carries no content.
        None => check(content.is_none()).map_err(|misfit| misfit.inside("content")),
    }
}

/// Whether the user has refused, so that no other member of the result counts.
pub(crate) fn is_refusal(result: &str) -> bool {
    member(result, "action")
        .and_then(Str::from_literal)
        .is_some_and(|action| action == "decline" || action == "cancel")
}

/// Checks that content has all required fields, and that every known field is valid. A field that is `null` counts as
/// absent.
fn check_content(schema: &str, content: &str) -> Result<(), Misfit> {
    let required = member(schema, "required").unwrap_or_default();
    let properties = member(schema, "properties").unwrap_or_default();
    let known = MemberTexts::of(properties).map(|(name, _)| name.into_string());
    let known: OrderedSet<Str<'_>> =
        known.chain(strings(required)).map(|name| (name, ())).collect();
    // The content can have any number of other members.
    let content: Ordered<Str<'_>, &str> = MemberTexts::of(content)
        .map(|(name, value)| (name.into_string(), value))
        .filter(|(name, value)| *value != "null" && known.contains_key(name))
        .collect();
    for name in strings(required) {
        if !content.contains_key(&name) {
            let missing = Misfit::at("", Problem::Missing);
            return Err(missing.in_entry(&name.to_str()).inside("content"));
        }
    }
    for (name, field) in MemberTexts::of(properties) {
        let name = name.into_string();
        if let Some(value) = content.get(&name) {
            check_field(field, value)
                .map_err(|misfit| misfit.in_entry(&name.to_str()).inside("content"))?;
        }
    }
    Ok(())
}

fn check_field(field: &str, value: &str) -> Result<(), Misfit> {
    let Some(kind) = member(field, "type").and_then(Str::from_literal) else { return Ok(()) };
    match &*kind.to_str() {
        "string" => check_text(field, value),
        "number" => check_number(field, value),
        "integer" if !is_integral(value) => wrong_type(),
        "integer" => check_number(field, value),
        "boolean" if !matches!(value, "true" | "false") => wrong_type(),
        "array" => check_choices(field, value),
        // A field of an unknown type cannot be checked.
        _ => Ok(()),
    }
}

fn check_text(field: &str, value: &str) -> Result<(), Misfit> {
    let Some(text) = Str::from_literal(value) else { return wrong_type() };
    let format = member(field, "format").and_then(Str::from_literal);
    check(
        is_between(field, "minLength", count(text.chars()), "maxLength")
            && format.is_none_or(|format| has_format(&text.to_str(), &format.to_str()))
            && member(field, "enum").is_none_or(|all| strings(all).any(|one| one == text))
            && member(field, "oneOf").is_none_or(|all| constants(all).any(|one| one == text)),
    )
}

fn check_number(field: &str, value: &str) -> Result<(), Misfit> {
    let Some(number) = Number::from_literal(value) else { return wrong_type() };
    check(is_between(field, "minimum", number, "maximum"))
}

fn check_choices(field: &str, value: &str) -> Result<(), Misfit> {
    let is_list = value.starts_with('[')
        && Elements::of(value).all(|element| element.as_json().starts_with('"'));
    if !is_list {
        return wrong_type();
    }
    let items = member(field, "items").unwrap_or_default();
    let plain = strings(member(items, "enum").unwrap_or_default());
    let titled = constants(member(items, "anyOf").unwrap_or_default());
    let choices: OrderedSet<Str<'_>> = plain.chain(titled).map(|choice| (choice, ())).collect();
    check(
        strings(value).all(|choice| choices.contains_key(&choice))
            && is_between(field, "minItems", count(Elements::of(value)), "maxItems"),
    )
}

/// Whether a number is within the bounds of a field.
fn is_between(field: &str, least: &str, number: Number, most: &str) -> bool {
    let bound = |name: &str| member(field, name).and_then(Number::from_literal);
    bound(least).is_none_or(|least| least <= number)
        && bound(most).is_none_or(|most| number <= most)
}

fn count<T>(items: impl Iterator<Item = T>) -> Number {
    Number::from(items.count() as u64)
}

/// Returns the strings in an array.
fn strings(array: &str) -> impl Iterator<Item = Str<'_>> {
    Elements::of(array).filter_map(|element| element.into_str())
}

/// Returns the values of choices that have titles.
fn constants(array: &str) -> impl Iterator<Item = Str<'_>> {
    Elements::of(array)
        .filter_map(|choice| member(choice.borrowed()?, "const").and_then(Str::from_literal))
}

const fn check(fits: bool) -> Result<(), Misfit> {
    if fits { Ok(()) } else { Err(Misfit::at("", Problem::NotAllowed)) }
}

const fn wrong_type() -> Result<(), Misfit> {
    Err(Misfit::at("", Problem::WrongType))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    /// Proves L-ELIC-05, L-ELIC-07, L-ELIC-09, L-ELIC-10 for the comparison itself: every kind of
    /// field, with valid and invalid values.
    #[test]
    fn answers_fit_their_fields_or_do_not() {
        use Problem::{NotAllowed, WrongType};
        let cases = [
            (r#"{"type":"string"}"#, r#""""#, None),
            (r#"{"type":"string"}"#, "1", Some(WrongType)),
            (r#"{"type":"string","minLength":2}"#, r#""\u00e9""#, Some(NotAllowed)),
            (r#"{"type":"string","minLength":1,"maxLength":1}"#, r#""\u00e9""#, None),
            (r#"{"type":"string","maxLength":1}"#, r#""ab""#, Some(NotAllowed)),
            (r#"{"type":"string","format":"email"}"#, r#""a@b.c""#, None),
            (r#"{"type":"string","format":"email"}"#, r#""a""#, Some(NotAllowed)),
            (r#"{"type":"string","format":"postcode"}"#, r#""a""#, None),
            (r#"{"type":"string","pattern":"^b$"}"#, r#""a""#, None),
            (r#"{"type":"string","enum":["a","b"]}"#, r#""b""#, None),
            (r#"{"type":"string","enum":["a","b"]}"#, r#""\u0062""#, None),
            (
                r#"{"type":"string","enum":["a","b"],"enumNames":["c","d"]}"#,
                r#""c""#,
                Some(NotAllowed),
            ),
            (r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#, r#""a""#, None),
            (
                r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#,
                r#""A""#,
                Some(NotAllowed),
            ),
            (r#"{"type":"number"}"#, "1.5", None),
            (r#"{"type":"number"}"#, r#""1""#, Some(WrongType)),
            (r#"{"type":"number","minimum":1.5}"#, "1", Some(NotAllowed)),
            (r#"{"type":"number","minimum":1,"maximum":2}"#, "2.0", None),
            (r#"{"type":"number","maximum":2}"#, "2.01", Some(NotAllowed)),
            (r#"{"type":"integer"}"#, "2", None),
            (r#"{"type":"integer"}"#, "2.0", None),
            (r#"{"type":"integer"}"#, "1.5", Some(WrongType)),
            (r#"{"type":"integer"}"#, r#""1""#, Some(WrongType)),
            (r#"{"type":"integer","maximum":3}"#, "4", Some(NotAllowed)),
            (r#"{"type":"boolean"}"#, "true", None),
            (r#"{"type":"boolean"}"#, r#""true""#, Some(WrongType)),
            (r#"{"type":"array","items":{"enum":["a","b"]}}"#, r#"["b","a"]"#, None),
            (r#"{"type":"array","items":{"enum":["a","b"]}}"#, r#"["c"]"#, Some(NotAllowed)),
            (r#"{"type":"array","items":{"enum":["a"]}}"#, "[1]", Some(WrongType)),
            (r#"{"type":"array","items":{"enum":["a"]}}"#, r#""a""#, Some(WrongType)),
            (r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#, r#"["a"]"#, None),
            (r#"{"type":"array","items":{"enum":["a"]},"minItems":1}"#, "[]", Some(NotAllowed)),
            (
                r#"{"type":"array","items":{"enum":["a","b"]},"maxItems":1}"#,
                r#"["a","b"]"#,
                Some(NotAllowed),
            ),
            (r#"{"type":"colour"}"#, "[]", None),
        ];
        for (field, value, problem) in cases {
            let schema = format!(r#"{{"type":"object","properties":{{"f":{field}}}}}"#);
            let result = format!(r#"{{"action":"accept","content":{{"f":{value}}}}}"#);
            let misfit = check_answer(&result, Some(&schema)).err();
            assert_eq!(misfit.map(|misfit| misfit.problem), problem, "{field} {value}");
            // The name of the field is the schema's, and not a field of MCP.
            let place = misfit.as_ref().map(|misfit| (misfit.field, misfit.path()));
            assert_eq!(place, problem.map(|_| ("content", "content.f")));
        }
    }

    /// Proves L-ELIC-05, L-ELIC-06, L-ELIC-18.
    #[test]
    fn only_an_accepted_form_has_content() {
        let schema = r#"{"type":"object","properties":{"f":{"type":"string"}},"required":["f"]}"#;
        let missing = Err("content.f is missing");
        let unwanted = Err("content has a value that is not allowed");
        let cases = [
            (r#"{"action":"accept","content":{"f":"x"}}"#, Some(schema), Ok(())),
            (r#"{"action":"accept","content":{"f":"x","g":[]}}"#, Some(schema), Ok(())),
            (r#"{"action":"accept","content":{"f":"x","g":null}}"#, Some(schema), Ok(())),
            (r#"{"action":"accept","content":{"f":null}}"#, Some(schema), missing),
            (r#"{"action":"accept","content":{}}"#, Some(schema), missing),
            (r#"{"action":"accept","content":null}"#, Some(schema), missing),
            (r#"{"action":"accept"}"#, Some(schema), missing),
            (r#"{"action":"accept"}"#, Some(r#"{"type":"object","properties":{}}"#), Ok(())),
            (r#"{"action":"decline"}"#, Some(schema), Ok(())),
            (r#"{"action":"cancel","content":{"f":1}}"#, Some(schema), Ok(())),
            (r#"{"action":"accept"}"#, None, Ok(())),
            (r#"{"action":"accept","content":{"f":1}}"#, None, unwanted),
            (r#"{"action":"decline","content":{"f":1}}"#, None, Ok(())),
        ];
        for (result, schema, expected) in cases {
            let checked = check_answer(result, schema).map_err(|misfit| format!("{misfit}"));
            assert_eq!(checked, expected.map_err(Into::into), "{result}");
        }
    }
}
