//! Handles: `Copy` names for what is in flight, safe to keep after it has ended.
//!
//! A handle is an index into a table of one machine, the generation of that place in the table, and
//! the number of the connection. An index is used again as soon as it is free, so the indices in
//! use stay dense and a caller can keep what belongs to a handle in a `Vec`. The generation tells a
//! stale handle from the one that lives in its place now, the connection number tells it from the
//! handle of another machine.
//!
//! Two more numbers are the host's: that of a connection, and that of a principal.

use core::fmt;
use core::hash::{Hash, Hasher};

/// The number of a connection, chosen by the caller and carried in every handle of its machine.
///
/// Give each connection of a process, and each new connection after a reconnect, a number of its
/// own: a handle of one is then an error on every other, never somebody else's request. The default
/// is 0, which is fine for a process with one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionNumber(u32);

impl ConnectionNumber {
    /// The connection with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Who is asking, as the host knows it: an opaque number, 0 where there is only one, and over HTTP where it is not
/// known.
///
/// It comes in with each message, and request contexts carry it on to the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Principal(u64);

impl Principal {
    /// The principal with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Whose tasks a request reaches: the requestor of a task, as the specification calls it
/// ([task isolation](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-isolation-and-access-control)).
///
/// A task belongs to the requestor of the request that it was begun for. It does not exist for any other requestor.
/// `Debug` does not show the numbers of sessions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Requestor {
    /// A principal, on all of its connections. The default is [`Principal::default`]: the only one there is.
    Principal(Principal),
    /// A session whose principal the host does not know, by a number that no other session has.
    Session(u64),
    /// Neither a principal nor a session is known. Such requestors reach a task of another one if they know its id, and
    /// list no tasks. The number says from where the request comes, or is 0. It only matters for bounds.
    Unknown(u64),
}

impl Requestor {
    /// The principal; the default one if it is not known.
    pub const fn principal(self) -> Principal {
        match self {
            Self::Principal(principal) => principal,
            Self::Session(_) | Self::Unknown(_) => Principal(0),
        }
    }

    /// Whether this requestor reaches a task of that one, if it knows the id.
    pub(crate) fn reaches(self, owner: Self) -> bool {
        match (self, owner) {
            (Self::Unknown(_), Self::Unknown(_)) => true,
            _ => self == owner || mutant!("a_foreign_task_is_reached"),
        }
    }

    /// Whether its tasks are told apart from those of others, so that they can be listed.
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
            // It is made of the id of the session, which is a secret.
            Self::Session(_) => formatter.write_str("Session(..)"),
            Self::Unknown(from) => write!(formatter, "Unknown({from})"),
        }
    }
}

/// A place in a table: what every handle is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) connection: ConnectionNumber,
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.connection.hash(state);
        hash_generation(self.index, self.generation, state);
    }
}

/// What a generation is hashed with, in front of its index.
pub(crate) const GENERATION_TAG: u64 = u64::from_be_bytes(*b"mcp slot");

/// In 128 bits and with a tag, so that a hasher knows a generation when it sees one: only how far two of the
/// same index are apart makes a difference to what happens.
pub(crate) fn hash_generation<H: Hasher>(index: u32, generation: u32, state: &mut H) {
    let place = u128::from(index) << 32 | u128::from(generation);
    state.write_u128(u128::from(GENERATION_TAG) << 64 | place);
}

macro_rules! handle {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) Place);

        impl $name {
            /// The place in the machine's table: small, and free again once the handle is stale.
            ///
            /// Use it to keep the application's own state in a `Vec` beside the machine.
            pub const fn index(self) -> usize {
                self.0.index as usize
            }

            /// The connection that this handle belongs to.
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
            /// `#index.generation`, after the connection number where that is not 0.
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Place { connection, index, generation } = self.0;
                if connection != ConnectionNumber::default() {
                    write!(formatter, "{}", connection.get())?;
                }
                write!(formatter, "#{index}.{generation}")
            }
        }
    };
}

handle! {
    /// A request that the peer made and that this side has to answer.
    ///
    /// It is good until the request is answered, refused, cancelled, or the connection ends. After
    /// that every use is an error that says so.
    IncomingId
}

handle! {
    /// A call that this side made and that the peer has to answer.
    ///
    /// It is good until the call's one outcome has been handed out.
    CallId
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn handles_print_short() {
        let place = Place { connection: ConnectionNumber::default(), index: 3, generation: 7 };
        assert_eq!(IncomingId(place).to_string(), "#3.7");
        let place = Place { connection: ConnectionNumber::new(2), ..place };
        assert_eq!(CallId(place).to_string(), "2#3.7");
        assert_eq!(alloc::format!("{:?}", CallId(place)), "CallId(2#3.7)");
    }
}
