//! The commands with which the application reports the work of its tasks.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::ser::Serialize;

use super::RELATED;
use super::config::TasksConfig;
use super::error::TaskError;
use super::key::TaskKey;
use super::record::{Asking, INPUT_BYTES, Record, State, StoredError, StoredResult, Wanted};
use super::records::Records;
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
/// A task that has ended does not change. All these commands then fail with [`TaskError::Final`], and the application
/// may ignore that error.
impl Tasks {
    /// Completes a task with the result that the request would have had. A tool that has failed has a result, too
    /// ([`CallToolResult::error`](crate::model::CallToolResult::error)).
    ///
    /// # Errors
    ///
    /// [`TaskError::Encode`] if the result does not fit the method in the revision of the request that began the
    /// task, or is longer than [`TasksConfig::result_bytes`](super::TasksConfig::result_bytes);
    /// [`TaskError::NotAResult`] if the result asks for input; [`TaskError::TooManyBytes`] if the result would exceed
    /// [`TasksConfig::bytes`](super::TasksConfig::bytes); [`TaskError::Unknown`] or [`TaskError::Final`].
    pub fn complete<T: Payload + ?Sized>(
        &mut self,
        key: TaskKey,
        result: &T,
        now: Instant,
    ) -> Result<(), TaskError> {
        let record = self.records.becoming(key, Status::Completed)?;
        let text = result_text(record, &result, self.config.result_bytes)?;
        let result = StoredResult::new(record.request.kind, text);
        if !self.records.has_room_for(&self.config, result.bytes()) {
            return Err(TaskError::TooManyBytes);
        }
        self.end(key, State::Completed(result), now);
        Ok(())
    }

    /// Fails a task with the error that the request would have had. The message explains the error to people, and
    /// becomes the message of the task. A message beyond [`TasksConfig::result_bytes`](super::TasksConfig::result_bytes),
    /// or beyond the bytes that are left of [`TasksConfig::bytes`](super::TasksConfig::bytes), is cut. 200 bytes always
    /// have room, so that a task can fail at any time.
    ///
    /// # Errors
    ///
    /// [`TaskError::Unknown`] or [`TaskError::Final`]; [`TaskError::NotAllowed`] if the revision reserves the code.
    pub fn fail(
        &mut self,
        key: TaskKey,
        code: ErrorCode,
        message: &str,
        now: Instant,
    ) -> Result<(), TaskError> {
        let error = self.records.failure(&self.config, key, (code, message), None::<&()>)?;
        self.end(key, State::Failed(error), now);
        Ok(())
    }

    /// Fails a task with additional data, any JSON.
    ///
    /// # Errors
    ///
    /// As for [`fail`](Self::fail), and [`TaskError::Encode`] if the data could not be written, or is longer than
    /// [`TasksConfig::result_bytes`](super::TasksConfig::result_bytes); [`TaskError::TooManyBytes`] if the data would
    /// exceed [`TasksConfig::bytes`](super::TasksConfig::bytes).
    pub fn fail_with<T: Serialize + ?Sized>(
        &mut self,
        key: TaskKey,
        code: ErrorCode,
        message: &str,
        data: &T,
        now: Instant,
    ) -> Result<(), TaskError> {
        let error = self.records.failure(&self.config, key, (code, message), Some(data))?;
        self.end(key, State::Failed(error), now);
        Ok(())
    }

    /// Cancels a task: its work has been given up.
    ///
    /// # Errors
    ///
    /// [`TaskError::Unknown`] or [`TaskError::Final`].
    pub fn cancel(&mut self, key: TaskKey, now: Instant) -> Result<(), TaskError> {
        self.records.becoming(key, Status::Cancelled)?;
        self.end(key, State::Cancelled, now);
        Ok(())
    }

    /// Sets the message of a task: its progress, for people.
    ///
    /// # Errors
    ///
    /// As for [`cancel`](Self::cancel), and [`TaskError::TooManyBytes`] if the message would exceed
    /// [`TasksConfig::bytes`](super::TasksConfig::bytes).
    pub fn set_message(
        &mut self,
        key: TaskKey,
        message: Option<&str>,
        now: Instant,
    ) -> Result<(), TaskError> {
        let before = self.records.going_on(key)?.message.as_ref().map_or(0, String::len);
        let more = message.map_or(0, str::len).saturating_sub(before);
        if !self.records.has_room_for(&self.config, more) {
            return Err(TaskError::TooManyBytes);
        }
        self.records.going_on(key)?.message = message.map(String::from);
        self.touch(key, now);
        Ok(())
    }

    /// Sets the recommended time between two polls of the task.
    ///
    /// # Errors
    ///
    /// As for [`cancel`](Self::cancel).
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

