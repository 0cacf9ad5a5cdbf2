//! [`ListKind`]: the kinds of lists that a server has, and how each is read.

use mcp_sansio::CallOptions;
use mcp_sansio::call::{Paging, Timeout};
use mcp_sansio::capability::Capability;
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::pagination::PageStop;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio_tokio::{CallFailure, Handle};

/// The kind of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    pub(crate) const ALL: [Self; 4] =
        [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// The member of a result that contains the items.
    pub(crate) const fn member(self) -> &'static str {
        match self {
            Self::Tools => ListTools::ITEMS,
            Self::Prompts => ListPrompts::ITEMS,
            Self::Resources => ListResources::ITEMS,
            Self::Templates => ListResourceTemplates::ITEMS,
        }
    }

    /// The capability of a server that has the list.
    pub(crate) const fn capability(self) -> Capability {
        match self {
            Self::Tools => Capability::Tools,
            Self::Prompts => Capability::Prompts,
            Self::Resources | Self::Templates => Capability::Resources,
        }
    }

    /// The capability of a server that announces changes of the list.
    pub(super) const fn announced_by(self) -> Capability {
        match self {
            Self::Tools => Capability::ToolsListChanged,
            Self::Prompts => Capability::PromptsListChanged,
            Self::Resources | Self::Templates => Capability::ResourcesListChanged,
        }
    }

    /// The notification of a change.
    pub(crate) const fn changed(self) -> ChangedList {
        match self {
            Self::Tools => ChangedList::Tools,
            Self::Prompts => ChangedList::Prompts,
            Self::Resources | Self::Templates => ChangedList::Resources,
        }
    }

    /// The member that identifies an item in requests.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// Reads all pages of the list.
    pub(super) async fn read(self, server: &Handle) -> Result<Pages, CallFailure> {
        let options = CallOptions::new().idle(Timeout::Never).total(Timeout::Never);
        match self {
            Self::Tools => pages::<ListTools>(server, options).await,
            Self::Prompts => pages::<ListPrompts>(server, options).await,
            Self::Resources => pages::<ListResources>(server, options).await,
            Self::Templates => pages::<ListResourceTemplates>(server, options).await,
        }
    }
}

/// The pages of a list.
#[derive(Default)]
pub(super) struct Pages {
    pub(super) pages: Vec<Raw<'static>>,
    /// Whether the list has changed while it was read.
    pub(super) is_stale: bool,
    pub(super) cut: Option<PageStop>,
}

async fn pages<M: PagedMethod>(
    server: &Handle,
    options: CallOptions,
) -> Result<Pages, CallFailure> {
    let list = server.list::<M>(Paging::default(), options).await?;
    let pages = list.pages.iter().map(|page| page.raw().clone()).collect();
    Ok(Pages { pages, is_stale: list.stale, cut: list.cut })
}
