//! `inspect` with servers that are slow, broken or gone, and with users who interrupt it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use crate::inspect::{OLD, inspect, interrupt, texts};
use crate::kit::example;

/// Runs inspect with this script as its server, and returns its standard error.
fn inspecting(arguments: &[&str], script: &str) -> (Child, BufReader<ChildStderr>) {
    let mut inspecting = Command::new(example("inspect"))
        .args(arguments)
        .args(["--", "sh", "-c", script])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(inspecting.stderr.take().unwrap());
    (inspecting, stderr)
}

/// Runs inspect with a server that first prints its process id, and returns that id.
fn inspecting_numbered(script: &str) -> (Child, BufReader<ChildStderr>, String) {
    let (inspecting, mut stderr) = inspecting(&[], script);
    let mut server = String::new();
    stderr.read_line(&mut server).unwrap();
    (inspecting, stderr, server)
}

fn is_alive(server: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args(["-0", server.trim()]).stderr(Stdio::null()).status().unwrap().success()
}

/// A server that ignores the end of its input does not outlive an interrupted `inspect`.
#[test]
fn inspect_takes_its_server_with_it() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}"#;
    for script in [
        format!("read line; echo '{answer}'; echo $$ >&2; exec sleep 600"),
        "echo $$ >&2; exec sleep 600".into(),
    ] {
        let (mut inspecting, mut stderr, server) = inspecting_numbered(&script);
        interrupt(&inspecting);
        assert_eq!(inspecting.wait().unwrap().code(), Some(130));
        // The server is not started again either.
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        // On a busy computer it has waited long enough to say so.
        let waiting = "waiting for the server to answer `server/discover` or `initialize` …\n";
        assert_eq!(rest.strip_prefix(waiting).unwrap_or(&rest), "inspect: interrupted\n");
        assert!(!is_alive(&server));
    }
}

/// A printed banner is shown with its control characters escaped. A line that is valid JSON is not shown.
#[test]
fn inspect_shows_only_lines_that_are_not_json() {
    let opened =
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let long = "-".repeat(70);
    let script = format!(
        "printf '\\033[2J*** server \\302\\233 1.0 \\342\\200\\256\\n'; echo {long}; echo '{{\"secret\":1}}'; read opening; echo '{opened}'; cat > /dev/null"
    );
    let (_, stderr) = texts(&inspect(&[&OLD[..], &["--", "sh", "-c", &script]].concat()), 0);
    let what = "the server broke the protocol: ";
    let expected = [
        format!(r#"{what}the line is not JSON: "\u{{1b}}[2J*** server \u{{9b}} 1.0 \u{{202e}}""#),
        format!("{what}the line is not JSON: \"{}\"…", "-".repeat(60)),
        format!("{what}not a JSON-RPC message"),
    ];
    assert_eq!(stderr.lines().collect::<Vec<_>>(), expected);
}

/// The user is notified once of a long wait, and not of a short one.
#[test]
fn inspect_reports_the_awaited_method_once() {
    let opened = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}"#;
    let slow = format!("read opening; echo '{opened}'; cat > /dev/null");
    let call = ["--call", "any", "{}", "--timeout", "4"];
    let table = [
        (&OLD[..], "cat > /dev/null", "`initialize`"),
        (&[], "cat > /dev/null", "`server/discover` or `initialize`"),
        (&["--revision", "2026-07-28"], "cat > /dev/null", "`server/discover`"),
        (&OLD, &slow, "`tools/call`"),
    ];
    // Each of the cases waits for most of its time.
    std::thread::scope(|scope| {
        for (revision, script, asked) in table {
            scope.spawn(move || {
                let arguments = [revision, &call, &["--", "sh", "-c", script]].concat();
                let (_, stderr) = texts(&inspect(&arguments), 1);
                let first = format!("waiting for the server to answer {asked} …\ninspect: ");
                assert!(stderr.starts_with(&first), "{stderr}");
                assert_eq!(stderr.matches("waiting").count(), 1, "{stderr}");
            });
        }
    });
}

/// The time that a server may take to start is not the time that it may take to answer a request.
#[test]
fn a_slow_start_may_take_longer_than_an_answer() {
    let opened = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"slow","version":"1"}}}"#;
    let slow = format!("sleep 2; read opening; echo '{opened}'; cat > /dev/null");
    let arguments = ["--timeout", "1", "--start-timeout", "60", "--", "sh", "-c", &slow];
    let (stdout, _) = texts(&inspect(&[&OLD[..], &arguments].concat()), 0);
    assert!(stdout.contains("\nserver: slow 1\n"), "{stdout}");
}

/// Interrupts inspect when its server, a script, has printed `ready` on standard error. Returns the exit code and the
/// later output.
fn interrupted(arguments: &[&str], script: &str) -> (Option<i32>, String) {
    let (mut inspecting, mut stderr) = inspecting(arguments, script);
    let mut line = String::new();
    while line != "ready\n" {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0);
    }
    interrupt(&inspecting);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    (inspecting.wait().unwrap().code(), rest)
}

/// An open call is cancelled before the server's input is closed.
#[test]
fn an_interrupted_call_is_cancelled_first() {
    let opened = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}"#;
    let session = format!(
        "read opening; echo '{opened}'; read opened; read call; echo ready >&2; cat >&2; echo end >&2"
    );
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    for asked in [&["--call", "any", "{}"][..], &[]] {
        let (code, stderr) = interrupted(&[&OLD, asked].concat(), &session);
        assert_eq!(stderr, format!("{cancelled}\nend\ninspect: interrupted\n"));
        assert_eq!(code, Some(130));
    }
}

