//! [`Items`]: the items of one list of a server, as clients see them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_sansio::Revision;
use mcp_sansio::call::ToolTasks;
use mcp_sansio::http::ParamHeaders;
use mcp_sansio::json::Raw;
use mcp_sansio::model::TaskSupport;
use mcp_sansio::model::method::PagedMethod;
use mcp_sansio::pagination::Pager;
use mcp_sansio::schema::{EncodeError, Misfit, Prepared};
use mcp_sansio_tokio::Handle;

use super::list_kind::ListKind;
use crate::config::NameRules;

/// Where a list comes from.
pub(super) struct Source<'s> {
    pub(super) rules: &'s NameRules,
    pub(super) server: &'s Handle,
    /// Whether the server decides by itself which calls become tasks, as modern servers do. Legacy clients ask for tasks, so
    /// they have to know that they may.
    pub(super) decides_about_tasks: bool,
}

/// The items of one list of a server, as clients see them.
#[derive(Default)]
pub(crate) struct Items {
    /// The items, by the name or URI that clients use.
    pub(crate) items: Vec<(String, Raw<'static>)>,
    /// A hash of the items.
    pub(crate) version: u64,
    /// Which tools run as tasks, by their names at the server.
    pub(crate) tool_tasks: ToolTasks,
    /// Whether any tool may become a task, as the server decides.
    decides_about_tasks: bool,
    /// The header fields in which modern clients repeat arguments, by the names that clients use.
    headers: BTreeMap<String, Arc<ParamHeaders>>,
    /// The position of an item.
    positions: BTreeMap<String, usize>,
    misfits: Mutex<BTreeMap<Revision, Arc<Misfits>>>,
}

/// The items that a revision cannot express, by position.
pub(crate) type Misfits = BTreeMap<usize, Misfit>;

impl Items {
    /// Converts the pages of a server. Items without a name, hidden items, and items whose names the server has used
    /// before are left out.
    pub(super) fn new(kind: ListKind, source: &Source<'_>, pages: &[Raw<'static>]) -> Self {
        let mut all = Self { decides_about_tasks: source.decides_about_tasks, ..Self::default() };
        for page in pages {
            if kind == ListKind::Tools {
                all.tool_tasks.page(page);
            }
            let items = page.get(kind.member());
            for item in items.iter().flat_map(Raw::elements) {
                if let Some((name, item)) = shown(kind, source, &item) {
                    all.positions.entry(name.clone()).or_insert_with(|| {
                        if let Some(headers) = headers_of(&item) {
                            all.headers.insert(name.clone(), headers);
                        }
                        all.items.push((name, item));
                        all.items.len() - 1
                    });
                }
            }
        }
        all.tool_tasks.finish();
        let mut version = DefaultHasher::new();
        all.items.iter().for_each(|(_, item)| item.as_json().hash(&mut version));
        all.version = version.finish();
        all
    }

    /// Returns what clients know about a tool: whether it runs as a task.
    pub(crate) fn shown_support(&self, tool: &str) -> TaskSupport<'static> {
        match self.decides_about_tasks {
            true => TaskSupport::Optional,
            false => self.tool_tasks.support(tool),
        }
    }

    /// Returns the header fields in which modern clients repeat the arguments of a tool.
    pub(crate) fn headers(&self, tool: &str) -> Option<Arc<ParamHeaders>> {
        self.headers.get(tool).cloned()
    }

    /// Returns the items that a revision cannot express, and whether they were looked for now. That is done once for each
    /// revision, so that a list costs the same however many of them it has, and its pages agree.
    pub(crate) fn misfits<M: PagedMethod>(&self, revision: Revision) -> (Arc<Misfits>, bool) {
        let mut known = self.misfits.lock().unwrap_or_else(PoisonError::into_inner);
        let mut are_new = false;
        let misfits = known.entry(revision).or_insert_with(|| {
            are_new = true;
            let items = self.items.iter().enumerate();
            let misfits =
                items.filter_map(|(at, (_, item))| Some((at, misfit::<M>(revision, item)?)));
            Arc::new(misfits.collect())
        });
        (Arc::clone(misfits), are_new)
    }

    /// Whether the list has an item with this name or URI.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.positions.contains_key(name)
    }
}

/// Returns the reason why a revision cannot express an item, if it cannot.
fn misfit<M: PagedMethod>(revision: Revision, item: &Raw<'_>) -> Option<Misfit> {
    let page = Pager::new(1).page(std::slice::from_ref(item), None).ok()?;
    match Prepared::result::<M>(revision, &page.result::<M>()) {
        Err(EncodeError::Misfit(misfit)) => Some(misfit),
        _ => None,
    }
}

/// Returns the header fields of a tool, if it has valid ones.
fn headers_of(tool: &Raw<'_>) -> Option<Arc<ParamHeaders>> {
    let headers = ParamHeaders::of(&tool.get("inputSchema")?).ok()?;
    (!headers.is_empty()).then(|| Arc::new(headers))
}

/// Returns an item with the name that clients see.
fn shown(kind: ListKind, source: &Source<'_>, item: &Raw<'_>) -> Option<(String, Raw<'static>)> {
    let name = item.get(kind.key())?.into_str()?.to_str().into_owned();
    if kind.key() != "name" {
        return Some((name, item.clone().into_owned()));
    }
    let shown = source.rules.shown(&name)?;
    let mut changes = vec![("name", Some(Raw::from_serialize(&shown).ok()?))];
    if kind == ListKind::Tools && source.decides_about_tasks && item.get("execution").is_none() {
        changes.push(("execution", Some(Raw::new(r#"{"taskSupport":"optional"}"#).ok()?)));
    }
    Some((shown, item.edited(&changes)))
}
