//! A session with the inspected server.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcp_sansio::call::{Paging, TaskOptions, Timeout, ToolTasks};
use mcp_sansio::event::Connected;
use mcp_sansio::model::method::{Method, PagedMethod};
use mcp_sansio::model::{
    CallToolParams, CallToolResult, ElicitationCapability, ElicitationRequired, ListChanged,
    LoggingLevel, SamplingCapability, SetLevelParams, SubscriptionFilter, method,
};
use mcp_sansio::{CallOptions, ClientConfig, Era, ErrorCode, Phase, Revision, RevisionSet};
use mcp_sansio_std::{
    CallFailure, Connection, ConnectionOptions, OpenError, ProcessOptions, Reply, Waiting, connect,
    spawn_with,
};

use mcp_sansio_http::Authorization;

use crate::BuiltInServer;
use crate::answers::{Answers, ServerOutput};
use crate::arguments::Arguments;
use crate::ending::Ending;
use crate::http::{self, Background};
use crate::login;
use crate::patience::Patience;
use crate::say::{self, say, show_progress};
use crate::target::Target;

pub(crate) struct Session {
    connection: Connection,
    timeout: Duration,
    /// Whether tools are called as tasks.
    as_tasks: bool,
    ending: Arc<Ending>,
    /// The login to a server over HTTP.
    authorization: Option<Authorization>,
    /// The runtime of a connection over HTTP.
    runtime: Option<Background>,
}

impl Session {
    /// Starts the server, or the built-in one, and connects to it.
    pub(crate) fn open(
        arguments: &Arguments,
        (target, built_in): (&Target, Option<BuiltInServer>),
        ending: Arc<Ending>,
    ) -> Result<Self, String> {
        let config = config(arguments);
        let server_output = Arc::new(ServerOutput::default());
        let answers = Answers::new(arguments, Arc::clone(&server_output), Arc::clone(&ending));
        let _patience = Patience::with(opening(arguments.revision));
        let connection = match target {
            Target::Url { url, headers } => {
                let login = arguments.login.authorization(url, headers)?;
                let opened = http::connect(config, (url, headers), login, &ending, answers)?;
                let session = Self::with(opened.connection, arguments, ending);
                let (authorization, runtime) = (opened.authorization, Some(opened.runtime));
                return Ok(Self { authorization, runtime, ..session });
            }
            Target::BuiltIn => {
                // The command line was checked for this.
                let built_in = built_in.ok_or("there is no server to inspect")?;
                connect_to(built_in, config, answers).map_err(|error| error.to_string())?
            }
            Target::Program(program) => {
                let mut options = ProcessOptions::default();
                options.own_group = !arguments.foreground;
                let options =
                    ConnectionOptions::new().process(options).kill_switch(ending.kill_switch());
                let name = program.program.to_string_lossy();
                spawn_with(config, &options, program.command(), answers)
                    .map_err(|error| explain(&error, &name, &server_output))?
            }
        };
        Ok(Self::with(connection, arguments, ending))
    }

    const fn with(connection: Connection, arguments: &Arguments, ending: Arc<Ending>) -> Self {
        let (timeout, as_tasks) = (arguments.timeout, arguments.task);
        let (authorization, runtime) = (None, None);
        Self { connection, timeout, as_tasks, ending, authorization, runtime }
    }

