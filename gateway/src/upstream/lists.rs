//! [`Lists`]: the lists of a server, as they were read last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_sansio::CallOptions;
use mcp_sansio::call::{Paging, Timeout, ToolTasks};
use mcp_sansio::capability::Capability;
use mcp_sansio::event::Expiry;
use mcp_sansio::http::ParamHeaders;
use mcp_sansio::json::Raw;
use mcp_sansio::model::TaskSupport;
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::subscription::ChangedList;
use mcp_sansio_tokio::{CallFailure, Handle};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::config::NameRules;

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
    const fn announced_by(self) -> Capability {
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
    const fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// Reads all pages of the list.
    async fn read(self, server: &Handle) -> Result<Vec<Raw<'static>>, CallFailure> {
        let options = CallOptions::new().idle(Timeout::Never).total(Timeout::Never);
        match self {
            Self::Tools => pages::<ListTools>(server, options).await,
            Self::Prompts => pages::<ListPrompts>(server, options).await,
            Self::Resources => pages::<ListResources>(server, options).await,
            Self::Templates => pages::<ListResourceTemplates>(server, options).await,
        }
    }
}

async fn pages<M: PagedMethod>(
    server: &Handle,
    options: CallOptions,
) -> Result<Vec<Raw<'static>>, CallFailure> {
    let list = server.list::<M>(Paging::default(), options).await?;
    Ok(list.pages.iter().map(|page| page.raw().clone()).collect())
}

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
    /// Which tools run as tasks, by their names at the server.
    pub(crate) tool_tasks: ToolTasks,
    /// Whether any tool may become a task, as the server decides.
    decides_about_tasks: bool,
    /// The header fields in which modern clients repeat arguments, by the names that clients use.
    headers: BTreeMap<String, Arc<ParamHeaders>>,
    /// The position of an item.
    positions: BTreeMap<String, usize>,
}

impl Items {
    /// Converts the pages of a server. Items without a name, hidden items, and items whose names the server has used
    /// before are left out.
    fn new(kind: ListKind, source: &Source<'_>, pages: &[Raw<'static>]) -> Self {
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

    /// Whether the list has an item with this name or URI.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.positions.contains_key(name)
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

/// The four lists of a server.
pub(crate) struct Lists {
    lists: [watch::Sender<List>; 4],
    age: Duration,
    /// Whether a subscription to changes is open.
    is_announced: AtomicBool,
}

#[derive(Default)]
struct List {
    items: Option<Arc<Items>>,
    /// The time after which the items are read again; `None` if they have to be read now.
    fresh_until: Option<Freshness>,
    is_being_read: bool,
    /// The number of changes, each of which makes a reading in progress obsolete.
    changes: u64,
    /// The number of finished readings.
    readings: u64,
    /// Whether a client has received a list without these items.
    is_missed: bool,
}

#[derive(Clone, Copy)]
enum Freshness {
    /// As long as changes are announced; otherwise until then.
    Announced(Instant),
    Until(Instant),
}

impl List {
    fn is_fresh(&self, is_announced: bool) -> bool {
        self.fresh_until.is_some_and(|until| match until {
            Freshness::Announced(_) if is_announced => true,
            Freshness::Announced(time) | Freshness::Until(time) => Instant::now() < time,
        })
    }
}

impl Lists {
    pub(super) fn new(age: Duration) -> Self {
        let lists = std::array::from_fn(|_| watch::Sender::new(List::default()));
        Self { lists, age, is_announced: AtomicBool::new(false) }
    }

    fn of(&self, kind: ListKind) -> &watch::Sender<List> {
        let [tools, prompts, resources, templates] = &self.lists;
        match kind {
            ListKind::Tools => tools,
            ListKind::Prompts => prompts,
            ListKind::Resources => resources,
            ListKind::Templates => templates,
        }
    }

    /// Whether the caller has to [read](Reading::read) the list.
    pub(super) fn begin(&self, kind: ListKind) -> bool {
        let is_announced = self.is_announced.load(Ordering::Relaxed);
        self.of(kind).send_if_modified(|list| {
            let begins = !list.is_fresh(is_announced) && !list.is_being_read;
            list.is_being_read |= begins;
            begins
        })
    }

    /// Notes whether changes are announced. Without announcements, lists get old.
    pub(super) fn set_announced(&self, is_announced: bool) {
        self.is_announced.store(is_announced, Ordering::Relaxed);
    }

    /// Returns the duty to [read](Reading::read) a list, after [`begin`](Self::begin).
    pub(super) fn reading(&self, kind: ListKind) -> Reading<'_> {
        Reading { lists: self, kind, is_done: false }
    }

    /// Waits for a list that is being read, until `deadline`. Returns its newest items.
    ///
    /// Without items, the second value tells whether this is the first client that gets none.
    pub(super) async fn wait(
        &self,
        kind: ListKind,
        deadline: Instant,
    ) -> (Option<Arc<Items>>, bool) {
        let mut changes = self.of(kind).subscribe();
        let before = changes.borrow_and_update().readings;
        let is_announced = self.is_announced.load(Ordering::Relaxed);
        let is_done = |list: &List| {
            list.is_fresh(is_announced) || !list.is_being_read || before < list.readings
        };
        let waited: Result<_, _> =
            tokio::time::timeout_at(deadline, changes.wait_for(is_done)).await;
        drop(waited);
        let (mut items, mut is_first) = (None, false);
        self.of(kind).send_if_modified(|list| {
            items.clone_from(&list.items);
            is_first = items.is_none() && !list.is_missed;
            list.is_missed |= is_first;
            false
        });
        (items, is_first)
    }

    /// Returns the newest items, without waiting.
    pub(super) fn known(&self, kind: ListKind) -> Option<Arc<Items>> {
        self.of(kind).borrow().items.clone()
    }

    /// Notes that a list has changed. Returns whether clients may know an older one.
    pub(super) fn changed(&self, list: ChangedList) -> bool {
        let mut is_known = false;
        for kind in ListKind::ALL.into_iter().filter(|kind| kind.changed() == list) {
            self.of(kind).send_modify(|list| {
                list.fresh_until = None;
                list.changes += 1;
                is_known |= list.items.is_some() || list.is_missed;
            });
        }
        is_known
    }
}

