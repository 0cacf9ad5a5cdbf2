//! Reports progress on requests of the peer
//! ([progress](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress)).

use alloc::boxed::Box;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::cx::Cx;
use super::exchange::Exchange;
use super::identity::key;
use super::incoming::Incoming;
use super::messages::Messages;
use super::outboxes::{Outboxes, Route};
use super::progress_report::{Delayed, Progress, ProgressReport};
use super::send::send_about;
use crate::dialect::RespondError;
use crate::dialect::features::Feature;
use crate::dialect::methods::NotificationKind;
use crate::frame::Serial;
use crate::handle::IncomingId;
use crate::json::Raw;
use crate::rpc::{Recycle, write_notification_with};
use crate::schema::{EncodeError, MetaAdditions, Writer, serialized};
use crate::task::RELATED;

/// The params of a progress notification.
pub(super) struct ProgressParams<'a> {
    pub(super) token: &'a str,
    pub(super) progress: Progress<'a>,
}

serialized! { ProgressParams<'_> }

impl Serialize for ProgressParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Progress { progress, total, message } = self.progress;
        let mut params = serializer.serialize_struct("ProgressParams", 4)?;
        params.serialize_field("progressToken", &Raw::trusted(self.token))?;
        params.serialize_field("progress", &progress)?;
        if let Some(total) = total {
            params.serialize_field("total", &total)?;
        }
        if let Some(message) = message {
            params.serialize_field("message", message)?;
        }
        params.end()
    }
}

/// A delayed report that was sent ahead of a response.
pub(super) struct SentAhead {
    report: Box<Delayed>,
    /// The latest message about the request before the report.
    before: Option<Serial>,
}

/// Reports progress on a request, if its sender asked for progress.
pub(super) fn report<C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    id: IncomingId,
    report: Progress<'_>,
) -> Result<ProgressReport, RespondError> {
    messages.answerable(id)?;
    let Incoming { table, progress_deadlines, .. } = &mut messages.incoming;
    let may_be_sent_at = progress_deadlines.of(id.0.index);
    let Some(exchange) = table.get_mut(id.0) else { return Err(RespondError::Stale) };
    if !exchange.context.wants_progress {
        return Ok(ProgressReport::NotWanted);
    }
    if exchange.progress.is_some_and(|last| report.progress <= last) {
        return Ok(ProgressReport::NotIncreasing);
    }
    if may_be_sent_at.is_some_and(|at| cx.now() < at) {
        exchange.progress = Some(report.progress);
        exchange.delayed = Some(Box::new(Delayed::of(report)));
        return Ok(ProgressReport::Delayed);
    }
    send_progress(exchange, id, report, cx.out)?;
    exchange.progress = Some(report.progress);
    exchange.delayed = None;
    if let Some(interval) = cx.config.progress_interval {
        progress_deadlines.set(id.0.index, id.0.index.into(), cx.now() + interval);
    }
    Ok(ProgressReport::Sent)
}

impl Incoming {
    /// Sends a delayed report, because the response is about to be sent. Returns the report, if it was sent.
    pub(super) fn send_delayed_progress(
        &mut self,
        id: IncomingId,
        out: &mut dyn Outboxes,
    ) -> Option<SentAhead> {
        let exchange = self.table.get_mut(id.0)?;
        let report = exchange.delayed.take()?;
        let before = exchange.last_output;
        // Without room the report is lost; progress notifications are optional.
        send_progress(exchange, id, report.report(), out).ok()?;
        Some(SentAhead { report, before })
    }

    /// Delays a report again, because the response behind it could not be sent.
    pub(super) fn take_back_progress(
        &mut self,
        id: IncomingId,
        ahead: Option<SentAhead>,
        out: &mut dyn Outboxes,
    ) {
        let (Some(SentAhead { report, before }), Some(exchange)) =
            (ahead, self.table.get_mut(id.0))
        else {
            return;
        };
        let serial = exchange.last_output;
        let outbox = out.outbox(Route::Exchange(id));
        if serial.is_some_and(|serial| outbox.withdraw_about(serial, id)) {
            (exchange.delayed, exchange.last_output) = (Some(report), before);
        }
    }

