//! `mcp-inspect`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_sansio_cli::run(None)
}
