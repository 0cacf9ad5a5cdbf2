//! `UriTemplate`: matches URIs with a URI template ([RFC 6570](https://www.rfc-editor.org/rfc/rfc6570)).

use percent_encoding::percent_decode_str;
use regex_lite::Regex;

use super::text_values::{TextValue, TextValues};

/// A URI template, as a regular expression that takes time proportional to the length of a URI.
///
/// RFC 6570 defines the expansion of a template and leaves matching open. A URI matches here if an expansion could
/// have produced it, with these differences: a variable is not empty, unless its name is in front of it (`;x=`, `?x=`);
/// the variables of a query may come in any order; and characters that an expansion would have encoded are accepted where they cannot be
/// separators, because models write URIs by hand.
#[derive(Clone, Debug)]
pub(super) struct UriTemplate {
    /// Matches the URI up to the query expressions.
    before_query: Regex,
    /// The variables in the order of the groups of `before_query`.
    variables: Vec<Variable>,
    query: Option<QueryVariables>,
}

/// The variables of the expressions `{?…}` and `{&…}` at the end of a template.
#[derive(Clone, Debug)]
struct QueryVariables {
    /// The character in front of the first variable: `?` or `&`.
    start: char,
    /// How often the template has this character before.
    before: usize,
    variables: Vec<Variable>,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    /// The separator of the values of a list, if the variable is one.
    list: Option<char>,
    /// Whether each value is preceded by its name: `;tag=a;tag=b`.
    is_named: bool,
    /// The most characters of the value.
    most: Option<u16>,
}

/// A text is not a URI template, or one that cannot be matched. The caller is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid URI template {template:?}, at byte {position}: {reason}")]
#[non_exhaustive]
pub struct InvalidUriTemplate {
    /// The template.
    pub template: String,
    /// The offset of the error in bytes.
    pub position: usize,
    reason: &'static str,
}

/// The rules of an operator that is not one of a query ([RFC 6570, appendix A](https://www.rfc-editor.org/rfc/rfc6570#appendix-A)).
struct Operator {
    first: &'static str,
    separator: char,
    is_named: bool,
    /// The characters that a value cannot have, for a class of a regular expression.
    excluded: &'static str,
}

const fn operator(symbol: u8) -> Option<Operator> {
    let (first, separator, is_named, excluded) = match symbol {
        b'+' => ("", ',', false, ""),
        b'#' => ("#", ',', false, ""),
        b'.' => (".", '.', false, "/?#"),
        b'/' => ("/", '/', false, "/?#"),
        b';' => (";", ';', true, "/?#;"),
        _ => return None,
    };
    Some(Operator { first, separator, is_named, excluded })
}

const SIMPLE: Operator = Operator { first: "", separator: ',', is_named: false, excluded: "/?#" };

/// The longest template. A regular expression of this length is compiled quickly.
const MOST_BYTES: usize = 4096;

/// The longest URI that is matched, so that a peer cannot occupy a thread with one.
const MOST_URI_BYTES: usize = 8 << 10;

impl UriTemplate {
    pub(super) fn parse(template: &str) -> Result<Self, InvalidUriTemplate> {
        let invalid = |position, reason| InvalidUriTemplate {
            template: template.to_owned(),
            position,
            reason,
        };
        if template.is_empty() {
            return Err(invalid(0, "the template is empty"));
        }
        if MOST_BYTES < template.len() {
            return Err(invalid(MOST_BYTES, "the template is too long"));
        }
        let mut pattern = Pattern::default();
        let mut rest = template;
        while !rest.is_empty() {
            let at = template.len() - rest.len();
            let literal = rest.find(['{', '}']).unwrap_or(rest.len());
            if 0 < literal {
                let (text, after) = rest.split_at(literal);
                pattern.literal(text).map_err(|reason| invalid(at, reason))?;
                rest = after;
                continue;
            }
            let Some(expression) = rest.strip_prefix('{') else {
                return Err(invalid(at, "a brace is closed that was not opened"));
            };
            let Some((expression, after)) = expression.split_once('}') else {
                return Err(invalid(at, "a brace is not closed"));
            };
            pattern.expression(expression).map_err(|reason| invalid(at, reason))?;
            rest = after;
        }
        let before_query = Regex::new(&format!("(?s)^{}$", pattern.expression));
        let before_query = before_query.map_err(|_| invalid(0, "the template is too complex"))?;
        Ok(Self { before_query, variables: pattern.variables, query: pattern.query })
    }

