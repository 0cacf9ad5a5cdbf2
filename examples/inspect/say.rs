//! What goes to standard error. Whoever would read it may be gone, which is no reason to fail.

/// Prints a line to standard error, if anybody listens.
macro_rules! say {
    ($($argument:tt)*) => {{
        use std::io::Write;
        _ = writeln!(std::io::stderr(), $($argument)*);
    }};
}

pub(crate) use say;
