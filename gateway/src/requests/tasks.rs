//! Tool calls of clients that want tasks. The gateway runs the tasks itself, so that both eras have the same ones, whatever
//! the server supports: the work of a task is the call at the server.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use mcp_sansio::call::TaskOptions;
use mcp_sansio::capability::CapabilitySet;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::event::Notification;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, InputRequest, InputRequired};
use mcp_sansio::task::TaskError;
use mcp_sansio::{Era, ErrorCode, RespondError, Server};
use mcp_sansio_tokio::{CallFailure, Exchange, Handle, Reply, TaskHandle, new_task};
use tokio::time::Instant;

use super::call::{Call, Question, Step, in_words, report};
use super::follow::Followed;
use super::params;
use super::parking::Questions;
use super::responses::{missing_capabilities, refuse, unfollowed};
use super::routes::{Destination, granted};
use crate::gateway::Gateway;
use crate::upstream::Counters;
use crate::upstream::table::FromServer;

/// How often a client should ask for the state of a task.
const POLL: Duration = Duration::from_millis(1_000);

/// How long a client has to process the response that names its task, before a request about the task follows. The task
/// client of the TypeScript SDK refuses a request that it reads together with that response.
const KNOWN: Duration = Duration::from_millis(100);

/// How long a server may take to cancel its task, before the gateway gives the call up.
const CANCELLING: Duration = Duration::from_secs(5);

impl Gateway {
    /// Serves a tool call whose client can follow a task.
    pub(super) async fn forward_as_task(
        &self,
        exchange: Exchange,
        destination: Destination,
        state: Option<String>,
    ) -> Result<(), RespondError> {
        let Destination { upstream, name, .. } = destination;
        let at_server = (name.as_deref(), state.as_deref());
        // A client that waits for a task of its own counts with its request as long as there is no place for the call.
        let entered = tokio::select! {
            biased;
            () = exchange.cancelled() => return Err(RespondError::Cancelled),
            entered = self.enter(&exchange, &upstream) => entered,
        };
        let entered = match entered {
            Ok(entered) => entered,
            Err(problem) => return exchange.reject(ErrorCode::INTERNAL_ERROR, &problem),
        };
        if exchange.request().context.era() == Era::Legacy {
            // The client has asked for a task, and gets it at once.
            let Some(task) = begin(&exchange)? else { return Ok(()) };
            let options = TaskOptions::new();
            let made = tokio::select! {
                biased;
                () = task.cancelled() => return Ok(_ = task.cancel()),
                made = self.call(&exchange, entered, at_server, options) => made,
            };
            match made {
                Ok(mut call) => {
                    if !call.link.has_session() {
                        // The server may end the call, and require input for another one.
                        let (name, state) = at_server;
                        let params = params::for_server(exchange.request(), name, state, false);
                        call.keep(params, name, granted(&exchange));
                    }
                    let client = TaskClient::of(self, &exchange, &task);
                    tokio::spawn(work(self.clone(), (task, client), call));
                }
                Err(problem) => _ = task.fail(ErrorCode::INTERNAL_ERROR, &problem),
            }
            return Ok(());
        }
        // The server decides whether it is a task.
        let options = TaskOptions::new().by_hand();
        let made = tokio::select! {
            biased;
            () = exchange.cancelled() => return Err(RespondError::Cancelled),
            made = self.call(&exchange, entered, at_server, options) => made,
        };
        let call = match made {
            Ok(call) => call,
            Err(problem) => return exchange.reject(ErrorCode::INTERNAL_ERROR, &problem),
        };
        match self.follow(&exchange, call, Questions::default()).await {
            Followed::Task(call) => become_task(self, &exchange, *call),
            Followed::Responded(responded) => responded,
            Followed::NotSent => unfollowed(&exchange),
            Followed::NotThere(error) => refuse(&exchange, &error),
            Followed::Failed(problem) => exchange.reject(ErrorCode::INTERNAL_ERROR, &problem),
        }
    }
}

/// Responds with a task whose work is a call that has become a task at its server.
pub(super) fn become_task(
    gateway: &Gateway,
    exchange: &Exchange,
    call: Call,
) -> Result<(), RespondError> {
    if let Some(task) = begin(exchange)? {
        let client = TaskClient::of(gateway, exchange, &task);
        tokio::spawn(work(gateway.clone(), (task, client), call));
    }
    Ok(())
}

/// Responds with a new task; `None` if that was not possible.
fn begin(exchange: &Exchange) -> Result<Option<TaskHandle>, RespondError> {
    let new = match new_task() {
        Ok(new) => new.poll_interval(POLL),
        Err(error) => {
            exchange.reject(ErrorCode::INTERNAL_ERROR, &error.to_string())?;
            return Ok(None);
        }
    };
    match exchange.begin_task(new) {
        Ok(task) => Ok(Some(task)),
        Err(error) => {
            exchange.reject(ErrorCode::INTERNAL_ERROR, &error.to_string())?;
            Ok(None)
        }
    }
}