    /// Returns the decoded variables of a URI that matches. Variables that the URI does not have are absent. A URI of
    /// more than 8 KiB does not match.
    pub(super) fn variables(&self, uri: &str) -> Option<TextValues> {
        if MOST_URI_BYTES < uri.len() {
            return None;
        }
        let (path, query) = match &self.query {
            None => (uri, None),
            Some(query) => match uri.match_indices(query.start).nth(query.before) {
                Some((at, _)) => (uri.get(..at)?, uri.get(at + 1..)),
                None => (uri, None),
            },
        };
        let captures = self.before_query.captures(path)?;
        let mut values = TextValues::default();
        for (index, variable) in self.variables.iter().enumerate() {
            if let Some(value) = captures.get(index + 1) {
                values.push(&variable.name, variable.value(value.as_str())?);
            }
        }
        for pair in query.into_iter().flat_map(|query| query.split('&')) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let known = self.query.as_ref()?.variables.iter().find(|known| known.name == name)?;
            // A fragment is no part of the query, and no template has one behind a query.
            let value = known.decoded(value).filter(|_| !value.contains('#'))?;
            match known.list {
                Some(_) => values.append(name, value),
                None if values.has(name) => return None,
                None => values.push(name, TextValue::One(value)),
            }
        }
        Some(values)
    }
}

/// A regular expression under construction.
#[derive(Default)]
struct Pattern {
    expression: String,
    /// The literal text so far.
    literals: String,
    variables: Vec<Variable>,
    query: Option<QueryVariables>,
}

impl Pattern {
    fn literal(&mut self, text: &str) -> Result<(), &'static str> {
        if self.query.is_some() {
            return Err("a query expression can only be followed by another one");
        }
        self.literals += text;
        for character in text.chars() {
            match character {
                ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '|' | '\0'..='\x1f' | '\x7f' => {
                    return Err("a template cannot have this character");
                }
                _ if character.is_ascii() => {
                    self.expression += &regex_lite::escape(&character.to_string())
                }
                _ => {
                    let encoded = percent_encoding::utf8_percent_encode(
                        character.encode_utf8(&mut [0; 4]),
                        percent_encoding::NON_ALPHANUMERIC,
                    )
                    .to_string();
                    self.expression += &format!("(?:{character}|(?i:{encoded}))");
                }
            }
        }
        Ok(())
    }

    fn expression(&mut self, text: &str) -> Result<(), &'static str> {
        let symbol = text.bytes().next().ok_or("an expression is empty")?;
        if matches!(symbol, b'?' | b'&') {
            let names: Vec<&str> = text.get(1..).unwrap_or_default().split(',').collect();
            return self.query(symbol.into(), &names);
        }
        let (operator, names) = match operator(symbol) {
            Some(operator) => (operator, text.get(1..).unwrap_or_default()),
            None if symbol.is_ascii_alphanumeric() || symbol == b'_' => (SIMPLE, text),
            None => return Err("the operator of the expression is reserved"),
        };
        let names: Vec<&str> = names.split(',').collect();
        if self.query.is_some() {
            return Err("a query expression can only be followed by another one");
        }
        let is_list = |name: &&str| name.ends_with('*');
        // The separator can be part of a value only if nothing is separated.
        let is_separated = 1 < names.len() || names.iter().any(is_list);
        let separator = operator.separator.to_string();
        let excluded = if is_separated { separator.as_str() } else { "" };
        for (index, spec) in names.iter().enumerate() {
            let lead = if index == 0 { operator.first } else { separator.as_str() };
            let (name, is_list, most) = variable_spec(spec)?;
            self.check(name)?;
            let class = format!("(?:[^%{}{excluded}]|%[0-9A-Fa-f]{{2}})", operator.excluded);
            let literal = regex_lite::escape(name);
            let group = match (operator.is_named, is_list) {
                (true, true) => format!("((?:;{literal}(?:={class}*)?)+)?"),
                (true, false) => format!("(;{literal}(?:={class}*)?)?"),
                (false, true) => format!("({class}+(?:[{separator}]{class}+)*)"),
                (false, false) => format!("({class}+)"),
            };
            // The first variable of an expression without a lead is the only one that must be there.
            self.expression += &match (operator.is_named, lead) {
                (true, _) | (false, "") => group,
                (false, lead) => format!("(?:[{lead}]{group})?"),
            };
            let list = is_list.then_some(operator.separator);
            let is_named = operator.is_named;
            self.variables.push(Variable { name: name.to_owned(), list, is_named, most });
        }
        Ok(())
    }

    fn query(&mut self, start: char, specs: &[&str]) -> Result<(), &'static str> {
        if start == '?' && self.query.is_some() {
            return Err("a template has one query");
        }
        for spec in specs {
            let (name, is_list, most) = variable_spec(spec)?;
            self.check(name)?;
            let list = is_list.then_some('&');
            let variable = Variable { name: name.to_owned(), list, is_named: true, most };
            let before = self.literals.matches(start).count();
            let query = QueryVariables { start, before, variables: Vec::new() };
            self.query.get_or_insert(query).variables.push(variable);
        }
        Ok(())
    }

    /// Checks that the name of a variable is valid and new.
    fn check(&self, name: &str) -> Result<(), &'static str> {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        if name.is_empty() || !name.bytes().all(is_valid) {
            return Err("the name of a variable is not valid");
        }
        let in_query = self.query.iter().flat_map(|query| &query.variables);
        if self.variables.iter().chain(in_query).any(|known| known.name == name) {
            return Err("a variable has the name of another one");
        }
        Ok(())
    }
}

