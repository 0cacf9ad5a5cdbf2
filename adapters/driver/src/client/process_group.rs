//! A process with all processes that it has started.

use std::process::{Child, Command};

#[cfg(not(any(unix, windows)))]
pub(crate) use other::ProcessGroup;
#[cfg(unix)]
pub(crate) use unix::ProcessGroup;
#[cfg(windows)]
pub(crate) use windows::ProcessGroup;

#[cfg(unix)]
mod unix {
    use super::*;
    use rustix::process::{
        Pid, Signal, WaitOptions, kill_process, kill_process_group, test_kill_process_group,
        waitpid,
    };

    /// A process, and the group that it leads.
    #[derive(Debug)]
    pub(crate) struct ProcessGroup {
        has_group: bool,
        number: Option<Pid>,
        /// Whether the process has been reaped. Its id may be reused then, unless other processes of its group
        /// still run.
        is_reaped: bool,
    }

    impl ProcessGroup {
        pub(crate) fn prepare(command: &mut Command, own_group: bool) {
            if own_group {
                std::os::unix::process::CommandExt::process_group(command, 0);
            }
        }

        pub(crate) fn of(child: &Child, own_group: bool) -> Self {
            let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            Self { has_group: own_group, number, is_reaped: false }
        }

        /// Notes that the process has been reaped.
        pub(crate) fn reaped(&mut self) {
            self.is_reaped = true;
            self.is_alive();
        }

        /// Whether any process that the process has started is still running, once the process itself has ended.
        pub(crate) fn is_alive(&mut self) -> bool {
            let is_alive = self.has_group
                && self.number.is_some_and(|group| test_kill_process_group(group).is_ok());
            if self.is_reaped && !is_alive {
                // From here on the id may belong to another group.
                self.number = None;
            }
            is_alive
        }

        /// Asks all processes to terminate. Returns whether the platform supports that.
        pub(crate) fn terminate(&self) -> bool {
            self.signal(Signal::TERM);
            true
        }

        /// Kills all processes.
        #[allow(clippy::needless_pass_by_ref_mut, reason = "Windows needs it")]
        pub(crate) fn kill(&mut self) {
            self.signal(Signal::KILL);
        }

        /// Starts a thread that waits for the process, so that the process does not stay a zombie. Does nothing if no
        /// thread can be started.
        pub(crate) fn reap_later(&self) {
            let Some(process) = self.number else { return };
            let wait = move || _ = waitpid(Some(process), WaitOptions::empty());
            _ = std::thread::Builder::new().name("mcp reaper".into()).spawn(wait);
        }

        fn signal(&self, signal: Signal) {
            // An error means that the process has already ended.
            _ = match (self.number, self.has_group) {
                (Some(group), true) => kill_process_group(group, signal),
                (Some(process), false) if !self.is_reaped => kill_process(process, signal),
                _ => Ok(()),
            };
        }
    }
}

#[cfg(windows)]
#[allow(clippy::needless_pass_by_ref_mut, reason = "Unix needs it")]
mod windows {
    use super::*;
    use std::os::windows::io::AsRawHandle;
    use std::os::windows::process::CommandExt;

    use win32job::{ExtendedLimitInfo, Job};

    /// `CREATE_NEW_PROCESS_GROUP`: a Ctrl-C in the console reaches this process only.
    const NEW_GROUP: u32 = 0x0000_0200;

    /// A process and its job, which includes all processes that it starts.
    #[derive(Debug)]
    pub(crate) struct ProcessGroup {
        /// Dropping the job kills all remaining processes in it.
        job: Option<Job>,
    }

    impl ProcessGroup {
        pub(crate) fn prepare(command: &mut Command, own_group: bool) {
            if own_group {
                command.creation_flags(NEW_GROUP);
            }
        }

        /// Processes that the process starts before this call are not in the job, and end only if they notice the
        /// end of their input.
        pub(crate) fn of(child: &Child, own_group: bool) -> Self {
            let job = || {
                let mut limits = ExtendedLimitInfo::new();
                limits.limit_kill_on_job_close();
                let job = Job::create_with_limit_info(&limits).ok()?;
                job.assign_process(child.as_raw_handle() as isize).ok()?;
                Some(job)
            };
            Self { job: own_group.then(job).flatten() }
        }

        pub(crate) const fn reaped(&mut self) {}

        /// Whether any process that the process has started is still running, once the process itself has ended.
        pub(crate) fn is_alive(&mut self) -> bool {
            let processes = self.job.as_ref().map(Job::query_process_id_list);
            processes.is_some_and(|processes| processes.is_ok_and(|ids| !ids.is_empty()))
        }

        /// Windows has no way to ask, beyond the closed input.
        pub(crate) const fn terminate(&self) -> bool {
            false
        }

        /// Kills all processes.
        pub(crate) fn kill(&mut self) {
            self.job = None;
        }

        /// Windows keeps nothing of a process whose handles are closed.
        pub(crate) const fn reap_later(&self) {}
    }
}

#[cfg(not(any(unix, windows)))]
#[allow(clippy::needless_pass_by_ref_mut, reason = "Unix needs it")]
mod other {
    use super::*;

    /// A process without a group.
    #[derive(Debug)]
    pub(crate) struct ProcessGroup;

    impl ProcessGroup {
        pub(crate) const fn prepare(_: &mut Command, _: bool) {}

        pub(crate) const fn of(_: &Child, _: bool) -> Self {
            Self
        }

        pub(crate) const fn reaped(&mut self) {}

        pub(crate) const fn is_alive(&mut self) -> bool {
            false
        }

        pub(crate) const fn terminate(&self) -> bool {
            false
        }

        pub(crate) const fn kill(&mut self) {}

        pub(crate) const fn reap_later(&self) {}
    }
}
