//! The command line.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, ValueEnum};

use crate::bounds::Bounds;
use crate::programs::{self, CommandLine};

/// The time for starting the victim of an attack and for measuring it.
const MEASURING: Duration = Duration::from_secs(1);

/// The least duration of an attack.
const SHORTEST: Duration = Duration::from_millis(300);

/// Attacks an MCP server of this computer, and measures what the attacks cost it.
///
/// Without a command and without a URL, it starts the everything server, a fresh one for each attack, and attacks the
/// client `inspect` as well. The exit code is 1 if a bound is broken, 2 if the command line is wrong.
#[derive(Parser, Debug)]
#[command(version, name = "attack", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The transport of the messages
    pub(crate) transport: Transport,
    /// The approximate duration of all attacks together; longer on a slow computer, because each needs time to start
    #[arg(long, value_name = "N", default_value_t = 30.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Run this attack only; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// The client to attack, instead of `inspect` as cargo builds it: a program with the same command line
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) client: Option<OsString>,
    /// The bound on the memory of the server, in MiB, if it differs from that of the everything server
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    pub(crate) memory: Option<u64>,
    /// The bound on the wait of a good client, in milliseconds, for example of a server that is not optimised
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    pub(crate) wait: Option<u64>,
    /// List the attacks, and run none
    #[arg(long)]
    pub(crate) list: bool,
    /// Attack the server that runs at this URL, on this computer: http://127.0.0.1:PORT/PATH
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// The process of that server, to measure it
    #[arg(long, requires = "url")]
    pub(crate) pid: Option<u32>,
    /// Or the server to start; behind HTTP it prints its URL as its first line
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The transport of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// Standard input and output of a child process
    Stdio,
    /// Streamable HTTP
    Http,
    /// A hostile server, on standard input and output
    #[value(hide = true)]
    Hostile,
    /// The everything server, on standard input and output
    #[value(hide = true)]
    Everything,
    /// The everything server behind HTTP, on a free port
    #[value(hide = true)]
    EverythingHttp,
}

const EXAMPLES: &str = "Examples:
  attack http
  attack stdio --seconds 300 --only open-batches
  attack stdio --memory 100 -- ./my_server --stdio
  attack http --url http://127.0.0.1:3000/mcp --pid 4711";

impl Arguments {
    /// Returns the duration of each of `attacks` attacks, without the time for starting and measuring its victim.
    pub(crate) fn share(&self, attacks: usize) -> Duration {
        let share = Duration::from_secs_f64(self.seconds / attacks.max(1) as f64);
        share.saturating_sub(MEASURING).max(SHORTEST)
    }

    /// Returns the names of the attacks to run: all attacks, or those of `--only` in their order.
    ///
    /// # Errors
    ///
    /// Fails if `--only` names an unknown attack.
    pub(crate) fn selected<'n>(&self, all: &[&'n str]) -> Result<Vec<&'n str>, clap::Error> {
        if let Some(unknown) = self.only.iter().find(|name| !all.contains(&name.as_str())) {
            let text = format!("there is no attack {unknown}; there are {}", all.join(", "));
            return Err(mistake(&text));
        }
        let is_wanted =
            |name: &&&str| self.only.is_empty() || self.only.iter().any(|o| o == **name);
        Ok(all.iter().filter(is_wanted).copied().collect())
    }

    /// Returns these bounds, with the memory and the wait on the command line.
    pub(crate) fn bounds(&self, bounds: Bounds) -> Bounds {
        let memory = self.memory.map_or(bounds.memory, |memory| memory << 20);
        let wait = self.wait.map_or(bounds.wait, Duration::from_millis);
        Bounds { memory, wait, ..bounds }
    }

    /// Returns the command of the client to attack.
    ///
    /// # Errors
    ///
    /// Fails if no client is named and `inspect` cannot be built.
    pub(crate) fn client(&self) -> Result<CommandLine, String> {
        self.client.clone().map_or_else(programs::client, |client| Ok(vec![client]))
    }

    /// Whether no server is named, so that the everything server is attacked.
    pub(crate) fn has_no_server(&self) -> bool {
        self.url.is_none() && self.command.is_empty()
    }

    /// Returns the address and the path of `--url`, if there is one.
    ///
    /// # Errors
    ///
    /// Fails if the URL is invalid or names another computer, or if the transport is not `http`.
    pub(crate) fn target(&self) -> Result<Option<(SocketAddr, String)>, clap::Error> {
        let Some(url) = &self.url else { return Ok(None) };
        if self.transport != Transport::Http {
            return Err(mistake("--url is for http"));
        }
        address(url).map(Some).map_err(|text| mistake(&text))
    }
}

