//! The examples, run as a user would run them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The path of an example, which is built first.
fn example(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "mcp-sansio", "--examples"]);
        let profile = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_path_buf();
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success());
        profile.join("examples")
    });
    directory.join(name)
}

fn inspect(arguments: &[&str]) -> Output {
    Command::new(example("inspect")).args(arguments).output().unwrap()
}

#[track_caller]
fn texts(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn inspect_shows_the_built_in_server() {
    let (stdout, stderr) = texts(&inspect(&[]), 0);
    assert!(stdout.starts_with("revision: 2025-11-25\nserver: everything "), "{stdout}");
    assert!(stdout.contains("\ntools: 18\n  echo: Says what it is told\n"), "{stdout}");
    assert!(
        stdout.ends_with("\nresource templates: 1\n  test://template/{id}/data: Data for any id\n")
    );
    assert_eq!(stderr, "");
}

#[test]
fn inspect_prints_one_object_as_json() {
    let server = example("everything_server");
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let arguments = ["--json", "--revision", revision, "--", server.to_str().unwrap()];
        let (stdout, _) = texts(&inspect(&arguments), 0);
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(json["protocolVersion"], revision);
        assert_eq!(json["serverInfo"]["name"], "everything");
        assert_eq!(json["capabilities"]["resources"]["subscribe"], true);
        assert_eq!(json["tools"].as_array().unwrap().len(), 18);
        assert_eq!(json["prompts"][0], "test_simple_prompt");
        assert_eq!(json["resources"][2], "test://watched-resource");
        assert_eq!(json["resourceTemplates"], serde_json::json!(["test://template/{id}/data"]));
    }
}

