//! `EraRules`: the differences between the legacy and the modern era, one field each.
//!
//! A difference between two revisions of one era is a [`Feature`](super::features::Feature). Code asks for a rule by
//! name and never compares eras. Only the admission of requests and the negotiation compare eras, because they decide
//! which era a request belongs to.

use super::features::Feature;
use super::refusal::NotAllowed;
use crate::codes::ErrorCode;
use crate::version::{Era, Revision};

/// The rules of one era. [`UNDECIDED`](Self::UNDECIDED) is for a client that does not know yet which era its server
/// speaks: such a client acts as in a session, but can subscribe and set a log level for either era.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each row of the table is independent")]
pub(crate) struct EraRules {
    /// Whether the `_meta` of a request holds the revision, the client and its capabilities. They, and not a session,
    /// decide what the request may do.
    pub(crate) requests_are_self_contained: bool,
    /// Whether a result carries `resultType`, and the name of the server in `_meta`.
    pub(crate) stamps_results: bool,
    /// Whether `resultType` decides how a result is read. Otherwise the capability of the peer decides.
    pub(crate) reads_result_types: bool,
    /// Whether a request that needs input is answered with `inputRequests` and repeated with the responses. Otherwise
    /// the server sends requests of its own while the request is open.
    pub(crate) input_by_rounds: bool,
    /// Whether a refused request is sent again under the same call: for another version, or for headers that have to
    /// be read first.
    pub(crate) repeats_requests: bool,
    /// Whether the server may send requests.
    pub(crate) server_asks: bool,
    /// How a client subscribes to changes and log messages.
    pub(crate) updates: UpdateRules,
    /// Whether `ping` exists, to keep a connection alive.
    pub(crate) pings: bool,
    /// How tasks work.
    pub(crate) tasks: TaskRules,
    /// Whether applications may not use the reserved error codes.
    pub(crate) reserves_codes: bool,
    /// Whether an error code with data names the missing capability of the client. Otherwise a text names it.
    pub(crate) has_missing_capability_code: bool,
    /// Whether each side names itself in `_meta`. Otherwise the `initialize` handshake holds the names.
    pub(crate) names_in_meta: bool,
    /// Whether results carry `ttlMs` and `cacheScope`.
    pub(crate) has_cache_hints: bool,
    /// Whether Streamable HTTP has sessions: a header names them, and `DELETE` ends them.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only the transport asks"))]
    pub(crate) has_http_sessions: bool,
}

/// The rules of tasks in one era.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each row of the table is independent")]
pub(crate) struct TaskRules {
    /// Whether a request asks for a task with the param `task`. Otherwise the server decides.
    pub(crate) asked_for: bool,
    /// Whether the result of a task is fetched with `tasks/result`. Otherwise `tasks/get` returns it inline.
    pub(crate) result_by_method: bool,
    /// Whether `tasks/cancel` is answered with the task and ends it. Otherwise the worker may ignore it.
    pub(crate) cancel_ends: bool,
    /// Whether a peer has to declare that its tasks can be cancelled.
    pub(crate) cancel_is_declared: bool,
    /// Whether progress notifications for a request continue after it has become a task.
    pub(crate) keep_progress: bool,
    /// Whether a task has the form of the 2025-11-25 schema. Otherwise it has the form of the tasks extension.
    pub(crate) of_session: bool,
}

/// How a client subscribes to the notifications of a server: changes and log messages.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each row of the table is independent")]
pub(crate) struct UpdateRules {
    /// Whether subscriptions belong to the session, with one `resources/subscribe` for each resource.
    pub(crate) session_subscribes: bool,
    /// Whether change notifications belong to a `subscriptions/listen` request, which the server ends with
    /// `notifications/cancelled`. Otherwise they belong to the session.
    pub(crate) changes_by_subscription: bool,
    /// Whether `logging/setLevel` sets the level of log messages.
    pub(crate) log_level_in_session: bool,
    /// Whether each request carries its level of log messages.
    pub(crate) log_level_in_requests: bool,
}

impl EraRules {
    const LEGACY: Self = Self {
        requests_are_self_contained: false,
        stamps_results: false,
        reads_result_types: false,
        input_by_rounds: false,
        repeats_requests: false,
        server_asks: true,
        updates: UpdateRules {
            session_subscribes: true,
            changes_by_subscription: false,
            log_level_in_session: true,
            log_level_in_requests: false,
        },
        pings: true,
        tasks: TaskRules {
            asked_for: true,
            result_by_method: true,
            cancel_ends: true,
            cancel_is_declared: true,
            keep_progress: true,
            of_session: true,
        },
        reserves_codes: false,
        has_missing_capability_code: false,
        names_in_meta: false,
        has_cache_hints: false,
        has_http_sessions: true,
    };

