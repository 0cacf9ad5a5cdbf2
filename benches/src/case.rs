//! The measured pieces of work and the contenders that do them.

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
            reason = "for a new variant, the compiler reports every match that lacks it"
        )]
        pub enum $type { $($(#[$doc])* $variant,)* }

        impl $type {
            /// All variants.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name used in tables and on command lines.
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
    /// A measured piece of work.
    Case {
        /// Scanning a ping.
        ScanPing = "scan ping",
        /// Scanning a small tool call.
        ScanCall = "scan call",
        /// Scanning a tool call with an argument of 1 MB.
        ScanLargeCall = "scan large call",
        /// A server receives a ping and responds.
        Ping = "ping",
        /// A server receives a tool call with a nested argument of 100 bytes, and responds.
        Call = "call",
        /// [`Self::Call`] with a typed result of the model, as in README's server.
        TypedCall = "typed call",
        /// A modern server receives such a call with every field that `_meta` can contain, and responds.
        StatelessCall = "stateless call",
        /// [`Self::StatelessCall`] with a typed result of the model.
        TypedStatelessCall = "typed stateless call",
        /// A server lists 50 tools, each a typed value of the model.
        ListTools = "list tools",
        /// A server lists 50 tools that were validated and serialized beforehand.
        ListPreparedTools = "list prepared tools",
        /// A server receives a tool call with an argument of 1 MB, and returns the argument.
        LargeCall = "large call",
        /// A server sends progress notifications.
        Progress = "progress",
        /// A client calls a tool and receives the response.
        ClientCall = "client call",
        /// A client receives a progress notification.
        ClientProgress = "client progress",
        /// A client calls a tool of a server, one call at a time.
        RoundTrip = "round trip",
        /// One call of 64 concurrent ones.
        RoundTripOf64 = "round trip of 64",
        /// Calls of README's server on threads, one at a time.
        Std1 = "std, 1 in flight",
        /// [`Self::Std1`] with 64 concurrent calls.
        Std64 = "std, 64 in flight",
        /// Calls of README's server on a single-threaded tokio runtime, one at a time.
        Tokio1 = "tokio, 1 in flight",
        /// [`Self::Tokio1`] with 64 concurrent calls.
        Tokio64 = "tokio, 64 in flight",
        /// Calls of README's server over HTTP without a session, one at a time.
        HttpStateless = "HTTP, stateless",
        /// [`Self::HttpStateless`] in a session.
        HttpSession = "HTTP, in a session",
    }
}

named! {
    /// An implementation that does the work.
    Contender {
        /// mcp-sansio.
        Core = "mcp-sansio",
        /// The floor: serde_json parses the input and serializes the output.
        SerdeJson = "serde_json",
        /// The same floor with sonic-rs.
        Sonic = "sonic-rs",
        /// The official SDK.
        Rmcp = "rmcp",
    }
}

impl Case {
    /// The number of concurrent rounds. The number of rounds must be a multiple of this number.
    pub const fn batch(self) -> usize {
        match self {
            Self::RoundTripOf64 => 64,
            _ => 1,
        }
    }

    /// Returns the cases without an adapter, which run in the measuring process.
    pub fn of_machines() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|case| case.served().is_none())
    }

    /// The number of rounds of a measurement.
    pub const fn rounds(self) -> usize {
        match self {
            Self::ScanLargeCall | Self::LargeCall => 4,
            Self::ListTools => 16,
            _ => 128,
        }
    }

    /// Describes the calls of a server in its own process. `None` if the work runs in the measuring process.
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

/// A server in its own process, and the way it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// The server on mcp-sansio.
    pub server: HelloServer,
    /// The transport of the calls.
    pub transport: Transport,
    /// The number of concurrent calls.
    pub in_flight: usize,
}

impl Served {
    /// Returns the server of a contender. `None` if the contender has no server, or is not built.
    pub const fn by(self, contender: Contender) -> Option<HelloServer> {
        match (contender, self.transport) {
            (Contender::Core, _) => Some(self.server),
            (Contender::Rmcp, _) if cfg!(not(feature = "contenders")) => None,
            (Contender::Rmcp, Transport::Stdio) => Some(HelloServer::Rmcp),
            (Contender::Rmcp, _) => Some(HelloServer::RmcpHttp),
            (Contender::SerdeJson | Contender::Sonic, _) => None,
        }
    }
}
