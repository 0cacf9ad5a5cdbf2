//! Servers in configuration files, and the variables of servers.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// A directory of one test, which is removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs the program in this directory, which is also the home of the user. Returns the exit code, standard output
    /// and standard error.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_mcp-inspect"))
            .args(arguments)
            .current_dir(&self.0)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.0)
            .env("FROM_OUTSIDE", "outside")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A server whose name contains its arguments, a variable and its directory.
const SERVER: &str = r#"read opening; printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"'"$1 $WHO $(basename "$PWD")"'","version":"1"}}}'; cat > /dev/null"#;

fn entry(members: &str) -> String {
    format!(
        r#"{{"command":"sh","args":["-c",{},"sh","first"]{members}}}"#,
        serde_json::json!(SERVER)
    )
}

#[track_caller]
fn name_of((code, stdout, stderr): (i32, String, String)) -> String {
    assert_eq!(code, 0, "{stderr}");
    let line = stdout.lines().find_map(|line| line.strip_prefix("server: ")).unwrap();
    line.to_owned()
}

/// The arguments for a legacy session, which the servers of these tests expect.
const OLD: [&str; 2] = ["--revision", "2025-11-25"];

#[test]
fn a_server_is_started_as_its_host_would_start_it() {
    let directory = Directory::new("started");
    directory.write("sub/file", "");
    let with_env = r#","env":{"WHO":"${env:FROM_OUTSIDE} and ${GIVEN:-default}","N":7,"NONE":null},"cwd":"sub""#;
    directory.write(
        "hosts.json",
        &format!(
            "{{ // VS Code allows comments.\n \"servers\": {{\"one\": {},}} }}",
            entry(with_env)
        ),
    );
    let config = ["--config", "hosts.json"];
    // The only server of a file needs no name.
    let found = name_of(directory.run(&[&OLD[..], &config].concat()));
    assert_eq!(found, "first outside and default sub 1");
    let given = ["--name", "one", "--env", "GIVEN=given"];
    let found = name_of(directory.run(&[&OLD[..], &config, &given].concat()));
    assert_eq!(found, "first outside and given sub 1");
    // A variable of the command line takes precedence.
    let given = ["--env", "WHO=other", "--env", "WHO=somebody"];
    let found = name_of(directory.run(&[&OLD[..], &config, &given].concat()));
    assert_eq!(found, "first somebody sub 1");
    let program = ["--env", "WHO=me", "--", "sh", "-c", SERVER, "sh", "direct"];
    let found = name_of(directory.run(&[&OLD[..], &program].concat()));
    assert!(found.starts_with("direct me started-"), "{found}");
}

#[test]
fn a_field_of_the_command_line_replaces_that_of_the_file() {
    let directory = Directory::new("fields");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let config = format!(
        r#"{{"mcpServers":{{"one":{{"url":"{url}","headers":{{"X-Key":"file","X-Other":"other"}}}}}}}}"#
    );
    directory.write("hosts.json", &config);
    let head = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream).lines().map(Result::unwrap);
        lines.take_while(|line| !line.is_empty()).collect::<Vec<String>>()
    });
    let given = ["--header", "x-key: given", "--header", "x-key: twice"];
    directory.run(&[&OLD[..], &["--config", "hosts.json"], &given].concat());
    let head = head.join().unwrap();
    let mut fields: Vec<_> = head
        .iter()
        .map(|line| line.to_ascii_lowercase())
        .filter(|line| line.starts_with("x-"))
        .collect();
    fields.sort_unstable();
    assert_eq!(fields, ["x-key: given", "x-key: twice", "x-other: other"]);
}