/// A reading in progress. If it is given up, the next request reads the list.
pub(super) struct Reading<'l> {
    lists: &'l Lists,
    kind: ListKind,
    is_done: bool,
}

impl Reading<'_> {
    /// Reads the list. Returns whether clients that have received a list without its items have to know.
    pub(super) async fn read(
        mut self,
        source: &Source<'_>,
        within: Duration,
    ) -> (Result<(), CallFailure>, bool) {
        let server = source.server;
        let changes = self.list().borrow().changes;
        let has = |capability| server.peer_capabilities().contains(capability);
        let read = match has(self.kind.capability()) {
            // The timers of the machine stand still while a client is asked for input.
            true => match tokio::time::timeout(within, self.kind.read(server)).await {
                Ok(read) => read,
                Err(_) => Err(CallFailure::TimedOut(Expiry::Total)),
            },
            false => Ok(Vec::new()),
        };
        let items = match read {
            Ok(pages) => Arc::new(Items::new(self.kind, source, &pages)),
            Err(failure) => return (Err(failure), false),
        };
        self.is_done = true;
        // A change in the meantime makes the items old at once.
        let is_announced = self.lists.is_announced.load(Ordering::Relaxed);
        let fresh = match is_announced && has(self.kind.announced_by()) {
            true => Freshness::Announced(Instant::now() + self.lists.age),
            false => Freshness::Until(Instant::now() + self.lists.age),
        };
        let mut was_missed = false;
        self.list().send_modify(|list| {
            list.is_being_read = false;
            list.readings += 1;
            was_missed = std::mem::take(&mut list.is_missed);
            list.items = Some(items);
            list.fresh_until = (list.changes == changes).then_some(fresh);
        });
        (Ok(()), was_missed)
    }

    fn list(&self) -> &watch::Sender<List> {
        self.lists.of(self.kind)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.list().send_modify(|list| {
                list.is_being_read = false;
                list.readings += 1;
            });
        }
    }
}