#[test]
fn inspect_calls_tools() {
    let (stdout, stderr) = texts(&inspect(&["--call", "slow", r#"{"ms":120}"#]), 0);
    assert_eq!(stdout, "slept 120 ms\n");
    let lines: Vec<&str> = stderr.lines().collect();
    assert!(2 <= lines.len() && lines.iter().all(|line| line.ends_with(" of 120")), "{stderr}");

    let (stdout, _) = texts(&inspect(&["--json", "--call", "echo", r#"{"text":"a\nb"}"#]), 0);
    assert_eq!(stdout, "{\"content\":[{\"type\":\"text\",\"text\":\"a\\nb\"}]}\n");

    let (stdout, stderr) = texts(&inspect(&["--call", "test_error_handling", "{}"]), 1);
    assert_eq!(stdout, "This tool intentionally returns an error for testing\n");
    assert_eq!(stderr, "inspect: the tool failed\n");

    let (stdout, stderr) = texts(&inspect(&["--call", "no_such_tool", "{}"]), 1);
    assert_eq!(stdout, "");
    assert_eq!(
        stderr,
        "inspect: tools/call failed: the peer answered with error -32602: unknown tool\n"
    );
    let (_, stderr) = texts(&inspect(&["--call", "echo", "[1]"]), 1);
    assert_eq!(stderr, "inspect: the arguments for echo cannot be used: not a JSON object\n");
}

#[test]
fn inspect_answers_the_server() {
    let asked = inspect(&["--call", "test_elicitation_sep1034_defaults", "{}"]);
    let (stdout, _) = texts(&asked, 0);
    assert_eq!(
        stdout,
        "Elicitation completed: action=accept, content={\"age\":30,\"name\":\"John Doe\",\"score\":95.5,\"status\":\"active\",\"verified\":true}\n"
    );
    let form = r#"{"username":"me","email":"me@example.com"}"#;
    let asked = inspect(&["--form", form, "--call", "test_elicitation", r#"{"message":"Who?"}"#]);
    let (stdout, stderr) = texts(&asked, 0);
    assert_eq!(stdout, format!("User response: action=accept, content={form}\n"));
    assert_eq!(stderr, format!("the server asks \"Who?\"; it gets {form}\n"));
    let asked = inspect(&["--sample", "42", "--call", "test_sampling", r#"{"prompt":"?"}"#]);
    assert_eq!(texts(&asked, 0).0, "LLM response: 42\n");
}

#[test]
fn inspect_explains_wrong_arguments() {
    let table: [(&[&str], &str); 5] = [
        (&["--revision", "2026-01-01"], "there is no such revision; try 2024-11-05, "),
        (&["--timeout", "soon"], "not a number"),
        (&["--timeout", "0"], "not a sensible number of seconds"),
        (&["--call", "echo"], "2 values required"),
        (&["server"], "unexpected argument 'server'"),
    ];
    for (arguments, text) in table {
        let (stdout, stderr) = texts(&inspect(arguments), 2);
        assert!(stdout.is_empty() && stderr.contains(text), "{arguments:?}: {stderr}");
    }
    let (_, stderr) = texts(&inspect(&["--root", "/tmp"]), 1);
    assert_eq!(stderr, "inspect: the root /tmp is not a file:// URI\n");
    let (stdout, _) = texts(&inspect(&["--help"]), 0);
    assert!(stdout.contains("Usage: inspect") && stdout.contains("Examples:"));
}

/// Servers that do not exist, die, print garbage or say nothing.
#[cfg(unix)]
#[test]
fn inspect_explains_bad_servers() {
    let table: [(&[&str], &str); 6] = [
        (
            &["/no/such/server"],
            "/no/such/server: the server could not be started: No such file or directory (os error 2)\nIs it installed, and is it on the PATH?\n",
        ),
        (&["sh", "-c", "exit 3"], "sh: the server ended before it answered (exit status: 3)\n"),
        (
            &["sh", "-c", "echo I am no server; cat > /dev/null"],
            "sh: the server did not answer initialize in time\nIt wrote something that is not MCP: \"I am no server\"\n",
        ),
        (&["sleep", "60"], "sleep: the server did not answer initialize in time\n"),
        (
            &[
                "sh",
                "-c",
                r#"read line; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"go away"}}'; cat > /dev/null"#,
            ],
            "sh: the server refused with error -32000: go away\n",
        ),
        (
            &[
                "sh",
                "-c",
                r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}'; read line; read line; exit 1"#,
            ],
            "inspect: tools/list failed: the connection ended first: the peer ended the connection\n",
        ),
    ];
    for (server, text) in table {
        let started = Instant::now();
        let mut arguments = vec!["--timeout", "1", "--"];
        arguments.extend(server);
        let (stdout, stderr) = texts(&inspect(&arguments), 1);
        assert!(stdout.is_empty() && stderr.ends_with(text), "{server:?}: {stderr}");
        assert!(started.elapsed() < Duration::from_secs(10), "{server:?}");
    }
}

#[test]
fn nobody_has_to_read_to_the_end() {
    let mut child = Command::new(example("inspect"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

/// `printf '…' | server` gets its answers, and the server ends.
#[test]
fn servers_answer_what_they_were_asked_and_end() {
    for (server, name) in [("hello_server", "hello"), ("everything_server", "everything")] {
        let mut child = Command::new(example(server))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\nnoise\n\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"no/such/method\"}\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}";
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let mut lines: Vec<&str> = output.lines().collect();
        // The method is answered by a handler, so the ping can be faster.
        lines.sort_unstable();
        assert!(lines[0].contains(&format!("\"serverInfo\":{{\"name\":\"{name}\"")), "{output}");
        assert!(lines[1].contains("\"id\":2,\"error\":{\"code\":-32601,"), "{output}");
        assert_eq!(lines[2..], [r#"{"jsonrpc":"2.0","id":3,"result":{}}"#]);
    }
}

#[test]
fn everything_server_explains_itself() {
    let run = |arguments: &[&str]| {
        Command::new(example("everything_server")).args(arguments).output().unwrap()
    };
    assert!(texts(&run(&["--help"]), 0).0.contains("Usage: everything_server"));
    assert!(texts(&run(&["--revision", "x"]), 2).1.contains("there is no such revision"));
    assert!(texts(&run(&["--drain=-1"]), 2).1.contains("not a sensible number of seconds"));
}
