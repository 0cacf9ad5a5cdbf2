//! Every bound in one place: what it bounds, its default, why, and what it costs at worst.

/// Bounds on what a peer or a caller can make one connection hold.
///
/// A limit that a peer exceeds is reported as a [`Violation`](crate::event::Violation) and the connection
/// lives on; a limit that the caller exceeds is an error of the call and nothing changes.
///
/// # Memory of a connection
///
/// With every table full, one connection holds at most
///
/// ```text
///   Inbox         2 * frame_bytes + chunk_bytes
/// + Outbox        4 * (outbox_bytes + reserve_bytes + held_bytes + outbound_calls * identity)
/// + kept          connection_bytes
/// + inbound       2 * inbound_requests * (id_bytes + token_bytes + 360)
///                 + uri_bytes for each that belongs to a task of the peer
/// + outbound      2 * (outbound_calls * (420 + kept) + remembered_calls * 16)
/// + tasks         2 * outbound_calls * (4 * uri_bytes + kept_bytes + 1_500)
/// + held          4 * held_bytes
/// + listens       2 * listens * subscriptions * 64
/// + elicitations  elicitations * (uri_bytes + 64)
/// + batches       connection_bytes + 2 * batches * batch_elements * (id_bytes + 120)
/// + claim         800
/// ```
///
/// bytes. What it keeps of its peer's messages is in `kept`: with the input that requests and calls wait for, and with
/// the notifications that come before their subscriptions are open. `kept`
/// of a call of ours is at most `kept_bytes`, and 0 unless something has to be remembered of its params: a form that is
/// shown to the user, and all of them where there are no sessions, because the call may have to be made again.
/// `identity` is what this side says of itself in each request
/// where there are no sessions: 200 bytes, its name, its version and its capabilities. A call that was held
/// does not have it yet, so it adds to what is held when that leaves; 0 in sessions. `tasks` are calls that have become
/// tasks of the peer, and 0 where no call does. `batches` is 0 except in a session of 2025-03-26: the buffers in which
/// answers wait, which are counted with what is in them, and the room that ids leave behind. `claim` is the metadata of the
/// last request that belonged to no session, on a server. What the application itself
/// keeps comes on top, as do 24 bytes for each page of a list that is read page by page, the filters of its
/// subscriptions and its answers to what calls need; a request counts in `kept` with twice the length of its message, so that a handler may have that and what it makes of it. Vectors double
/// as they grow, hence the twos; an outbox takes half of that unless every message in it is as short as a
/// message can be.
///
/// With the defaults that is 243 MiB for a server that makes no calls, half of it for an outbox of the shortest
/// messages, and 319 MiB in a session with batches. What hosts every connection of a process has bounds of its own:
/// `EndpointOptions::bytes` of
/// `mcp-sansio-http` for all clients of an endpoint, [`TasksConfig::bytes`](crate::task::TasksConfig::bytes) for tasks,
/// [`PageLimits::bytes`](crate::pagination::PageLimits::bytes) for the pages of a list.
///
/// A connection that has nothing to do needs none of it: less than 1 KiB in all, with its inbox and its outbox,
/// once [`Server::release`](crate::Connection::release) or [`Client::release`](crate::Connection::release) has given back
/// what there was.
///
/// ```
/// use mcp_sansio::Limits;
///
/// let mut limits = Limits::default();
/// limits.frame_bytes = 64 * 1024;
/// assert_eq!(limits.depth, 128);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// Longest inbound frame in bytes, without its newline. A longer line is skipped to its end.
    ///
    /// Default 16 MiB: images and files travel as base64 inside one frame. At most 4 GiB, and on
    /// small machines a quarter of what can be addressed; more counts as that.
    pub frame_bytes: usize,
    /// How many bytes [`Inbox::space`](crate::Inbox::space) offers at least.
    ///
    /// Default 8 KiB, what a pipe usually hands over at once.
    pub chunk_bytes: usize,
    /// How deep the JSON of one frame may nest. The envelope itself is level 1.
    ///
    /// Default and maximum 128: beyond it serde_json refuses to decode a payload anyway.
    pub depth: u8,
    /// Longest request id in bytes, as it is written on the wire.
    ///
    /// Default 256; an id is usually a counter or a UUID.
    pub id_bytes: usize,
    /// Longest method name in bytes. Default 256.
    pub method_bytes: usize,
    /// Longest progress token in bytes, as it is written on the wire. Default 256.
    pub token_bytes: usize,
    /// Most elements in one JSON-RPC batch. Default 256; they are handed out one by one, unbuffered.
    pub batch_elements: u32,
    /// Most batches of a session of 2025-03-26 of which not every request has been answered, so that the answers to the
    /// others wait. Default 64.
    ///
    /// The requests of one more are refused with their own ids and `-32603`.
    pub batches: u32,
    /// Most bytes that are kept of the peer in all:
    ///
    /// - requests that have not been answered, each with twice the length of its message: the application has
    ///   that, and what it makes of it, for as long,
    /// - answers that wait for others of their batch,
    /// - what the peer has given as input, and the state that it wants back,
    /// - the resources that it is subscribed to,
    /// - notifications for subscriptions of ours that are not open yet,
    /// - and, while a request is taken in, what its outbox has not sent.
    ///
    /// Default 64 MiB: two of the largest messages. One request more is refused with its own id and `-32603`,
    /// and what there is goes on. [`Counts::kept_bytes`](crate::event::Counts::kept_bytes) says how many there are.
    pub connection_bytes: usize,
    /// Most requests of the peer that may be unanswered at the same time.
    ///
    /// Default 1024. One more is refused with its own id and `-32603`. Behind HTTP a client has no more requests open
    /// than these for what nobody answers, such as answers of its own; what comes next waits in the outbox.
    pub inbound_requests: u32,
    /// Most calls of ours that may be pending at the same time. Default 1024. What is asked about those
    /// that have become tasks comes on top, up to three times as many.
    pub outbound_calls: u32,
    /// Bytes of calls and notifications made before the handshake is over, kept until it is.
    ///
    /// Default 1 MiB.
    pub held_bytes: usize,
    /// Most unsent bytes in one [`Outbox`](crate::Outbox) that a caller may fill.
    ///
    /// Default 32 MiB: two of the largest frames a peer with the same limits accepts.
    pub outbox_bytes: usize,
    /// What the machine may add on top of `outbox_bytes` for its own short messages: ping results,
    /// errors, cancellations. A connection whose peer exhausts this too, by sending and never
    /// reading, is closed with [`Cause::OutboxOverflow`](crate::Cause::OutboxOverflow).
    ///
    /// Default 64 KiB.
    pub reserve_bytes: usize,
    /// From this many unsent bytes on, [`Outbox::is_congested`](crate::Outbox::is_congested) says so
    /// and a driver should stop reading.
    ///
    /// Default 1 MiB.
    pub congestion_bytes: usize,
    /// Most resources that a session, or one subscription without a session, may be subscribed to.
    /// Default 1024.
    ///
    /// One more is refused with `-32603`.
    pub subscriptions: u32,
    /// Most subscriptions that requests of a client may keep open at the same time
    /// (`subscriptions/listen`, from 2026-07-28 on). Default 64.
    ///
    /// One more is refused with `-32603`. Each may name as many resources as
    /// [`subscriptions`](Self::subscriptions) says, and keeps their URIs.
    pub listens: u32,
    /// Most notifications of one subscription of ours that are kept until the server says that it is open.
    /// Default 64. Together they may be as long as so many URIs ([`uri_bytes`](Self::uri_bytes)), and those of all
    /// subscriptions count towards [`connection_bytes`](Self::connection_bytes).
    pub early_notifications: u32,
    /// Longest URI of a subscription in bytes, and longest id of a task of the peer. Default 8 KiB.
    pub uri_bytes: usize,
    /// How many elicitations by URL are remembered until they are complete, the latest ones.
    /// Default 64.
    pub elicitations: u32,
    /// How often the peer may ask for input before it answers a call, or this side before it answers a
    /// request of a session. Default 10.
    pub input_rounds: u32,
    /// Most things that a peer may ask for at once. Default 64.
    pub input_requests: u32,
    /// Longest text in bytes that is kept beside a request or a call: the schema that an answer of the user
    /// has to fit, the params of a call that may have to be made again. Default 64 KiB.
    pub kept_bytes: usize,
    /// How many calls that were given up are remembered, to tell a late answer from a wrong one.
    ///
    /// Default 64. A response that belongs to no call is compared with each of them.
    pub remembered_calls: u32,
    /// After this many violations in a row, further ones are counted but raise no event until a
    /// good message arrives: a peer that prints a log to the wire cannot flood the application.
    ///
    /// Default 1000.
    pub violations_in_a_row: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: 16 << 20,
            chunk_bytes: 8 << 10,
            depth: 128,
            id_bytes: 256,
            method_bytes: 256,
            token_bytes: 256,
            batch_elements: 256,
            batches: 64,
            connection_bytes: 64 << 20,
            inbound_requests: 1024,
            outbound_calls: 1024,
            held_bytes: 1 << 20,
            outbox_bytes: 32 << 20,
            reserve_bytes: 64 << 10,
            congestion_bytes: 1 << 20,
            subscriptions: 1024,
            listens: 64,
            early_notifications: 64,
            uri_bytes: 8 << 10,
            elicitations: 64,
            input_rounds: 10,
            input_requests: 64,
            kept_bytes: 64 << 10,
            remembered_calls: 64,
            violations_in_a_row: 1000,
        }
    }
}
