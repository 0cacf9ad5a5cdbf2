//! [`front_matter`]: the YAML at the beginning of a `SKILL.md`.

use serde_json::{Map, Number, Value};
use serde_saphyr::{Budget, MergeKeyPolicy, Options};

use super::entry::InvalidSkill;

/// Returns the front matter of a `SKILL.md` as JSON: the YAML mapping between the first line `---` and the next.
///
/// The YAML is that of the core schema of YAML 1.2, without aliases: `yes` is a text, and `<<` an ordinary key. A host
/// compares it with the entry of the skill, as [`read_instructions`](super::read_instructions) does: its user has to
/// approve the description that the file has.
///
/// # Errors
///
/// [`InvalidSkill::FrontMatter`], with `uri` as the place, if there is no such mapping, or if it has values that JSON does
/// not have. The author of the file is at fault.
pub fn front_matter(uri: &str, skill_md: &str) -> Result<Map<String, Value>, InvalidSkill> {
    let invalid = |reason: String| InvalidSkill::FrontMatter { uri: uri.to_owned(), reason };
    let yaml = between_fences(skill_md)
        .ok_or_else(|| invalid("the file has no front matter between two lines `---`".into()))?;
    match serde_saphyr::from_str_with_options::<Value>(yaml, options()) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(invalid("it is not a mapping".into())),
        Err(error) => Err(invalid(error.to_string())),
    }
}

/// What other implementations read, too. Aliases expand to more than they are.
fn options() -> Options {
    let mut options = Options::default();
    options.strict_booleans = true;
    options.merge_keys = MergeKeyPolicy::AsOrdinary;
    options.underscored_numbers_as_strings = true;
    let mut budget = Budget::default();
    budget.max_aliases = 0;
    options.budget = Some(budget);
    options
}

/// Whether two front matters are the same. Numbers are compared by value: JavaScript writes `1.0` as `1`, and two parsers
/// can round the last digit of a fraction differently.
pub(super) fn is_same(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let has = |(name, value): (&String, &Value)| {
        other.get(name).is_some_and(|other| is_same_value(value, other))
    };
    one.len() == other.len() && one.iter().all(has)
}

/// The depth is bounded by the parsers.
fn is_same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => is_same(one, other),
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_same_value(one, other))
        }
        (Value::Number(one), Value::Number(other)) => one == other || is_close(one, other),
        _ => one == other,
    }
}

fn is_close(one: &Number, other: &Number) -> bool {
    if !(one.is_f64() || other.is_f64()) {
        return false;
    }
    let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) else { return false };
    (one - other).abs() <= f64::EPSILON * one.abs().max(other.abs())
}

fn between_fences(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.split_inclusive('\n').next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let body = text.get(first.len()..)?;
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return body.get(..end);
        }
        end += line.len();
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_mapping_between_the_fences_becomes_json() {
        let text = "---\r\nname: pdf\ndescription: |\n  Reads\n  files\nmetadata: {version: \"1.0\", n: 3}\nallowed-tools: a b\n---\n# Text\n---\n";
        let expected = json!({
            "name": "pdf",
            "description": "Reads\nfiles\n",
            "metadata": {"version": "1.0", "n": 3},
            "allowed-tools": "a b",
        });
        assert_eq!(Value::Object(front_matter("u", text).unwrap()), expected);
        assert_eq!(front_matter("u", &format!("\u{feff}{text}")).unwrap()["name"], "pdf");
    }

    /// Other implementations of YAML 1.2 read the same.
    #[test]
    fn values_are_those_of_the_core_schema() {
        let text = "---\na: yes\nb: 1_000\nc: 2001-01-01\nd: true\ne: ~\nf: 0x10\n<<: x\n---\n";
        let expected = json!({
            "a": "yes", "b": "1_000", "c": "2001-01-01", "d": true, "e": null, "f": 16, "<<": "x",
        });
        assert_eq!(Value::Object(front_matter("u", text).unwrap()), expected);
    }

    #[test]
    fn numbers_are_compared_by_value() {
        let yaml = |text: &str| front_matter("u", &format!("---\nv: {text}\n---\n")).unwrap();
        let json = |text: &str| serde_json::from_str(&format!("{{\"v\":{text}}}")).unwrap();
        for (in_yaml, in_json) in [
            ("1.0", "1"),
            ("1e3", "1000"),
            ("12.100000000000001", "12.100000000000001"),
            ("{a: [1.0, {b: 2}]}", r#"{"a":[1,{"b":2.0}]}"#),
            ("-0.0", "0"),
        ] {
            assert!(is_same(&yaml(in_yaml), &json(in_json)), "{in_yaml} {in_json}");
        }
        for (in_yaml, in_json) in [
            ("1.0", "1.1"),
            ("1", r#""1""#),
            ("9007199254740993", "9007199254740992"),
            ("[1]", "[1,2]"),
            ("{a: 1}", r#"{"a":1,"b":2}"#),
            ("{a: 1, b: 2}", r#"{"a":1}"#),
            ("null", "0"),
        ] {
            assert!(!is_same(&yaml(in_yaml), &json(in_json)), "{in_yaml} {in_json}");
        }
    }

    #[test]
    fn anything_else_is_an_error_with_its_place() {
        for text in [
            "",
            "name: x\n",
            "---\nname: x\n",
            "---\n- a\n---\n",
            "---\ntext\n---\n",
            "---\n---\n",
            "---\nname: [\n---\n",
            "---\na: 1\na: 2\n---\n",
            "---\nx: .nan\n---\n",
            "---\na: &a [x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n---\n",
        ] {
            let error = front_matter("skill://x/SKILL.md", text).unwrap_err();
            assert!(error.to_string().contains("skill://x/SKILL.md"), "{text}: {error}");
        }
        let aliases = front_matter("u", "---\na: &a 1\nb: *a\n---\n");
        assert!(aliases.is_err());
        let deep = format!("---\na: {}\n---\n", "[".repeat(100_000));
        assert!(front_matter("u", &deep).is_err());
    }
}
