//! The example `replay`, run as a user would run it: a recording is replayed, and differences are shown.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::kit::example;

fn replay(arguments: &[&str]) -> Output {
    Command::new(example("replay")).args(arguments).output().unwrap()
}

/// Returns standard output and standard error of a process with this exit code.
#[track_caller]
fn texts(output: Output, code: i32) -> (String, String) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A file of this test, which is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("mcp-sansio-replay-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn with(name: &str, text: &str) -> Self {
        let scratch = Self::new(name);
        fs::write(&scratch.0, text).unwrap();
        scratch
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

fn shipped() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/replay/session.txt");
    fs::read_to_string(file).unwrap()
}

const SHIPPED: &str = "client                                            server
        +0 ms     |--- initialize #1 ------------------------------>|
        +0 ms     |                                                 | a session is open
        +0 ms     |<---------------------------------- result #1 ---|
        +7 ms     |--- notifications/initialized ------------------>|
        +7 ms     |--- tools/list #2 ------------------------------>|
        +7 ms     |                                                 | the handshake is complete
        +7 ms     |<---------------------------------- result #2 ---|
       +14 ms     |--- tools/call #3 ------------------------------>|
       +14 ms     |--- tools/call #4 ------------------------------>|
       +14 ms     |<---------------------------------- result #4 ---|
      +114 ms     |                                                 | command: go on
      +114 ms     |<--------------------- notifications/progress ---|
      +121 ms     |--- notifications/cancelled -------------------->|
      +121 ms     |--- tools/call #5 ------------------------------>|
      +121 ms     |                                                 | cancelled: Peer
      +121 ms     |<---------------------- elicitation/create #1 ---|
      +128 ms     |--- result #1 ---------------------------------->|
      +128 ms     |                                                 | tools/call comes again, with input
      +128 ms     |<---------------------------------- result #5 ---|
      +135 ms     |--- 22 bytes of noise -------------------------->|
      +135 ms     |--- tools/call #6 ------------------------------>|
      +135 ms     |                                                 | violation: the line is not JSON
      +135 ms     |<----------------------------------- error #6 ---|
      +142 ms     |--- tools/call #7 ------------------------------>|
      +142 ms     | end of input
      +142 ms     |                                                 | draining
      +242 ms     |                                                 | command: go on
      +342 ms     |                                                 | command: go on
      +342 ms     |                                                 | closed: the peer ended the connection
      +342 ms     |<---------------------------------- result #7 ---|

The same to the byte: 8 messages, 1118 bytes.
";

#[test]
fn the_session_that_comes_with_it_is_drawn() {
    assert_eq!(texts(replay(&[]), 0), (format!("{:18}{SHIPPED}", ""), String::new()));
}

