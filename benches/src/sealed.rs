//! A client and a server that exchange bytes directly.

use mcp_sansio::CallOptions;

use crate::core_client::Asking;
use crate::core_server::{Serving, echo};
use crate::{Case, Rounds};

/// Returns the work of a case that needs both sides.
pub(crate) fn rounds(case: Case) -> Option<Rounds> {
    match case {
        Case::RoundTrip | Case::RoundTripOf64 => Some(round_trips(case.batch())),
        _ => None,
    }
}

/// Makes `at_once` concurrent calls. A round is one call.
fn round_trips(at_once: usize) -> Rounds {
    let (mut asking, mut serving) = (Asking::new(), Serving::new());
    Box::new(move |rounds| {
        assert_eq!(rounds % at_once, 0);
        for _ in 0..rounds / at_once {
            for _ in 0..at_once {
                asking.call(CallOptions::new());
            }
            serving.feed(asking.outbox.unsent(), &mut echo);
            asking.send();
            let ended = {
                let Serving { outbox, .. } = &serving;
                asking.feed(outbox.unsent())
            };
            assert_eq!(ended, at_once);
            serving.send();
        }
    })
}
