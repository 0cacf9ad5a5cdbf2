//! Authorization: the machine of a client, and what goes over the wire.

mod challenges;
