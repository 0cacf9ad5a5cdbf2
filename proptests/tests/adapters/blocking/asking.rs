//! Handlers that require input from the client before they can respond.

use std::io::{BufRead, BufReader, Lines, PipeReader, PipeWriter, Write, pipe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mcp_sansio::model::{CallToolResult, InputRequired, ListChanged};
use mcp_sansio::{Phase, RespondError, RevisionSet, Server, ServerConfig};
use mcp_sansio_std::{Exchange, Handler, serve};

/// A session with a client that declares roots.
struct Session {
    thread: JoinHandle<std::io::Result<()>>,
    reported: Lines<BufReader<PipeReader>>,
    input: Option<PipeWriter>,
}

impl Session {
    fn open(handler: impl Handler<Server>) -> Self {
        let mut config = ServerConfig::new("server", "1");
        config.revisions = RevisionSet::LEGACY;
        config.capabilities.tools = Some(ListChanged::default());
        let (from_client, input) = pipe().unwrap();
        let (reported, to_client) = pipe().unwrap();
        let thread = thread::spawn(move || serve(config, from_client, to_client, handler));
        let (reported, input) = (BufReader::new(reported).lines(), Some(input));
        let mut session = Self { thread, reported, input };
        session.say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#);
        assert!(session.next_line().contains(r#""protocolVersion":"2025-11-25""#));
        session.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session
    }

    fn say(&mut self, message: &str) {
        self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn next_line(&mut self) -> String {
        self.reported.next().unwrap().unwrap()
    }

    /// Ends the server's input, and returns the lines that the server still writes.
    fn end(mut self) -> Vec<String> {
        self.input = None;
        let rest = self.reported.map(Result::unwrap).collect();
        self.thread.join().unwrap().unwrap();
        rest
    }
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;

fn text(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

/// A handler that runs again with its input does not see the cancellation that ended its first run.
#[test]
fn a_handler_that_gets_its_input_is_not_cancelled() {
    let reports_cancellation = |exchange: &Exchange<Server>| {
        let cancelled = exchange.wait_cancelled(Duration::from_millis(100));
        exchange.respond(&CallToolResult::text(format!("{cancelled}")))
    };
    // The handler runs again at once, before the first run has returned.
    let first_is_over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&first_is_over);
    let mut session = Session::open(move |exchange: &Exchange<Server>| {
        if exchange.request().state.is_some() {
            return reports_cancellation(exchange);
        }
        exchange.require_input(&InputRequired::new().state("again"))?;
        is_over.store(exchange.is_cancelled(), Ordering::Relaxed);
        Ok(())
    });
    session.say(CALL);
    assert_eq!(session.next_line(), text("false"));
    assert_eq!(session.end(), [""; 0]);
    assert!(first_is_over.load(Ordering::Relaxed));
    // The handler runs again when the client has responded.
    let mut session = Session::open(move |exchange: &Exchange<Server>| {
        if exchange.request().inputs.is_some() {
            return reports_cancellation(exchange);
        }
        exchange.require_input(&InputRequired::new().roots("where"))
    });
    session.say(CALL);
    assert_eq!(session.next_line(), r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    session.say(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
    assert_eq!(session.next_line(), text("false"));
    assert_eq!(session.end(), [""; 0]);
}

/// After the end of the input, `require_input` fails, and the request still gets a response.
#[test]
fn require_input_after_the_end_of_input_is_an_error_response() {
    let mut session = Session::open(|exchange: &Exchange<Server>| {
        let need = InputRequired::new().roots("where");
        // Waits until the server has seen the end of its input.
        while exchange.handle().phase() == Phase::Ready {
            thread::sleep(Duration::from_millis(1));
        }
        let error = exchange.require_input(&need);
        assert!(matches!(error, Err(RespondError::NotAllowed(_))), "{error:?}");
        error
    });
    session.say(CALL);
    let answers = session.end();
    let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"#;
    assert!(matches!(&answers[..], [answer] if answer.starts_with(refused)), "{answers:?}");
}
