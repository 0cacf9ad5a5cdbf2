//! The limits of a connection: the bounded resource, the default, its reason, and the memory cost at worst.

/// Limits on the resources that a peer or the application can make one connection hold.
///
/// If a message of the peer exceeds a limit, the message is refused, or a [`Violation`](crate::event::Violation)
/// reports it, and the connection lives on. Two limits differ: beyond [`reserve_bytes`](Self::reserve_bytes) the
/// connection ends, and beyond [`input_rounds`](Self::input_rounds) the call ends. If the application exceeds a limit,
/// the command fails and changes nothing.
///
/// # Memory of a connection
///
/// With every table full, one connection holds at most
///
/// ```text
///   Inbox         2 * frame_bytes + chunk_bytes
/// + Outbox        4 * (outbox_bytes + reserve_bytes + held_bytes + outbound_calls * identity)
/// + stored        connection_bytes
/// + inbound       2 * inbound_requests * (id_bytes + token_bytes + 360)
///                 + uri_bytes for each that belongs to a task of the peer
/// + outbound      2 * (outbound_calls * (420 + stored) + remembered_calls * 16)
/// + tasks         2 * outbound_calls * (4 * uri_bytes + kept_bytes + 1_500)
/// + queued        4 * held_bytes
/// + listens       2 * listens * subscriptions * 64
/// + elicitations  elicitations * (uri_bytes + 64)
/// + batches       connection_bytes + 2 * batches * batch_elements * (id_bytes + 120)
/// + claim         800
/// ```
///
/// bytes.
///
/// | term | bytes | 0 if |
/// |---|---|---|
/// | `stored` of the connection | data of the peer: input for requests and calls, notifications that arrive before their subscriptions are open | |
/// | `stored` of a call of this side | params that the call remembers, at most `kept_bytes`: a form that the user sees, or in the modern era all params, because the call may be sent again | the call remembers none |
/// | `identity` | metadata in every modern request: 200 bytes, the name, the version and the capabilities. A queued call grows by it when it leaves the queue | the era is legacy |
/// | `tasks` | calls that have become tasks of the peer | no call becomes a task |
/// | `batches` | the buffers in which responses wait, with their content, and the spare capacity that ids leave behind | the session is not of 2025-03-26 |
/// | `claim` | the metadata of the last modern request, on a server | there is none |
///
/// Data of the application comes on top, as do 24 bytes for each page of a list that is read page by page, the
/// filters of the subscriptions of this side, and the input that this side supplies to its calls. A request counts in
/// `stored` with twice the length of its message, so that a handler may keep the message and the data it derives from
/// it. Vectors double as they grow, hence the twos. An outbox takes half of its share unless every message in it is
/// as short as a message can be.
///
/// A client over HTTP also holds at most `HttpClientConfig::most_tool_bytes` for the annotations of tools, and
/// `kept_bytes` for each call that is refused for its header fields, while the tools are listed again.
///
/// With the defaults, the total is 243 MiB for a server that makes no calls, half of it for an outbox of the shortest
/// messages, and 319 MiB in a session with batches. The adapters raise [`inbound_requests`](Self::inbound_requests), so
/// the totals are 296 MiB and 372 MiB there. Components that host all connections of a process have bounds of their
/// own: `EndpointOptions::bytes` of `mcp-sansio-http` for all clients of an endpoint,
/// [`TasksConfig::bytes`](crate::task::TasksConfig::bytes) for tasks,
/// [`PageLimits::bytes`](crate::pagination::PageLimits::bytes) for the pages of a list.
///
/// An idle connection needs none of it: less than 1 KiB in all, with its inbox and its outbox, once
/// [`Server::release`](crate::Connection::release) or [`Client::release`](crate::Connection::release) has freed the
/// spare buffers.
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
    /// The longest inbound frame in bytes, without its newline. A longer line is skipped to its end.
    ///
    /// Default 16 MiB: images and files travel as base64 inside one frame. At most 4 GiB, and on computers with a
    /// small address space a quarter of it; a larger value is lowered to that maximum.
    pub frame_bytes: usize,
    /// The minimum number of bytes that [`Inbox::space`](crate::Inbox::space) offers.
    ///
    /// Default 8 KiB, the size that a pipe usually delivers at once.
    pub chunk_bytes: usize,
    /// The maximum nesting depth of the JSON of one frame. The envelope itself is level 1.
    ///
    /// Default and maximum 128: serde_json refuses to decode a deeper payload anyway.
    pub depth: u8,
    /// The longest request id in bytes, in its wire form.
    ///
    /// Default 256; an id is usually a counter or a UUID.
    pub id_bytes: usize,
    /// The longest method name in bytes. Default 256.
    pub method_bytes: usize,
    /// The longest progress token in bytes, in its wire form. Default 256.
    pub token_bytes: usize,
    /// The maximum number of elements of one JSON-RPC batch. Default 256; elements are delivered one by one,
    /// unbuffered.
    pub batch_elements: u32,
    /// The maximum number of inbound batches with unanswered requests, whose other responses wait in a buffer
    /// (2025-03-26). Default 64.
    ///
    /// The requests of one more batch are rejected, each under its own id, with `-32603`.
    pub batches: u32,
    /// The maximum number of bytes that are kept on behalf of the peer in all:
    ///
    /// - open requests, each with twice the length of its message: the application keeps the message, and the data it
    ///   derives from it, for as long,
    /// - responses that wait for others of their batch,
    /// - the input that the peer has supplied, and the request state that it expects back,
    /// - the resources that the peer is subscribed to,
    /// - notifications for subscriptions of this side that are not open yet,
    /// - and, while a request is received, the unsent bytes of its outbox.
    ///
    /// Default 64 MiB: two of the largest messages. One more request is rejected under its own id with `-32603`; open
    /// requests go on. [`Counts::kept_bytes`](crate::event::Counts::kept_bytes) is the current number.
    pub connection_bytes: usize,
    /// The maximum number of open requests of the peer.
    ///
    /// Default 1024. One more request is rejected under its own id with `-32603`.
    ///
    /// The adapters raise the limit to one request for each 2 KiB of [`connection_bytes`](Self::connection_bytes), by
    /// default to 32,768, because requests wait for a handler there.
    pub inbound_requests: u32,
    /// The maximum number of pending calls of this side. Default 1024. The polls of calls that have become tasks come
    /// on top, up to three times as many.
    pub outbound_calls: u32,
    /// The maximum number of bytes of calls and notifications that are queued until the handshake is complete.
    ///
    /// Default 1 MiB.
    pub held_bytes: usize,
    /// The maximum number of unsent bytes that the application may put into one [`Outbox`](crate::Outbox).
    ///
    /// Default 32 MiB: two of the largest frames a peer with the same limits accepts.
    pub outbox_bytes: usize,
    /// The extra space on top of `outbox_bytes` for short messages of the machine itself: ping results, errors,
    /// cancellations. If a peer exhausts it too, by sending and never reading, the connection is closed with
    /// [`Cause::OutboxOverflow`](crate::Cause::OutboxOverflow).
    ///
    /// Default 64 KiB.
    pub reserve_bytes: usize,
    /// The number of unsent bytes from which [`Outbox::is_congested`](crate::Outbox::is_congested) returns true. A
    /// driver then stops reading, or starts no more work: see [the
    /// policies](crate::manual::event_loop#when-the-peer-does-not-read).
    ///
    /// Default 1 MiB.
    pub congestion_bytes: usize,
    /// The maximum number of resources that a session, or one subscription of the modern era, may be subscribed to.
    /// Default 1024.
    ///
    /// One more is rejected with `-32603`.
    pub subscriptions: u32,
    /// The maximum number of subscriptions that requests of a client may keep open at the same time
    /// (`subscriptions/listen`, from 2026-07-28 on). Default 64.
    ///
    /// One more is rejected with `-32603`. Each may name up to [`subscriptions`](Self::subscriptions) resources, and
    /// keeps their URIs.
    pub listens: u32,
    /// The maximum number of notifications of one subscription of this side that are kept until the server
    /// acknowledges the subscription. Default 64. Their total length is at most that of as many URIs
    /// ([`uri_bytes`](Self::uri_bytes)). Those of all subscriptions count towards
    /// [`connection_bytes`](Self::connection_bytes).
    pub early_notifications: u32,
    /// The longest URI of a subscription in bytes, and the longest id of a task of the peer. Default 8 KiB.
    pub uri_bytes: usize,
    /// The maximum number of URL elicitations that are remembered until they are complete; the latest ones are kept.
    /// Default 64.
    pub elicitations: u32,
    /// The maximum number of times that the peer may request input before it responds to a call, or this side before
    /// it responds to a request of a session. Default 10.
    pub input_rounds: u32,
    /// The maximum number of inputs that a peer may request at once. Default 64.
    pub input_requests: u32,
    /// The longest text in bytes that is kept with a request or a call: the schema that the user's input must match,
    /// or the params of a call that may have to be sent again. Default 64 KiB.
    pub kept_bytes: usize,
    /// The maximum number of abandoned calls that are remembered, to report a late response as
    /// [`Cancelled`](crate::event::UnmatchedCause::Cancelled) or [`TimedOut`](crate::event::UnmatchedCause::TimedOut)
    /// instead of [`Completed`](crate::event::UnmatchedCause::Completed).
    ///
    /// Default 64. A response that matches no call is compared with each of them.
    pub remembered_calls: u32,
    /// The number of consecutive violations after which further ones are counted but raise no event until a valid
    /// message arrives: a peer that prints a log to the wire cannot flood the application.
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
