//! The pieces of work, and who does them.

use crate::hello::HelloServer;
use crate::hello::client::Transport;

macro_rules! named {
    (
        $(#[$attribute:meta])*
        $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(
            clippy::exhaustive_enums,
            reason = "whoever adds one wants to be told where it counts"
        )]
        pub enum $type { $($(#[$doc])* $variant,)* }

        impl $type {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// As tables and command lines have it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().find(|one| one.name() == name);
                found.copied().ok_or_else(|| format!("there is no {name}"))
            }
        }
    };
}

pub(crate) use named;

named! {
    /// A piece of work.
    Case {
        /// Scanning a ping.
        ScanPing = "scan ping",
        /// Scanning a small call of a tool.
        ScanCall = "scan call",
        /// Scanning a call of a tool with an argument of 1 MB.
        ScanLargeCall = "scan large call",
        /// A server takes a ping in and answers.
        Ping = "ping",
        /// A server takes in a call of a tool, with a nested argument of 100 bytes, and answers.
        Call = "call",
        /// The same, answered with a value of the model, as README's server does.
        TypedCall = "typed call",
        /// A server without sessions takes in such a call, with everything in `_meta` that can be there, and answers.
        StatelessCall = "stateless call",
        /// The same, answered with a value of the model.
        TypedStatelessCall = "typed stateless call",
        /// A server lists 50 tools, each a value of the model.
        ListTools = "list tools",
        /// A server lists 50 tools that have been checked and written beforehand.
        ListPreparedTools = "list prepared tools",
        /// A server takes in a call of a tool with an argument of 1 MB, and answers with it.
        LargeCall = "large call",
        /// A server reports progress.
        Progress = "progress",
        /// A client calls a tool and takes in the answer.
        ClientCall = "client call",
        /// A client takes in a report of progress.
        ClientProgress = "client progress",
        /// A client calls a tool of a server, one call after the other.
        RoundTrip = "round trip",
        /// One call of 64 that are made at once.
        RoundTripOf64 = "round trip of 64",
        /// README's server on threads is called, one call after the other.
        Std1 = "std, 1 in flight",
        /// 64 calls at once.
        Std64 = "std, 64 in flight",
        /// README's server on a runtime of tokio with one thread is called, one call after the other.
        Tokio1 = "tokio, 1 in flight",
        /// 64 calls at once.
        Tokio64 = "tokio, 64 in flight",
        /// README's server behind HTTP is called without a session, one call after the other.
        HttpStateless = "HTTP, stateless",
        /// The same in a session.
        HttpSession = "HTTP, in a session",
    }
}

named! {
    /// Somebody who does the work.
    Contender {
        /// mcp-sansio.
        Core = "mcp-sansio",
        /// The floor: serde_json reads what comes in and writes what goes out.
        SerdeJson = "serde_json",
        /// The same by sonic-rs.
        Sonic = "sonic-rs",
        /// The official SDK.
        Rmcp = "rmcp",
    }
}

impl Case {
    /// How many rounds are done at once: no number of rounds is possible but multiples of this.
    pub const fn batch(self) -> usize {
        match self {
            Self::RoundTripOf64 => 64,
            _ => 1,
        }
    }

    /// Those that are done in the process that measures them, by a machine without an adapter.
    pub fn of_machines() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|case| case.served().is_none())
    }

    /// How often it is done to be measured.
    pub const fn rounds(self) -> usize {
        match self {
            Self::ScanLargeCall | Self::LargeCall => 4,
            Self::ListTools => 16,
            _ => 128,
        }
    }

    /// How a server that does the work as a process of its own is called. `None` if the work is done here.
    pub const fn served(self) -> Option<Served> {
        let (server, transport, in_flight) = match self {
            Self::Std1 => (HelloServer::Std, Transport::Stdio, 1),
            Self::Std64 => (HelloServer::Std, Transport::Stdio, 64),
            Self::Tokio1 => (HelloServer::Tokio, Transport::Stdio, 1),
            Self::Tokio64 => (HelloServer::Tokio, Transport::Stdio, 64),
            Self::HttpStateless => (HelloServer::Http, Transport::HttpStateless, 1),
            Self::HttpSession => (HelloServer::Http, Transport::HttpSession, 1),
            _ => return None,
        };
        Some(Served { server, transport, in_flight })
    }
}

/// How a server in a process of its own is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// Ours.
    pub server: HelloServer,
    /// How calls reach it.
    pub transport: Transport,
    /// How many calls are made at once.
    pub in_flight: usize,
}

impl Served {
    /// The server of a contender. `None` if it has no server.
    pub const fn by(self, contender: Contender) -> Option<HelloServer> {
        match (contender, self.transport) {
            (Contender::Core, _) => Some(self.server),
            (Contender::Rmcp, Transport::Stdio) => Some(HelloServer::Rmcp),
            (Contender::Rmcp, _) => Some(HelloServer::RmcpHttp),
            (Contender::SerdeJson | Contender::Sonic, _) => None,
        }
    }
}
