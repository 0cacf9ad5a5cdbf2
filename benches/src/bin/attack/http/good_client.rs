//! A good client during the attack, which measures its waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::Failure;
use crate::http::Target;
use crate::http::client::{Client, of_modern_call, of_session};
use crate::messages;

/// The interval between its requests.
const PERIOD: Duration = Duration::from_millis(50);

/// The time limit for one response, after which the client tries again.
const PATIENCE: Duration = Duration::from_secs(10);

/// The good client. It has its own thread and runtime, so that it does not wait for the attackers.
pub(crate) struct GoodClient {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl GoodClient {
    pub(crate) fn start(target: &Target) -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (target, stopped) = (target.clone(), Arc::clone(&stop));
        let thread = thread::spawn(move || runtime.block_on(longest_wait(&target, &stopped)));
        Ok(Self { stop, thread })
    }

    /// Stops the client. Returns its longest wait, whether or not a response ended it.
    pub(crate) fn stop(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or(Duration::MAX)
    }
}

/// A session on its own connection, opened again whenever it is lost.
#[derive(Default)]
struct Session(Option<(Client, String)>);

async fn longest_wait(target: &Target, stop: &AtomicBool) -> Duration {
    let (mut longest, mut session) = (Duration::ZERO, Session::default());
    for turn in 0_u64.. {
        let began = Instant::now();
        loop {
            let question = async {
                match turn % 8 {
                    0 | 2 | 4 | 6 => session.ping(target).await,
                    1 | 3 | 5 => call(target).await,
                    _ => newcomer(target).await,
                }
            };
            let is_answered = matches!(timeout(PATIENCE, question).await, Ok(Ok(())));
            // One response is awaited even after the end of the attack.
            let is_over = stop.load(Ordering::Relaxed) && PERIOD * 20 < began.elapsed();
            if is_answered || is_over {
                break;
            }
            sleep(PERIOD / 2).await;
        }
        longest = longest.max(began.elapsed());
        if stop.load(Ordering::Relaxed) {
            break;
        }
        sleep(PERIOD.saturating_sub(began.elapsed())).await;
    }
    longest
}

impl Session {
    /// Sends a ping in the session.
    async fn ping(&mut self, target: &Target) -> Result<(), Failure> {
        if self.0.is_none() {
            let mut client = Client::connect(target).await?;
            let session = client.open_session("2025-11-25").await?;
            self.0 = Some((client, session));
        }
        // A session whose client has given up on its response is not reused.
        let (mut client, session) = self.0.take().ok_or("no session")?;
        let answer = client.ask(&of_session(&session), messages::ping("good")).await?;
        if answer.is_served() {
            self.0 = Some((client, session));
            return Ok(());
        }
        Err("not served".into())
    }
}

/// A tool call in the modern era, on a new connection.
async fn call(target: &Target) -> Result<(), Failure> {
    let mut client = Client::connect(target).await?;
    let body = messages::modern_call("good", "add_numbers", &json!({"a": 1, "b": 2}));
    let answer = client.ask(&of_modern_call("add_numbers"), body).await?;
    if answer.is_served() { Ok(()) } else { Err("not served".into()) }
}

/// Opens a session and ends it again.
async fn newcomer(target: &Target) -> Result<(), Failure> {
    let mut client = Client::connect(target).await?;
    let session = client.open_session("2025-11-25").await?;
    client.end_session(&session).await
}
