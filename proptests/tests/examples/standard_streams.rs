//! Standard input and output of servers on tokio and on threads: pipes, sockets and files.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::{RespondError, ServerConfig};
use mcp_sansio_tokio::{Exchange, serve_stdio};
use tokio::runtime::Builder;

use crate::kit::example;

const REQUEST: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sum","arguments":{"numbers":[1,2]},"#,
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    "\n"
);
const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
const PONG: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";

/// The response of a server with this name.
fn response(server: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"resultType\":\"complete\",\"content\":[{{\"type\":\"text\",\
         \"text\":\"3\"}}],\"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{{\"name\":\"{server}\",\
         \"version\":\"{version}\"}}}}}}}}\n"
    )
}

/// A kind of stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pipe,
    Socket,
    File,
}

const KINDS: [Kind; 3] = [Kind::Pipe, Kind::Socket, Kind::File];

/// Those that need no thread.
const POLLED: [Kind; 2] = [Kind::Pipe, Kind::Socket];

/// An empty file, which exists as long as it is open.
fn file() -> File {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("mcp-sansio-streams-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    fs::remove_file(path).unwrap();
    file
}

/// The end of the server, and the end of the client.
type Ends = (OwnedFd, OwnedFd);

fn output(kind: Kind) -> Ends {
    match kind {
        Kind::Pipe => {
            let (ours, theirs) = io::pipe().unwrap();
            (theirs.into(), ours.into())
        }
        Kind::Socket => {
            let (theirs, ours) = UnixStream::pair().unwrap();
            (theirs.into(), ours.into())
        }
        Kind::File => {
            let file = file();
            (file.try_clone().unwrap().into(), file.into())
        }
    }
}

/// As [`output`], for input. A file has its content from the beginning.
fn input(kind: Kind, content: &str) -> Ends {
    match kind {
        Kind::Pipe => {
            let (theirs, ours) = io::pipe().unwrap();
            (theirs.into(), ours.into())
        }
        Kind::Socket => output(kind),
        Kind::File => {
            let mut file = file();
            file.write_all(content.as_bytes()).unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            (file.try_clone().unwrap().into(), file.into())
        }
    }
}

/// Ends our side of an input.
fn end(kind: Kind, input: File) {
    if kind == Kind::Socket {
        UnixStream::from(OwnedFd::from(input)).shutdown(Shutdown::Write).unwrap();
    }
}

/// Whether a stream is in non-blocking mode, for all processes that share it.
fn is_non_blocking(stream: &OwnedFd) -> bool {
    const O_NONBLOCK: u32 = 0o4000;
    let path = format!("/proc/self/fdinfo/{}", stream.as_raw_fd());
    let info = fs::read_to_string(path).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    u32::from_str_radix(flags.trim(), 8).unwrap() & O_NONBLOCK != 0
}

/// Returns the names of the threads of a process.
fn threads(process: &Child) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.id())).unwrap();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm"));
    tasks.filter_map(|task| Some(name(task.unwrap()).ok()?.trim().to_owned())).collect()
}

/// A server on tokio, and one on threads.
const SERVERS: [&str; 2] = ["tokio_server", "hello_server"];

fn start(server: &str, stdin: OwnedFd, stdout: OwnedFd) -> Child {
    let mut command = Command::new(example(server));
    command.stdin(stdin).stdout(stdout).spawn().unwrap()
}

