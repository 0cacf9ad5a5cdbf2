//! The stages of the work. Each is a function that is never inlined, so that a profile shows its cost.

/// Defines functions that are never inlined and call their argument.
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
    /// Splits bytes into frames.
    stage_framing
    /// Turns a frame into an event.
    stage_receiving
    /// Handles the event in the application.
    stage_handling
    /// Writes the response or the call.
    stage_writing
    /// Takes bytes out of the outbox.
    stage_sending
    /// Parses a message with a plain JSON library.
    stage_reading
    /// Generates the input in the benchmark itself. It is attributed to no contender.
    stage_driving
    /// Covers all stages.
    stage_everything
}
