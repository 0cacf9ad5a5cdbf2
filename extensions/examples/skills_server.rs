//! A server on standard input and output with skills for agents.
//!
//! Usage: `cargo run -p mcp-sansio-extensions --example skills_server [DIRECTORY]...`. Each directory is a skill, with a
//! `SKILL.md`; without one, the server has the skill of `extensions/examples/skills`.

use std::env;
use std::error::Error;
use std::path::PathBuf;

use mcp_sansio_extensions::skills::{SkillFiles, SkillOptions, serve_skills};
use mcp_sansio_std::{Router, serve_stdio};

fn main() -> Result<(), Box<dyn Error>> {
    let mut directories: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    if directories.is_empty() {
        directories.push([env!("CARGO_MANIFEST_DIR"), "examples/skills/refunds"].iter().collect());
    }
    let load = |directory| SkillFiles::from_directory("", directory);
    let skills = directories.into_iter().map(load).collect::<Result<_, _>>()?;
    let router = Router::new();
    serve_skills(&router, skills, &SkillOptions::new().directories())?;
    serve_stdio(router.config("skills", env!("CARGO_PKG_VERSION")), router)?;
    Ok(())
}
