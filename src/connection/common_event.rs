//! `CommonEvent`: the event of one message or one expired timer, for both roles.

use super::event::{
    CallEnded, Cancelled, Cause, ListPage, ListRestarted, ProgressUpdate, TaskAnswer,
    UnmatchedResponse, Violation,
};
use super::subscription::SubscriptionUpdate;
use super::task_update::{AbandonedTask, TaskUpdate};
use crate::rpc::ErrorObject;
use crate::time::Instant;

/// The events that both roles surface in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommonEvent<'a> {
    Cancelled(Cancelled<'a>),
    Progress(ProgressUpdate<'a>),
    Page(ListPage<'a>),
    ListRestarted(ListRestarted),
    Subscription(SubscriptionUpdate<'a>),
    CallEnded(CallEnded<'a>),
    TaskAnswer(TaskAnswer<'a>),
    Task(TaskUpdate<'a>),
    AbandonedTask(AbandonedTask),
    UnsolicitedError(ErrorObject<'a>),
    UnmatchedResponse(UnmatchedResponse<'a>),
    Violation(Violation<'a>),
    Unresponsive { missed: u32 },
    Draining { deadline: Instant },
    Closed { cause: Cause },
}
