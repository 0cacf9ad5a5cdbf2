//! The commands of the interactive mode, and their parser.

use std::str::FromStr;

use mcp_sansio::json::{Kind, Raw};
use mcp_sansio::model::LoggingLevel;
use serde_json::{Map, Value};

use super::words::{Word, words};
use crate::actions::Action;

/// A command of the user.
#[derive(Debug)]
pub(super) enum Command {
    /// List the contents of the server, or one of its lists.
    List(Option<Listed>),
    Act(Action),
    Log(LoggingLevel),
    Help,
    Quit,
}

/// A list of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// The commands, with their arguments and descriptions.
pub(super) const COMMANDS: [(&str, &str, &str); 12] = [
    ("list", "", "what the server has"),
    ("tools", "", "the tools"),
    ("prompts", "", "the prompts"),
    ("resources", "", "the resources"),
    ("templates", "", "the resource templates"),
    ("call", "TOOL [NAME=VALUE… or JSON]", "call a tool"),
    ("read", "URI", "read a resource"),
    ("prompt", "PROMPT [NAME=VALUE… or JSON]", "get a prompt"),
    ("complete", "REF ARGUMENT VALUE", "complete an argument of a prompt or a template"),
    ("log", "LEVEL", "ask for log messages of this level and above"),
    ("help", "", "this list; Tab completes, Ctrl-C cancels a request, Ctrl-D ends"),
    ("quit", "", "end"),
];

/// Returns the schema of a tool: the types of its arguments decide how values are read.
pub(super) type SchemaOf<'a> = &'a dyn Fn(&str) -> Option<Raw<'static>>;

impl Command {
    /// Parses a line; `None` if it is empty.
    pub(super) fn parse(line: &str, schema_of: SchemaOf<'_>) -> Result<Option<Self>, String> {
        let words = words(line)?;
        let Some((command, rest)) = words.split_first() else { return Ok(None) };
        let at_most = |most: usize| match rest.get(most) {
            Some(word) => Err(format!("{} takes no {:?}; see help", command.text, word.text)),
            None => Ok(()),
        };
        let needed = |at: usize, name: &str| {
            rest.get(at)
                .map(|word| word.text.clone())
                .ok_or_else(|| format!("{} needs {name}; see help", command.text))
        };
        // The rest of the line as it was written: JSON has its own quotes.
        let arguments = |schema: Option<Raw<'static>>, are_strings| {
            let text = rest.get(1).and_then(|word| line.get(word.start..)).unwrap_or_default();
            if text.starts_with('{') {
                return object(text.trim());
            }
            pairs(rest.get(1..).unwrap_or_default(), schema.as_ref(), are_strings)
        };
        Ok(Some(match command.text.as_str() {
            "list" | "tools" | "prompts" | "resources" | "templates" | "help" | "quit" | "exit" => {
                at_most(0)?;
                Self::of_one_word(&command.text)
            }
            "call" => {
                let name = needed(0, "the name of a tool")?;
                let arguments = arguments(schema_of(&name), false)?;
                Self::Act(Action::Call { name, arguments })
            }
            "prompt" => {
                let name = needed(0, "the name of a prompt")?;
                let arguments = arguments(None, true)?;
                Self::Act(Action::Prompt { name, arguments })
            }
            "read" => {
                at_most(1)?;
                Self::Act(Action::Read { uri: needed(0, "the URI of a resource")? })
            }
            "complete" => {
                at_most(3)?;
                Self::Act(Action::Complete {
                    reference: needed(0, "a prompt or a template")?,
                    argument: needed(1, "an argument")?,
                    value: needed(2, "the beginning of a value, \"\" for none")?,
                })
            }
            "log" => {
                at_most(1)?;
                let level = needed(0, "a level")?;
                let level = LoggingLevel::from_str(&level);
                Self::Log(level.map_err(|_| format!("the levels are {}", levels().join(", ")))?)
            }
            other => return Err(format!("there is no command {other:?}; see help")),
        }))
    }

    fn of_one_word(word: &str) -> Self {
        match word {
            "tools" => Self::List(Some(Listed::Tools)),
            "prompts" => Self::List(Some(Listed::Prompts)),
            "resources" => Self::List(Some(Listed::Resources)),
            "templates" => Self::List(Some(Listed::Templates)),
            "help" => Self::Help,
            "quit" | "exit" => Self::Quit,
            _ => Self::List(None),
        }
    }
}

