//! `inspect` and `everything_server`.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

use crate::kit::example;

pub(crate) fn inspect(arguments: &[&str]) -> Output {
    Command::new(example("inspect")).args(arguments).output().unwrap()
}

/// The arguments for a legacy session.
pub(crate) const OLD: [&str; 2] = ["--revision", "2025-11-25"];

#[track_caller]
pub(crate) fn texts(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn inspect_shows_the_built_in_server() {
    let (stdout, stderr) = texts(&inspect(&[]), 0);
    let found = "revision: 2026-07-28 (without a session; the server said so)\nserver: everything ";
    assert!(stdout.starts_with(found), "{stdout}");
    let tools =
        "\ntools: 43\n  echo: Says what it is told\n    text (string, required): What to say\n";
    assert!(stdout.contains(tools), "{stdout}");
    let prompt =
        "\n  test_prompt_with_arguments: A message with arguments\n    arg1 (string, required)\n";
    assert!(stdout.contains(prompt), "{stdout}");
    assert!(
        stdout.ends_with("\nresource templates: 1\n  test://template/{id}/data: Data for any id\n")
    );
    assert_eq!(stderr, "");
}

#[test]
fn inspect_prints_one_object_as_json() {
    let server = example("everything_server");
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let arguments = ["--json", "--revision", revision, "--", server.to_str().unwrap()];
        let (stdout, _) = texts(&inspect(&arguments), 0);
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(json["protocolVersion"], revision);
        let is_new = revision == "2026-07-28";
        assert_eq!(json["era"], if is_new { "without a session" } else { "with a session" });
        assert_eq!(json["basis"], if is_new { "the server said so" } else { "as asked for" });
        assert_eq!(json["serverInfo"]["name"], "everything");
        assert_eq!(json["capabilities"]["resources"]["subscribe"], true);
        assert_eq!(json["tools"].as_array().unwrap().len(), 43);
        assert_eq!(json["tools"][0]["name"], "echo");
        assert_eq!(json["tools"][0]["inputSchema"]["required"], serde_json::json!(["text"]));
        assert_eq!(json["prompts"][0]["name"], "test_simple_prompt");
        assert_eq!(json["resources"][2]["uri"], "test://watched-resource");
        assert_eq!(json["resourceTemplates"][0]["uriTemplate"], "test://template/{id}/data");
    }
}

/// The arguments for `--call` are shown as text; `--json` shows the tools exactly as the server sent them.
#[cfg(unix)]
#[test]
fn inspect_shows_the_arguments_of_tools() {
    let tools = r##"[{"name":"buy","description":"Buys","inputSchema":{"$defs":{"Line":{"type":"object","properties":{"price":{"type":"number"}}}},"type":"object","properties":{"unit":{"enum":["kg","lb"],"description":"Of what\nthere is"},"lines":{"type":"array","items":{"$ref":"#/$defs/Line"}}},"required":["unit"]},"x-odd":1.0e0},{"odd":true}]"##;
    let script = format!(
        r#"read opening
        echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}}}}}}'
        read opened; read tools
        printf '%s\n' '{{"jsonrpc":"2.0","id":2,"result":{{"tools":{tools}}}}}'
        cat > /dev/null"#
    );
    let server = ["--", "sh", "-c", &script];
    let (stdout, stderr) = texts(&inspect(&[&OLD[..], &server].concat()), 0);
    let shown = r#"
tools: 1
  buy: Buys
    unit ("kg" or "lb", required): Of what
    lines (array of object)
    lines[].price (number)
