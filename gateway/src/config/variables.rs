//! Variables in texts of a configuration file.

/// Replaces `${NAME}`, `${env:NAME}` and `${NAME:-default}` in a text, and `$${` by `${`.
///
/// # Errors
///
/// The name of a variable that is not set and has no default.
pub(super) fn expand(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = after;
            continue;
        }
        let Some((name, behind)) = after.split_once('}') else { break };
        expanded.push_str(before);
        let name = name.strip_prefix("env:").unwrap_or(name);
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (name, None),
        };
        let value = variable(name).or(default);
        expanded.push_str(&value.ok_or_else(|| format!("the variable {name} is not set"))?);
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateway_variables_are_expanded() {
        let variable = |name: &str| (name == "TOKEN").then(|| "secret".to_owned());
        for (text, expected) in [
            ("plain $TOKEN", Ok("plain $TOKEN")),
            ("Bearer ${env:TOKEN}!", Ok("Bearer secret!")),
            ("${TOKEN}${OTHER:-or this}", Ok("secretor this")),
            (
                "for f in $${files[@]} ${TOKEN} $$${TOKEN}",
                Ok("for f in ${files[@]} secret $${TOKEN}"),
            ),
            ("unclosed ${TOKEN", Ok("unclosed ${TOKEN")),
            ("${OTHER}", Err("the variable OTHER is not set")),
        ] {
            let expanded = expand(text, variable);
            assert_eq!(expanded.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
