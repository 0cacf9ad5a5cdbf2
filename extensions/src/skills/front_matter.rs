//! [`front_matter`]: the YAML at the beginning of a `SKILL.md`.

use serde_json::{Map, Value};

use super::entry::InvalidSkill;

/// Returns the front matter of a `SKILL.md` as JSON: the YAML mapping between the first line `---` and the next.
///
/// A host compares it with the entry of the skill ([`read_instructions`](super::read_instructions) does), so that nobody
/// approves another description than the one that the file has.
///
/// # Errors
///
/// [`InvalidSkill::FrontMatter`], with `uri` as the place, if there is no such mapping, or if it has values that JSON does
/// not have. The author of the file is at fault.
pub fn front_matter(uri: &str, skill_md: &str) -> Result<Map<String, Value>, InvalidSkill> {
    let invalid = |reason: String| InvalidSkill::FrontMatter { uri: uri.to_owned(), reason };
    let yaml = between_fences(skill_md)
        .ok_or_else(|| invalid("the file has no front matter between two lines `---`".into()))?;
    // The parser bounds the depth, and what aliases expand to.
    match serde_saphyr::from_str::<Value>(yaml) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(invalid("it is not a mapping".into())),
        Err(error) => Err(invalid(error.to_string())),
    }
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
        let deep = format!("---\na: {}\n---\n", "[".repeat(100_000));
        assert!(front_matter("u", &deep).is_err());
    }
}
