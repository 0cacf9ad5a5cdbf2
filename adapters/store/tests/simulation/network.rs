//! Processes and the network between them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};
use mcp_sansio::task::TasksConfig;
use mcp_sansio_http::Clock;
use mcp_sansio_store::{ForwardError, Forwarded, Node, NodeBody, NodeOptions, Peers};
use tokio::sync::watch;

use crate::chooser::Chooser;
use crate::kit::endpoint;
use crate::kit::worker::{self, Journal};
use crate::store::{Link, Shared};

/// A process with a node.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) node: Node,
    pub(crate) address: String,
    pub(crate) is_hanging: Arc<AtomicBool>,
    is_dead: Arc<AtomicBool>,
    died: Arc<watch::Sender<bool>>,
}

impl Process {
    /// Handles a request of a client. `None` if the process is killed meanwhile.
    pub(crate) async fn handle(&self, request: Request<Full<Bytes>>) -> Option<Response<NodeBody>> {
        tokio::select! {
            biased;
            () = self.died() => None,
            response = self.node.handle(request) => Some(response),
        }
    }

    /// Waits until the process is killed.
    pub(crate) async fn died(&self) {
        _ = self.died.subscribe().wait_for(|died| *died).await;
    }

    /// Kills the process: nothing that it does has an effect any more.
    fn kill(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
        self.died.send_replace(true);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    All,
    /// Clients only: the other nodes get no response.
    Clients,
}

/// The processes that can be reached, by their addresses.
#[derive(Clone, Default)]
pub(crate) struct Network {
    processes: Arc<Mutex<BTreeMap<String, (Process, Reach)>>>,
    /// What the work of tasks has done, and the clock of all processes, if they have tasks.
    pub(crate) tasks: Option<(Journal, Clock)>,
}

impl Network {
    /// Starts a process, if the address is free.
    pub(crate) async fn start(&self, address: String, shared: &Shared, latency: Duration) {
        if self.processes.lock().unwrap().contains_key(&address) {
            return;
        }
        let (is_hanging, is_dead) = (Arc::default(), Arc::default());
        let link = Link {
            shared: shared.clone(),
            latency,
            is_hanging: Arc::clone(&is_hanging),
            is_dead: Arc::clone(&is_dead),
        };
        let peers = Arc::new(self.clone());
        let mut options = NodeOptions::new();
        if std::env::var("NODE_ERRORS").is_ok() {
            let node = address.clone();
            options.on_error = Arc::new(move |error| println!("{node}: {error}"));
        }
        let mut endpoint = endpoint(1_000);
        if let Some((journal, clock)) = &self.tasks {
            options.resume_task = Some(worker::resume(journal));
            endpoint = worker::endpoint(TasksConfig::default(), clock.clone(), journal);
        }
        // A process that cannot join ends.
        let joined = Node::join_with(endpoint, Arc::new(link), &*address, peers, options).await;
        if let Ok(node) = joined {
            let died = Arc::new(watch::Sender::new(false));
            let process = Process { node, address: address.clone(), is_hanging, is_dead, died };
            self.processes.lock().unwrap().insert(address, (process, Reach::All));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.processes.lock().unwrap().len()
    }

    /// Returns any process that clients can reach, when there is one. One that the nodes cannot reach is chosen less often.
    pub(crate) async fn any(&self, chooser: &mut Chooser) -> Process {
        loop {
            let limited = chooser.one_in(10);
            let wanted = |(_, reach): &&(Process, Reach)| limited || *reach == Reach::All;
            let mut candidates: Vec<_> = {
                let processes = self.processes.lock().unwrap();
                processes.values().filter(wanted).cloned().collect()
            };
            if !candidates.is_empty() {
                return candidates.swap_remove(chooser.below(candidates.len() as u64) as usize).0;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Kills a process. Another one can start at its address at once.
    pub(crate) fn kill(&self, process: &Process) {
        self.remove(process);
        process.kill();
    }

    /// Removes a process that has ended by itself.
    pub(crate) fn remove(&self, process: &Process) {
        self.processes.lock().unwrap().remove(&process.address);
    }

    /// Cuts a process off from the other nodes, or connects it again.
    pub(crate) fn set_reachable(&self, process: &Process, is_reachable: bool) {
        if let Some((_, reach)) = self.processes.lock().unwrap().get_mut(&process.address) {
            *reach = if is_reachable { Reach::All } else { Reach::Clients };
        }
    }
}

impl Peers for Network {
    fn forward<'p>(&'p self, address: &'p str, request: Request<Full<Bytes>>) -> Forwarded<'p> {
        Box::pin(async move {
            let found = self.processes.lock().unwrap().get(address).cloned();
            let (process, reach) = found.ok_or(ForwardError::Refused)?;
            if reach == Reach::Clients {
                tokio::time::sleep(Duration::from_secs(1)).await;
                return Err(ForwardError::NotReached);
            }
            tokio::select! {
                biased;
                () = process.died() => Err(ForwardError::Broken),
                response = process.node.handle_forwarded(request) => Ok(response),
            }
        })
    }
}
