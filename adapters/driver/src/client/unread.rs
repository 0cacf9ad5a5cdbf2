//! Detects input that a child process has not read.

use std::process::ChildStdin;

/// The standard input of a process, held to count its unread bytes. The process does not see the end of its input
/// while this exists.
///
/// Linux counts the bytes in a pipe even after its reader has ended. Other systems may report none, and on Windows
/// they are not counted; then no bytes count as unread.
pub(crate) struct Unread {
    #[cfg(unix)]
    input: Option<std::os::fd::OwnedFd>,
}

impl Unread {
    /// Duplicates the standard input of a process.
    #[cfg_attr(not(unix), allow(unused_variables, reason = "only Unix counts"))]
    pub(crate) fn in_input(stdin: &ChildStdin) -> Self {
        Self {
            #[cfg(unix)]
            input: std::os::fd::AsFd::as_fd(stdin).try_clone_to_owned().ok(),
        }
    }

    /// Whether the process has left bytes unread. The process sees the end of its input afterwards.
    #[cfg(unix)]
    pub(crate) fn has_bytes(self) -> bool {
        let count = |input| rustix::io::ioctl_fionread(input).ok();
        self.input.as_ref().and_then(count).is_some_and(|bytes| 0 < bytes)
    }

    /// Whether the process has left bytes unread.
    #[cfg(not(unix))]
    pub(crate) const fn has_bytes(self) -> bool {
        false
    }
}
