//! `inspect` logs in when a server requires it.

mod server;

#[cfg(unix)]
use std::io::Write;
use std::io::{BufRead, BufReader, Read};
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
#[cfg(unix)]
use std::time::Duration;

use self::server::{Asked, CODE, Rules, Server, TOKEN, get, parameter};
use crate::inspect::{OLD, inspect, texts};
use crate::kit::example;

/// A folder for the state of programs, empty at first and removed at the end.
struct State(PathBuf);

impl State {
    fn new(name: &str) -> Self {
        let name = format!("mcp-sansio-login-{}-{name}", std::process::id());
        let state = Self(std::env::temp_dir().join(name));
        _ = std::fs::remove_dir_all(&state.0);
        state
    }

    /// Returns a command whose state is in this folder.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(example("inspect"));
        command.args(OLD).args(arguments).stdin(Stdio::null());
        for variable in ["XDG_STATE_HOME", "LOCALAPPDATA"] {
            command.env(variable, &self.0);
        }
        command.env_remove("INSPECT_CLIENT_SECRET");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.0.join("mcp-sansio").join("inspect")
    }

    /// Returns the files with this extension.
    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.folder()) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|known| known == extension)).collect()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that waits for the login of its user.
struct Login {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    url: String,
    /// The second line of standard error, with the redirect URI.
    waiting: String,
}

impl Login {
    #[track_caller]
    fn begin(mut command: Command) -> Self {
        command.arg("--no-browser");
        Self::begin_with_browser(command)
    }

    #[track_caller]
    fn begin_with_browser(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = || {
            let mut line = String::new();
            stderr.read_line(&mut line).unwrap();
            line
        };
        let (first, waiting) = (line(), line());
        let start = "The server asks for authorization. Open this URL in a browser: ";
        let url = first.strip_prefix(start).unwrap_or_else(|| panic!("{first}{waiting}"));
        Self { url: url.trim_end().into(), child, stderr, waiting }
    }

    /// Follows the URL as the user's browser would. Returns the final page.
    fn browse(&self) -> String {
        let (head, _) = get(&self.url);
        let back = head.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap();
        get(back).1
    }

    /// Returns the rest of standard error, and standard output.
    #[track_caller]
    fn end(mut self, code: i32) -> (String, String) {
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        (String::from_utf8(output.stdout).unwrap(), stderr)
    }
}

/// Runs a login up to the list of tools.
#[track_caller]
fn log_in(state: &State, server: &Server, options: &[&str]) {
    let login = Login::begin(state.command(&[options, &[&*server.url()]].concat()));
    assert!(login.browse().contains("Return to the program"));
    let (stdout, stderr) = login.end(0);
    assert!(stdout.contains("\ntools: 1\n  secret_tool\n"), "{stdout}");
    assert_eq!(stderr, "");
}

#[test]
fn a_login_is_asked_for_once() {
    let (state, server) = (State::new("once"), Server::start(Rules::default()));
    let login = Login::begin(state.command(&[&server.url()]));
    assert!(
        login.url.starts_with(&format!("http://{}/authorize?", server.address)),
        "{}",
        login.url
    );
    let back = parameter(&login.url, "redirect_uri").unwrap();
    let back = back.replace("%3A", ":").replace("%2F", "/");
    let waiting = format!("Waiting for the browser to come back to {back}, Ctrl-C gives up.");
    assert!(login.waiting.starts_with(&waiting), "{}", login.waiting);
    assert!(back.starts_with("http://127.0.0.1:"), "{back}");
    assert_eq!(state.files("json").len(), 1, "the registration is remembered");
    assert!(login.browse().contains("Return to the program"));
    let (stdout, stderr) = login.end(0);
    assert!(stdout.contains("\ntools: 1\n  secret_tool\n"), "{stdout}");
    assert_eq!(stderr, "");

    let before = (server.asked("POST /register").len(), server.asked("POST /token").len());
    assert_eq!(before, (1, 1));
    let (stdout, stderr) = texts(&state.run(&[&server.url()]), 0);
    assert!(stdout.contains("\ntools: 1\n  secret_tool\n"), "{stdout}");
    assert_eq!(stderr, "");
    assert_eq!(before, (server.asked("POST /register").len(), server.asked("POST /token").len()));
}