/// So is a modern subscription, and the user's end of watching is no failure.
#[test]
fn a_subscription_is_cancelled_first() {
    let script = r#"read asked
        echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}}'
        read subscribed; echo ready >&2; cat >&2; echo end >&2"#;
    let (code, stderr) = interrupted(&["--revision", "2026-07-28", "--watch"], script);
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2"#;
    assert!(stderr.starts_with(cancelled) && stderr.ends_with("}\nend\n"), "{stderr}");
    assert_eq!(code, Some(0));
}

/// A second interrupt kills a server that does not end.
#[test]
fn a_second_interrupt_kills_the_server() {
    let script = "trap '' TERM; echo $$ >&2; exec sleep 600";
    let (mut inspecting, _reported, server) = inspecting_numbered(script);
    interrupt(&inspecting);
    std::thread::sleep(Duration::from_millis(500));
    assert!(inspecting.try_wait().unwrap().is_none(), "it waits for its server");
    let delivered = Instant::now();
    interrupt(&inspecting);
    assert_eq!(inspecting.wait().unwrap().code(), Some(130));
    // Without the second interrupt, the server would be killed three and a half seconds later.
    assert!(delivered.elapsed() < Duration::from_millis(2500), "{:?}", delivered.elapsed());
    assert!(!is_alive(&server));
}

/// A server that ends before it has read anything would end again, so it is started only once.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_fails_at_once_is_started_once() {
    for (script, status) in [("echo start >&2; exit 3", "3"), ("echo start >&2", "0")] {
        let (stdout, stderr) = texts(&inspect(&["--", "sh", "-c", script]), 1);
        let ended = format!("the server ended before it answered (exit status: {status})");
        assert_eq!((stdout.as_str(), stderr), ("", format!("start\ninspect: sh: {ended}\n")));
    }
}

/// Servers that know only `initialize` may end at any other request.
#[test]
fn inspect_restarts_a_server_that_exits_on_discover() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}"#;
    let script = format!(
        r#"echo start >&2; read asked; case $asked in *server/discover*) exit 1;; esac; echo '{answer}'; cat > /dev/null"#
    );
    let again = "the server ended when it was asked `server/discover`; it is started again, and asked to `initialize`\n";
    let (stdout, stderr) = texts(&inspect(&["--", "sh", "-c", &script]), 0);
    assert!(stdout.contains("\nserver: old 1\n"), "{stdout}");
    // Two server processes and `inspect` write here, in any order.
    assert_eq!(
        (stderr.matches("start\n").count(), stderr.matches(again).count()),
        (2, 1),
        "{stderr}"
    );
    // The second start fails as well.
    let script = "echo start >&2; read asked; exit 3";
    let (_, stderr) = texts(&inspect(&["--", "sh", "-c", script]), 1);
    assert_eq!(
        (stderr.matches("start\n").count(), stderr.matches(again).count()),
        (2, 1),
        "{stderr}"
    );
    let ended = "inspect: sh: the server ended before it answered (exit status: 3)\n";
    assert!(stderr.ends_with(ended), "{stderr}");
}

/// Servers that do not exist, die, print garbage or are silent.
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
            "sh: the server did not answer in time\nIt wrote something that is not MCP: \"I am no server\"\n",
        ),
        (&["sleep", "60"], "sleep: the server did not answer in time\n"),
        (
            &[
                "sh",
                "-c",
                r#"for id in 1 2; do read line; echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32000,"message":"go away"}}'; done; cat > /dev/null"#,
            ],
            "sh: the server refused with error -32000: go away\n",
        ),
        (
            &[
                "sh",
                "-c",
                r#"for id in 1 2; do read line; echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}'; done; read line; read line; exit 1"#,
            ],
            "\nThe server has ended (exit status: 1).\n",
        ),
    ];
    for (server, text) in table {
        let started = Instant::now();
        let mut arguments = vec!["--timeout", "3", "--"];
        arguments.extend(server);
        let (stdout, stderr) = texts(&inspect(&arguments), 1);
        // The server's own output comes first.
        let spoke = text.starts_with("\nThe server has ended");
        assert_eq!(stdout.contains("revision: 2025-11-25"), spoke, "{server:?}: {stdout}");
        assert!(stderr.ends_with(text), "{server:?}: {stderr}");
        assert!(started.elapsed() < Duration::from_secs(60), "{server:?}");
    }
}

/// One list that fails does not prevent showing the others.
#[test]
fn a_list_that_fails_is_named_and_the_others_are_shown() {
    let script = r#"read opening
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"half","version":"1"}}}'
        read opened; read tools
        echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no tools today"}}'
        read prompts
        echo '{"jsonrpc":"2.0","id":3,"result":{"prompts":[{"name":"greet"}]}}'
        cat > /dev/null"#;
    let failure = "tools/list failed: the peer answered with error -32000: no tools today";
    let server = ["--", "sh", "-c", script];
    let (stdout, stderr) = texts(&inspect(&[&OLD[..], &server].concat()), 1);
    assert!(stdout.contains("\nserver: half 1\ncapabilities: "), "{stdout}");
    assert!(stdout.contains("\ntools: unknown\n\nprompts: 1\n  greet\n"), "{stdout}");
    assert_eq!(stderr, format!("inspect: {failure}\n"));
    let (stdout, _) = texts(&inspect(&[&OLD[..], &["--json"], &server].concat()), 1);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["tools"], serde_json::Value::Null);
    let greet = serde_json::json!({"name": "greet"});
    assert_eq!((&json["prompts"][0], &json["failures"][0]), (&greet, &failure.into()));
}
