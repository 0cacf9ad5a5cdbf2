//! Servers in the configuration files of other hosts: `.mcp.json`, `.vscode/mcp.json`, Claude Desktop, Cursor, Windsurf.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde::Deserialize;
use serde_json::Value;

use crate::http::without_secrets;
use crate::target::{Program, Target};

/// A configuration file. Members that only its host understands are ignored, and each server is read when it is used, so
/// that one mistake does not lose the others.
#[derive(Deserialize)]
struct File {
    #[serde(default, rename = "mcpServers")]
    mcp_servers: BTreeMap<String, Value>,
    /// The name of the member in VS Code.
    #[serde(default)]
    servers: BTreeMap<String, Value>,
}

/// A server of a configuration file: a program or a URL.
#[derive(Debug, Default)]
struct Entry {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
}

impl Entry {
    /// Reads a server. An error names the member, and not its value, which may be a secret.
    fn read(value: &Value) -> Result<Self, String> {
        let text = |name: &str| match value.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{name}: not a text")),
        };
        let url = match text("url")? {
            Some(url) => Some(url),
            None => text("serverUrl")?,
        };
        let args = match value.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(all)) => all
                .iter()
                .enumerate()
                .map(|(at, one)| as_text(one).ok_or_else(|| format!("args[{at}]: not a text")))
                .collect::<Result<_, _>>()?,
            Some(_) => return Err("args: not a list".into()),
        };
        Ok(Self {
            command: text("command")?,
            args,
            env: texts(value, "env")?,
            cwd: text("cwd")?,
            url,
            headers: texts(value, "headers")?,
        })
    }
}

/// Returns a text; a number or a boolean counts as its text.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Reads an object of texts; `null` is a text that is not set.
fn texts(value: &Value, name: &str) -> Result<BTreeMap<String, String>, String> {
    let members = match value.get(name) {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(members)) => members.iter().filter(|(_, value)| !value.is_null()),
        Some(_) => return Err(format!("{name}: not an object")),
    };
    let members = members.map(|(key, value)| match as_text(value) {
        Some(text) => Ok((key.clone(), text)),
        None => Err(format!("{name}.{key}: not a text")),
    });
    members.collect()
}

/// The servers of one file.
pub(crate) struct Configured {
    path: PathBuf,
    servers: BTreeMap<String, Value>,
}

impl Configured {
    /// Reads a file. Comments and trailing commas are allowed, as its host allows them.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
        let file: Option<File> = parse_to_serde_value(&text, &ParseOptions::default())
            .map_err(|error| failed(&error))?;
        let mut servers = BTreeMap::new();
        if let Some(File { mcp_servers, servers: of_vs_code }) = file {
            servers.extend(of_vs_code);
            servers.extend(mcp_servers);
        }
        Ok(Self { path: path.to_owned(), servers })
    }

    /// Returns the server with this name, or without a name the only one.
    fn target(&self, name: Option<&str>, variables: Variables<'_>) -> Result<Target, String> {
        let path = self.path.display();
        let found = match name {
            Some(name) => self.servers.get_key_value(name),
            None if self.servers.len() == 1 => self.servers.first_key_value(),
            None => None,
        };
        let Some((name, entry)) = found else {
            let known: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            return Err(match (name, known.is_empty()) {
                (_, true) => format!("{path}: there is no server"),
                (Some(name), false) => {
                    format!("{path}: there is no server {name}; there are: {}", known.join(", "))
                }
                (None, false) => {
                    format!("{path}: name one of its servers with --name: {}", known.join(", "))
                }
            });
        };
        let target = Entry::read(entry).and_then(|entry| entry.target(variables));
        target.map_err(|error| format!("{path}: {name}.{error}"))
    }
}

impl Entry {
    fn target(&self, variables: Variables<'_>) -> Result<Target, String> {
        let expand = |place: &str, text: &str| {
            variables.expand(text).map_err(|error| format!("{place}: {error}"))
        };
        let pairs = |place: &str, pairs: &BTreeMap<String, String>| {
            let expanded = pairs.iter().map(|(name, value)| {
                Ok((name.clone(), expand(&format!("{place}.{name}"), value)?))
            });
            expanded.collect::<Result<Vec<_>, String>>()
        };
        if let Some(command) = &self.command {
            let arguments = self.args.iter().enumerate();
            let arguments =
                arguments.map(|(at, text)| Ok(expand(&format!("args[{at}]"), text)?.into()));
            let directory = self.cwd.as_ref().map(|path| expand("cwd", path)).transpose()?;
            return Ok(Target::Program(Program {
                program: expand("command", command)?.into(),
                arguments: arguments.collect::<Result<_, String>>()?,
                environment: pairs("env", &self.env)?,
                directory: directory.map(PathBuf::from),
            }));
        }
        let url = self.url.as_ref().ok_or("command: a server needs a command or a url")?;
        Ok(Target::Url { url: expand("url", url)?, headers: pairs("headers", &self.headers)? })
    }
}

