//! Implementations of `Run`, including ones that do not run their jobs.

use std::io::{self, Cursor, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_sansio::error::ErrorObject;
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::CallTool;
use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::schema::Prepared;
use mcp_sansio::{ErrorCode, Phase, Revision, RevisionSet, Server, ServerConfig, ServerEvent};
use mcp_sansio_driver::{Clock, ConnectionOptions, Handle, Job, Run, Wire};

/// A timeout longer than any operation of these tests takes, even on a busy computer.
const A_LONG_TIME: Duration = Duration::from_secs(120);

/// The number of calls.
const MANY: usize = 20_000;

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn config() -> ServerConfig {
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::default());
    config.connection.limits.inbound_requests = u32::MAX;
    // The input ends long before the last request gets its response.
    config.connection.timeouts.drain = A_LONG_TIME;
    config
}

fn calls(many: usize) -> Cursor<Vec<u8>> {
    let call = |id| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        ) + "\n"
    };
    Cursor::new((0..many).map(call).collect::<String>().into_bytes())
}

/// Runs jobs with a given function, except the first two, which hold all others back.
struct Holds {
    first: Arc<Mutex<Vec<Job<Server>>>>,
    held: AtomicUsize,
    run: fn(Job<Server>),
}

impl Run<Server> for Holds {
    fn begin(&self, _: &Handle<Server>) {}

    fn run(&self, job: Job<Server>) {
        if self.held.fetch_add(1, Ordering::SeqCst) < 2 {
            self.first.lock().unwrap().push(job);
        } else {
            (self.run)(job);
        }
    }
}

/// Queues this many calls behind the first two, then runs all of them with `run`. Returns the number of responses
/// that contain each of these texts.
fn serve(run: fn(Job<Server>), many: usize, texts: [&str; 2]) -> [usize; 2] {
    let first = Arc::<Mutex<Vec<_>>>::default();
    let runner = Holds { first: Arc::clone(&first), held: AtomicUsize::new(0), run };
    let options = ConnectionOptions::new().handlers(2);
    let wire = Wire::server(config(), &options, Clock::new(), runner);
    let written = Written::default();
    wire.write_on_thread(written.clone()).unwrap();
    wire.keep_time_on_thread().unwrap();
    wire.read_on_thread(calls(many)).unwrap();
    while wire.handle().counts().inbound < many {
        thread::sleep(Duration::from_millis(1));
    }
    let first = std::mem::take(&mut *first.lock().unwrap());
    first.into_iter().for_each(run);
    wire.wait().unwrap();
    let written = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert_eq!(written.lines().count(), many);
    texts.map(|text| written.lines().filter(|line| line.contains(text)).count())
}

/// A runner that drops its jobs, for example for lack of threads: every request is refused, without recursion.
#[test]
fn one_that_runs_nothing() {
    assert_eq!(serve(drop, MANY, ["-32603", "result"]), [MANY, 0]);
}

fn answer(job: Job<Server>) {
    match job {
        Job::Serve(exchange) => exchange.respond(&CallToolResult::text("done")).unwrap(),
        Job::Deliver(delivery) => delivery.for_each(drop),
        other => panic!("{other:?}"),
    }
}

/// A runner that executes every job at once, on the calling thread, does not overflow the stack either.
#[test]
fn one_that_runs_everything_at_once() {
    assert_eq!(serve(answer, MANY, ["-32603", "result"]), [0, MANY]);
}

fn answer_prepared(job: Job<Server>) {
    let Job::Serve(exchange) = job else { return answer(job) };
    let result = CallToolResult::text("done beforehand");
    let result = Prepared::result::<CallTool>(Revision::V2026_07_28, &result).unwrap();
    exchange.respond(&result).unwrap();
}

fn pass_on(job: Job<Server>) {
    let Job::Serve(exchange) = job else { return answer(job) };
    let error = ErrorObject::new(ErrorCode::new(-7), "so \u{e9}");
    exchange.reject_with(&error.with_data(Raw::new(r#"{"new":1e2}"#).unwrap())).unwrap();
}

/// Serialized results and errors from other sources are sent unchanged.
#[test]
fn serialized_results_and_errors_are_sent_unchanged() {
    assert_eq!(serve(answer_prepared, 100, ["error", "done beforehand"]), [0, 100]);
    let texts = [r#""code":-7,"message":"so é""#, r#""data":{"new":1e2}"#];
    assert_eq!(serve(pass_on, 100, texts), [100, 100]);
}

/// A panic loses only its own request.
#[test]
fn one_that_panics_now_and_then() {
    static JOBS: AtomicUsize = AtomicUsize::new(0);
    let panics = |job: Job<Server>| {
        if JOBS.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) && matches!(job, Job::Serve(_)) {
            let lost = thread::spawn(move || {
                let _lost = job;
                panic!("as asked")
            });
            assert!(lost.join().is_err());
        } else {
            answer(job);
        }
    };
    let [refused, answered] = serve(panics, 100, ["-32603", "result"]);
    assert_eq!(refused + answered, 100);
    assert!((45..=55).contains(&refused), "{refused}");
}

/// Unread events are kept up to a limit; the events about the end are always kept.
#[test]
fn one_that_takes_its_time_with_events() {
    #[derive(Default)]
    struct Later(Arc<Mutex<Option<Job<Server>>>>);
    impl Run<Server> for Later {
        fn begin(&self, _: &Handle<Server>) {}
        fn run(&self, job: Job<Server>) {
            assert!(self.0.lock().unwrap().replace(job).is_none(), "one at a time");
        }
    }
    let later = Arc::<Mutex<_>>::default();
    let mut config = config();
    config.revisions = RevisionSet::LEGACY;
    let options = ConnectionOptions::new();
    let wire = Wire::server(config, &options, Clock::new(), Later(Arc::clone(&later)));
    wire.write_on_thread(io::sink()).unwrap();
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let notification = "\n{\"jsonrpc\":\"2.0\",\"method\":\"x/notification\"}";
    let input = initialize.to_owned() + &notification.repeat(3000);
    wire.read_on_thread(Cursor::new(input.into_bytes())).unwrap();
    while wire.phase() != Phase::Closed {
        thread::sleep(Duration::from_millis(1));
    }
    let Some(Job::Deliver(delivery)) = later.lock().unwrap().take() else {
        panic!("nothing is told")
    };
    let delivered: Vec<_> = delivery.collect();
    let is_last = |event: &ServerEvent<'_>| {
        matches!(event, ServerEvent::Draining { .. } | ServerEvent::Closed { .. })
    };
    assert!(delivered.iter().rev().take(2).all(is_last));
    assert_eq!(delivered.iter().filter(|event| !is_last(event)).count(), 1024);
    wire.keep_time_on_thread().unwrap();
    wire.wait().unwrap();
}