/// Returns the names of the levels of log messages, least severe first.
pub(super) fn levels() -> [&'static str; 8] {
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
}

fn object(text: &str) -> Result<Raw<'static>, String> {
    let raw = Raw::try_from(text.to_owned()).map_err(|error| format!("the arguments: {error}"))?;
    if raw.kind() == Kind::Object { Ok(raw) } else { Err("the arguments are not an object".into()) }
}

/// Builds the arguments from words of the form `NAME=VALUE`.
fn pairs(
    words: &[Word],
    schema: Option<&Raw<'_>>,
    are_strings: bool,
) -> Result<Raw<'static>, String> {
    let mut arguments = Map::new();
    for Word { text, .. } in words {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            format!("{text:?} is not of the form NAME=VALUE; or write JSON: {{…}}")
        })?;
        let takes_text = are_strings || schema.is_some_and(|schema| takes_text(schema, name));
        let value = match serde_json::from_str(value) {
            Ok(value) if !takes_text => value,
            // A value that is no JSON can only be meant as text.
            _ => Value::from(value),
        };
        if arguments.insert(name.to_owned(), value).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    Raw::from_serialize(&arguments).map_err(|error| error.to_string())
}

/// Whether the schema of a tool declares an argument as a string, and as nothing else that has the form of its value.
fn takes_text(schema: &Raw<'_>, name: &str) -> bool {
    let property = schema.get("properties").and_then(|all| all.get(name).map(Raw::into_owned));
    let Some(kind) = property.as_ref().and_then(|property| property.get("type")) else {
        return false;
    };
    kind.into_str().is_some_and(|kind| kind == *"string")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Result<String, String> {
        let schema =
            r#"{"properties":{"text":{"type":"string"},"count":{"type":"integer"},"any":{}}}"#;
        let schema_of =
            |name: &str| (name == "t").then(|| Raw::try_from(schema.to_owned()).unwrap());
        match Command::parse(line, &schema_of)? {
            Some(Command::Act(Action::Call { name, arguments })) => {
                Ok(format!("{name} {arguments}"))
            }
            Some(Command::Act(Action::Prompt { name, arguments })) => {
                Ok(format!("{name} {arguments}"))
            }
            other => Ok(format!("{other:?}")),
        }
    }

    #[test]
    fn values_are_read_by_their_declared_types() {
        for (line, expected) in [
            ("call t", "t {}"),
            ("call t text=7", r#"t {"text":"7"}"#),
            ("call t text=true count=7 any=7.5", r#"t {"any":7.5,"count":7,"text":"true"}"#),
            ("call t any=plain", r#"t {"any":"plain"}"#),
            (
                r#"call t text="two words" any='["a", 1]'"#,
                r#"t {"any":["a",1],"text":"two words"}"#,
            ),
            ("call t text=", r#"t {"text":""}"#),
            ("call t text=a=b", r#"t {"text":"a=b"}"#),
            ("call unknown count=7 b=x", r#"unknown {"b":"x","count":7}"#),
            (r#"  call  t   {"any": "a  b"}  "#, r#"t {"any": "a  b"}"#),
            ("prompt t count=7", r#"t {"count":"7"}"#),
        ] {
            assert_eq!(arguments(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn mistakes_are_explained() {
        for (line, expected) in [
            ("fly", "there is no command \"fly\"; see help"),
            ("call", "call needs the name of a tool; see help"),
            ("call t word", "\"word\" is not of the form NAME=VALUE; or write JSON: {…}"),
            ("call t a=1 a=2", "a is given twice"),
            ("read", "read needs the URI of a resource; see help"),
            ("read a b", "read takes no \"b\"; see help"),
            (
                "log loud",
                "the levels are debug, info, notice, warning, error, critical, alert, emergency",
            ),
            ("call t \"a", "a quote is not closed"),
        ] {
            assert_eq!(arguments(line).unwrap_err(), expected, "{line}");
        }
        assert!(arguments("call t {\"a\":").unwrap_err().starts_with("the arguments: "));
        assert!(matches!(Command::parse("  ", &|_| None), Ok(None)));
    }
}