"#;
    assert!(stdout.contains(shown), "{stdout}");
    assert_eq!(stderr, "tools/list: 1 entries cannot be read\n");
    let (stdout, _) = texts(&inspect(&[&OLD[..], &["--json"], &server].concat()), 0);
    assert!(stdout.contains(&format!(r#","tools":{tools},"#)), "{stdout}");
}

#[test]
fn inspect_calls_tools() {
    let (stdout, stderr) = texts(&inspect(&["--call", "test_tool_with_progress", "{}"]), 0);
    assert_eq!(stdout, "Tool with progress executed successfully\n");
    let progress = |step| format!("tools/call: {step} of 100\n");
    assert_eq!(stderr, [progress(0), progress(50), progress(100)].concat());

    let echo = ["--json", OLD[0], OLD[1], "--call", "echo", r#"{"text":"a\nb"}"#];
    let (stdout, _) = texts(&inspect(&echo), 0);
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
    // A session receives all log messages by default, a modern request only those of its log level.
    let logging = ["--call", "test_tool_with_logging", "{}"];
    for (asked, messages) in [(&OLD[..], 3), (&["--log", "info"], 3), (&[], 0)] {
        let (stdout, stderr) = texts(&inspect(&[asked, &logging].concat()), 0);
        assert_eq!(stdout, "Tool with logging executed successfully\n");
        assert_eq!(stderr.matches("info everything: \"Tool ").count(), messages, "{stderr}");
    }
}

#[test]
fn inspect_does_several_things() {
    let arguments = [
        "--call",
        "echo",
        r#"{"text":"last"}"#,
        "--read",
        "test://static-text",
        "--prompt",
        "test_prompt_with_arguments",
        r#"{"arg1":"a","arg2":"b"}"#,
        "--complete",
        "test_prompt_with_arguments",
        "arg1",
        "par",
        "--call",
        "add_numbers",
        r#"{"a":1,"b":2}"#,
    ];
    let (stdout, stderr) = texts(&inspect(&arguments), 0);
    let expected = "This is the content of the static text resource.
user: Prompt with arguments: arg1='a', arg2='b'
paris
park
party
last
3
";
    assert_eq!((stdout.as_str(), stderr.as_str()), (expected, ""));
    let json =
        inspect(&["--json", "--read", "test://static-text", "--call", "echo", r#"{"text":"x"}"#]);
    let (stdout, _) = texts(&json, 0);
    for line in stdout.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).unwrap().is_object());
    }
    assert_eq!(stdout.lines().count(), 2);
    // A failing call does not prevent the following ones.
    let failing =
        ["--read", "test://none", "--prompt", "none", "{}", "--call", "echo", r#"{"text":"x"}"#];
    for (revision, code) in [(&OLD[..], "-32002"), (&[], "-32602")] {
        let (stdout, stderr) = texts(&inspect(&[revision, &failing].concat()), 1);
        assert_eq!(stdout, "x\n");
        let read = format!("resources/read failed: the peer answered with error {code}");
        assert!(stderr.contains(&read), "{stderr}");
        let prompt = "prompts/get failed: the peer answered with error -32602";
        assert!(stderr.contains(prompt), "{stderr}");
    }
    let (_, stderr) = texts(&inspect(&[OLD[0], OLD[1], "--call", "needs_visit", "{}"]), 1);
    assert!(
        stderr.contains("-32042: Please sign in first\nvisit https://example.com/sign-in\n"),
        "{stderr}"
    );
}

#[test]
fn inspect_reads_every_page() {
    let server = example("everything_server");
    let arguments = ["--json", "--", server.to_str().unwrap(), "--page-items", "3"];
    let (paged, stderr) = texts(&inspect(&arguments), 0);
    let (whole, _) = texts(&inspect(&["--json"]), 0);
    assert_eq!((paged, stderr.as_str()), (whole, ""));
}

#[test]
fn inspect_sets_the_level_of_the_log() {
    let quiet = inspect(&["--log", "error", "--call", "test_tool_with_logging", "{}"]);
    assert_eq!(texts(&quiet, 0).1, "");
    let (_, stderr) = texts(&inspect(&["--log", "loud"]), 2);
    assert!(stderr.contains("there is no such level; try debug, "), "{stderr}");
}

/// Sends SIGINT like Ctrl-C in a terminal, if the system has the command.
pub(crate) fn interrupt(child: &std::process::Child) {
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

#[test]
fn inspect_watches() {
    let received = [
        "Announced",
        "Resource updated",
        "The user has been to the page",
        "prompts changed",
        "resources changed",
        "tools changed",
        "updated test://watched-resource",
    ];
    for (revision, more) in [(&OLD[..], &["done visit-1"][..]), (&[], &[])] {
        let mut watching = Command::new(example("inspect"))
            .args(revision)
            .args(["--watch", "--call", "test_trigger_resource_update", "{}"])
            .args(["--call", "announce_changes", "{}", "--call", "visit_page", "{}"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(watching.stdout.take().unwrap());
        let mut expected = [&received, more].concat();
        let mut lines: Vec<String> =
            output.lines().take(expected.len()).map(Result::unwrap).collect();
        // The results of the calls and the notifications are printed by different threads.
        lines.sort_unstable();
        expected.sort_unstable();
        assert_eq!(lines, expected);
        interrupt(&watching);
        assert_eq!(watching.wait().unwrap().code(), Some(0));
        let quietly = [revision, &["--watch", "--for", "0.1"]].concat();
        let (stdout, stderr) = texts(&inspect(&quietly), 0);
        assert_eq!((stdout.as_str(), stderr.as_str()), ("", "watching\n"));
    }
}

/// One tool requires several inputs at once, another one after the other, in both eras.
#[test]
fn inspect_supplies_required_inputs_in_both_eras() {
    for revision in [&OLD[..], &["--revision", "2025-06-18"], &[]] {
        let calls = ["multiple_inputs", "multi_round", "request_state"]
            .map(|name| format!("test_input_required_result_{name}"));
        let mut arguments = revision.to_vec();
        for name in &calls {
            arguments.extend(["--call", name, "{}"]);
        }
        arguments.extend(["--prompt", "test_input_required_result_prompt", "{}"]);
        arguments.extend(["--sample", "Hello", "--root", "file:///a"]);
        let (stdout, stderr) = texts(&inspect(&arguments), 0);
        assert_eq!(
            stdout,
            "user: The context is: inspect\nHello, inspect! You have 1 roots.\ninspect likes inspect\nstate-ok\n"
        );
        assert_eq!(stderr.matches("the server asks").count(), 6, "{stderr}");
    }
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
    let table: [(&[&str], &str); 13] = [
        (
            &["--call", "echo", "[1]"],
            "the arguments of --call echo cannot be used: not a JSON object",
        ),
        (&["--prompt", "p", "{"], "the arguments of --prompt p cannot be used: "),
        (&["--root", "/tmp"], "not a file:// URI"),
        (&["--form", "1"], "not a JSON object"),
        (&["--for", "1"], "--watch"),
        (&["--revision", "2026-01-01"], "there is no such revision; try 2024-11-05, "),
        (&["--timeout", "soon"], "not a number"),
        (&["--timeout", "0"], "not a sensible number of seconds"),
        (&["--start-timeout", "0"], "not a sensible number of seconds"),
        (&["--call", "echo"], "2 values required"),
        (&["server"], "a program to start comes after --"),
        (&["ftp://localhost/mcp"], "not a URL that begins with http:// or https://"),
        (&["--header", "name", "http://localhost/mcp"], "not of the form NAME: VALUE"),
    ];
    for (arguments, text) in table {
        let (stdout, stderr) = texts(&inspect(arguments), 2);
        assert!(stdout.is_empty() && stderr.contains(text), "{arguments:?}: {stderr}");
    }
    let (stdout, _) = texts(&inspect(&["--help"]), 0);
    assert!(stdout.contains("Usage: inspect") && stdout.contains("Examples:"));
}

#[test]
fn inspect_exits_cleanly_if_stdout_is_closed() {
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

/// `printf '…' | server` gets its responses, and the server ends.
#[test]
fn example_servers_respond_to_piped_requests_and_exit() {
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
        // A handler serves the method, so the response to the ping can be faster.
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
    assert!(texts(&run(&["--page-items", "0"]), 2).1.contains("--page-items"));
}

/// Request states that the server has sealed are accepted, and no others.
#[test]
fn request_state_example_refuses_invalid_states() {
    let (stdout, stderr) = texts(&Command::new(example("request_state")).output().unwrap(), 0);
    let reported: Vec<&str> = stdout.lines().filter_map(|line| line.split(": ").nth(1)).collect();
    assert_eq!(reported[4..9], ["the request state is not authentic"; 5]);
    assert_eq!(
        reported[9..11],
        ["the request state is malformed", "the request state has expired"]
    );
    assert_eq!((reported.len(), stderr.as_str()), (13, ""));
}

#[test]
fn inspect_says_why_there_is_no_server_at_a_url() {
    // No process listens on this address any more.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://user:secret@{address}/mcp?token=secret");
    for more in [&[][..], &OLD] {
        let (stdout, stderr) = texts(&inspect(&[more, &[&*url]].concat()), 1);
        assert_eq!(stdout, "");
        let text = format!(
            "inspect: http://{address}/mcp: the request did not reach the server: the connection was refused ({address})\n  caused by: "
        );
        assert!(stderr.starts_with(&text), "{stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
    }
    let (_, stderr) = texts(&inspect(&["http://nonexistent.invalid/mcp"]), 1);
    let text = "the host name could not be resolved (nonexistent.invalid:80)\n  caused by: ";
    assert!(stderr.contains(text), "{stderr}");
}

/// Runs the interactive mode with these lines on standard input.
fn interactive(arguments: &[&str], lines: &str) -> Output {
    let mut inspect = Command::new(example("inspect"));
    inspect.arg("--interactive").args(arguments);
    inspect.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut inspect = inspect.spawn().unwrap();
    inspect.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    inspect.wait_with_output().unwrap()
}

/// `.ci/terminal` tries the same in a terminal.
#[test]
fn inspect_reads_commands() {
    for arguments in [&OLD[..], &[]] {
        let lines = "\n  call echo text=\"a  b\"\ncall add_numbers a=2 b=3.5\n\
                     prompt test_prompt_with_arguments arg1=1 arg2='2 3'\nread test://static-text\n\
                     complete test_prompt_with_arguments arg1 par\nquit\nfly\n";
        let (stdout, stderr) = texts(&interactive(arguments, lines), 0);
        let expected = "a  b\n5.5\nuser: Prompt with arguments: arg1='1', arg2='2 3'\n\
                        This is the content of the static text resource.\nparis\npark\nparty\n";
        assert_eq!((stdout.as_str(), stderr.as_str()), (expected, ""));
        // Without a terminal, one failure is a failure of the program.
        let (stdout, stderr) = texts(&interactive(arguments, "fly\ncall echo text=on"), 1);
        assert_eq!(stdout, "on\n", "the last line needs no end");
        assert_eq!(stderr, "there is no command \"fly\"; see help\n");
    }
    let (stdout, _) = texts(&interactive(&["--json"], "templates\ncall echo text=7\n"), 0);
    let mut lines =
        stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(lines.next().unwrap()[0]["uriTemplate"], "test://template/{id}/data");
    assert_eq!(lines.next().unwrap()["content"][0]["text"], "7");
    let (stdout, _) = texts(&interactive(&[], "help"), 0);
    assert!(stdout.contains("\n  call TOOL [NAME=VALUE… or JSON]"), "{stdout}");
    let (_, stderr) = texts(&interactive(&[], "log info"), 1);
    assert_eq!(stderr, "in this era each request names the level: start again with --log\n");
}

#[test]
fn inspect_measures_a_tool() {
    let echo = ["--call", "echo", r#"{"text":"x"}"#];
    let (stdout, stderr) =
        texts(&inspect(&[&["--bench", "50", "--parallel", "4"], &echo[..]].concat()), 0);
    assert_eq!(stderr, "");
    let mut lines = stdout.lines();
    assert!(lines.next().unwrap().starts_with("echo: 50 calls in "), "{stdout}");
    assert!(lines.next().unwrap().starts_with("latency: 50 % within "), "{stdout}");
    let bars = lines.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap());
    assert_eq!(bars.sum::<usize>(), 50, "{stdout}");
    let failing = ["--json", "--bench", "3", "--call", "test_error_handling", "{}"];
    let (stdout, stderr) = texts(&inspect(&[&OLD[..], &failing].concat()), 1);
    let summary: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&summary["calls"], &summary["failures"]), (&0.into(), &3.into()));
    assert_eq!(stderr, "test_error_handling: 3 of 3 calls failed: the tool failed\n");
    let (_, stderr) = texts(&inspect(&[&["--bench", "0"], &echo[..]].concat()), 2);
    assert!(stderr.contains("'0'"), "{stderr}");
}
