//! A client that walks through a list, fed by hand.

use mcp_sansio::call::Paging;
use mcp_sansio::event::RestartCause;
use mcp_sansio::model::method::{ListTools, PagedMethod};
use mcp_sansio::pagination::PageStop;
use mcp_sansio::{CallId, CallOptions, ClientEvent, ErrorCode, Outcome, Revision};
use mcp_sansio_proptests::ClientSide;

/// The content of an event of a walk.
#[derive(Debug, PartialEq)]
pub(super) enum Walked {
    Page { result: String, stale: bool },
    Restarted(RestartCause),
    Over { result: String, stale: bool },
    Truncated { stop: PageStop, last: String, stale: bool },
    Refused { code: ErrorCode, stale: bool },
}

/// A client that walks through a list. Its first request has id 2, because `initialize` has id 1.
pub(super) struct Walk {
    pub(super) side: ClientSide,
    pub(super) call: CallId,
}

impl Walk {
    pub(super) fn begin<M: PagedMethod>(revision: Revision, paging: Paging) -> Self {
        let mut side = ClientSide::ready(revision);
        let call = list::<M>(&mut side, paging);
        Self { side, call }
    }

    pub(super) fn of_tools(paging: Paging) -> Self {
        let mut walk = Self::begin::<ListTools>(Revision::V2025_11_25, paging);
        assert_eq!(walk.side.sent(), [asked(2, "tools/list", None)]);
        walk
    }

    /// Receives the result of a request.
    #[track_caller]
    pub(super) fn answer(&mut self, id: u32, result: &str) -> Walked {
        let event =
            self.side.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
        self.walked(event)
    }

    /// Receives the error for an invalid cursor.
    #[track_caller]
    pub(super) fn refuse(&mut self, id: u32) -> Walked {
        let event = self.side.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"invalid cursor"}}}}"#
        ));
        self.walked(event)
    }

    #[track_caller]
    pub(super) fn change(&mut self, notification: &str) {
        let event = self.side.receive(notification);
        assert!(matches!(event, Some(ClientEvent::Notification(_))), "{event:?}");
    }

    #[track_caller]
    pub(super) fn walked(&self, event: Option<ClientEvent<'static>>) -> Walked {
        let (call, walked) = match event {
            Some(ClientEvent::Page(page)) => {
                let result = page.result.as_json().to_owned();
                (page.call, Walked::Page { result, stale: page.stale })
            }
            Some(ClientEvent::ListRestarted(restarted)) => {
                (restarted.call, Walked::Restarted(restarted.cause))
            }
            Some(ClientEvent::CallEnded(ended)) => {
                let stale = ended.stale;
                let walked = match ended.outcome {
                    Outcome::Result(result) => {
                        Walked::Over { result: result.as_json().to_owned(), stale }
                    }
                    Outcome::Truncated { stop, last } => {
                        Walked::Truncated { stop, last: last.as_json().to_owned(), stale }
                    }
                    Outcome::PeerError(error) => Walked::Refused { code: error.code, stale },
                    other => panic!("{other:?}"),
                };
                (ended.call, walked)
            }
            other => panic!("not about the walk: {other:?}"),
        };
        assert_eq!(call, self.call);
        walked
    }
}

pub(super) fn list<M: PagedMethod>(side: &mut ClientSide, paging: Paging) -> CallId {
    side.client.list::<M>(paging, CallOptions::new(), side.now, &mut side.out).unwrap()
}

pub(super) fn restarts(restarts: u32) -> Paging {
    let mut paging = Paging::default();
    paging.restarts = restarts;
    paging
}

/// The request for a page; the cursor is a JSON text.
pub(super) fn asked(id: u32, method: &str, cursor: Option<&str>) -> String {
    let params = cursor.map(|cursor| format!(r#","params":{{"cursor":{cursor}}}"#));
    let params = params.unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#)
}

pub(super) fn page(result: &str) -> Walked {
    Walked::Page { result: result.into(), stale: false }
}

pub(super) fn over(result: &str) -> Walked {
    Walked::Over { result: result.into(), stale: false }
}
