//! Handles: `Copy` identifiers of open requests and calls, safe to keep after the request or call has ended.
//!
//! A handle consists of an index into a table of one machine, the generation of that slot, and the number of the
//! connection. An index is reused as soon as it is free. The indices in use therefore stay dense, and an application
//! can keep data per handle in a `Vec`. The generation distinguishes a stale handle from the current one of the slot;
//! the connection number distinguishes it from a handle of another machine.
//!
//! The application chooses two more numbers: that of a connection, and that of a principal.

use core::fmt;
use core::hash::{Hash, Hasher};

/// The number of a connection, chosen by the application and carried in every handle of its machine.
///
/// Give every connection of a process, and every new connection after a reconnect, its own number. A handle of one
/// connection is then an error on every other, and never refers to a request of another connection. The default is 0,
/// which suffices for a process with one connection.
///
/// The adapters for byte streams number their connections if `ConnectionOptions::tasks` is set. Otherwise each has the
/// number 0: pass a handle only to the connection that it came from.
///
/// The ids that a server gives to elicitations by URL contain the number, so they are unique among connections with
/// different numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionNumber(u32);

impl ConnectionNumber {
    /// Creates a connection number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// The identity of a requestor as the application knows it: an opaque number, 0 if there is only one or, over HTTP, if
/// it is unknown.
///
/// The loop passes it in with each message, and request contexts carry it to the handlers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Principal(u64);

impl Principal {
    /// Creates a principal from its number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The requestor of a task, in the sense of the specification: the owner of the tasks that a request can access
/// ([task isolation](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-isolation-and-access-control)).
///
/// A task belongs to the requestor of the request that created it. For every other requestor the task does not exist.
/// `Debug` does not show the numbers of sessions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Requestor {
    /// A principal, on all of its connections. The default is [`Principal::default`]: the only principal of the
    /// application.
    Principal(Principal),
    /// A session whose principal the application does not know, identified by a number that no other session has.
    Session(u64),
    /// Neither a principal nor a session is known. Such a requestor can access a task of another unknown requestor by
    /// its id, and lists no tasks. The number identifies the source of the request, or is 0. It only matters for
    /// limits.
    Unknown(u64),
}

impl Requestor {
    /// Returns the principal, or the default one if it is unknown.
    pub const fn principal(self) -> Principal {
        match self {
            Self::Principal(principal) => principal,
            Self::Session(_) | Self::Unknown(_) => Principal(0),
        }
    }

    /// Whether this requestor can access a task of `owner` by its id.
    pub(crate) fn reaches(self, owner: Self) -> bool {
        match (self, owner) {
            (Self::Unknown(_), Self::Unknown(_)) => true,
            _ => self == owner,
        }
    }

    /// Whether the tasks of this requestor are distinguishable from those of others, so that they can be listed.
    pub(crate) const fn is_known(self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}

impl Default for Requestor {
    fn default() -> Self {
        Self::Principal(Principal::default())
    }
}

impl From<Principal> for Requestor {
    fn from(principal: Principal) -> Self {
        Self::Principal(principal)
    }
}

impl fmt::Debug for Requestor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(principal) => write!(formatter, "{principal:?}"),
            // The number derives from the session id, which is a secret.
            Self::Session(_) => formatter.write_str("Session(..)"),
            Self::Unknown(from) => write!(formatter, "Unknown({from})"),
        }
    }
}

/// A slot in the table of a machine: the content of every handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotKey {
    pub(crate) connection: ConnectionNumber,
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Hash for SlotKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.connection.hash(state);
        hash_generation(self.index, self.generation, state);
    }
}

/// The tag that is hashed in front of an index and a generation.
pub(crate) const GENERATION_TAG: u64 = u64::from_be_bytes(*b"mcp slot");

/// Hashes a generation in 128 bits and with a tag, so that a hasher can recognize it.
///
/// Only the distance between two generations of the same index affects the behavior of the machine.
pub(crate) fn hash_generation<H: Hasher>(index: u32, generation: u32, state: &mut H) {
    let place = u128::from(index) << 32 | u128::from(generation);
    state.write_u128(u128::from(GENERATION_TAG) << 64 | place);
}

macro_rules! handle {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) SlotKey);

        impl $name {
            /// Returns the slot in the machine's table: a small number that is reused once the handle is stale.
            ///
            /// Use it to keep the application's own state in a `Vec` beside the machine.
            pub const fn index(self) -> usize {
                self.0.index as usize
            }

            /// Returns the connection of this handle.
            pub const fn connection(self) -> ConnectionNumber {
                self.0.connection
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, concat!(stringify!($name), "({})"), self)
            }
        }

        impl fmt::Display for $name {
            /// `#index.generation`, prefixed by the connection number unless it is 0.
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let SlotKey { connection, index, generation } = self.0;
                if connection != ConnectionNumber::default() {
                    write!(formatter, "{}", connection.get())?;
                }
                write!(formatter, "#{index}.{generation}")
            }
        }
    };
}

handle! {
    /// An open request of the peer, to which this side has to respond.
    ///
    /// The handle is valid until a response is sent, the request is cancelled, or the connection ends. Every later
    /// use fails.
    IncomingId
}

handle! {
    /// A call: a request that this side sent, to which the peer has to respond.
    ///
    /// The handle is valid until the one outcome of the call has been delivered.
    CallId
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn handles_print_short() {
        let place = SlotKey { connection: ConnectionNumber::default(), index: 3, generation: 7 };
        assert_eq!(IncomingId(place).to_string(), "#3.7");
        let place = SlotKey { connection: ConnectionNumber::new(2), ..place };
        assert_eq!(CallId(place).to_string(), "2#3.7");
        assert_eq!(alloc::format!("{:?}", CallId(place)), "CallId(2#3.7)");
    }

    #[test]
    fn a_principal_is_a_requestor() {
        assert_eq!(Requestor::from(Principal::new(7)), Requestor::Principal(Principal::new(7)));
    }
}