/// Returns the address and the path of a URL of this computer.
pub(crate) fn address(url: &str) -> Result<(SocketAddr, String), String> {
    let rest = url.strip_prefix("http://").ok_or("the URL does not begin with http://")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let with_port =
        if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let mut found = with_port.to_socket_addrs().map_err(|error| format!("{url}: {error}"))?;
    let address = found.find(|address| is_local(address.ip()));
    let address = address.ok_or_else(|| format!("{url} is not on this machine"))?;
    Ok((address, if path.is_empty() { "/".into() } else { path.into() }))
}

fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn mistake(text: &str) -> clap::Error {
    Arguments::command().error(ErrorKind::ValueValidation, text)
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    let sensible = (0.1..1e6).contains(&seconds);
    if sensible { Ok(seconds) } else { Err("not a sensible number of seconds".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(std::iter::once("attack").chain(line.split_whitespace()))
    }

    #[test]
    fn a_command_line_is_read() {
        let arguments = parse(
            "stdio --seconds 9 --memory 7 --wait 8 --only noise --only tasks -- server --fast",
        )
        .unwrap();
        assert_eq!(arguments.bounds(Bounds::HTTP).memory, 7 << 20);
        assert_eq!(arguments.bounds(Bounds::HTTP).wait, Duration::from_millis(8));
        assert_eq!(parse("http").unwrap().bounds(Bounds::HTTP).wait, Bounds::HTTP.wait);
        assert_eq!(arguments.bounds(Bounds::HTTP).work, Bounds::HTTP.work);
        assert_eq!((arguments.transport, arguments.seconds), (Transport::Stdio, 9.0));
        assert_eq!(arguments.command, ["server", "--fast"]);
        assert!(!arguments.has_no_server() && parse("http").unwrap().has_no_server());
        assert_eq!(arguments.share(3), Duration::from_secs(2));
        assert_eq!(arguments.share(300), SHORTEST);
        assert_eq!(arguments.selected(&["tasks", "other", "noise"]).unwrap(), ["tasks", "noise"]);
        assert_eq!(parse("http").unwrap().selected(&["a", "b"]).unwrap(), ["a", "b"]);
        assert_eq!(parse("http --client x/y").unwrap().client().unwrap(), ["x/y"]);
    }

    #[test]
    fn mistakes_are_found() {
        for line in [
            "",
            "tcp",
            "http --seconds 0",
            "http --memory 0",
            "http --pid 1",
            "http --url http://[::1] -- x",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        let unknown = parse("http --only nothing").unwrap();
        assert!(unknown.selected(&["noise"]).unwrap_err().to_string().contains("noise"));
        assert!(parse("stdio --url http://127.0.0.1:1/").unwrap().target().is_err());
    }

    #[test]
    fn only_servers_of_this_computer_are_attacked() {
        let target = |url: &str| parse(&format!("http --url {url}")).unwrap().target();
        let (address, path) = target("http://127.0.0.1:3000/mcp").unwrap().unwrap();
        assert_eq!((address.to_string(), path), ("127.0.0.1:3000".into(), "/mcp".into()));
        assert_eq!(target("http://[::1]:8").unwrap().unwrap().1, "/");
        for url in ["http://192.0.2.1/mcp", "http://0.0.0.0:1/", "https://127.0.0.1/", "nothing"] {
            assert!(target(url).is_err(), "{url}");
        }
    }
}