    /// Suspends a task until its requestor has answered the required input. Each input has a key that is used once in
    /// the life of the task.
    ///
    /// When all input has been answered, the application receives [`TaskNews::Input`](super::TaskNews::Input), and
    /// [`TaskView::inputs`](super::TaskView::inputs) has the responses.
    ///
    /// # Errors
    ///
    /// [`TaskError::CancelRequested`] if the requestor has asked to cancel the task; [`TaskError::BadInput`] if a key
    /// has been used before, the task would exceed [`TasksConfig::inputs`](super::TasksConfig::inputs), or no input is
    /// required; [`TaskError::NotAllowed`] if the request that began the task did not declare the capability for the
    /// input, or if a state is given, which tasks do not have; [`TaskError::TooManyBytes`] if the required input would
    /// exceed [`TasksConfig::bytes`](super::TasksConfig::bytes).
    pub fn require_input(
        &mut self,
        key: TaskKey,
        required: &InputRequired<'_>,
        now: Instant,
    ) -> Result<(), TaskError> {
        let most = self.config.inputs as usize;
        let record = self.records.going_on(key)?;
        if record.work.cancel_requested {
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
        let texts = inputs.requests.iter().map(|one| one.key.len() + one.params.len());
        let asked: usize = texts.map(|bytes| bytes + INPUT_BYTES).sum();
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
        // The previous keys are retired only once all of them are settled: until then the application has received
        // none of the responses.
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

    /// Withdraws required input that the work no longer needs. The requestor is no longer asked for it, a request under
    /// way in a session is cancelled, and an answer that still arrives is ignored. If no other input is required, the
    /// task goes on. [`TaskNews::Input`](super::TaskNews::Input) does not follow.
    ///
    /// Returns whether the input was still required: `false` if it has been answered or refused, or if no input has
    /// this key.
    ///
    /// # Errors
    ///
    /// As for [`cancel`](Self::cancel).
    pub fn withdraw_input(
        &mut self,
        key: TaskKey,
        input: &str,
        now: Instant,
    ) -> Result<bool, TaskError> {
        let wanted = &self.records.going_on(key)?.inputs.wanted;
        let is_open = wanted.iter().any(|wanted| wanted.is_open() && wanted.key == input);
        if is_open && !self.give(key, Which::Key(input), None, now) {
            // The task shows the other input only.
            self.touch(key, now);
        }
        Ok(is_open)
    }

    /// Ends a task. Its message describes work in progress, so it is removed.
    fn end(&mut self, key: TaskKey, state: State, now: Instant) {
        let Some(record) = self.records.get_mut(key) else { return };
        record.state = state;
        record.message = None;
        record.work.checkpoint = None;
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

/// Selects one input of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which<'k> {
    /// The input with this key.
    Key(&'k str),
    /// The input that this call has asked for.
    Call(CallId),
}

/// # Responses to required input
impl Tasks {
    /// Stores the response to an input, or its refusal with `None`. Returns whether the task can continue.
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

    /// Marks an input as unasked, because the connection ended before the response. It is asked for again on the next
    /// connection.
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
        record.work.cancel_requested = true;
        if at_once {
            self.end(key, State::Cancelled, now);
        } else {
            self.records.count_again(key);
        }
        at_once
    }
}

/// The length of an error message that is stored in any case.
const SHORT_MESSAGE: usize = 200;

impl Records {
    /// Returns the error that a task is about to fail with, within the limits.
    fn failure<T: Serialize + ?Sized>(
        &self,
        config: &TasksConfig,
        key: TaskKey,
        (code, message): (ErrorCode, &str),
        data: Option<&T>,
    ) -> Result<StoredError, TaskError> {
        let record = self.becoming(key, Status::Failed)?;
        let code = code_in(record.request.revision, code)?;
        let data = data.map(Raw::from_serialize).transpose()?;
        let data = data.map(|data| String::from(data.as_json()));
        let length = data.as_ref().map_or(0, String::len);
        if config.result_bytes < length {
            return Err(EncodeError::Full.into());
        }
        if data.is_some() && !self.has_room_for(config, length) {
            return Err(TaskError::TooManyBytes);
        }
        let room = self.room(config).saturating_sub(length);
        let most = room.min(config.result_bytes).max(SHORT_MESSAGE);
        Ok(StoredError { code, message: String::from(cut(message, most)), data })
    }
}

/// Cuts a text to at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Returns the result of a task as the peer receives it.
fn result_text(record: &Record, result: &dyn Payload, most: usize) -> Result<String, TaskError> {
    let form = Some(record.request.kind.rule().result(record.request.revision));
    let members: &[_] = match record.request.revision.rules().stamps_results {
        true => &[("resultType", "\"complete\"")],
        false => &[],
    };
    // The metadata that relates a result to a task is added when the result is sent.
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