#[test]
fn the_usual_files_are_searched() {
    let directory = Directory::new("usual");
    let here = format!(r#"{{"mcpServers":{{"here":{}}}}}"#, entry(r#","env":{"WHO":"here"}"#));
    directory.write(".mcp.json", &here);
    let desktop = format!(
        r#"{{"mcpServers":{{"here":{},"desktop":{},"web":{{"type":"http","url":"https://user:secret@example.com/mcp?token=secret"}}}}}}"#,
        entry(r#","env":{"WHO":"elsewhere"}"#),
        entry(r#","env":{"WHO":"desktop"}"#),
    );
    directory.write(".config/Claude/claude_desktop_config.json", &desktop);
    directory.write(".cursor/mcp.json", "{");
    for name in ["here", "desktop"] {
        let found = name_of(directory.run(&[&OLD[..], &["--name", name]].concat()));
        assert!(found.starts_with(&format!("first {name} ")), "{found}");
    }
    let (code, stdout, stderr) = directory.run(&["--list-servers"]);
    let home = directory.0.display();
    let desktop = format!("{home}/.config/Claude/claude_desktop_config.json");
    let expected = format!(
        ".mcp.json: 1\n  here: sh\n{desktop}: 3\n  desktop: sh\n  here: sh\n  web: https://example.com/mcp\n"
    );
    assert_eq!((code, stdout.as_str()), (0, expected.as_str()), "no secret is shown");
    // The file in the current directory is also the file of the user here.
    assert!(stderr.starts_with("inspect: .cursor/mcp.json: "), "{stderr}");
    let (code, _, stderr) = directory.run(&["--name", "other"]);
    assert_eq!(code, 2);
    assert!(
        stderr.ends_with("has a server other; known servers: here, desktop, here, web\n"),
        "{stderr}"
    );
    fs::remove_dir_all(&directory.0).unwrap();
    fs::create_dir_all(&directory.0).unwrap();
    let (code, stdout, _) = directory.run(&["--list-servers"]);
    assert_eq!((code, stdout.as_str()), (0, "no configuration file was found\n"));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let directory = Directory::new("mistakes");
    let two = r#"{"mcpServers":{"a":{"command":"sh","args":["-c","${MISSING}"]},"b":{"args":[]},"c":{"url":"http://${input:host}/"}}}"#;
    directory.write("two.json", two);
    directory.write("empty.json", "{}");
    let types = r#"{"mcpServers":{"a":{"command":"sh","args":"--token=secret"},"b":{"command":"sh","env":{"KEY":["secret"]}}}}"#;
    directory.write("types.json", types);
    directory.write("broken.json", "{\"mcpServers\": {\"a\": 7}}");
    for (arguments, expected) in [
        (&["--config", "two.json"][..], "two.json: name one of its servers with --name: a, b, c"),
        (
            &["--config", "two.json", "--name", "d"],
            "two.json: there is no server d; there are: a, b, c",
        ),
        (
            &["--config", "two.json", "--name", "a"],
            "two.json: a.args[1]: the variable MISSING is not set; set it with --env MISSING=…",
        ),
        (
            &["--config", "two.json", "--name", "b"],
            "two.json: b.command: a server needs a command or a url",
        ),
        (
            &["--config", "two.json", "--name", "c"],
            "two.json: c.url: the host asks its user for ${input:host}; copy the file, and write the value into it",
        ),
        (&["--config", "empty.json"], "empty.json: there is no server"),
        (&["--config", "none.json"], "none.json: No such file or directory (os error 2)"),
        (&["--config", "broken.json"], "broken.json: a.command: a server needs a command or a url"),
        (&["--config", "types.json", "--name", "a"], "types.json: a.args: not a list"),
        (&["--config", "types.json", "--name", "b"], "types.json: b.env.KEY: not a text"),
        (
            &["--config", "types.json", "--name", "c"],
            "types.json: there is no server c; there are: a, b",
        ),
        (
            &[],
            "no server: give its URL, its program and arguments after `--`, or --config and --name",
        ),
        (
            &["--header", "a: b", "--", "true"],
            "--header needs the URL of a server: a program has no header fields",
        ),
        (
            &["--env", "A=b", "http://127.0.0.1:9/mcp"],
            "--env needs a server to start: a running one has its environment",
        ),
    ] {
        let (code, stdout, stderr) = directory.run(arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
    }
}