/// The client of a task.
struct TaskClient {
    /// The session in which the client gets notifications, and the id of the task there. In the modern era a task has
    /// none.
    session: Option<(Handle<Server>, String)>,
    capabilities: CapabilitySet,
}

impl TaskClient {
    fn of(gateway: &Gateway, exchange: &Exchange, task: &TaskHandle) -> Self {
        let context = &exchange.request().context;
        let id = gateway.task_id(task).filter(|_| context.era() == Era::Legacy);
        let session = id.map(|id| (exchange.handle().clone(), id));
        Self { session, capabilities: context.capabilities }
    }

    /// Passes a notification of the server on. The session may have ended.
    fn notify(&self, notification: &Notification<'_>) {
        if let Some((session, task)) = &self.session {
            let params = params::of_notification(notification, Some(task));
            _ = session.notify_method(&notification.method.to_str(), &params);
        }
    }
}

type Answers<'t> = Pin<Box<dyn Future<Output = Result<Raw<'static>, TaskError>> + Send + 't>>;

/// Follows a call until its end, which is that of the task. It runs apart from the handler of the request, which has its
/// response.
async fn work(gateway: Gateway, (task, client): (TaskHandle, TaskClient), mut call: Call) {
    let known = Instant::now() + KNOWN;
    let mut questions = Questions::default();
    // The answers that the client still owes.
    let mut answers: Option<(Answers<'_>, Question)> = None;
    let mut rounds = 0;
    loop {
        let answered = async {
            match &mut answers {
                Some((answers, _)) => answers.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = task.cancelled() => {
                questions.refuse("the client has cancelled its task");
                drop(answers);
                return cancel((&task, &client), call).await;
            }
            answered = answered => {
                answers = None;
                give(&mut questions, answered);
            }
            // The client is no longer asked. If that was the last question, the answers are complete.
            key = questions.withdrawn() => {
                _ = task.withdraw_input(&key);
            }
            step = call.next() => match step {
                Step::Progress(update) => {
                    let message = update.message.as_ref().map(|message| message.to_str());
                    _ = task.progress(report(&update, message.as_deref()));
                    if let Some(message) = &message {
                        _ = task.set_message(message);
                    }
                }
                Step::Message(FromServer::Notification(notification)) => {
                    client.notify(&notification);
                }
                Step::Message(FromServer::Request(question)) => {
                    questions.add(question);
                    tokio::time::sleep_until(known).await;
                    match task.require_more_input(&questions.not_required_before()) {
                        Ok((earlier, inputs)) => {
                            if let Some(given) = earlier.filter(|_| answers.is_some()) {
                                // The client has answered at the same moment.
                                questions.settle_earlier(1, |key| answer_of(&given, key));
                            }
                            answers = Some((Box::pin(inputs), call.question()));
                        }
                        // The answers to earlier questions are still awaited.
                        Err(error) => {
                            questions.refuse_last(1, &format!("the client cannot be asked: {error}"));
                        }
                    }
                }
                Step::Ended(Err(CallFailure::InputRequired(needed))) => {
                    rounds += 1;
                    if !repeat(&gateway, &task, (&mut call, &needed), rounds).await {
                        // The task has failed, or its client has cancelled it.
                        _ = task.cancel();
                        return;
                    }
                }
                Step::Ended(outcome) => return end((&task, &client), &call, outcome),
            }
        }
    }
}

/// Gives the answers of the client of a task to the server.
fn give(questions: &mut Questions, answered: Result<Raw<'static>, TaskError>) {
    match answered {
        Ok(given) => {
            questions.settle_earlier(0, |key| answer_of(&given, key));
        }
        Err(_) => questions.refuse("the task has ended"),
    }
}

fn answer_of(given: &Raw<'_>, key: &str) -> Option<Raw<'static>> {
    given.get(key).map(Raw::into_owned)
}

/// Makes a call again with the input that a modern server requires, in its round. Returns whether the task goes on.
async fn repeat(
    gateway: &Gateway,
    task: &TaskHandle,
    (call, needed): (&mut Call, &Raw<'_>),
    round: u32,
) -> bool {
    // Nothing happens at the server meanwhile.
    call.pause();
    let repeated = match call.kept() {
        // Without the params, the input would be of no use.
        Err(problem) => Err(problem),
        Ok(_) => {
            let Some(inputs) = input_of_task(task, needed, round).await else { return false };
            tokio::select! {
                biased;
                () = task.cancelled() => return false,
                repeated = call.repeat(gateway, inputs, needed) => repeated,
            }
        }
    };
    if let Err(problem) = &repeated {
        Counters::add(&call.upstream.counters.failed);
        _ = task.fail(ErrorCode::INTERNAL_ERROR, problem);
    }
    repeated.is_ok()
}

/// How many times a server may require input for a task.
const MOST_ROUNDS: u32 = 32;

/// Asks the client of a task for the input that a modern server requires before it goes on with the call. `None` if the task
/// is over: it was cancelled, or its client cannot be asked.
async fn input_of_task(task: &TaskHandle, needed: &Raw<'_>, round: u32) -> Option<Raw<'static>> {
    if MOST_ROUNDS < round {
        let message = "the server requires input too many times";
        _ = task.fail(ErrorCode::INTERNAL_ERROR, message);
        return None;
    }
    let requests = needed.get("inputRequests");
    let mut required = InputRequired::new();
    let mut keys = Vec::new();
    for (key, request) in requests.iter().flat_map(Raw::members) {
        // A task uses a key once, and a server may use it again.
        let unique = format!("{round}-{}", key.to_str());
        required = required.request(unique.clone(), InputRequest::Unknown(request.into_owned()));
        keys.push((key.to_str().into_owned(), unique));
    }
    if keys.is_empty() {
        // The server only wants to be asked later.
        tokio::select! {
            () = task.cancelled() => return None,
            () = tokio::time::sleep(POLL) => return Some(Raw::EMPTY_OBJECT),
        }
    }
    let given = match task.require_input(&required) {
        Ok(inputs) => inputs.await.ok()?,
        Err(error) => {
            let message =
                format!("the client cannot be asked for the input of the server: {error}");
            _ = task.fail(ErrorCode::INTERNAL_ERROR, &message);
            return None;
        }
    };
    let answer = |(key, unique): &(String, String)| Some((key.clone(), given.get(unique)?));
    let answers: BTreeMap<String, Raw<'_>> = keys.iter().filter_map(answer).collect();
    Raw::from_serialize(&answers).ok()
}

/// Cancels a call whose task was cancelled. If the server has made a task of it, that is cancelled, too.
async fn cancel((task, client): (&TaskHandle, &TaskClient), mut call: Call) {
    if !call.cancel_task() {
        // The call is no task there, and is cancelled when it is dropped.
        _ = task.cancel();
        return;
    }
    let ended = async {
        loop {
            if let Step::Ended(outcome) = call.next().await {
                return outcome;
            }
        }
    };
    let ended = tokio::time::timeout(CANCELLING, ended).await;
    match ended {
        // It was too late to cancel it.
        Ok(outcome @ Ok(_)) => end((task, client), &call, outcome),
        Ok(Err(_)) | Err(_) => _ = task.cancel(),
    }
}

/// Fails a task with the error of a server, as far as possible: the revision of the client may reserve the code, and
/// there may be no room for the data.
fn fail(task: &TaskHandle, error: &ErrorObject<'_>) -> Result<(), TaskError> {
    let (mut code, message) = (error.code, error.message.to_str());
    let fail = |code, data: Option<&Raw<'_>>| match data {
        Some(data) => task.fail_with(code, &message, data),
        None => task.fail(code, &message),
    };
    let mut failed = fail(code, error.data.as_ref());
    if let Err(TaskError::NotAllowed(_)) = failed {
        code = ErrorCode::INTERNAL_ERROR;
        failed = fail(code, error.data.as_ref());
    }
    match failed {
        Err(TaskError::Encode(_) | TaskError::TooManyBytes) => fail(code, None),
        failed => failed,
    }
}

/// Ends a task with the outcome of its call.
fn end(
    (task, client): (&TaskHandle, &TaskClient),
    call: &Call,
    outcome: Result<Reply, CallFailure>,
) {
    let counters = &call.upstream.counters;
    // The task may have ended in the meantime: it has expired, for example.
    _ = match outcome {
        Ok(reply) => {
            Counters::add(&counters.answered);
            let result = reply.raw().edited(&[("resultType", None)]);
            task.complete(&result).or_else(|error| match error {
                TaskError::Encode(_) | TaskError::NotAResult | TaskError::TooManyBytes => {
                    let name = &call.upstream.config.name;
                    let message =
                        format!("the server {name}: its result cannot be passed on: {error}");
                    task.fail(ErrorCode::INTERNAL_ERROR, &message)
                }
                error => Err(error),
            })
        }
        Err(CallFailure::PeerError(error)) => {
            Counters::add(&counters.answered);
            match missing_capabilities(&error).filter(|_| client.session.is_some()) {
                // Sessions do not know the code. As without a task, the model gets the reason.
                Some(missing) => {
                    let missing = missing.minus(client.capabilities).iter();
                    let names: Vec<_> = missing.map(|one| one.to_string()).collect();
                    let text = format!("{}: {}", error.message.to_str(), names.join(", "));
                    task.complete(&CallToolResult::error(text))
                }
                None => fail(task, &error),
            }
        }
        Err(CallFailure::TaskCancelled) => task.cancel(),
        Err(failure) => {
            Counters::add(&counters.failed);
            call.upstream.problem(&failure.to_string());
            task.fail(ErrorCode::INTERNAL_ERROR, &in_words(&call.upstream, &failure))
        }
    };
}