    /// Sends every delayed report that is due.
    pub(super) fn send_due_progress(&mut self, cx: &mut Cx<'_, '_>) {
        let now = cx.now();
        while let Some((_, index)) = self.progress_deadlines.first().filter(|(at, _)| *at <= now) {
            self.progress_deadlines.clear(index);
            let Some(place) = self.table.place_of(index) else { continue };
            if self.table.get(place).is_some_and(|exchange| exchange.delayed.is_some()) {
                _ = self.send_delayed_progress(IncomingId(place), cx.out);
                if let Some(interval) = cx.config.progress_interval {
                    self.progress_deadlines.set(index, index.into(), now + interval);
                }
            }
        }
    }
}

fn send_progress(
    exchange: &mut Exchange,
    id: IncomingId,
    report: Progress<'_>,
    out: &mut dyn Outboxes,
) -> Result<(), EncodeError> {
    let token = core::mem::take(&mut exchange.token);
    let rule = NotificationKind::Progress.rule();
    let context = exchange.context;
    let is_usual = report.message.is_none() || Feature::ProgressMessages.is_in(context.revision);
    if is_usual && exchange.related.0.is_empty() {
        let sent =
            send_about(exchange, id, out, rule.name, |writer| write_usual(writer, &token, report));
        exchange.token = token;
        return sent;
    }
    let params = ProgressParams { token: &token, progress: report };
    let form = rule.params(context.revision);
    let related = core::mem::take(&mut exchange.related);
    let members = [(RELATED, &*related.0)];
    let meta = match related.0.is_empty() {
        true => MetaAdditions::NONE,
        false => MetaAdditions { members: &members, text: "", reserved: key::OF_TASKS },
    };
    let sent = send_about(exchange, id, out, rule.name, |writer| {
        write_notification_with(writer, rule.name, &params, meta, Some(form))
    });
    exchange.token = token;
    exchange.related = related;
    sent
}

/// Writes a report that uses only members of its revision. The check against the tables would pass, and costs more
/// than the write.
fn write_usual(
    writer: &mut Writer<'_>,
    token: &str,
    report: Progress<'_>,
) -> Result<(), EncodeError> {
    const BEGINNING: &[u8] =
        br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"#;
    let Progress { progress, total, message } = report;
    writer.push(BEGINNING)?;
    writer.push(token.as_bytes())?;
    writer.push(br#","progress":"#)?;
    progress.serialize(&mut *writer)?;
    if let Some(total) = total {
        writer.push(br#","total":"#)?;
        total.serialize(&mut *writer)?;
    }
    if let Some(message) = message {
        writer.push(br#","message":"#)?;
        writer.push_string(message)?;
    }
    writer.push(b"}}")
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;
    use crate::json::Number;
    use crate::version::Revision;

    fn written(write: impl Fn(&mut Writer<'_>) -> Result<(), EncodeError>) -> String {
        let mut buffer = Vec::new();
        assert_eq!(write(&mut Writer::new(&mut buffer, usize::MAX)), Ok(()));
        String::from_utf8(buffer).expect("JSON is text")
    }

    #[test]
    fn fast_progress_writes_match_checked_writes() {
        let report = Progress::new(3);
        let fraction = Number::try_from(0.5).expect("it is finite");
        let reports = [
            report,
            report.total(4),
            report.message("half \"way\"\n"),
            Progress::new(fraction).total(1_u8).message("héllo"),
        ];
        let rule = NotificationKind::Progress.rule();
        for revision in Revision::ALL {
            for (report, token) in reports.into_iter().zip(["1", "\"a\\u0041\"", "-7", "\"\""]) {
                let form = Some(rule.params(revision));
                let params = ProgressParams { token, progress: report };
                let checked = written(|writer| {
                    write_notification_with(writer, rule.name, &params, MetaAdditions::NONE, form)
                });
                let usual = written(|writer| write_usual(writer, token, report));
                let is_usual =
                    report.message.is_none() || Feature::ProgressMessages.is_in(revision);
                assert_eq!(usual == checked, is_usual, "{usual} {checked}");
            }
        }
    }
}