/// The variables of a configuration file: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${userHome}`,
/// `${workspaceFolder}`.
#[derive(Clone, Copy)]
pub(crate) struct Variables<'a> {
    /// Variables of the command line, which take precedence over the environment.
    pub(crate) given: &'a [(String, String)],
}

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let given = self.given.iter().rev().find(|(given, _)| given == name);
        given.map(|(_, value)| value.clone()).or_else(|| env::var(name).ok())
    }

    /// Replaces the variables in a text.
    fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else { break };
            expanded.push_str(before);
            expanded.push_str(&self.value(name)?);
            rest = behind;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn value(&self, name: &str) -> Result<String, String> {
        let path = |path: io::Result<PathBuf>| {
            let path = path.map_err(|error| format!("${{{name}}}: {error}"))?;
            Ok(path.to_string_lossy().into_owned())
        };
        match name {
            "workspaceFolder" => return path(env::current_dir()),
            "userHome" => return path(home().ok_or_else(|| io::ErrorKind::NotFound.into())),
            _ => {}
        }
        if let Some(input) = name.strip_prefix("input:") {
            return Err(format!(
                "the host asks its user for ${{input:{input}}}; copy the file, and write the value into it"
            ));
        }
        let name = name.strip_prefix("env:").unwrap_or(name);
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        let value = self.get(name).or_else(|| default.map(str::to_owned));
        value.ok_or_else(|| format!("the variable {name} is not set; set it with --env {name}=…"))
    }
}

fn home() -> Option<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Returns the usual configuration files: first those of the current directory, then those of the user.
fn usual_files() -> Vec<PathBuf> {
    let here = [".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"];
    let mut files: Vec<PathBuf> = here.map(PathBuf::from).into();
    let Some(home) = home() else { return files };
    let desktop = "Claude/claude_desktop_config.json";
    files.push(if cfg!(target_os = "macos") {
        home.join("Library/Application Support").join(desktop)
    } else if cfg!(windows) {
        env::var_os("APPDATA").map_or_else(|| home.clone(), PathBuf::from).join(desktop)
    } else {
        let config = env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
        config.map_or_else(|| home.join(".config"), PathBuf::from).join(desktop)
    });
    for path in [".claude.json", ".cursor/mcp.json", ".codeium/windsurf/mcp_config.json"] {
        files.push(home.join(path));
    }
    files
}

/// Reads the given file, or the usual files that exist. A usual file that cannot be read is reported.
fn files(given: Option<&Path>, report: &mut dyn FnMut(String)) -> Result<Vec<Configured>, String> {
    if let Some(path) = given {
        return Ok(vec![Configured::read(path)?]);
    }
    let mut files = Vec::new();
    for path in usual_files().into_iter().filter(|path| path.is_file()) {
        match Configured::read(&path) {
            Ok(file) => files.push(file),
            Err(error) => report(error),
        }
    }
    Ok(files)
}

/// Finds a server by its name: in a given file, or in the first usual file that has it.
pub(crate) fn find(
    file: Option<&Path>,
    name: Option<&str>,
    variables: Variables<'_>,
    report: &mut dyn FnMut(String),
) -> Result<Target, String> {
    let files = files(file, report)?;
    let has_name = |file: &&Configured| name.is_none_or(|name| file.servers.contains_key(name));
    match (files.iter().find(has_name), file, name) {
        (Some(found), _, _) => found.target(name, variables),
        (None, Some(_), _) => {
            // A given file without the server says which servers it has.
            files.first().map_or_else(|| Err(String::new()), |file| file.target(name, variables))
        }
        (None, None, _) => {
            let name = name.unwrap_or_default();
            let all: Vec<&str> =
                files.iter().flat_map(|file| file.servers.keys()).map(String::as_str).collect();
            let known = if all.is_empty() { "none".into() } else { all.join(", ") };
            Err(format!("no configuration file has a server {name}; known servers: {known}"))
        }
    }
}

/// Lists the servers of the given file, or of the usual files: name, and program or URL.
pub(crate) fn list(file: Option<&Path>, report: &mut dyn FnMut(String)) -> Result<String, String> {
    let mut text = String::new();
    for Configured { path, servers } in files(file, report)? {
        _ = writeln!(text, "{}: {}", path.display(), servers.len());
        for (name, entry) in servers {
            // Arguments and environment may hold secrets, and URLs may as well.
            let kind = Entry::read(&entry).map(|entry| {
                let kind = entry.command.or_else(|| entry.url.as_deref().map(without_secrets));
                kind.unwrap_or_else(|| "neither a command nor a url".into())
            });
            _ = writeln!(text, "  {name}: {}", kind.unwrap_or_else(|error| error));
        }
    }
    Ok(if text.is_empty() {
        "no configuration file was found".into()
    } else {
        text.trim_end().into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str) -> Result<String, String> {
        let given = [("TOKEN".to_owned(), "secret".to_owned())];
        Variables { given: &given }.expand(text)
    }

    #[test]
    fn variables_are_expanded_and_missing_ones_named() {
        for (text, expected) in [
            ("", ""),
            ("plain $TOKEN", "plain $TOKEN"),
            ("${TOKEN}", "secret"),
            ("Bearer ${env:TOKEN}!", "Bearer secret!"),
            ("${TOKEN}${TOKEN}", "secretsecret"),
            ("${NO_SUCH_VARIABLE:-or this}", "or this"),
            ("${TOKEN:-or this}", "secret"),
            ("unclosed ${TOKEN", "unclosed ${TOKEN"),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(expected), "{text}");
        }
        let missing = expand("${NO_SUCH_VARIABLE}").unwrap_err();
        assert_eq!(
            missing,
            "the variable NO_SUCH_VARIABLE is not set; set it with --env NO_SUCH_VARIABLE=…"
        );
        assert!(expand("${input:key}").unwrap_err().contains("${input:key}"));
    }
}
