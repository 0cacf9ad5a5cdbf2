//! The commands of the application about the work of its tasks.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::ser::Serialize;

use super::RELATED;
use super::error::TaskError;
use super::key::TaskKey;
use super::record::{Asking, Record, State, StoredError, Wanted};
use super::status::Status;
use super::tasks::Tasks;
use crate::codes::ErrorCode;
use crate::dialect::{Inputs, NotAllowed, code_in};
use crate::handle::CallId;
use crate::json::{Raw, member};
use crate::model::InputRequired;
use crate::schema::{Additions, Empty, EncodeError, MetaAdditions, Payload, PayloadWriter, Writer};
use crate::time::Instant;

/// # Working
///
/// What has ended stays as it is: every one of these fails with [`TaskError::Final`] then, and the
/// application need do nothing about that.
impl Tasks {
    /// The work is done: the task ends with this result, which is what the request would have been
    /// answered with. A tool that has failed has a result, too
    /// ([`CallToolResult::error`](crate::model::CallToolResult::error)).
    ///
    /// # Errors
    ///
    /// [`TaskError::Encode`] if the result does not fit the method in the revision of the request that
    /// began the task, or is longer than [`TasksConfig::result_bytes`](super::TasksConfig::result_bytes);
    /// [`TaskError::NotAResult`] if it asks for something.
    pub fn complete<T: Payload + ?Sized>(
        &mut self,
        key: TaskKey,
        result: &T,
        now: Instant,
    ) -> Result<(), TaskError> {
        let record = self.records.becoming(key, Status::Completed)?;
        let text = result_text(record, &result, self.config.result_bytes)?;
        if !self.records.has_room_for(&self.config, text.len()) {
            return Err(TaskError::TooManyBytes);
        }
        self.end(key, State::Completed(text), None, now);
        Ok(())
    }

    /// The work has failed, in a way in which the request would have been answered with an error. The
    /// message tells people why; it becomes that of the task.
    ///
    /// # Errors
    ///
    /// As above, and [`TaskError::NotAllowed`] if the revision has another meaning for the code.
    pub fn fail(
        &mut self,
        key: TaskKey,
        code: ErrorCode,
        message: &str,
        now: Instant,
    ) -> Result<(), TaskError> {
        self.fail_saying(key, code, message, None::<&()>, now)
    }

    /// The same, with something more to say, any JSON.
    ///
    /// # Errors
    ///
    /// [`TaskError::Encode`] if that could not be written, or is longer than
    /// [`TasksConfig::result_bytes`](super::TasksConfig::result_bytes).
    pub fn fail_with<T: Serialize + ?Sized>(
        &mut self,
        key: TaskKey,
        code: ErrorCode,
        message: &str,
        data: &T,
        now: Instant,
    ) -> Result<(), TaskError> {
        self.fail_saying(key, code, message, Some(data), now)
    }

    fn fail_saying<T: Serialize + ?Sized>(
        &mut self,
        key: TaskKey,
        code: ErrorCode,
        message: &str,
        data: Option<&T>,
        now: Instant,
    ) -> Result<(), TaskError> {
        let record = self.records.becoming(key, Status::Failed)?;
        let code = code_in(record.request.revision, code)?;
        let data = data.map(Raw::from_serialize).transpose()?;
        let data = data.map(|data| String::from(data.as_json()));
        if data.as_ref().is_some_and(|data| self.config.result_bytes < data.len()) {
            return Err(EncodeError::Full.into());
        }
        if data.as_ref().is_some_and(|data| !self.records.has_room_for(&self.config, data.len())) {
            return Err(TaskError::TooManyBytes);
        }
        let error = StoredError { code, message: String::from(message), data };
        let message = Some(error.message.clone());
        self.end(key, State::Failed(error), message, now);
        Ok(())
    }