/// A request of a tool of this server, and the response.
fn call(server: &str) -> (String, String) {
    let (request, response) = (REQUEST.to_owned(), response(server));
    if server == "tokio_server" {
        return (request, response);
    }
    let arguments = r#""name":"hello","arguments":{"name":"you"}"#;
    let request = request.replace(r#""name":"sum","arguments":{"numbers":[1,2]}"#, arguments);
    let version = format!(r#""version":"{}""#, env!("CARGO_PKG_VERSION"));
    let names = |text: String| text.replace(r#""name":"hello_server""#, r#""name":"hello""#);
    (
        request,
        names(response.replace(r#""text":"3""#, r#""text":"Hello, you!""#))
            .replace(&version, r#""version":"1.0.0""#),
    )
}

/// A server responds in the same way on every combination of streams. On tokio it needs no threads to read and write
/// pipes and sockets. It leaves the mode of the streams alone, because other processes share them.
#[test]
fn a_server_on_streams_of_every_kind() {
    let kinds = KINDS.into_iter().flat_map(|kind| KINDS.map(|other| (kind, other)));
    for ((of_input, of_output), name) in kinds.flat_map(|kinds| SERVERS.map(|name| (kinds, name))) {
        let (request, expected) = call(name);
        let (stdin, our_input) = input(of_input, &request);
        let (stdout, our_output) = output(of_output);
        let shared = [stdin.try_clone().unwrap(), stdout.try_clone().unwrap()];
        let mut server = start(name, stdin, stdout);
        let (mut our_input, mut our_output) = (File::from(our_input), File::from(our_output));
        if of_input != Kind::File {
            our_input.write_all(request.as_bytes()).unwrap();
        }
        if of_output != Kind::File {
            let mut received = vec![0; expected.len()];
            our_output.read_exact(&mut received).unwrap();
            assert_eq!(str::from_utf8(&received), Ok(&*expected), "{of_input:?} {of_output:?}");
        }
        if of_input != Kind::File && of_output != Kind::File {
            let threads = threads(&server);
            let is_polled =
                !threads.iter().any(|name| ["mcp reader", "mcp writer"].contains(&&**name));
            assert_eq!(
                is_polled,
                name == "tokio_server",
                "{of_input:?} {of_output:?}: {threads:?}"
            );
            assert!(!shared.iter().any(is_non_blocking), "{of_input:?} {of_output:?}");
        }
        end(of_input, our_input);
        assert!(server.wait().unwrap().success(), "{of_input:?} {of_output:?}");
        drop(shared);
        let mut rest = String::new();
        if of_output == Kind::File {
            our_output.seek(SeekFrom::Start(0)).unwrap();
        }
        our_output.read_to_string(&mut rest).unwrap();
        let expected = if of_output == Kind::File { &*expected } else { "" };
        assert_eq!(rest, expected, "{of_input:?} {of_output:?}");
    }
}

/// More output than the stream can hold waits for a client that reads late, and nothing is lost.
#[test]
fn a_client_that_reads_late_gets_all_output() {
    const PINGS: usize = 20_000;
    for (kind, name) in POLLED.into_iter().flat_map(|kind| SERVERS.map(|name| (kind, name))) {
        let (stdin, our_input) = input(kind, "");
        let (stdout, our_output) = output(kind);
        let mut server = start(name, stdin, stdout);
        let mut our_input = File::from(our_input);
        our_input.write_all(PING.repeat(PINGS).as_bytes()).unwrap();
        end(kind, our_input);
        let mut responses = String::new();
        File::from(our_output).read_to_string(&mut responses).unwrap();
        assert_eq!(responses.len(), PONG.len() * PINGS, "{kind:?}");
        assert!(responses == PONG.repeat(PINGS), "{kind:?}");
        assert!(server.wait().unwrap().success());
    }
}

/// A client that closes its end of the output is no error, on a pipe and on a socket.
#[test]
fn a_client_that_disconnects_ends_the_server() {
    for (kind, name) in POLLED.into_iter().flat_map(|kind| SERVERS.map(|name| (kind, name))) {
        let (stdin, our_input) = input(kind, "");
        let (stdout, our_output) = output(kind);
        let mut server = start(name, stdin, stdout);
        drop(our_output);
        let mut our_input = File::from(our_input);
        // The server learns it from a failed write, and ends.
        while our_input.write_all(PING.as_bytes()).is_ok() {}
        assert!(server.wait().unwrap().success(), "{kind:?}");
    }
}

/// A named pipe, which is removed on drop.
struct NamedPipe(PathBuf);

impl NamedPipe {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-sansio-{name}-{}", std::process::id()));
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        Self(path)
    }

    /// Returns both ends. Each waits for the other one to be opened.
    fn open(&self) -> (File, File) {
        let path = self.0.clone();
        let reader = thread::spawn(move || File::open(path).unwrap());
        let writer = File::options().write(true).open(&self.0).unwrap();
        (reader.join().unwrap(), writer)
    }
}

impl Drop for NamedPipe {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

/// Whether a process ends in time. It is killed otherwise.
fn ends(process: &mut Child) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(30) {
        if let Some(status) = process.try_wait().unwrap() {
            return status.success();
        }
        thread::sleep(Duration::from_millis(10));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    false
}

/// The writer of a named pipe can leave before the server looks at its input. The server sees the end all the same.
#[test]
fn a_named_pipe_ends_with_its_writer() {
    let pipe = NamedPipe::new("input");
    for name in SERVERS {
        let (request, response) = call(name);
        for (input, expected) in [(&*request, &*response), ("", "")] {
            let (stdin, mut writer) = pipe.open();
            writer.write_all(input.as_bytes()).unwrap();
            drop(writer);
            let (stdout, our_output) = output(Kind::Pipe);
            let mut server = start(name, stdin.into(), stdout);
            assert!(ends(&mut server), "{name}: {input:?}");
            let mut received = String::new();
            File::from(our_output).read_to_string(&mut received).unwrap();
            assert_eq!(received, expected, "{name}");
        }
    }
}

/// A named pipe as output gets every response.
#[test]
fn a_named_pipe_gets_the_output() {
    let pipe = NamedPipe::new("output");
    for name in SERVERS {
        let (request, response) = call(name);
        let (mut reader, writer) = pipe.open();
        let (stdin, our_input) = input(Kind::Pipe, "");
        let mut server = start(name, stdin, writer.into());
        File::from(our_input).write_all(request.as_bytes()).unwrap();
        let mut received = String::new();
        reader.read_to_string(&mut received).unwrap();
        assert_eq!(received, response, "{name}");
        assert!(ends(&mut server), "{name}");
    }
}

/// The variable that makes the process of a test below a server.
const ROLE: &str = "MCP_SANSIO_SERVER";

/// Runs a test of this file as a server, in a process of its own.
fn as_server(test: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(ROLE, "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn is_server() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Reads the next message. The lines before it are those of the test harness.
fn message(stdout: &mut impl BufRead) -> String {
    let lines = stdout.lines().map(Result::unwrap);
    lines.into_iter().find(|line| line.starts_with('{')).unwrap() + "\n"
}

async fn respond(exchange: Exchange) -> Result<(), RespondError> {
    exchange.respond(&CallToolResult::text("3"))
}

fn config() -> ServerConfig {
    let mut config = ServerConfig::new("server", env!("CARGO_PKG_VERSION"));
    config.capabilities.tools = Some(ListChanged::default());
    config
}

/// A runtime without an IO driver cannot poll the pipes, so threads read and write them.
#[test]
fn a_server_on_a_runtime_without_io() {
    if is_server() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(serve_stdio(config(), respond)).unwrap();
        std::process::exit(0);
    }
    let mut server = as_server("standard_streams::a_server_on_a_runtime_without_io");
    let mut stdin = server.stdin.take().unwrap();
    stdin.write_all(REQUEST.as_bytes()).unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    assert_eq!(message(&mut stdout), response("server"));
    let threads = threads(&server);
    assert!(threads.contains(&"mcp reader".into()), "{threads:?}");
    assert!(threads.contains(&"mcp writer".into()), "{threads:?}");
    drop(stdin);
    assert!(server.wait().unwrap().success());
}

/// What the process below reports between its servers.
const DROPPED: &str = "the first server was dropped";

/// The tasks that read and write end with the future: a later server reads all further input.
#[test]
fn a_server_that_is_dropped_stops_reading() {
    if is_server() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (sender, mut served) = tokio::sync::mpsc::unbounded_channel();
            let handler = move |exchange: Exchange| {
                let sender = sender.clone();
                async move {
                    sender.send(()).unwrap();
                    exchange.cancelled().await;
                    Err(RespondError::Cancelled)
                }
            };
            tokio::select! {
                ended = serve_stdio(config(), handler) => panic!("{ended:?}"),
                called = served.recv() => called.unwrap(),
            }
            eprintln!("{DROPPED}");
            serve_stdio(config(), respond).await.unwrap();
        });
        std::process::exit(0);
    }
    let mut server = as_server("standard_streams::a_server_that_is_dropped_stops_reading");
    let mut stdin = server.stdin.take().unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let stderr = BufReader::new(server.stderr.take().unwrap());
    stdin.write_all(REQUEST.as_bytes()).unwrap();
    assert!(stderr.lines().any(|line| line.unwrap() == DROPPED));
    stdin.write_all(REQUEST.as_bytes()).unwrap();
    drop(stdin);
    assert_eq!(message(&mut stdout), response("server"));
    assert!(server.wait().unwrap().success());
}
