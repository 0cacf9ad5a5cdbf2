//! The adapters and their runtimes.

use std::future::Future;
use std::io;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use mcp_sansio::{ClientConfig, Server, ServerConfig};
use mcp_sansio_driver::{Connection, ConnectionOptions, OpenError};

use crate::suite::pipes::{Blocks, End, Tokio};
use crate::suite::script::Answers;

/// Receives the result of a server when it ends.
pub(crate) type Served = Receiver<io::Result<()>>;

/// A handler for every adapter.
pub(crate) trait Serves:
    mcp_sansio_std::Handler<Server> + mcp_sansio_tokio::Handler<Server>
{
}

impl<H: mcp_sansio_std::Handler<Server> + mcp_sansio_tokio::Handler<Server>> Serves for H {}

/// Runs servers and clients. They do not keep the adapter alive.
pub(crate) trait Adapter {
    fn new() -> Self;

    fn serve_with(
        &self,
        config: ServerConfig,
        options: ConnectionOptions,
        end: End,
        handler: impl Serves,
    ) -> Served;

    fn connect_with(
        &self,
        config: ClientConfig,
        options: ConnectionOptions,
        end: End,
        answers: Answers,
    ) -> Result<Connection, OpenError>;

    fn spawn_with(
        &self,
        config: ClientConfig,
        options: ConnectionOptions,
        command: Command,
    ) -> Result<Connection, OpenError>;
}

pub(crate) struct Blocking;

impl Adapter for Blocking {
    fn new() -> Self {
        Self
    }

    fn serve_with(
        &self,
        config: ServerConfig,
        options: ConnectionOptions,
        end: End,
        handler: impl Serves,
    ) -> Served {
        let (sender, served) = channel();
        thread::spawn(move || {
            let (reader, writer) = (Blocks(end.reader), Blocks(end.writer));
            let ended = mcp_sansio_std::serve_with(config, &options, reader, writer, handler);
            _ = sender.send(ended);
        });
        served
    }

    fn connect_with(
        &self,
        config: ClientConfig,
        options: ConnectionOptions,
        end: End,
        answers: Answers,
    ) -> Result<Connection, OpenError> {
        let (reader, writer) = (Blocks(end.reader), Blocks(end.writer));
        mcp_sansio_std::connect_with(config, &options, reader, writer, answers)
    }

    fn spawn_with(
        &self,
        config: ClientConfig,
        options: ConnectionOptions,
        command: Command,
    ) -> Result<Connection, OpenError> {
        mcp_sansio_std::spawn_with(config, &options, command, Answers::default())
    }
}

/// A runtime of tokio, which shuts down on drop.
struct OnTokio {
    runtime: tokio::runtime::Handle,
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl OnTokio {
    fn new(mut builder: tokio::runtime::Builder) -> Self {
        let runtime = builder.enable_all().build().unwrap();
        let handle = runtime.handle().clone();
        let (_stop, stopped) = tokio::sync::oneshot::channel::<()>();
        thread::spawn(move || {
            _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        });
        Self { runtime: handle, _stop }
    }

    /// Waits on this thread for a future that runs on the runtime.
    fn wait<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        let (sender, receiver) = channel();
        self.runtime.spawn(async move { sender.send(future.await) });
        receiver.recv().unwrap()
    }
}

macro_rules! tokio_adapter {
    ($Adapter:ident, $builder:expr) => {
        pub(crate) struct $Adapter(OnTokio);

        impl Adapter for $Adapter {
            fn new() -> Self {
                Self(OnTokio::new($builder))
            }

            fn serve_with(
                &self,
                config: ServerConfig,
                options: ConnectionOptions,
                end: End,
                handler: impl Serves,
            ) -> Served {
                let (sender, served) = channel();
                self.0.runtime.spawn(async move {
                    let (reader, writer) = (Tokio(end.reader), Tokio(end.writer));
                    let served =
                        mcp_sansio_tokio::serve_with(config, &options, reader, writer, handler);
                    _ = sender.send(served.await);
                });
                served
            }

            fn connect_with(
                &self,
                config: ClientConfig,
                options: ConnectionOptions,
                end: End,
                answers: Answers,
            ) -> Result<Connection, OpenError> {
                self.0.wait(async move {
                    let (reader, writer) = (Tokio(end.reader), Tokio(end.writer));
                    mcp_sansio_tokio::connect_with(config, &options, reader, writer, answers).await
                })
            }

            fn spawn_with(
                &self,
                config: ClientConfig,
                options: ConnectionOptions,
                command: Command,
            ) -> Result<Connection, OpenError> {
                self.0.wait(async move {
                    let answers = Answers::default();
                    mcp_sansio_tokio::spawn_with(config, &options, command, answers).await
                })
            }
        }
    };
}

tokio_adapter!(TokioWithOneThread, tokio::runtime::Builder::new_current_thread());
tokio_adapter!(TokioWithThreads, {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(4);
    builder
});

macro_rules! futures_io_adapter {
    ($Adapter:ident, $spawn:expr, $block_on:path) => {
        pub(crate) struct $Adapter;

        impl Adapter for $Adapter {
            fn new() -> Self {
                Self
            }

            fn serve_with(
                &self,
                config: ServerConfig,
                options: ConnectionOptions,
                end: End,
                handler: impl Serves,
            ) -> Served {
                let (sender, served) = channel();
                ($spawn)(Box::pin(async move {
                    let End { reader, writer } = end;
                    let served = mcp_sansio_async_std::serve_with(
                        config, &options, reader, writer, handler, $spawn,
                    );
                    _ = sender.send(served.await);
                }));
                served
            }

            fn connect_with(
                &self,
                config: ClientConfig,
                options: ConnectionOptions,
                End { reader, writer }: End,
                answers: Answers,
            ) -> Result<Connection, OpenError> {
                $block_on(mcp_sansio_async_std::connect_with(
                    config, &options, reader, writer, answers, $spawn,
                ))
            }

            fn spawn_with(
                &self,
                config: ClientConfig,
                options: ConnectionOptions,
                command: Command,
            ) -> Result<Connection, OpenError> {
                let answers = Answers::default();
                $block_on(mcp_sansio_async_std::spawn_with(
                    config, &options, command, answers, $spawn,
                ))
            }
        }
    };
}

futures_io_adapter!(
    AsyncStd,
    |work: mcp_sansio_async_std::Work| drop(async_std::task::spawn(work)),
    async_std::task::block_on
);
futures_io_adapter!(
    Smol,
    |work: mcp_sansio_async_std::Work| smol::spawn(work).detach(),
    smol::block_on
);