/// A session with a client that alternates: it reads one message after each of its own, except the last.
struct Session {
    server: std::process::Child,
    answers: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Session {
    fn recorded(file: &Scratch) -> Self {
        let mut command = Command::new(example("replay"));
        command.args(["--record", file.path()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let answers = BufReader::new(server.stdout.take().unwrap()).lines();
        Self { server, answers }
    }

    fn turn(&mut self, text: &str) -> String {
        self.server.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        self.answers.next().unwrap().unwrap()
    }
}

/// Records a session with progress, a cancellation, a violation, and a request that outlives the input.
fn record(file: &Scratch) {
    let mut session = Session::recorded(file);
    session.turn(concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        "\n",
    ));
    let progress = session.turn(concat!(
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"slow","#,
        r#""arguments":{"steps":1000000},"_meta":{"progressToken":"half"}}}"#,
        "\n",
    ));
    let first = r#""params":{"progressToken":"half","progress":1,"total":1000000}}"#;
    assert!(progress.ends_with(first), "{progress}");
    // More progress may arrive before the response to the later request.
    let cancel = concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#,
        "\nprinted by mistake\n",
        r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"add","#,
        r#""arguments":{"a":2,"b":40}}}"#,
        "\n",
    );
    let mut answer = session.turn(cancel);
    while answer.contains("notifications/progress") {
        answer = session.answers.next().unwrap().unwrap();
    }
    assert_eq!(
        answer,
        r#"{"jsonrpc":"2.0","id":"b","result":{"content":[{"type":"text","text":"42"}]}}"#
    );
    let mut stdin = session.server.stdin.take().unwrap();
    let last = r#"{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"slow","#;
    stdin.write_all(last.as_bytes()).unwrap();
    stdin.write_all(br#""arguments":{"steps":1}}}"#).unwrap();
    drop(stdin);
    let answers: Vec<_> = session.answers.map(Result::unwrap).collect();
    assert!(matches!(&answers[..], [one] if one.contains("slow and steady")), "{answers:?}");
    assert_eq!(session.server.wait().unwrap().code(), Some(0));
}

/// Returns a diagram without its times, and without the steps of the tool, whose number varies.
fn drawn(stdout: &str) -> Vec<&str> {
    let is_step = |line: &&str| line.contains("go on") || line.contains("notifications/progress");
    stdout
        .lines()
        .filter(|line| !is_step(line))
        .map(|line| line.get(18..).unwrap_or(line))
        .collect()
}

/// A deterministic application replays identically, and a change is found.
#[test]
fn a_replay_repeats_the_recording_and_shows_a_change() {
    let file = Scratch::new("recorded");
    record(&file);
    let (stdout, stderr) = texts(replay(&[file.path()]), 0);
    let same = [
        "client                                            server",
        "|--- initialize #1 ------------------------------>|",
        "|                                                 | a session is open",
        "|<---------------------------------- result #1 ---|",
        "|--- tools/call #\"a\" ---------------------------->|",
        "|--- notifications/cancelled -------------------->|",
        "|--- 18 bytes of noise -------------------------->|",
        "|--- tools/call #\"b\" ---------------------------->|",
        "|                                                 | cancelled: Peer",
        "|                                                 | violation: the line is not JSON",
        "|<-------------------------------- result #\"b\" ---|",
        "|--- tools/call #\"c\" ---------------------------->|",
        "| end of input",
        "|                                                 | draining",
        "|                                                 | closed: the peer ended the connection",
        "|<-------------------------------- result #\"c\" ---|",
    ];
    let lines = drawn(&stdout);
    assert_eq!((&lines[..same.len()], stderr.as_str()), (&same[..], ""));
    assert!(stdout.contains("|<--------------------- notifications/progress ---|"), "{stdout}");
    assert!(stdout.lines().last().unwrap().starts_with("The same to the byte: "), "{stdout}");

    // Changes one byte of the output.
    let recorded = fs::read_to_string(&file.0).unwrap();
    let progress = stdout.matches("notifications/progress").count();
    let changed = Scratch::with("changed", &recorded.replacen(r#""text":"42"#, r#""text":"43"#, 1));
    let (stdout, stderr) = texts(replay(&[changed.path()]), 1);
    let difference = [
        format!("Message {} of the server is another one.", progress + 2),
        r#"  recorded: {"jsonrpc":"2.0","id":"b","result":{"content":[{"type":"text","text":"43"}]}}"#
            .into(),
        r#"  replayed: {"jsonrpc":"2.0","id":"b","result":{"content":[{"type":"text","text":"42"}]}}"#
            .into(),
        concat!(
            r#"  after:    {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"add","#,
            r#""arguments":{"a":2,"b":40}}}"#
        )
        .into(),
    ];
    let lines: Vec<_> = stdout.lines().collect();
    let (before, after) = lines.split_at(lines.len() - difference.len());
    assert_eq!((after, stderr.as_str()), (&difference.each_ref().map(String::as_str)[..], ""));
    // Only the steps before the difference are drawn.
    assert_eq!(drawn(&before.join("\n")), same[..10]);
}

/// A change of the input shows in the output, and so does a missing message.
#[test]
fn the_first_message_that_differs_is_shown_whole() {
    let shipped = shipped();
    let table = [
        (
            shipped.replacen(r#""b":40"#, r#""b":41"#, 1),
            "Message 3 of the server is another one.\n  \
             recorded: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"42\"}]}}\n  \
             replayed: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"43\"}]}}\n  \
             after:    {\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"add\",\"arguments\":{\"a\":2,\"b\":41}}}\n",
        ),
        (
            // The command that causes the message is missing.
            shipped.replacen("\n1342000000 command go on", "", 1),
            "Message 8 of the server is another one.\n  \
             recorded: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"slow and steady\"}]}}\n  \
             replayed: nothing\n  \
             after:    {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"slow\",\"arguments\":{\"steps\":2}}}\n",
        ),
    ];
    for (text, difference) in table {
        let file = Scratch::with("first", &text);
        let (stdout, _) = texts(replay(&[file.path()]), 1);
        assert!(stdout.ends_with(difference), "{stdout}");
    }
    // Two messages in one chunk, the second of which differs.
    let both = "1000000 read {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\\n\n\
                1000000 written {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\\n{\"jsonrpc\":\"2.0\",\"id\":2,\"rEsult\":{}}\\n\n";
    let file = Scratch::with("both", both);
    let (stdout, _) = texts(replay(&[file.path()]), 1);
    let shown = "        +0 ms     |<---------------------------------- result #1 ---|\n\n\
                 Message 2 of the server is another one.\n  \
                 recorded: {\"jsonrpc\":\"2.0\",\"id\":2,\"rEsult\":{}}\n  \
                 replayed: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n  \
                 after:    {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n";
    assert!(stdout.ends_with(shown), "{stdout}");
}

/// An interrupted recording contains all steps until then.
#[test]
fn a_recording_that_was_cut_off_is_replayed_as_far_as_it_goes() {
    let shipped = shipped();
    let (rest, _) = shipped.trim_end().rsplit_once('\n').unwrap();
    let file = Scratch::with("cut", rest);
    let (stdout, _) = texts(replay(&[file.path()]), 0);
    let last = "The same to the byte: 7 messages, 1029 bytes. The recording ends before 89 more were written.";
    assert_eq!(stdout.lines().last(), Some(last));
}

#[test]
fn unusable_files_and_arguments_are_reported() {
    let broken = Scratch::with("broken", "1 read {}\\n\n2 said nothing\n");
    let empty = Scratch::with("empty", "\n");
    let table = [
        ("/nowhere/at/all", "No such file or directory (os error 2)"),
        (broken.path(), "line 2 is not something that happened"),
        (empty.path(), "nothing has happened"),
    ];
    for (file, wrong) in table {
        let expected = format!("replay: {file}: {wrong}\n");
        assert_eq!(texts(replay(&[file]), 1), (String::new(), expected));
    }
    let (_, stderr) = texts(replay(&["--record", "/nowhere/at/all"]), 1);
    assert_eq!(stderr, "replay: /nowhere/at/all: No such file or directory (os error 2)\n");
    let wrong: [&[&str]; 4] = [&["--record"], &["--record", "a", "b"], &["a", "b"], &["--again"]];
    for arguments in wrong {
        let (stdout, stderr) = texts(replay(arguments), 2);
        assert!(stdout.is_empty() && stderr.ends_with("try '--help'.\n"), "{stderr}");
    }
}

/// Neither a reader that stops after a line of the diagram nor a client that disconnects makes the process fail.
#[test]
fn a_reader_that_stops_early_causes_no_failure() {
    let text = "5 read {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n\n".repeat(5_000);
    let file = Scratch::with("long", &text);
    let mut command = Command::new(example("replay"));
    command.arg(file.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut reader = command.spawn().unwrap();
    let mut first = String::new();
    BufReader::with_capacity(1, reader.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = reader.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");

    let file = Scratch::new("deaf");
    let mut session = Session::recorded(&file);
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    session.turn(ping);
    let Session { mut server, answers } = session;
    drop(answers);
    while server.stdin.as_mut().unwrap().write_all(ping.as_bytes()).is_ok() {}
    assert_eq!(server.wait().unwrap().code(), Some(0));
    let (stdout, _) = texts(replay(&[file.path()]), 0);
    assert!(stdout.contains("| writing fails\n"), "{stdout}");
}
