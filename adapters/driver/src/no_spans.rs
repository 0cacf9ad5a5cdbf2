//! The same names as the module `spans` has, without spans: the feature `tracing` is off.

use std::future::Future;

use mcp_sansio::json::Raw;
use mcp_sansio::{CallId, Connection, ErrorCode};

use crate::failure::CallFailure;

#[derive(Default)]
pub(crate) struct RequestSpan(());

impl RequestSpan {
    #[inline(always)]
    pub(crate) fn result(&self, _: impl FnOnce() -> Option<Raw<'static>>) {}

    #[inline(always)]
    pub(crate) fn error(&self, _: ErrorCode) {}

    #[inline(always)]
    pub(crate) fn cancelled(&self) {}

    #[inline(always)]
    pub(crate) fn failed(&self, _: &str) {}
}

#[derive(Clone)]
pub(crate) struct SpanScope;

impl SpanScope {
    #[inline(always)]
    pub(crate) fn current() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn run<T>(&self, run: impl FnOnce() -> T) -> T {
        run()
    }

    #[inline(always)]
    pub(crate) fn around<F: Future>(self, work: F) -> F {
        work
    }
}

pub(crate) struct SentCall;

pub(crate) struct CallSpan;

impl CallSpan {
    #[inline(always)]
    pub(crate) fn begin(_: &str, _: Option<&Raw<'_>>) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn none() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn sent(&self, _: &Connection, _: Option<CallId>) -> SentCall {
        SentCall
    }

    #[inline(always)]
    pub(crate) fn record(&self, _: &SentCall) {}

    #[inline(always)]
    pub(crate) fn end(&self, _: Result<&Raw<'_>, &CallFailure>) {}
}
