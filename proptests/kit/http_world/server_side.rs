//! The application of the server.

use mcp_sansio::model::{CallToolResult, ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{ConnectionNumber, ErrorCode, RespondError, ServerEvent};
use serde_json::json;

use super::{HttpWorld, Step};

impl HttpWorld {
    pub(super) fn server_saw(
        &mut self,
        event: Option<(ConnectionNumber, ServerEvent<'static>)>,
    ) -> Result<(), String> {
        let Some((number, event)) = event else { return Ok(()) };
        self.note_value(
            format_args!("server {}: {event:?}", number.get()),
            &(number.get(), &event),
        );
        match event {
            ServerEvent::Request(request) => {
                self.check_owner(&request)?;
                self.open.retain(|(_, one)| one.id != request.id);
                self.open.push((number, request));
            }
            ServerEvent::Cancelled(cancelled) => {
                self.open.retain(|(_, one)| one.id != cancelled.id)
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn by_server(&mut self, step: Step) -> Result<(), String> {
        let now = self.now;
        if step == Step::Change {
            let numbers: Vec<ConnectionNumber> = self.http.connections().collect();
            for number in numbers {
                self.http.with(number, now, |server, out| {
                    // Some clients are not subscribed to the change.
                    _ = server.notifications().list_changed(ChangedList::Tools, out);
                });
            }
            return Ok(());
        }
        let (Step::Answer(which)
        | Step::Reject(which)
        | Step::Report(which)
        | Step::Ask(which)
        | Step::Close(which)) = step
        else {
            return Ok(());
        };
        let Some(index) = which.checked_rem(self.open.len() as u64) else { return Ok(()) };
        let (number, request) = self.open[index as usize].clone();
        let id = request.id;
        let is_list = &*request.method.to_str() == "tools/list";
        let done = self.http.with(number, now, |server, out| match step {
            Step::Answer(_) if is_list => server.respond(id, &json!({ "tools": [] }), out),
            Step::Answer(_) => server.respond(id, &CallToolResult::text("done"), out),
            Step::Reject(_) => server.reject(id, ErrorCode::INVALID_PARAMS, "no", out),
            Step::Report(_) => {
                server.progress(id, Progress::new(which % 1_000), now, out).map(|_| ())
            }
            Step::Ask(_) => {
                let form = ElicitParams::form("Which?", ObjectSchema::default());
                let needs = InputRequired::new().elicit("it", form);
                server.require_input(&request, &needs, now, out)
            }
            Step::Close(_) => {
                out.close_response(id);
                Ok(())
            }
            _ => Ok(()),
        });
        let ends = matches!(step, Step::Answer(_) | Step::Reject(_) | Step::Ask(_));
        match done {
            Some(Ok(())) if ends => self.open.retain(|(_, one)| one.id != id),
            Some(Err(RespondError::Answered)) => {
                return Err(format!("answer: {id} was answered already"));
            }
            None => return Err(format!("connection: {number:?} is gone with {id} open")),
            _ => {}
        }
        Ok(())
    }
}
