//! Shared parts of the HTTP servers: the runtime, the socket and the shutdown.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Creates a single-threaded runtime.
pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Listens on a free port of the loopback interface, and prints the address.
pub(super) async fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

/// Waits for the end of standard input. A separate thread reads it, so that the runtime does only the measured work.
pub(super) async fn until_closed() {
    on_thread(|| _ = io::copy(&mut io::stdin(), &mut io::sink())).await;
}

/// As [`until_closed`], and prints `answer` for each line.
pub(super) async fn answer_lines(answer: impl Fn() -> String + Send + 'static) {
    on_thread(move || {
        for _ in io::stdin().lines().map_while(Result::ok) {
            println!("{}", answer());
        }
    })
    .await;
}

async fn on_thread(run: impl FnOnce() + Send + 'static) {
    let (closed, wait) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        run();
        drop(closed);
    });
    _ = wait.await;
}
