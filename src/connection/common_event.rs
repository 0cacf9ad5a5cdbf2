//! `CommonEvent`: what one message or one due timer gives to both roles.

use super::event::{
    CallEnded, Cancelled, Cause, ListPage, PagesRestarted, ProgressUpdate, Stray, TaskAnswer,
    Violation,
};
use super::subscription::SubscriptionUpdate;
use super::task_update::{OrphanTask, TaskUpdate};
use crate::rpc::ErrorObject;
use crate::time::Instant;

/// Everything that both roles surface in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommonEvent<'a> {
    Cancelled(Cancelled<'a>),
    Progress(ProgressUpdate<'a>),
    Page(ListPage<'a>),
    PagesRestarted(PagesRestarted),
    Subscription(SubscriptionUpdate<'a>),
    CallEnded(CallEnded<'a>),
    TaskAnswer(TaskAnswer<'a>),
    Task(TaskUpdate<'a>),
    OrphanTask(OrphanTask),
    PeerFault(ErrorObject<'a>),
    Stray(Stray<'a>),
    Violation(Violation<'a>),
    Unresponsive { missed: u32 },
    Draining { deadline: Instant },
    Closed { cause: Cause },
}
