//! What the servers of HTTP have in common: a runtime, a socket, and an end.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// A runtime of one thread.
pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Listens on a free port of the loopback interface, and prints the address.
pub(super) async fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

/// Waits for the end of standard input, which is read on a thread: the runtime is left to what is measured.
pub(super) async fn until_closed() {
    let (closed, wait) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(closed);
    });
    _ = wait.await;
}
