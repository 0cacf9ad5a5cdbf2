//! `mcp-sansio-gateway`: several MCP servers behind one endpoint.

mod words;

use std::future::poll_fn;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use mcp_sansio_gateway::config::file::{ConfigFile, check};
use mcp_sansio_gateway::config::{
    CommandConfig, GatewayConfig, Observer, UpstreamConfig, UpstreamTransport,
};
use mcp_sansio_gateway::serve::{Listeners, ServeConfig, serve};
use mcp_sansio_gateway::{Gateway, Reloaded, UpstreamEvent};

use crate::words::words;

/// Puts several MCP servers behind one: at an address, or on standard input and output.
///
/// The names of their tools and prompts get the name of the server and `__` in front, unless the file has other rules.
#[derive(Parser, Debug)]
#[command(version, name = "mcp-sansio-gateway", after_help = EXAMPLES)]
struct Arguments {
    /// The configuration file: the servers as other hosts list them, in `mcpServers`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A server, besides those of the file: its name, and the command that starts it. Quotes keep words together
    #[arg(long = "upstream", value_name = "NAME=COMMAND", value_parser = upstream)]
    upstreams: Vec<UpstreamConfig>,
    /// The address for clients; port 0 selects a free one. Without it and without one in the file, the gateway has one
    /// client, on standard input and output
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The address for operators: /health, /ready, /status, and POST /reload
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<SocketAddr>,
    /// The name of the gateway, for its clients and servers
    #[arg(long)]
    name: Option<String>,
    /// How many seconds a list waits for a server, for the servers of the command line
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    patience: Duration,
    /// Reads the configuration and the files that it names, and starts nothing
    #[arg(long)]
    check: bool,
}

const EXAMPLES: &str = "Examples:
  mcp-sansio-gateway --upstream files='npx -y @modelcontextprotocol/server-filesystem /tmp' \\
                     --upstream math='./calculator --precise'
  mcp-sansio-gateway --config servers.json --listen 127.0.0.1:8080 --admin 127.0.0.1:9090

SIGHUP reads the file again, without losing a call. SIGTERM and SIGINT stop the gateway.";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.config.is_none() && arguments.upstreams.is_empty() {
        let message = "there is no server: name some with --upstream or in a file with --config";
        Arguments::command().error(clap::error::ErrorKind::MissingRequiredArgument, message).exit();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ran = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        let ran = runtime.block_on(run(arguments));
        // A thread that reads standard input cannot be interrupted.
        runtime.shutdown_timeout(Duration::from_millis(100));
        ran
    });
    match ran {
        Ok(code) => code,
        Err(problem) => {
            say(&problem);
            ExitCode::FAILURE
        }
    }
}

/// Writes a line to standard error, which may be closed.
fn say(text: &str) {
    // In one write: servers that are programs write to standard error as well, and their text would split the line.
    let line = format!("mcp-sansio-gateway: {text}\n");
    _ = std::io::stderr().write_all(line.as_bytes());
}

async fn run(arguments: Arguments) -> Result<ExitCode, String> {
    let arguments = Arc::new(arguments);
    let problem = |error: std::io::Error| error.to_string();
    let (mut config, serve_config) = read(&arguments)?;
    mcp_sansio_gateway::serve::check(&serve_config).map_err(problem)?;
    if arguments.check {
        say(&format!("{} servers", config.upstreams.len()));
        return Ok(ExitCode::SUCCESS);
    }
    let fixed = Arc::new(fixed(&config, &serve_config));
    config.observer = Some(Observer::new(report));
    // Before the servers are started: a signal without a handler would leave them running.
    let (stop, hangups) = (stop_signal(), Hangups::listen());
    // An address that is in use is no reason to start the servers, and to kill them.
    let listeners = match serve_config.listen {
        Some(_) => Some(Listeners::bind(&serve_config).await.map_err(problem)?),
        None => None,
    };
    let gateway = Gateway::start(config).map_err(|error| error.to_string())?;
    let reload = {
        let gateway = gateway.clone();
        move || reload(gateway.clone(), Arc::clone(&arguments), Arc::clone(&fixed))
    };
    tokio::spawn(hangups.reload(reload.clone()));
    let Some(listeners) = listeners else { return serve_stdio(gateway, stop).await };
    let address = listeners.clients.local_addr().map_err(problem)?;
    let scheme = if serve_config.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}{}", serve_config.path);
    // For programs that start the gateway with port 0. Standard output may be closed.
    _ = writeln!(std::io::stdout(), "{url}");
    say(&format!("listening on {url}"));
    if let Some(admin) = &listeners.admin {
        let address = admin.local_addr().map_err(problem)?;
        say(&format!("operators on http://{address}"));
    }
    serve(gateway, &serve_config, listeners, reload, stop).await.map_err(problem)?;
    Ok(ExitCode::SUCCESS)
}

/// The exit code of shells after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// How long the servers may take to end, before their processes are left to the operating system.
const ENDING: Duration = Duration::from_secs(10);

async fn serve_stdio(gateway: Gateway, stop: impl Future<Output = ()>) -> Result<ExitCode, String> {
    let options = gateway.connection_options();
    let serving =
        mcp_sansio_tokio::serve_stdio_with(gateway.server_config(), &options, gateway.clone());
    let ended = tokio::select! {
        served = serving => match served {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => Err(format!("cannot talk to the client: {error}")),
        },
        () = stop => Ok(ExitCode::from(INTERRUPTED)),
    };
    // Nothing is left to answer, so the servers end at once.
    tokio::select! {
        () = gateway.close(Duration::ZERO, ENDING) => {}
        // A second signal, or the first one after the end of the input. The servers are killed.
        () = stop_signal() => {}
    }
    ended
}

