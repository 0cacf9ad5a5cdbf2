//! The input that a child process has not read.

use std::process::ChildStdin;

/// The input of a process, held to look for bytes that the process has not read. The process does not see the end
/// of its input while this exists.
///
/// Linux counts the bytes in a pipe, also when the process that was to read them has ended. Other systems may count
/// none, and Windows is not asked: then nothing is known to be unread.
pub(crate) struct Unread {
    #[cfg(unix)]
    input: Option<std::os::fd::OwnedFd>,
}

impl Unread {
    /// Holds the input of a process.
    #[cfg_attr(not(unix), allow(unused_variables, reason = "only Unix counts"))]
    pub(crate) fn in_input(stdin: &ChildStdin) -> Self {
        Self {
            #[cfg(unix)]
            input: std::os::fd::AsFd::as_fd(stdin).try_clone_to_owned().ok(),
        }
    }

    /// Whether bytes were written that the process has not read.
    #[cfg(unix)]
    pub(crate) fn is_there(&self) -> bool {
        let count = |input| rustix::io::ioctl_fionread(input).ok();
        self.input.as_ref().and_then(count).is_some_and(|bytes| 0 < bytes)
    }

    /// Whether bytes were written that the process has not read.
    #[cfg(not(unix))]
    pub(crate) const fn is_there(&self) -> bool {
        false
    }
}