/// Only the owner can read the file, and its name does not reveal the server.
#[test]
fn a_login_is_in_one_file_of_its_owner() {
    let (state, server) = (State::new("file"), Server::start(Rules::default()));
    log_in(&state, &server, &[]);
    let files = state.files("json");
    let [file] = &files[..] else { panic!("{files:?}") };
    let name = file.file_stem().unwrap().to_str().unwrap();
    assert_eq!(name.len(), 64);
    assert!(name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    assert!(std::fs::read_to_string(file).unwrap().contains(TOKEN));
    #[cfg(unix)]
    {
        let mode = |path: &Path| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::metadata(path).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(mode(file), 0o600);
        assert_eq!(mode(&state.folder()), 0o700);
    }
    // Another URL has another file.
    let login = Login::begin(state.command(&[&format!("{}?tenant=2", server.url())]));
    login.browse();
    login.end(0);
    assert_eq!(state.files("json").len(), 2);
}

#[test]
fn a_logout_forgets_the_login() {
    let (state, server) = (State::new("logout"), Server::start(Rules::default()));
    let url = server.url();
    let forgotten = format!("inspect: no login to {url} is remembered any more\n");
    // Logging out also succeeds without a login.
    for _ in 0..2 {
        let (stdout, stderr) = texts(&state.run(&["--logout", &url]), 0);
        assert_eq!((stdout.as_str(), stderr.as_str()), ("", forgotten.as_str()));
        // The file keeps only its generation, so that other processes notice the logout.
        let keeps_token = |file| std::fs::read_to_string(file).unwrap().contains("access_token");
        assert!(!state.files("json").into_iter().any(keeps_token));
        log_in(&state, &server, &[]);
        assert!(state.files("json").into_iter().any(keeps_token));
    }
    assert_eq!(server.asked("POST /token").len(), 2);
    assert_eq!(server.asked("DELETE /mcp").len(), 0);
}

#[test]
fn a_denied_login_is_reported_to_the_user() {
    let rules = Rules { denies: true, ..Rules::default() };
    let (state, server) = (State::new("denied"), Server::start(rules));
    let login = Login::begin(state.command(&[&server.url()]));
    assert!(login.browse().contains("The login has failed."));
    let (stdout, stderr) = login.end(1);
    assert_eq!(stdout, "");
    let expected = format!(
        "inspect: {}: authorization was denied: access_denied\nRun the command again to log in.\n",
        server.url()
    );
    assert_eq!(stderr, expected);
    assert!(server.asked("POST /token").is_empty());
}

#[test]
fn a_client_that_cannot_register_gets_instructions() {
    let rules = Rules { has_no_registration: true, ..Rules::default() };
    let (state, server) = (State::new("unregistered"), Server::start(rules));
    let (stdout, stderr) = texts(&state.run(&[&server.url()]), 1);
    let expected = format!(
        "inspect: {}: there is no way to register with \"http://{}\"\n\
         Register a client there by hand, and name it with --client-id.\n",
        server.url(),
        server.address
    );
    assert_eq!((stdout.as_str(), stderr), ("", expected));
    assert!(state.files("json").is_empty(), "there is nothing to remember");
}

fn client_of(asked: &[Asked]) -> (Option<String>, Option<String>) {
    let [asked] = asked else { panic!("{asked:?}") };
    (parameter(&asked.body, "client_id"), asked.authorization.clone())
}

#[test]
fn a_client_that_was_registered_beforehand_is_used() {
    let rules = Rules { has_no_registration: true, ..Rules::default() };
    let options = ["--client-id", "mine"];
    let (state, server) = (State::new("public"), Server::start(rules));
    log_in(&state, &server, &options);
    assert_eq!(client_of(&server.asked("POST /token")), (Some("mine".into()), None));
    assert_eq!(parameter(&server.asked("GET /authorize")[0].query, "scope"), None);

    let (state, server) = (State::new("confidential"), Server::start(rules));
    let mut command = state.command(&options);
    command.env("INSPECT_CLIENT_SECRET", "s3").args(["--scope", "a b", "--scope", "c"]);
    command.arg(server.url());
    let login = Login::begin(command);
    assert_eq!(parameter(&login.url, "client_id").as_deref(), Some("mine"));
    assert_eq!(parameter(&login.url, "scope").as_deref(), Some("a+b+c"));
    login.browse();
    let (_, stderr) = login.end(0);
    assert_eq!(stderr, "");
    // The name and the secret, in base64.
    let basic = Some("Basic bWluZTpzMw==".into());
    assert_eq!(client_of(&server.asked("POST /token")), (None, basic));
    assert!(server.asked("POST /register").is_empty());
    assert!(server.asked("POST /token")[0].body.contains(CODE));
}

/// A token of the user is used as given, and no login replaces it.
#[test]
fn a_token_that_is_given_needs_no_login() {
    let (state, server) = (State::new("given"), Server::start(Rules::default()));
    let field = |token: &str| format!("Authorization: Bearer {token}");
    let (stdout, stderr) = texts(&state.run(&["--header", &field(TOKEN), &server.url()]), 0);
    assert!(stdout.contains("\ntools: 1\n  secret_tool\n"), "{stdout}");
    assert_eq!(stderr, "");
    let (_, stderr) = texts(&state.run(&["--header", &field("other"), &server.url()]), 1);
    assert!(stderr.contains("401"), "{stderr}");
    assert!(server.asked("POST /register").is_empty());
}

/// The browser is started with the URL as its only argument, without a shell.
#[cfg(target_os = "linux")]
#[test]
fn a_browser_is_opened_without_a_shell() {
    use std::os::unix::fs::PermissionsExt;

    let (state, server) = (State::new("browser"), Server::start(Rules::default()));
    std::fs::create_dir_all(&state.0).unwrap();
    let (browser, fifo) = (state.0.join("xdg-open"), state.0.join("told"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!("#!/bin/sh\nprintf '%s %s' \"$#\" \"$1\" > '{}'\n", fifo.display());
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = state.command(&[&server.url()]);
    command.env("PATH", &state.0);
    let login = Login::begin_with_browser(command);
    assert_eq!(std::fs::read_to_string(&fifo).unwrap(), format!("1 {}", login.url));
    login.browse();
    login.end(0);
}

#[cfg(unix)]
#[test]
fn a_user_can_give_up() {
    let (state, server) = (State::new("given-up"), Server::start(Rules::default()));
    let login = Login::begin(state.command(&[&server.url()]));
    let id = login.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let (stdout, stderr) = login.end(130);
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", "inspect: interrupted\n"));
    assert!(server.asked("POST /token").is_empty());
}

/// A login within a session ends with the request that needs it. The next request begins another login, and shows
/// it to the user.
#[cfg(unix)]
#[test]
fn a_user_can_give_up_the_login_of_a_call() {
    let rules = Rules { guards_calls_only: true, ..Rules::default() };
    let (state, server) = (State::new("given-up-call"), Server::start(rules));
    let mut command = state.command(&["--interactive", "--no-browser", &server.url()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (lines, said) = std::sync::mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
    });
    let mut commands = child.stdin.take().unwrap();
    for _ in 0..2 {
        commands.write_all(b"call secret_tool\n").unwrap();
        // The login begins.
        while !said.recv_timeout(Duration::from_secs(60)).unwrap().contains("Ctrl-C gives up") {}
        crate::inspect::interrupt(&child);
    }
    drop(commands);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "two commands have failed");
    assert!(server.asked("POST /token").is_empty());
}

#[test]
fn options_of_a_login_without_effect_are_refused() {
    let url = "http://127.0.0.1:1/mcp";
    let field = "Authorization: Bearer x";
    let started = "needs the URL of a server: a server that is started takes credentials from its environment\n";
    let table: [(&[&str], &str, &str); 8] = [
        (&["--logout", "--", "server"], "--logout ", started),
        (&["--client-id", "c", "--", "server"], "--client-id ", started),
        (&["--scope", "a", "--", "server"], "--scope ", started),
        (&["--no-browser"], "--no-browser ", started),
        (&["--header", field, "--client-id", "c", url], "--client-id ", "writes that field\n"),
        (&["--logout", "http://me@127.0.0.1:1/mcp"], "--logout ", "a user in front of the host\n"),
        (&["--scope", "a \"b\"", url], "'--scope <SCOPE>'", "cannot be a scope"),
        (&["--logout", "--call", "echo", "{}", url], "'--logout'", "cannot be used with"),
    ];
    for (arguments, option, text) in table {
        let (stdout, stderr) = texts(&inspect(arguments), 2);
        assert_eq!(stdout, "");
        assert!(stderr.contains(option) && stderr.contains(text), "{arguments:?}: {stderr}");
    }
    let (help, _) = texts(&inspect(&["--help"]), 0);
    for option in ["--logout", "--client-id", "--scope", "--no-browser", "INSPECT_CLIENT_SECRET"] {
        assert!(help.contains(option), "{help}");
    }
    assert!(!help.contains("--secret"), "{help}");
}
