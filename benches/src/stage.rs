//! The stages of the work, each a function that stays one, so that a profile shows what it costs.

/// Defines functions that are never inlined and do what they are given.
macro_rules! stages {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[inline(never)]
        pub fn $name<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
    )*};
}

stages! {
    /// Bytes become frames.
    stage_framing
    /// A frame becomes an event.
    stage_receiving
    /// The application looks at the event.
    stage_handling
    /// The answer, or the call, is written.
    stage_writing
    /// Bytes leave the outbox.
    stage_sending
    /// Somebody who knows JSON and nothing else reads a message.
    stage_reading
    /// The benchmark itself makes the bytes that come in. This is nobody's work.
    stage_driving
    /// Everything together.
    stage_everything
}
