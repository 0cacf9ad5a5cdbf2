//! Opens URLs in the user's browser.

use std::process::Stdio;

use tokio::process::Command;

use crate::say::say;

/// Opens an `http` or `https` URL of a server. The URL is a separate argument that no shell interprets.
pub(crate) fn open(url: &str) {
    let mut command = if cfg!(windows) {
        let mut command = Command::new("rundll32");
        // `start` would be a shell command.
        command.arg("url.dll,FileProtocolHandler");
        command
    } else if cfg!(target_os = "macos") {
        Command::new("open")
    } else {
        Command::new("xdg-open")
    };
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A Ctrl-C is for this program, and not for a browser that it has started.
    #[cfg(unix)]
    command.process_group(0);
    let opened = command.spawn();
    drop(tokio::spawn(async move {
        let status = match opened {
            Ok(mut child) => child.wait().await,
            Err(error) => Err(error),
        };
        // The user has the URL, and can open it by hand.
        if !status.is_ok_and(|status| status.success()) {
            say!("No browser could be opened.");
        }
    }));
}