/// Splits a variable into its name, whether it is a list, and its most characters.
fn variable_spec(spec: &str) -> Result<(&str, bool, Option<u16>), &'static str> {
    if let Some(name) = spec.strip_suffix('*') {
        return Ok((name, true, None));
    }
    let Some((name, most)) = spec.split_once(':') else { return Ok((spec, false, None)) };
    match most.parse() {
        Ok(most @ 1..=9999) => Ok((name, false, Some(most))),
        _ => Err("the length of a prefix is a number from 1 to 9999"),
    }
}

impl Variable {
    /// Returns the value of a captured text, unless it is no text of UTF-8.
    fn value(&self, captured: &str) -> Option<TextValue> {
        let value_of = |pair| match self.is_named {
            true => named_value(pair),
            false => pair,
        };
        let Some(separator) = self.list else {
            return self.decoded(value_of(captured)).map(TextValue::One);
        };
        // `;tag=a;tag=b` begins with a separator.
        let values = captured.split(separator).skip(usize::from(self.is_named)).map(value_of);
        values.map(|value| self.decoded(value)).collect::<Option<_>>().map(TextValue::Many)
    }

    /// Decodes percent-encoded UTF-8 of at most as many characters as the template allows.
    fn decoded(&self, text: &str) -> Option<String> {
        let text = percent_decode_str(text).decode_utf8().ok()?;
        let fits = self.most.is_none_or(|most| text.chars().count() <= usize::from(most));
        fits.then(|| text.into())
    }
}