/// Reads the file and the command line.
fn read(arguments: &Arguments) -> Result<(GatewayConfig, ServeConfig), String> {
    let (mut config, mut serve) = match &arguments.config {
        Some(path) => {
            let file = read_file(path)?;
            (file.gateway, file.serve)
        }
        None => (GatewayConfig::new("gateway", Vec::new()), ServeConfig::new()),
    };
    for upstream in &arguments.upstreams {
        if config.upstreams.iter().any(|other| other.name == upstream.name) {
            return Err(format!("two servers are called {}", upstream.name));
        }
        let mut upstream = upstream.clone();
        upstream.list_timeout = arguments.patience;
        config.upstreams.push(upstream);
    }
    config.name = arguments.name.clone().unwrap_or(config.name);
    serve.listen = arguments.listen.or(serve.listen);
    serve.admin = arguments.admin.or(serve.admin);
    check(&config.upstreams).map_err(|mistake| mistake.to_string())?;
    let needs_address =
        serve.admin.is_some() || serve.tls.is_some() || serve.authorization.is_some();
    if serve.listen.is_none() && needs_address {
        return Err(
            "`admin`, `tls` and `authorization` are for clients over HTTP: set `listen`".into()
        );
    }
    Ok((config, serve))
}

fn read_file(path: &Path) -> Result<ConfigFile, String> {
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| problem(&error))?;
    let variable = |name: &str| std::env::var(name).ok();
    ConfigFile::parse(&text, variable).map_err(|error| problem(&error))
}

/// What a reload does not change.
type Fixed = (String, Option<String>, Option<[u8; 32]>, usize, ServeConfig);

fn fixed(config: &GatewayConfig, serve: &ServeConfig) -> Fixed {
    let GatewayConfig { name, instructions, state_key, page_size, .. } = config;
    (name.clone(), instructions.clone(), *state_key, *page_size, serve.clone())
}

/// Reads the file again.
async fn reload(
    gateway: Gateway,
    arguments: Arc<Arguments>,
    fixed_at_start: Arc<Fixed>,
) -> Result<Reloaded, String> {
    let (config, serve) = read(&arguments)?;
    if fixed(&config, &serve) != *fixed_at_start {
        say(
            "the member `gateway` of the file has changed: a reload leaves it, a new start uses it",
        );
    }
    let reloaded = gateway.reload(config.upstreams).await.map_err(|error| error.to_string())?;
    let names = |what: &str, names: &[String]| match names.is_empty() {
        true => String::new(),
        false => format!(", {what}: {}", names.join(", ")),
    };
    let changes = names("started", &reloaded.started) + &names("stopped", &reloaded.stopped);
    say(&format!("reloaded{changes}"));
    Ok(reloaded)
}

/// SIGHUP, on Unix.
struct Hangups(#[cfg(unix)] Option<tokio::signal::unix::Signal>);

impl Hangups {
    /// Installs the signal handler.
    fn listen() -> Self {
        #[cfg(unix)]
        use tokio::signal::unix::{SignalKind, signal};
        Self(
            #[cfg(unix)]
            signal(SignalKind::hangup()).ok(),
        )
    }

    async fn reload<F: Future<Output = Result<Reloaded, String>>>(self, reload: impl Fn() -> F) {
        #[cfg(unix)]
        {
            let Some(mut hangups) = self.0 else { return };
            while hangups.recv().await.is_some() {
                if let Err(problem) = reload().await {
                    say(&format!("not reloaded: {problem}"));
                }
            }
        }
        #[cfg(not(unix))]
        drop(reload);
    }
}

/// Reports connections and problems of the servers on standard error.
fn report(server: &str, event: &UpstreamEvent<'_>) {
    match event {
        UpstreamEvent::Connected { revision } => {
            say(&format!("{server}: connected, revision {}", revision.name()));
        }
        UpstreamEvent::Problem(problem) => say(&format!("{server}: {problem}")),
        _ => {}
    }
}

/// Returns a future that waits for SIGINT or SIGTERM, or for Ctrl-C elsewhere. The signal handler is installed before the
/// function returns.
fn stop_signal() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let mut signals = {
        use tokio::signal::unix::{SignalKind, signal};
        [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok())
    };
    #[cfg(not(unix))]
    let mut signals = [tokio::signal::windows::ctrl_c().ok()];
    poll_fn(move |context| {
        let is_ready =
            signals.iter_mut().flatten().any(|signal| signal.poll_recv(context).is_ready());
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    })
}

fn upstream(text: &str) -> Result<UpstreamConfig, String> {
    let (name, command) = text.split_once('=').ok_or("not of the form NAME=COMMAND")?;
    let mut words = words(command)?.into_iter();
    let mut config = CommandConfig::new(words.next().ok_or("there is no command")?);
    config.arguments = words.collect();
    Ok(UpstreamConfig::new(name, UpstreamTransport::Command(config)))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if !(0.001..1e9).contains(&seconds) {
        return Err("not a sensible number of seconds".into());
    }
    Ok(Duration::from_secs_f64(seconds))
}
