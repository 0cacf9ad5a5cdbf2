//! The requests that the command line can make.

use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CallToolParams, CompleteParams, GetPromptParams, ReadResourceParams, Reference, method,
};
use mcp_sansio_std::Reply;

use crate::bench::{self, Load};
use crate::report;
use crate::session::Session;

/// One request.
#[derive(Debug)]
pub(crate) enum Action {
    Read {
        uri: String,
    },
    Prompt {
        name: String,
        arguments: Raw<'static>,
    },
    Complete {
        reference: String,
        argument: String,
        value: String,
    },
    Call {
        name: String,
        arguments: Raw<'static>,
    },
    /// Many calls of a tool.
    Bench {
        name: String,
        arguments: Raw<'static>,
        load: Load,
    },
}

/// The text for standard output, and whether the request succeeded.
pub(crate) struct Output {
    pub(crate) text: String,
    pub(crate) succeeded: bool,
}

impl Action {
    /// Makes the request, and returns its output.
    pub(crate) fn run(&self, session: &Session, json: bool) -> Result<Output, String> {
        let (reply, render) = match self {
            Self::Bench { name, arguments, load } => {
                return bench::run(session, name, arguments, *load, json);
            }
            request => request.ask(session)?,
        };
        let mut output = render(&reply)?;
        if json {
            // On one line, regardless of its original format.
            let line = Raw::from_serialize(reply.raw()).map_err(|error| error.to_string())?;
            output.text = line.to_string();
        }
        Ok(output)
    }

    fn ask(&self, session: &Session) -> Result<(Reply, Render), String> {
        match self {
            Self::Read { uri } => {
                let params = ReadResourceParams::new(uri.as_str());
                Ok((session.ask::<method::ReadResource>(&params)?, report::resource))
            }
            Self::Prompt { name, arguments } => {
                let mut params = GetPromptParams::new(name.as_str());
                let arguments = arguments.parse().map_err(|_| {
                    format!("the arguments of the prompt {name} must be strings: {arguments}")
                })?;
                params.arguments = Some(arguments);
                Ok((session.ask::<method::GetPrompt>(&params)?, report::prompt))
            }
            Self::Complete { reference, argument, value } => {
                let reference = if reference.contains(':') {
                    Reference::resource(reference.as_str())
                } else {
                    Reference::prompt(reference.as_str())
                };
                let params = CompleteParams::new(reference, argument.as_str(), value.as_str());
                Ok((session.ask::<method::Complete>(&params)?, report::completion))
            }
            Self::Call { name, arguments } | Self::Bench { name, arguments, .. } => {
                let params = CallToolParams::with(name.as_str(), arguments.clone());
                let options = session.tool_options(name)?;
                Ok((session.ask_with::<method::CallTool>(&params, options)?, report::call))
            }
        }
    }
}

/// Converts a result to text.
type Render = fn(&Reply) -> Result<Output, String>;
