//! The examples of the adapters, and the event loop without an adapter.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use mcp_sansio::model::{CallToolResult, PageParams, method};
use mcp_sansio::{CallOptions, ClientConfig, RevisionSet};
use mcp_sansio_std::{Connection, RefuseAll, SocketWriter, connect};
use serde_json::{Value, json};

use crate::kit::example;

/// A timeout longer than any operation of these tests takes.
const A_LONG_TIME: Duration = Duration::from_secs(120);

/// A listening server, which is killed on drop.
struct Listening {
    server: Child,
    address: String,
}

impl Listening {
    fn new(name: &str, address: &str) -> Self {
        Self::start(Command::new(example(name)), address)
    }

    /// Starts the server with at most so many open files.
    #[cfg(unix)]
    fn with_files(name: &str, files: u32) -> Self {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(example(name));
        Self::start(command, "127.0.0.1:0")
    }

    fn start(mut command: Command, address: &str) -> Self {
        let mut server = command.arg(address).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { server, address }
    }

    fn connect(&self, revisions: RevisionSet) -> Connection {
        let socket = TcpStream::connect(&self.address).unwrap();
        let mut config = ClientConfig::new("test", "1");
        config.revisions = revisions;
        let reader = socket.try_clone().unwrap();
        connect(config, reader, SocketWriter::new(socket), RefuseAll::new()).unwrap()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

fn call(connection: &Connection, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    let reply = connection.handle().call_method("tools/call", &params, CallOptions::new()).wait();
    let reply = reply.unwrap();
    let result: CallToolResult<'_> = reply.parse_as().unwrap();
    result.content.get(0).unwrap().as_text().unwrap().to_string()
}

/// Returns the names of the tools of a server.
fn tools(connection: &Connection) -> Vec<String> {
    let (params, options) = (PageParams::default(), CallOptions::new());
    let reply = connection.handle().call::<method::ListTools>(&params, options).wait().unwrap();
    reply.parse().unwrap().tools.iter().map(|tool| tool.name.to_string()).collect()
}

fn succeeded(output: Output) -> String {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success() && stderr.is_empty(), "{stdout}{stderr}");
    stdout
}

/// Checks the output of `tokio_client` with `tokio_server`, in any order.
fn is_from_tokio_server(stdout: &str) {
    let mut lines: Vec<_> = stdout.lines().collect();
    assert_eq!(lines.remove(0), "tools: sum, divide, count_down");
    assert_eq!(lines.pop(), Some("count_down was too slow, and has been cancelled"));
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "count_down = lift-off",
            "count_down: 1",
            "count_down: 2",
            "count_down: 3",
            "divide = {\"quotient\":3,\"remainder\":2}",
            "sum = 6.5",
        ]
    );
}