    const MODERN: Self = Self {
        requests_are_self_contained: true,
        stamps_results: true,
        reads_result_types: true,
        input_by_rounds: true,
        repeats_requests: true,
        server_asks: false,
        updates: UpdateRules {
            session_subscribes: false,
            changes_by_subscription: true,
            log_level_in_session: false,
            log_level_in_requests: true,
        },
        pings: false,
        tasks: TaskRules {
            asked_for: false,
            result_by_method: false,
            cancel_ends: false,
            cancel_is_declared: false,
            keep_progress: false,
            of_session: false,
        },
        reserves_codes: true,
        has_missing_capability_code: true,
        names_in_meta: true,
        has_cache_hints: true,
        has_http_sessions: false,
    };

    /// Differs from [`LEGACY`](Self::LEGACY) where a call is held until the era is known. A subscription becomes a
    /// `subscriptions/listen` request or one of the session, a task is requested only in a session, and a log level
    /// is set for either era.
    pub(crate) const UNDECIDED: Self = Self {
        updates: UpdateRules {
            session_subscribes: false,
            log_level_in_requests: true,
            ..Self::LEGACY.updates
        },
        tasks: TaskRules { asked_for: false, ..Self::LEGACY.tasks },
        ..Self::LEGACY
    };
}

impl Revision {
    /// Returns the rules of the era of the revision.
    pub(crate) const fn rules(self) -> &'static EraRules {
        match self.era() {
            Era::Legacy => &EraRules::LEGACY,
            Era::Modern => &EraRules::MODERN,
        }
    }
}

/// Returns the code with which an application error is sent in a revision.
///
/// # Errors
///
/// [`NotAllowed::Code`] if the revision reserves the code.
pub(crate) fn code_in(revision: Revision, code: ErrorCode) -> Result<ErrorCode, NotAllowed> {
    if code == ErrorCode::RESOURCE_NOT_FOUND && !Feature::ResourceNotFoundCode.is_in(revision) {
        return Ok(ErrorCode::INVALID_PARAMS);
    }
    if revision.rules().reserves_codes && code.is_reserved() {
        return Err(NotAllowed::Code);
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::EraRules;

    /// A row: its name, and its value in an era.
    type Row = (&'static str, fn(&EraRules) -> bool);

    macro_rules! rows {
        ($($name:ident)*; updates $($update:ident)*; tasks $($task:ident)*) => {{
            // A row that is missing here does not compile.
            let EraRules { $($name: _,)* updates, tasks } = EraRules::UNDECIDED;
            let super::UpdateRules { $($update: _),* } = updates;
            let super::TaskRules { $($task: _),* } = tasks;
            [
                $((stringify!($name), |rules: &EraRules| rules.$name),)*
                $((
                    concat!("updates.", stringify!($update)),
                    |rules: &EraRules| rules.updates.$update
                ),)*
                $((
                    concat!("tasks.", stringify!($task)),
                    |rules: &EraRules| rules.tasks.$task
                ),)*
            ]
        }};
    }

    fn rows() -> [Row; 22] {
        rows![
            requests_are_self_contained
            stamps_results
            reads_result_types
            input_by_rounds
            repeats_requests
            server_asks
            pings
            reserves_codes
            has_missing_capability_code
            names_in_meta
            has_cache_hints
            has_http_sessions;
            updates session_subscribes changes_by_subscription log_level_in_session
                log_level_in_requests;
            tasks asked_for result_by_method cancel_ends cancel_is_declared keep_progress of_session
        ]
    }

    /// `ARCHITECTURE.md` has the table.
    #[test]
    fn the_page_has_the_rules() {
        let mut table = String::from("| rule | undecided | legacy | modern |\n|---|---|---|---|\n");
        for (name, row) in rows() {
            let [undecided, legacy, modern] =
                [&EraRules::UNDECIDED, &EraRules::LEGACY, &EraRules::MODERN]
                    .map(|rules| if row(rules) { "yes" } else { "no" });
            table += &format!("| `{name}` | {undecided} | {legacy} | {modern} |\n");
        }
        let page = include_str!("../../ARCHITECTURE.md");
        assert!(page.contains(&table), "the page has to have this table:\n\n{table}");
    }

    /// A rule that is the same in both eras is no difference.
    #[test]
    fn every_rule_differs() {
        for (name, row) in rows() {
            assert_ne!(row(&EraRules::LEGACY), row(&EraRules::MODERN), "{name}");
        }
    }
}