    /// The work has been given up.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn cancel(&mut self, key: TaskKey, now: Instant) -> Result<(), TaskError> {
        self.records.becoming(key, Status::Cancelled)?;
        self.end(key, State::Cancelled, None, now);
        Ok(())
    }

    /// How far the work is, for people.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn set_message(
        &mut self,
        key: TaskKey,
        message: Option<&str>,
        now: Instant,
    ) -> Result<(), TaskError> {
        self.records.going_on(key)?.message = message.map(String::from);
        self.touch(key, now);
        Ok(())
    }

    /// How long to wait between two questions about the task.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn set_poll_interval(
        &mut self,
        key: TaskKey,
        interval: Duration,
        now: Instant,
    ) -> Result<(), TaskError> {
        self.records.going_on(key)?.poll_interval = Some(interval);
        self.touch(key, now);
        Ok(())
    }

    /// The work cannot go on until whoever asked for it has answered something. What that is has keys,
    /// each of which is used once in the life of the task.
    ///
    /// When everything has been answered, [`TaskNews::Input`](super::TaskNews::Input) says so, and
    /// [`TaskView::inputs`](super::TaskView::inputs) has the answers.
    ///
    /// # Errors
    ///
    /// [`TaskError::CancelRequested`] if nobody will answer; [`TaskError::BadInput`] if a key has been used
    /// before, or nothing is asked for; [`TaskError::NotAllowed`] if the request that began the task did
    /// not declare what is asked for, or if a state is given, which tasks do not have.
    pub fn require_input(
        &mut self,
        key: TaskKey,
        required: &InputRequired<'_>,
        now: Instant,
    ) -> Result<(), TaskError> {
        let most = self.config.inputs as usize;
        let record = self.records.going_on(key)?;
        if record.cancel_requested {
            return Err(TaskError::CancelRequested);
        }
        if required.state.is_some() {
            return Err(NotAllowed::Method.into());
        }
        let inputs = Inputs::prepare(required, record.request.revision, |_| None)?;
        let missing = inputs.needs.minus(record.request.capabilities).iter().next();
        if let Some(missing) = missing {
            return Err(NotAllowed::Capability(missing).into());
        }
        let asked: usize = inputs.requests.iter().map(|one| one.key.len() + one.params.len()).sum();
        let known = record.inputs.used_keys.len() + record.inputs.wanted.len();
        let is_used = |key: &str| {
            record.inputs.used_keys.iter().any(|used| used == key)
                || record.inputs.wanted.iter().any(|wanted| wanted.key == key)
        };
        let is_too_much = most < known.saturating_add(inputs.requests.len());
        if inputs.requests.is_empty()
            || is_too_much
            || inputs.requests.iter().any(|one| is_used(one.key))
        {
            return Err(TaskError::BadInput);
        }
        if !self.records.has_room_for(&self.config, asked) {
            return Err(TaskError::TooManyBytes);
        }
        let record = self.records.going_on(key)?;
        // What was asked for before has had its day, once all of it has been answered: until then nobody has
        // been told of any answer.
        if !record.inputs.wanted.iter().any(Wanted::is_open) {
            record.inputs.used_keys.extend(record.inputs.wanted.drain(..).map(|wanted| wanted.key));
        }
        record.inputs.wanted.extend(inputs.requests.into_iter().map(|one| Wanted {
            key: String::from(one.key),
            kind: one.kind,
            params: one.params,
            progress: Asking::Waits,
        }));
        record.state = State::InputRequired;
        self.touch(key, now);
        Ok(())
    }

    /// What was said of the work while it went on is not true any more.
    fn end(&mut self, key: TaskKey, state: State, message: Option<String>, now: Instant) {
        let Some(record) = self.records.get_mut(key) else { return };
        record.state = state;
        record.message = message;
        record.updated = record.updated.max(now);
        self.mail.ended(key, record);
        self.records.count_again(key);
    }

    fn touch(&mut self, key: TaskKey, now: Instant) {
        let Some(record) = self.records.get_mut(key) else { return };
        record.updated = record.updated.max(now);
        self.mail.changed(key, record);
        self.records.count_again(key);
    }
}

/// Which of the things that a task asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which<'k> {
    /// The one with this key.
    Key(&'k str),
    /// The one that was asked by this call.
    Call(CallId),
}

/// What comes of what a task has asked for.
impl Tasks {
    /// Somebody has answered something, or with `None` will not. Says whether the task can go on.
    pub(crate) fn give(
        &mut self,
        key: TaskKey,
        which: Which<'_>,
        answer: Option<&str>,
        now: Instant,
    ) -> bool {
        let answer = answer.filter(|answer| self.records.has_room_for(&self.config, answer.len()));
        let Ok(record) = self.records.going_on(key) else { return false };
        let is_it = |wanted: &&mut Wanted| match which {
            Which::Key(key) => wanted.is_open() && wanted.key == key,
            Which::Call(call) => wanted.progress == Asking::Asked(call),
        };
        let Some(wanted) = record.inputs.wanted.iter_mut().find(is_it) else { return false };
        let given = match answer {
            Some(answer) => Asking::Answered(String::from(answer)),
            None => Asking::Refused,
        };
        let before = core::mem::replace(&mut wanted.progress, given);
        let can_go_on = !record.inputs.wanted.iter().any(Wanted::is_open);
        if can_go_on {
            record.state = State::Working;
        }
        if let (Asking::Asked(call), Which::Key(_)) = (before, which) {
            self.mail.dismiss(call);
        }
        if can_go_on {
            self.touch(key, now);
        } else {
            self.records.count_again(key);
        }
        can_go_on
    }

    /// The connection ended before what a task asks for was answered: it is asked again on the next one.
    pub(crate) fn unanswered(&mut self, key: TaskKey, call: CallId) {
        let Some(record) = self.records.get_mut(key) else { return };
        let is_it = |wanted: &&mut Wanted| wanted.progress == Asking::Asked(call);
        if let Some(wanted) = record.inputs.wanted.iter_mut().find(is_it) {
            wanted.progress = Asking::Waits;
            self.mail.asks(key, record);
        }
    }

    /// Requests the cancellation of a task. Returns whether it was cancelled at once.
    pub(crate) fn request_cancellation(
        &mut self,
        key: TaskKey,
        at_once: bool,
        now: Instant,
    ) -> bool {
        let Ok(record) = self.records.going_on(key) else { return false };
        record.cancel_requested = true;
        if at_once {
            self.end(key, State::Cancelled, None, now);
        }
        at_once
    }
}

/// The result of a task as its peer gets it.
fn result_text(record: &Record, result: &dyn Payload, most: usize) -> Result<String, TaskError> {
    let form = Some(record.request.kind.rule().result(record.request.revision));
    let members: &[_] = match record.request.revision.rules().stamps_results {
        true => &[("resultType", "\"complete\"")],
        false => &[],
    };
    // Whether it belongs to a task is for whoever shows it to say.
    let meta = MetaAdditions { reserved: &[RELATED], ..MetaAdditions::NONE };
    let additions = Additions { members, defaults: &[], meta };
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, most);
    result.write(PayloadWriter::new(&mut writer, "", Empty::Braces, &additions, form))?;
    let text = String::from_utf8(buffer).map_err(|_| EncodeError::Payload)?;
    record.request.kept.check_result(record.request.kind, &text).map_err(EncodeError::from)?;
    let asks = ["inputRequests", "requestState"].iter().any(|name| member(&text, name).is_some());
    if asks { Err(TaskError::NotAResult) } else { Ok(text) }
}