/// Returns the value of `name=value`, which is empty for a name alone.
fn named_value(pair: &str) -> &str {
    pair.split_once('=').map_or("", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variables of a URI as text: `name=value`, and `name=[a|b]` for a list.
    fn matched(template: &str, uri: &str) -> Option<String> {
        let values = UriTemplate::parse(template).unwrap().variables(uri)?;
        let shown = values.iter().map(|(name, value)| match value {
            TextValue::One(text) => format!("{name}={text}"),
            TextValue::Many(texts) => format!("{name}=[{}]", texts.join("|")),
        });
        Some(shown.collect::<Vec<_>>().join(" "))
    }

    /// The expansions of the examples of RFC 6570, and what they were expanded from.
    #[test]
    fn an_expansion_matches_its_template() {
        let table = [
            ("{var}", "value", "var=value"),
            ("{hello}", "Hello%20World%21", "hello=Hello World!"),
            ("{+var}", "value", "var=value"),
            ("{+path}/here", "/foo/bar/here", "path=/foo/bar"),
            ("here?ref={+path}", "here?ref=/foo/bar", "path=/foo/bar"),
            ("X{#var}", "X#value", "var=value"),
            ("X{#hello}", "X#Hello%20World!", "hello=Hello World!"),
            ("map?{x,y}", "map?1024,768", "x=1024 y=768"),
            ("{x,hello,y}", "1024,Hello%20World%21,768", "x=1024 hello=Hello World! y=768"),
            ("{+path,x}/here", "/foo/bar,1024/here", "path=/foo/bar x=1024"),
            ("{#x,hello,y}", "#1024,Hello%20World!,768", "x=1024 hello=Hello World! y=768"),
            ("X{.var}", "X.value", "var=value"),
            ("X{.x,y}", "X.1024.768", "x=1024 y=768"),
            ("{/var}", "/value", "var=value"),
            ("{/var,x}/here", "/value/1024/here", "var=value x=1024"),
            ("{;x,y}", ";x=1024;y=768", "x=1024 y=768"),
            ("{;x,y,empty}", ";x=1024;y=768;empty", "x=1024 y=768 empty="),
            ("{x:3}", "%C3%A9%C3%A9", "x=éé"),
            ("{?x,y}", "?x=1024&y=768", "x=1024 y=768"),
            ("{?x,y,empty}", "?x=1024&y=768&empty=", "x=1024 y=768 empty="),
            ("?fixed=yes{&x}", "?fixed=yes&x=1024", "x=1024"),
            ("{&x,y,empty}", "&x=1024&y=768&empty=", "x=1024 y=768 empty="),
            ("{var:3}", "val", "var=val"),
            ("{var:30}", "value", "var=value"),
            ("{list*}", "red,green,blue", "list=[red|green|blue]"),
            ("{+path:6}/here", "/foo/b/here", "path=/foo/b"),
            ("{#path:6}here", "#/foo/bhere", "path=/foo/b"),
            ("X{.list*}", "X.red.green.blue", "list=[red|green|blue]"),
            ("{/var:1,var2}", "/v/value", "var=v var2=value"),
            ("{/list*}", "/red/green/blue", "list=[red|green|blue]"),
            ("{/list*,path:4}", "/red/green/blue/%2Ffoo", "list=[red|green|blue|/foo]"),
            ("{;list*}", ";list=red;list=green;list=blue", "list=[red|green|blue]"),
            ("{?list*}", "?list=red&list=green&list=blue", "list=[red|green|blue]"),
            ("a?b=1&c=2{&d}{&e}", "a?b=1&c=2&e=4&d=3", "e=4 d=3"),
            ("café://{x}", "caf%c3%A9://%E2%9C%93", "x=✓"),
            ("a.b*c://{x}", "a.b*c://1", "x=1"),
        ];
        for (template, uri, variables) in table {
            assert_eq!(matched(template, uri).as_deref(), Some(variables), "{template} {uri}");
        }
    }

    #[test]
    fn variables_may_be_absent_where_an_expansion_leaves_them_out() {
        let table = [
            ("f://a{?x,y}", "f://a", ""),
            ("f://a{?x,y}", "f://a?y=1", "y=1"),
            ("f://a{?x,y}", "f://a?y=1&x=", "y=1 x="),
            ("f://a{/x,y}", "f://a", ""),
            ("f://a{/x,y}", "f://a/1", "x=1"),
            ("f://{x,y}", "f://1", "x=1"),
            ("f://a{#x}", "f://a", ""),
            ("f://a{;x}", "f://a", ""),
            // Written by hand: an expansion would have encoded these characters.
            ("mail://{address}", "mail://a@b.c:1", "address=a@b.c:1"),
            ("f://{name}/x", "f://größe & co/x", "name=größe & co"),
        ];
        for (template, uri, variables) in table {
            assert_eq!(matched(template, uri).as_deref(), Some(variables), "{template} {uri}");
        }
    }

    #[test]
    fn other_uris_do_not_match() {
        let table = [
            ("note://{id}", "note://"),
            ("note://{id}", "note://a/b"),
            ("note://{id}", "note://a?b"),
            ("note://{id}", "Note://a"),
            ("note://{id}", "note://%zz"),
            ("note://{id}", "note://%ff"),
            ("note://{id}/x", "note://a/y"),
            ("a.b://{x}", "aXb://1"),
            ("f://a{?x}", "f://a?y=1"),
            ("f://a{?x}", "f://a?x=1&x=2"),
            ("f://a{?x}", "f://a?x=1&"),
            ("?fixed=yes{&x}", "?fixed=no&x=1"),
            ("{var:3}", "value"),
            ("{x:1}", "%C3%A9%C3%A9"),
            ("{?x:3}", "?x=value"),
            ("q://a{?x}", "q://a?x=1#fragment"),
        ];
        for (template, uri) in table {
            assert_eq!(matched(template, uri), None, "{template} {uri}");
        }
    }

    #[test]
    fn an_invalid_template_is_refused_with_the_position() {
        let table = [
            ("a{b", 1, "a brace is not closed"),
            ("a}b", 1, "a brace is closed that was not opened"),
            ("a{}", 1, "an expression is empty"),
            ("a{!b}", 1, "the operator of the expression is reserved"),
            ("{a}{a}", 3, "a variable has the name of another one"),
            ("{a}{?b,a}", 3, "a variable has the name of another one"),
            ("{a-b}", 0, "the name of a variable is not valid"),
            ("{a,}", 0, "the name of a variable is not valid"),
            ("{a:0}", 0, "the length of a prefix is a number from 1 to 9999"),
            ("{a:x}", 0, "the length of a prefix is a number from 1 to 9999"),
            ("", 0, "the template is empty"),
            ("{?a}{?b}", 4, "a template has one query"),
            ("{?a}b", 4, "a query expression can only be followed by another one"),
            ("{?a}{#b}", 4, "a query expression can only be followed by another one"),
            ("a b", 0, "a template cannot have this character"),
        ];
        for (template, position, reason) in table {
            let error = UriTemplate::parse(template).unwrap_err();
            assert_eq!((error.position, error.reason), (position, reason), "{template}");
        }
        assert_eq!(
            UriTemplate::parse("a{b").unwrap_err().to_string(),
            "invalid URI template \"a{b\", at byte 1: a brace is not closed"
        );
        assert_eq!(UriTemplate::parse(&"a".repeat(5000)).unwrap_err().position, 4096);
        let long = UriTemplate::parse("a{x}").unwrap();
        assert!(long.variables(&"a".repeat(8 << 10)).is_some());
        assert!(long.variables(&"a".repeat((8 << 10) + 1)).is_none());
    }
}
