//! Skills: directories of files with instructions for agents, which a server serves as resources
//! ([SEP-2640](https://modelcontextprotocol.io/seps/2640-skills-extension)).
//!
//! A skill is a directory with a file `SKILL.md`, whose format
//! [Agent Skills](https://agentskills.io/specification) defines. Each file is a resource, by convention under
//! `skill://`. `skills/list` and `skills/get` describe skills: the front matter of `SKILL.md` and the digest of every file.
//!
//! A server creates [`SkillFiles`] and adds them to its router ([`serve_skills`]):
//!
//! ```
//! use mcp_sansio_driver::Router;
//! use mcp_sansio_extensions::skills::{SkillFiles, SkillOptions, serve_skills};
//!
//! let skill_md = "---\nname: refunds\ndescription: Refunds an order\n---\nAsk for the order number first.\n";
//! let skill = SkillFiles::new("billing/refunds", [("SKILL.md", skill_md.as_bytes())])?;
//! assert_eq!(skill.entry().uri, "skill://billing/refunds/SKILL.md");
//!
//! let router = Router::new();
//! serve_skills(&router, vec![skill], &SkillOptions::new())?;
//! # Ok::<(), mcp_sansio_extensions::skills::InvalidSkill>(())
//! ```
//!
//! A host lists the skills of a server, and reads their files with the digests compared ([`list_skills`], [`read_file`],
//! [`read_instructions`]). Skills are text for a model from somebody else: the host decides which to activate, with the
//! consent of its user, and never by their names alone, which are not unique.

mod client;
mod entry;
mod files;
mod front_matter;
mod methods;
mod serve;
mod uri;

pub use client::{
    SkillError, get_skill, has_directories, list_skills, read_directory, read_file,
    read_instructions,
};
pub use entry::{InvalidSkill, Manifest, Skill, SkillFile};
pub use files::{LoadError, SkillFiles};
pub use front_matter::front_matter;
pub use methods::{
    GetSkill, GetSkillResult, ListSkills, ListSkillsResult, ReadDirectory, ReadDirectoryResult,
    UriParams,
};
pub use serve::{SkillOptions, serve_skills};

/// The name of the extension in the capabilities.
pub const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The name of the file with the instructions.
pub const SKILL_FILE: &str = "SKILL.md";

/// The most files of a skill, with `SKILL.md`.
pub const MOST_FILES: usize = 512;

/// The most bytes of all files of a skill together: 16 MiB.
pub const MOST_BYTES: u64 = 16 << 20;

/// The MIME type of directories.
pub const DIRECTORY: &str = "inode/directory";