    /// Returns the server's description of itself.
    pub(crate) const fn connected(&self) -> &Connected<'static> {
        self.connection.connected()
    }

    /// Calls a method, and prints its progress.
    fn call_with<M: Method>(
        &self,
        params: &M::Params<'_>,
        options: CallOptions,
    ) -> Result<Reply, CallFailure> {
        let method = M::NAME;
        let mut patience = Some(Patience::with(&format!("`{method}`")));
        self.wait_for(|| {
            let handle = self.connection.handle();
            let mut pending = handle.call_method(method, params, options.progress());
            async move {
                while let Some(update) = pending.progress().next().await {
                    drop(patience.take());
                    let total = update.total.map(|total| format!(" of {total}"));
                    let message = update.message.map(|text| format!(": {text}"));
                    let [total, message] = [total, message].map(Option::unwrap_or_default);
                    show_progress!("{method}: {}{total}{message}", update.progress);
                }
                let outcome = pending.await;
                say::end_progress();
                outcome
            }
        })
    }

    /// Sends a request and waits for its response, unless the program is interrupted.
    fn wait_for<T, F>(&self, ask: impl FnOnce() -> F) -> Result<T, CallFailure>
    where
        F: Future<Output = Result<T, CallFailure>> + Send,
    {
        self.ending.unless_interrupted(ask).unwrap_or_else(|| {
            // Otherwise the login would go on, and the next request would wait for it without a word to the user.
            self.authorization.iter().for_each(Authorization::abandon);
            Err(CallFailure::Cancelled)
        })
    }

    /// Calls a method with the default options. A failure is described in words.
    pub(crate) fn ask<M: Method>(&self, params: &M::Params<'_>) -> Result<Reply, String> {
        self.ask_with::<M>(params, self.options())
    }

    /// As [`ask`](Self::ask), with other options.
    pub(crate) fn ask_with<M: Method>(
        &self,
        params: &M::Params<'_>,
        options: CallOptions,
    ) -> Result<Reply, String> {
        self.call_with::<M>(params, options).map_err(|failure| failed(M::NAME, &failure))
    }

    /// Calls a method and prints nothing. The call is cancelled after `patience`, and fails if it needs a login.
    pub(crate) fn ask_quietly<M: Method>(
        &self,
        params: &M::Params<'_>,
        patience: Duration,
    ) -> Result<Reply, CallFailure> {
        let _without_login = login::without_login();
        let call = self.connection.handle().call_method(M::NAME, params, CallOptions::new());
        // A timeout of the call is not enough: it stops while a login waits for the user.
        call.wait_timeout(patience).unwrap_or_else(|call| {
            drop(call);
            self.authorization.iter().for_each(Authorization::abandon);
            Err(CallFailure::Cancelled)
        })
    }

    /// Calls a tool from any thread, and prints nothing. A result that reports an error is a failure.
    pub(crate) fn call_tool_quietly(
        &self,
        params: &CallToolParams<'_>,
        options: CallOptions,
    ) -> Result<(), String> {
        let call = self.connection.handle().call_method(method::CallTool::NAME, params, options);
        let reply = Waiting::new(call).wait().map_err(|failure| failure.to_string())?;
        match reply.parse_as::<CallToolResult<'_>>() {
            Ok(result) if result.failed() => Err("the tool failed".into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the options for the call of a tool: as a task if the user wants that, and the tool supports or requires
    /// it.
    pub(crate) fn tool_options(&self, name: &str) -> Result<CallOptions, String> {
        let Connected { revision, capabilities, .. } = self.connected();
        if !self.as_tasks {
            return Ok(self.options());
        }
        let mut tools = ToolTasks::default();
        // In the modern era the server decides.
        if revision.era() == Era::Legacy {
            let listed = self.list::<method::ListTools>();
            let (pages, cut) = listed.map_err(|error| error.to_string())?;
            cut.into_iter().for_each(|cut| say!("{cut}"));
            pages.iter().for_each(|page| tools.page(page.raw()));
            tools.finish();
        }
        let wish = Some(TaskOptions::new());
        let options = tools.options(name, *revision, *capabilities, wish).or_else(|_| {
            say!("{name} does not run as a task");
            tools.options(name, *revision, *capabilities, None)
        });
        let options = options.map_err(|error| error.to_string())?;
        Ok(options.idle(Timeout::After(self.timeout)).total(Timeout::Never))
    }

    /// Returns all pages of a list, and the reason why it is not whole.
    pub(crate) fn list<M: PagedMethod>(&self) -> Result<(Vec<Reply>, Option<String>), CallFailure> {
        let patience = Patience::with(&format!("`{}`", M::NAME));
        let handle = self.connection.handle();
        let pages = self.wait_for(|| handle.list::<M>(Paging::default(), self.options()))?;
        drop(patience);
        if pages.stale {
            say!("{}: the list has changed meanwhile", M::NAME);
        }
        let cut = pages.cut.map(|stop| format!("{}: the list is not whole: {stop}", M::NAME));
        Ok((pages.pages.into_iter().map(Reply::by_name).collect(), cut))
    }

    /// Requests log messages of this level and above. In the modern era every request contains the level.
    pub(crate) fn set_level(&self, level: LoggingLevel) -> Result<(), String> {
        if self.is_modern() {
            return Ok(());
        }
        self.ask::<method::SetLevel>(&SetLevelParams::new(level)).map(|_| ())
    }

    /// Whether the connection is of the modern era, without a session.
    pub(crate) fn is_modern(&self) -> bool {
        self.connected().revision.era() == Era::Modern
    }

    /// Subscribes to changes, in the modern era.
    pub(crate) fn subscribe(&self, filter: &SubscriptionFilter<'_>) -> Result<(), String> {
        let subscribed = self.connection.handle().subscribe(filter);
        subscribed.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Whether the session has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.connection.handle().phase() == Phase::Closed
    }

    /// Reads a command of the user. An interrupt in the meantime ends the program. `None` if a signal has ended it
    /// before.
    pub(crate) fn while_reading<T>(&self, read: impl FnOnce() -> T) -> Option<T> {
        self.ending.while_reading(read)
    }

    /// Waits until the session, or all that is watched, has ended, at most for `patience`.
    pub(crate) fn wait(&self, patience: Option<Duration>) {
        self.ending.wait(patience);
    }

    /// Describes the end of the server, if it has ended by itself.
    pub(crate) fn fate(&mut self) -> String {
        if self.ending.was_interrupted() {
            return String::new();
        }
        match self.connection.exit_status().wait() {
            Some(status) => format!("\nThe server has ended ({status})."),
            None => String::new(),
        }
    }

    pub(crate) fn close(self, grace: Duration) {
        // The output is complete; the exit status of the server does not matter.
        _ = self.connection.close(grace).wait();
        if let (Some(authorization), Some(runtime)) = (&self.authorization, &self.runtime) {
            runtime.settle(authorization, &self.ending);
        }
    }

    /// Calls time out only without progress.
    fn options(&self) -> CallOptions {
        CallOptions::new().idle(Timeout::After(self.timeout)).total(Timeout::Never)
    }
}

/// How long the client waits for `server/discover` without `--start-timeout`, before it sends `initialize`: servers that
/// do not know the method do not always respond with an error.
const PROBE: Duration = Duration::from_secs(10);

/// The part of `--start-timeout` that the client waits for `server/discover`.
const PROBE_DIVISOR: u32 = 3;

/// Returns the timeouts of `server/discover` and of `initialize`. A client with a fixed revision sends only one of them, and
/// waits for it the whole time.
fn start_timeouts(arguments: &Arguments) -> (Duration, Duration) {
    match (arguments.revision, arguments.start_timeout) {
        (Some(_), start) => {
            let start = start.unwrap_or(arguments.timeout);
            (start, start)
        }
        (None, Some(start)) => (start / PROBE_DIVISOR, start - start / PROBE_DIVISOR),
        (None, None) => (arguments.timeout.min(PROBE), arguments.timeout),
    }
}

fn config(arguments: &Arguments) -> ClientConfig {
    let mut config = ClientConfig::new("inspect", env!("CARGO_PKG_VERSION"));
    config.info.title = Some("mcp-sansio inspect".into());
    config.capabilities.roots = Some(ListChanged::default());
    config.capabilities.sampling = Some(SamplingCapability::default());
    config.capabilities.elicitation = Some(ElicitationCapability::both());
    if arguments.task {
        config.capabilities = config.capabilities.with_tasks();
    }
    config.log_level = arguments.log;
    let (probe, handshake) = start_timeouts(arguments);
    config.connection.timeouts.probe = Some(probe);
    config.connection.timeouts.handshake = Some(handshake);
    if let Some(revision) = arguments.revision {
        config.revisions = RevisionSet::only(revision);
    }
    config
}

/// The first request to the server. Without a fixed revision, the client chooses between the two.
fn opening(revision: Option<Revision>) -> &'static str {
    match revision.map(Revision::era) {
        Some(Era::Legacy) => "`initialize`",
        Some(_) => "`server/discover`",
        None => "`server/discover` or `initialize`",
    }
}

