//! Completion by Tab: commands, names, arguments and values.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mcp_sansio::model::{CompleteParams, CompleteResult, Map, Reference, Text, method};
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::command::{COMMANDS, levels};
use super::words::{quoted, words_before};
use crate::contents::{Contents, Entry, Listing};
use crate::say;
use crate::session::Session;

/// The completion of a line, from the lists of the server; for values of prompts the server is asked.
pub(super) struct Completion<'s> {
    pub(super) session: &'s Session,
    pub(super) contents: Rc<RefCell<Contents>>,
}

/// How long the server may take to complete a value. No key is read meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

impl Completer for Completion<'_> {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        place: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (before, word) = words_before(line.get(..place).unwrap_or(line));
        let contents = self.contents.borrow();
        let before: Vec<&str> = before.iter().map(|word| word.text.as_str()).collect();
        let written = word.text.as_str();
        let names = |list: &Option<Listing>| names(list.as_ref(), written);
        let candidates = match before.as_slice() {
            [] => starting(COMMANDS.iter().map(|(name, ..)| *name), written, " "),
            ["call"] => names(&contents.tools),
            ["prompt"] => names(&contents.prompts),
            ["read"] => [names(&contents.resources), names(&contents.templates)].concat(),
            ["complete"] => [names(&contents.prompts), names(&contents.templates)].concat(),
            ["log"] => starting(levels().into_iter(), written, ""),
            [command @ ("call" | "prompt"), name, given @ ..] => {
                let is_prompt = *command == "prompt";
                let list = if is_prompt { &contents.prompts } else { &contents.tools };
                let entry = list.as_ref().and_then(|list| find(list, name));
                let Some(entry) = entry else { return Ok((word.start, Vec::new())) };
                if let Some((argument, value)) = written.split_once('=') {
                    // The line may have quotes before the value, which a completed value would not fit behind.
                    let name = format!("{argument}=");
                    let raw = line.get(word.start..place).unwrap_or_default();
                    if !raw.starts_with(&name) {
                        return Ok((word.start, Vec::new()));
                    }
                    let start = word.start + name.len();
                    let values = self.values((entry, is_prompt), argument, value, given);
                    return Ok((start, safe(values)));
                }
                arguments(entry, given, written)
            }
            _ => Vec::new(),
        };
        Ok((word.start, safe(candidates)))
    }
}

/// The most candidates that are offered, and the most characters that are shown of each: the line editor counts both in 16
/// bits.
const MOST: (usize, usize) = (1000, 100);

/// Leaves out candidates with control characters, because the line editor would write them to the terminal, and candidates
/// beyond the limit.
fn safe(mut candidates: Vec<Pair>) -> Vec<Pair> {
    candidates.retain(|pair| {
        !pair.replacement.contains(|character| character == '\n' || say::is_control(character))
    });
    candidates.truncate(MOST.0);
    candidates
}

impl Completion<'_> {
    /// Returns the values of an argument: of a prompt those that the server completes, of a tool those of its schema.
    fn values(
        &self,
        (entry, is_prompt): (&Entry, bool),
        argument: &str,
        value: &str,
        given: &[&str],
    ) -> Vec<Pair> {
        if is_prompt {
            let reference = Reference::prompt(entry.name.as_str());
            let mut params = CompleteParams::new(reference, argument, value);
            let given = given.iter().filter_map(|pair| pair.split_once('='));
            let given: Map<'_, Text<'_>> =
                given.map(|(name, value)| (name.into(), value.into())).collect();
            params.context = (!given.is_empty()).then(|| given.into());
            let Ok(reply) = self.session.ask_quietly::<method::Complete>(&params, PATIENCE) else {
                return Vec::new();
            };
            let Ok(result) = reply.parse_as::<CompleteResult<'_>>() else {
                return Vec::new();
            };
            let values: Vec<String> =
                result.completion.values.iter().map(|value| value.to_string()).collect();
            return values.iter().map(|value| pair(value, &quoted(value), " ")).collect();
        }
        let known = entry.arguments.iter().find(|known| known.name == argument);
        let kinds = known.into_iter().flat_map(|known| known.kind.split(" or "));
        let values = kinds.filter_map(|kind| match kind {
            "boolean" => None,
            kind => serde_json::from_str::<String>(kind).ok(),
        });
        let booleans = known.is_some_and(|known| known.kind == "boolean");
        let mut values: Vec<String> = values.collect();
        if booleans {
            values.extend(["true".to_owned(), "false".to_owned()]);
        }
        values.retain(|known| known.starts_with(value));
        values.iter().map(|value| pair(value, &quoted(value), " ")).collect()
    }
}

fn find<'l>(list: &'l Listing, name: &str) -> Option<&'l Entry> {
    list.entries.iter().find(|entry| entry.name == name)
}

fn names(list: Option<&Listing>, written: &str) -> Vec<Pair> {
    let names = list.into_iter().flat_map(|list| &list.entries).map(|entry| entry.name.as_str());
    starting(names, written, " ")
}

/// Returns the arguments of an entry that are not given, required ones first.
fn arguments(entry: &Entry, given: &[&str], written: &str) -> Vec<Pair> {
    let is_given = |name: &str| {
        given.iter().any(|pair| pair.split_once('=').is_some_and(|(given, _)| given == name))
    };
    let mut open: Vec<_> = entry
        .arguments
        .iter()
        // Nested arguments are written as JSON.
        .filter(|argument| !argument.name.contains(['.', '[']))
        .filter(|argument| argument.name.starts_with(written) && !is_given(&argument.name))
        .collect();
    open.sort_by_key(|argument| !argument.is_required);
    open.into_iter().map(|argument| pair(&argument.line(), &argument.name, "=")).collect()
}

fn starting<'n>(names: impl Iterator<Item = &'n str>, written: &str, end: &str) -> Vec<Pair> {
    let names = names.filter(|name| name.starts_with(written));
    names.map(|name| pair(name, &quoted(name), end)).collect()
}

fn pair(shown: &str, replacement: &str, end: &str) -> Pair {
    // Names come from the server.
    let display = say::shown(shown, true).replace('\n', " ").chars().take(MOST.1).collect();
    Pair { display, replacement: format!("{replacement}{end}") }
}

impl Helper for Completion<'_> {}

impl Hinter for Completion<'_> {
    type Hint = String;
}

impl Highlighter for Completion<'_> {}

impl Validator for Completion<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_control_characters_is_not_offered() {
        let names = ["plain", "\u{1b}[2Jclear", "two words"];
        let offered = safe(starting(names.into_iter(), "", " "));
        let offered: Vec<&str> = offered.iter().map(|pair| pair.replacement.as_str()).collect();
        assert_eq!(offered, ["plain ", "\"two words\" "]);
    }
}
