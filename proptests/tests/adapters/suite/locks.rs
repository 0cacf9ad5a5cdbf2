//! Application code does not run under a lock of this crate: neither dropping a waker, nor waking it, nor dropping
//! the values that a function has captured.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;

use mcp_sansio::RespondError;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{Prompt, TaskSupport, Tool};
use mcp_sansio::request::TaskMode;
use mcp_sansio::task::TasksConfig;
use mcp_sansio_driver::{ConnectionOptions, Exchange, Router, SharedTasks, new_task};
use serde_json::{Value, json};

use crate::suite::kit::{A_LONG_TIME, Peer, World, server_config};
use crate::suite::pipes::{Blocks, pipes};
use crate::suite::runtimes::Blocking;

/// Runs a function that would deadlock if it waited for itself.
fn ends(act: impl FnOnce() + Send + 'static) {
    let (sender, done) = channel();
    thread::spawn(move || {
        act();
        sender.send(()).unwrap();
    });
    done.recv_timeout(A_LONG_TIME).unwrap();
}

/// A task that only its wakers own, as in the simplest executors, and that owns a value itself.
struct Owner {
    _owned: Mutex<Box<dyn Any + Send>>,
}

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

fn owner(owned: impl Any + Send) -> Waker {
    Waker::from(Arc::new(Owner { _owned: Mutex::new(Box::new(owned)) }))
}

#[test]
fn a_waker_that_is_the_last_of_a_task_with_a_call() {
    // The waker is dropped with the call that it waits for, or replaced by another waker.
    for is_replaced in [false, true] {
        ends(move || {
            let world = World::<Blocking>::new();
            let (mut first, second) = (world.start("wait", ""), world.start("wait", ""));
            let waker = owner(second);
            assert!(Pin::new(&mut first).poll(&mut Context::from_waker(&waker)).is_pending());
            drop(waker);
            if is_replaced {
                let other = owner(());
                assert!(Pin::new(&mut first).poll(&mut Context::from_waker(&other)).is_pending());
            }
            drop(first);
            assert_eq!(world.connection.handle().counts().outbound, 0);
        });
    }
}

/// A waker that accesses the tasks at once.
struct AtOnce(SharedTasks);

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        self.0.with(|tasks, _| tasks.len());
    }
}

/// A value of the host.
#[derive(Debug, PartialEq, Eq)]
struct User(&'static str);

/// A handler on a byte stream sees the newest value of each type that the host gave the connection.
#[test]
fn a_handler_sees_the_values_of_its_connection() {
    let (sender, seen) = channel();
    let sender = Mutex::new(sender);
    let serve = move |exchange: &Exchange| {
        let user = exchange.extension::<User>().map(|User(name)| *name);
        sender.lock().unwrap().send((user, exchange.extension::<u8>().copied())).unwrap();
        exchange.respond(&())
    };
    let (ours, theirs) = pipes(4096);
    let options = ConnectionOptions::new().extension(User("alice")).extension(User("bob"));
    thread::spawn(move || {
        let (reader, writer) = (Blocks(theirs.reader), Blocks(theirs.writer));
        mcp_sansio_std::serve_with(server_config(), &options, reader, writer, serve)
    });
    ends(move || {
        let mut peer = Peer::new(ours);
        peer.initialize();
        peer.call(1, "any", "");
        assert_eq!(seen.recv(), Ok((Some("bob"), None)));
    });
}

#[test]
fn a_waker_that_looks_at_the_tasks() {
    let tasks = SharedTasks::new(TasksConfig::default());
    let (sender, begun) = channel();
    let sender = Mutex::new(sender);
    let begin = move |exchange: &Exchange| -> Result<(), RespondError> {
        assert_eq!(exchange.task_mode(&TaskSupport::Optional)?, Some(TaskMode::Task));
        let task = exchange.begin_task(new_task().unwrap()).unwrap();
        sender.lock().unwrap().send(task).unwrap();
        Ok(())
    };
    let mut config = server_config();
    config.capabilities = config.capabilities.with_tasks();
    let (ours, theirs) = pipes(4096);
    let options = ConnectionOptions::new().tasks(tasks.clone());
    thread::spawn(move || {
        let (reader, writer) = (Blocks(theirs.reader), Blocks(theirs.writer));
        mcp_sansio_std::serve_with(config, &options, reader, writer, begin)
    });
    ends(move || {
        let mut peer = Peer::new(ours);
        let client = json!({"name": "peer", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        peer.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        peer.receive();
        peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let params = json!({"name": "any", "task": {"ttl": 600_000}});
        peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        let id = peer.receive()["result"]["task"]["taskId"].take();
        let task = begun.recv_timeout(A_LONG_TIME).unwrap();
        let waker = Waker::from(Arc::new(AtOnce(tasks)));
        let mut cancelled = Box::pin(task.cancelled());
        assert!(cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let params = json!({"taskId": id});
        peer.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/cancel", "params": params}));
        assert_eq!(peer.receive()["id"], 2);
        assert!(cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    });
}

/// A value that removes a prompt from the router when it is dropped.
struct Plugin(Router);

impl Drop for Plugin {
    fn drop(&mut self) {
        assert!(self.0.remove_prompt("of the plugin"));
    }
}

#[test]
fn a_function_that_takes_something_back_when_it_is_dropped() {
    for is_replaced in [false, true] {
        ends(move || {
            let router = Router::new();
            router.prompt_with(Prompt::new("of the plugin"), |_: Value, _| "words");
            let tool = || Tool::new("tool", Raw::EMPTY_OBJECT);
            let plugin = Plugin(router.clone());
            router.tool_with(tool(), move |_: Value, _| {
                let _held = &plugin;
                "done"
            });
            if is_replaced {
                router.tool_with(tool(), |_: Value, _| "done otherwise");
            } else {
                assert!(router.remove_tool("tool"));
            }
            assert!(!router.remove_prompt("of the plugin"), "it has been taken back");
        });
    }
}
