//! The pieces of work, and who does them.

use std::fmt;
use std::str::FromStr;

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

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().find(|one| one.name() == name);
                found.copied().ok_or_else(|| format!("there is no {name}"))
            }
        }
    };
}

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
        /// The same at a server without sessions, with everything in `_meta` that can be there.
        StatelessCall = "stateless call",
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

    /// How often it is done to be measured.
    pub const fn rounds(self) -> usize {
        match self {
            Self::ScanLargeCall | Self::LargeCall => 4,
            Self::ListTools => 16,
            _ => 128,
        }
    }
}
