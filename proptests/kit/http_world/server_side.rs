//! The application of the server.

use mcp_sansio::model::{CallToolResult, ElicitParams, InputRequired, ObjectSchema};
use mcp_sansio::progress::Progress;
use mcp_sansio::request::TaskMode;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{ClientRequest, ConnectionNumber, ErrorCode, Request, RespondError, ServerEvent};
use serde_json::json;

use super::hosted_tasks::{End, OpenRequest, result_of, support, work_in};
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
            ServerEvent::Request(request) => self.asked_for(number, request)?,
            ServerEvent::Cancelled(cancelled) => {
                self.open.retain(|one| one.request.id != cancelled.id);
            }
            ServerEvent::TaskAnswer(answer) => {
                let news = self.hosted.tasks.answered(&answer, self.now);
                self.hosted.take(news)?;
                self.settle_tasks();
            }
            ServerEvent::Closed { .. } => self.hosted.tasks.disconnected(number),
            _ => {}
        }
        Ok(())
    }

    /// Serves a request, or keeps it open for a later step.
    fn asked_for(
        &mut self,
        number: ConnectionNumber,
        request: Request<'static>,
    ) -> Result<(), String> {
        let now = self.now;
        self.open.retain(|one| one.request.id != request.id);
        let (mut mode, mut work) = (TaskMode::Inline, None);
        match &request.kind {
            ClientRequest::Task(_) => return self.serve_tasks(number, &request),
            ClientRequest::Listen(_) => {
                let tasks = &mut self.hosted.tasks;
                let granted = self.http.with(number, now, |server, out| {
                    server.tasks(tasks).grant(request.id, None, now, out)
                });
                return match granted {
                    Some(Ok(())) => Ok(()),
                    other => Err(format!("listen: {other:?}")),
                };
            }
            ClientRequest::CallTool(call) => {
                work = work_in(call.arguments.as_ref());
                let support = support(&call.name.to_str());
                let chosen = self
                    .http
                    .with(number, now, |server, out| server.task_mode(request.id, &support, out));
                match chosen {
                    Some(Ok(Some(chosen))) => mode = chosen,
                    Some(Ok(None)) => return Ok(()),
                    other => return Err(format!("tasks: {other:?} for a {support:?} call")),
                }
            }
            _ => {}
        }
        self.open.push(OpenRequest { number, request, mode, work });
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
        let open = self.open[index as usize].clone();
        let OpenRequest { number, ref request, mode, ref work } = open;
        let id = request.id;
        if mode == TaskMode::Task && matches!(step, Step::Answer(_)) {
            if self.begin_task(&open)? {
                self.open.retain(|one| one.request.id != id);
            }
            return Ok(());
        }
        let is_list = &*request.method.to_str() == "tools/list";
        let result = work.as_ref().map_or_else(|| "done".to_owned(), result_of);
        let secret = work.as_ref().map_or("", |work| &work.secret);
        let done = self.http.with(number, now, |server, out| match step {
            Step::Answer(_) if is_list => server.respond(id, &json!({ "tools": [] }), out),
            Step::Answer(_) => server.respond(id, &CallToolResult::text(result), out),
            Step::Reject(_) => {
                server.reject(id, ErrorCode::INVALID_PARAMS, &format!("no {secret}"), out)
            }
            Step::Report(_) => {
                let progress = Progress::new(which % 1_000).message(secret);
                server.progress(id, progress, now, out).map(|_| ())
            }
            Step::Ask(_) => {
                let form = ElicitParams::form(secret, ObjectSchema::default());
                let needs = InputRequired::new().elicit("it", form);
                server.require_input(request, &needs, now, out)
            }
            Step::Close(_) => {
                out.close_response(id);
                Ok(())
            }
            _ => Ok(()),
        });
        let ends = matches!(step, Step::Answer(_) | Step::Reject(_) | Step::Ask(_));
        match done {
            Some(Ok(())) if ends => {
                self.open.retain(|one| one.request.id != id);
                if let (Step::Answer(_), Some(work)) = (step, work) {
                    self.hosted.note_end(work.number, End::Inline);
                }
            }
            Some(Err(RespondError::Answered)) => {
                return Err(format!("answer: {id} was answered already"));
            }
            None => return Err(format!("connection: {number:?} is gone with {id} open")),
            _ => {}
        }
        Ok(())
    }
}
