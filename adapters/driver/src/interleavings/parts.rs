//! The parts below a connection: signals and pools.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake};

use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::mpsc::channel;
use shuttle::thread::spawn;

use super::explore;
use super::kit::panic_silently;
use crate::block::{Parker, block_on};
use crate::pool::Pool;
#[cfg(feature = "http")]
use crate::side_waker::SideWaker;
use crate::signal::Signal;

/// Two threads wait, a third one gives up waiting, and the signal is raised meanwhile.
#[test]
fn a_signal_wakes_all_that_wait() {
    explore(|| {
        let signal = Arc::new(Signal::default());
        let waits = |signal: &Arc<Signal>| {
            let signal = Arc::clone(signal);
            spawn(move || block_on(signal.notified()))
        };
        let waiting = [waits(&signal), waits(&signal)];
        let leaving = {
            let signal = Arc::clone(&signal);
            spawn(move || {
                let (parker, mut notified) = (Parker::new(), signal.notified());
                _ = Pin::new(&mut notified).poll(&mut parker.context());
            })
        };
        signal.raise();
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
        leaving.join().unwrap();
        assert!(signal.is_raised());
    });
}

/// Whether a waker was called. It is no atomic of shuttle, so that it adds no places to switch at.
#[derive(Default)]
struct Flag(std::sync::atomic::AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Every order of a thread that raises a signal, one that waits for it, and one that gives up waiting.
#[test]
fn a_signal_is_missed_in_no_order() {
    shuttle::check_dfs(
        || {
            let signal = Arc::new(Signal::default());
            let polls = |stays: bool| {
                let signal = Arc::clone(&signal);
                spawn(move || {
                    let flag = Arc::new(Flag::default());
                    let (waker, mut notified) = (flag.clone().into(), signal.notified());
                    let poll = Pin::new(&mut notified).poll(&mut Context::from_waker(&waker));
                    if stays {
                        // The registration must outlive the test.
                        std::mem::forget(notified);
                    }
                    (poll.is_ready(), flag)
                })
            };
            let (stays, leaves) = (polls(true), polls(false));
            signal.raise();
            let (is_ready, flag) = stays.join().unwrap();
            assert!(is_ready || flag.0.load(Ordering::SeqCst));
            leaves.join().unwrap();
        },
        None,
    );
}

/// Every order of a thread that wakes and a task that polls, first on one executor and then on another.
#[cfg(feature = "http")]
#[test]
fn a_side_waker_is_missed_in_no_order() {
    shuttle::check_dfs(
        || {
            let mut side_waker = SideWaker::new();
            let tasks = [Arc::new(Flag::default()), Arc::new(Flag::default())];
            let polls = |side_waker: &mut SideWaker, task: &Arc<Flag>| {
                side_waker.take_woken(&Context::from_waker(&task.clone().into()))
            };
            assert!(polls(&mut side_waker, &tasks[0]));
            let waker = side_waker.context().waker().clone();
            let wakes = spawn(move || waker.wake());
            let first = polls(&mut side_waker, &tasks[0]);
            let second = polls(&mut side_waker, &tasks[1]);
            wakes.join().unwrap();
            // A wake after the last poll wakes the task.
            assert!(first || second || tasks[1].0.load(Ordering::SeqCst));
            assert!(!(first && second), "it was woken once");
        },
        None,
    );
}

/// Jobs are pushed from two threads. Two of them wait for each other, and one panics.
#[test]
fn a_pool_runs_every_job() {
    explore(|| {
        let (sender, done) = channel();
        let sender = Mutex::new(sender);
        let met = Arc::new(AtomicUsize::new(0));
        let pool = Arc::new(Pool::new("test", move |job: u32| {
            match job {
                0 => {
                    met.fetch_add(1, Ordering::SeqCst);
                    while met.load(Ordering::SeqCst) < 2 {
                        shuttle::thread::yield_now();
                    }
                }
                1 => panic_silently(),
                _ => {}
            }
            sender.lock().unwrap().send(job).unwrap();
        }));
        let pushes = {
            let pool = Arc::clone(&pool);
            spawn(move || [0, 1, 2].into_iter().for_each(|job| pool.push(job)))
        };
        [0, 3].into_iter().for_each(|job| pool.push(job));
        pushes.join().unwrap();
        let mut ended: Vec<u32> = (0..4).map(|_| done.recv().unwrap()).collect();
        ended.sort_unstable();
        assert_eq!(ended, [0, 0, 2, 3]);
        drop(pool);
        // The threads end, and drop the sender with them.
        assert!(done.recv().is_err());
    });
}

/// A pool that is dropped runs the jobs that were pushed before.
#[test]
fn a_dropped_pool_loses_no_job() {
    explore(|| {
        let (sender, done) = channel();
        let sender = Mutex::new(sender);
        let pool = Pool::new("test", move |job: u32| sender.lock().unwrap().send(job).unwrap());
        pool.push(0);
        pool.push(1);
        drop(pool);
        let mut ended: Vec<u32> = done.iter().collect();
        ended.sort_unstable();
        assert_eq!(ended, [0, 1]);
    });
}