/// Serves the built-in server on a thread, and connects to it by pipes.
fn connect_to(
    server: BuiltInServer,
    config: ClientConfig,
    answers: Answers,
) -> Result<Connection, OpenError> {
    let pipes = || Ok::<_, io::Error>((io::pipe()?, io::pipe()?));
    let ((from_client, to_server), (from_server, to_client)) = pipes().map_err(OpenError::Spawn)?;
    thread::spawn(move || server(from_client, to_client));
    connect(config, from_server, to_server, answers)
}

/// Describes why a call failed, and what the user can do about it.
pub(crate) fn failed(method: &str, failure: &CallFailure) -> String {
    match login::explain(failure) {
        Some(why) => format!("{method} failed: {why}"),
        None => format!("{method} failed: {failure}{}", urls(failure)),
    }
}

/// The URLs that the user has to visit first, if that is why a call failed.
fn urls(failure: &CallFailure) -> String {
    let CallFailure::PeerError(error) = failure else { return String::new() };
    let data = error.data.as_ref().filter(|_| error.code == ErrorCode::URL_ELICITATION_REQUIRED);
    let required = data.and_then(|data| data.parse::<ElicitationRequired<'_>>().ok());
    let elicitations = required.iter().flat_map(|required| required.elicitations.iter());
    let urls = elicitations.filter_map(|elicitation| elicitation.url.as_ref());
    urls.map(|url| format!("\nvisit {url}")).collect()
}

/// Describes why there is no session, and what the user can do about it.
fn explain(error: &OpenError, program: &str, server_output: &ServerOutput) -> String {
    let hint = match error {
        OpenError::Spawn(error) if error.kind() == io::ErrorKind::NotFound => {
            "\nIs it installed, and is it on the PATH?".to_string()
        }
        OpenError::Spawn(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            "\nIs it a program?".to_string()
        }
        _ => server_output.hint(),
    };
    format!("{program}: {error}{hint}")
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