#[test]
fn a_client_and_a_server_on_tokio() {
    let mut command = Command::new(example("tokio_client"));
    is_from_tokio_server(&succeeded(command.arg(example("tokio_server")).output().unwrap()));
    let server = Listening::new("tokio_server", "127.0.0.1:0");
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let mut command = Command::new(example("tokio_client"));
            command.args(["--connect", &server.address]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for client in clients {
        is_from_tokio_server(&succeeded(client.wait_with_output().unwrap()));
    }
}

#[test]
fn the_tokio_client_reports_usage_and_server_errors() {
    let table: [(&[&str], &str); 3] = [
        (&[], "tokio_client: usage: "),
        (&["/nowhere"], "tokio_client: the server could not be started: "),
        (&["false"], "tokio_client: the server ended before it answered (exit status: 1)"),
    ];
    for (arguments, reported) in table {
        let output = Command::new(example("tokio_client")).args(arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        assert!(stderr.starts_with(reported), "{stderr}");
    }
}

/// A server on standard input and output behaves the same on any runtime.
#[test]
fn servers_on_standard_input_and_output() {
    let table = [
        ("tokio_server", "tools: 3\n  sum: Adds numbers up\n"),
        ("smol_server", "tools: 2\n  hello\n  sleep\n"),
    ];
    for (name, tools) in table {
        for revision in ["2025-11-25", "2026-07-28"] {
            let mut inspect = Command::new(example("inspect"));
            inspect.args(["--revision", revision, "--"]).arg(example(name));
            let stdout = succeeded(inspect.output().unwrap());
            assert!(stdout.contains(tools), "{stdout}");
        }
        // The server ends with its input, also without any message.
        let ended = Command::new(example(name)).stdin(Stdio::null()).output().unwrap();
        assert_eq!(succeeded(ended), "");
        // The server also ends if the client does not read and its input continues.
        let mut deaf = Command::new(example(name));
        let mut deaf = deaf.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        drop(deaf.stdout.take());
        let mut stdin = deaf.stdin.take().unwrap();
        while stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").is_ok() {}
        assert!(deaf.wait().unwrap().success(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_server_on_smol_with_a_unix_socket() {
    use std::os::unix::net::UnixStream;
    let path = std::env::temp_dir().join(format!("mcp-sansio-smol-{}", std::process::id()));
    let mut server = Command::new(example("smol_server")).arg(&path).spawn().unwrap();
    let socket = loop {
        match UnixStream::connect(&path) {
            Ok(socket) => break socket,
            Err(_) => thread::yield_now(),
        }
    };
    let reader = socket.try_clone().unwrap();
    let config = ClientConfig::new("test", "1");
    let connection = connect(config, reader, SocketWriter::new(socket), RefuseAll::new()).unwrap();
    assert_eq!(call(&connection, "hello", &json!({})), "hello");
    connection.close(Duration::ZERO).wait().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    std::fs::remove_file(path).unwrap();
}

/// A host reads the files of the skills that are asked for, and no others.
#[test]
fn a_host_reads_a_skill_on_demand() {
    let host = |asked: &[&str]| {
        let mut host = Command::new(example("skills_host"));
        host.args(asked.iter().flat_map(|uri| ["--read", uri])).arg(example("skills_server"));
        let output = host.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let uri = "skill://refunds/SKILL.md";
    let (listed, instructions) = (format!("refunds ({uri}): "), "Compare the date of the order");
    let (none, read) = (host(&[]), host(&[uri, "skill://none/SKILL.md"]));
    assert!(none.contains(&listed) && !none.contains(instructions), "{none}");
    assert!(read.contains(&listed) && read.contains(instructions), "{read}");
    assert!(read.contains("skill://none/SKILL.md: there is no such skill"), "{read}");
}

#[test]
fn a_server_with_threads_for_each_client() {
    let server = Listening::new("threads_server", "127.0.0.1:0");
    let writers: Vec<_> = (0..5).map(|_| server.connect(RevisionSet::ALL)).collect();
    for (number, writer) in writers.iter().enumerate() {
        let note = call(writer, "write", &json!({"text": format!("note of {number}")}));
        assert_eq!(note, format!("note {}", number + 1));
    }
    let notes = call(&writers[0], "read", &json!({}));
    assert_eq!(
        notes.lines().collect::<Vec<_>>(),
        (0..5).map(|n| format!("note of {n}")).collect::<Vec<_>>()
    );
    for writer in writers {
        writer.close(A_LONG_TIME).wait().unwrap();
    }
    #[cfg(unix)]
    outlives_too_many_clients(&Listening::with_files("threads_server", 24));
}

#[test]
fn an_event_loop_without_an_adapter() {
    let server = Listening::new("event_loop_server", "127.0.0.1:0");
    serves_every_client(&server);
    answers_a_client_that_reads_late(&server);
    #[cfg(unix)]
    outlives_too_many_clients(&Listening::with_files("event_loop_server", 24));
}

/// More clients than the server may have files: those that it has are served, and the others when these have left.
#[cfg(unix)]
fn outlives_too_many_clients(server: &Listening) {
    let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let clients: Vec<_> = (0..60)
        .map(|_| {
            let mut client = TcpStream::connect(&server.address).unwrap();
            client.write_all(line.as_bytes()).unwrap();
            client
        })
        .collect();
    for client in clients {
        let mut answer = String::new();
        BufReader::new(client).read_line(&mut answer).unwrap();
        assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    }
}

/// Whether the system lets this process use `io_uring`.
#[cfg(target_os = "linux")]
fn has_io_uring() -> bool {
    let mut server = Command::new(example("uring_server"));
    let mut server = server.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let is_missing = line.contains("Operation not permitted") || line.contains("not implemented");
    assert!(is_missing || line.starts_with("listening on "), "{line}");
    !is_missing
}

#[cfg(target_os = "linux")]
#[test]
fn a_loop_of_completions_without_an_adapter() {
    if !has_io_uring() {
        eprintln!("NOT RUN: the system does not let this process use io_uring");
        return;
    }
    outlives_too_many_clients(&Listening::with_files("uring_server", 24));
    let server = Listening::new("uring_server", "127.0.0.1:0");
    serves_every_client(&server);
    answers_a_client_that_reads_late(&server);
    // Many clients that come and go at once, more than the queue of operations has places for.
    let clients: Vec<_> = (0..600)
        .map(|number| {
            let mut client = TcpStream::connect(&server.address).unwrap();
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"ping\"}}\n");
            client.write_all(line.as_bytes()).unwrap();
            client
        })
        .collect();
    for (number, mut client) in clients.into_iter().enumerate() {
        if number % 3 == 0 {
            continue;
        }
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"result\":{{}}}}\n"));
    }
    // More output than the socket takes waits for a client that reads late.
    const PINGS: usize = 100_000;
    let mut client = TcpStream::connect(&server.address).unwrap();
    let mut writer = client.try_clone().unwrap();
    let writes = thread::spawn(move || {
        writer
            .write_all(
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(PINGS).as_bytes(),
            )
            .unwrap();
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    thread::sleep(Duration::from_millis(200));
    let mut answers = String::new();
    client.read_to_string(&mut answers).unwrap();
    writes.join().unwrap();
    assert!(
        answers == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".repeat(PINGS),
        "{}",
        answers.len()
    );
}

/// The time that a process has used, in hundredths of a second.
#[cfg(target_os = "linux")]
fn time_used(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name of the program may contain blanks. The third field is the first behind it.
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields.skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}

/// A send that has failed is not tried again, also if there is more output.
#[cfg(target_os = "linux")]
#[test]
fn a_loop_of_completions_rests_after_a_failed_send() {
    if !has_io_uring() {
        eprintln!("NOT RUN: the system does not let this process use io_uring");
        return;
    }
    let server = Listening::new("uring_server", "127.0.0.1:0");
    let mut client = TcpStream::connect(&server.address).unwrap();
    let pings = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(100_000);
    // The server stops reading when its output is not read.
    client.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    _ = client.write_all(pings.as_bytes());
    // Its unread input makes this end a reset.
    drop(client);
    thread::sleep(Duration::from_millis(500));
    let before = time_used(server.server.id());
    thread::sleep(Duration::from_secs(2));
    let used = time_used(server.server.id()) - before;
    assert!(used < 50, "{used} hundredths of a second");
    serves_every_client(&server);
}

/// One thread serves all connections: none blocks another, for any behaviour of its client.
fn serves_every_client(server: &Listening) {
    // Connections that are silent, send garbage, or disconnect.
    let silent = TcpStream::connect(&server.address).unwrap();
    let mut babbling = TcpStream::connect(&server.address).unwrap();
    babbling.write_all(&[b'x'; 100_000]).unwrap();
    drop(TcpStream::connect(&server.address).unwrap());
    let revisions = [RevisionSet::LEGACY, RevisionSet::MODERN, RevisionSet::ALL];
    let clients: Vec<_> = (0..30).map(|number| server.connect(revisions[number % 3])).collect();
    let params = json!({"name": "later"});
    let later: Vec<_> = clients
        .iter()
        .map(|client| client.handle().call_method("tools/call", &params, CallOptions::new()))
        .collect();
    for client in &clients {
        assert_eq!(call(client, "hello", &json!({})), "hello");
        assert_eq!(tools(client), ["hello", "later"]);
    }
    // A cancelled call gets no response, and the next one does.
    drop(clients[0].handle().call_method("tools/call", &params, CallOptions::new()));
    for call in later {
        let reply = call.wait().unwrap();
        assert!(reply.raw().as_json().contains("at last"));
    }
    for client in clients {
        assert_eq!(call(&client, "hello", &json!({})), "hello");
        client.close(A_LONG_TIME).wait().unwrap();
    }
    drop(silent);
    // `printf '…' | server` gets its responses.
    babbling.write_all(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}").unwrap();
    babbling.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = String::new();
    babbling.read_to_string(&mut answers).unwrap();
    assert_eq!(answers, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

/// A client that sends requests and does not read gets every response once it reads, and delays no other client. The
/// responses are more than the outbox and the system take.
fn answers_a_client_that_reads_late(server: &Listening) {
    const REQUESTS: usize = 120_000;
    let mut requests = String::from(concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
        r#""clientInfo":{"name":"late","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
    ));
    for number in 0..REQUESTS {
        requests += &format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"{number:0250}\",\"method\":\"tools/list\"}}\n"
        );
    }
    let late = TcpStream::connect(&server.address).unwrap();
    let mut writer = late.try_clone().unwrap();
    let writes = thread::spawn(move || writer.write_all(requests.as_bytes()));
    // The server has begun to respond.
    late.peek(&mut [0]).unwrap();
    let mut other = TcpStream::connect(&server.address).unwrap();
    other.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    let mut answer = String::new();
    BufReader::new(other).read_line(&mut answer).unwrap();
    assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert!(!writes.is_finished(), "the server reads more than it writes");
    let mut answers = BufReader::new(late).lines().map(Result::unwrap);
    assert!(answers.next().unwrap().starts_with("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{"));
    for number in 0..REQUESTS {
        let answer = answers.next().unwrap();
        let expected =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{number:0250}\",\"result\":{{\"tools\":[");
        assert!(answer.starts_with(&expected), "{answer}");
    }
    writes.join().unwrap().unwrap();
}
