//! Writes the pages: a front page of totals, one page for each area, and one of pains.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::catalogue::{self, LEVELS, Note, REVISIONS, Requirement};
use super::claims::{Claims, Test};

/// The areas: file, title, and the beginnings of the ids.
const AREAS: [(&str, &str, &[&str]); 11] = [
    (
        "messages",
        "Messages: JSON-RPC, batches, results, errors, metadata",
        &["L-JSONRPC", "M-RPC", "L-BATCH", "M-RES", "L-ERR", "M-ERR", "L-META", "M-META", "M-JSCH"],
    ),
    (
        "lifecycle",
        "Lifecycle: eras, versions, capabilities, timeouts, stdio",
        &[
            "L-LIFE", "L-VER", "M-DISC", "M-ERA", "L-CAP", "M-CAP", "M-STATE", "M-DEPR", "L-TIME",
            "L-PING", "M-SECL", "L-STDIO", "M-STDIO", "M-TRAN",
        ],
    ),
    (
        "patterns",
        "Patterns: cancellation, progress, subscriptions, pagination, caching",
        &["L-CANCEL", "M-CANC", "L-PROG", "M-PROG", "M-SUB", "L-PAGE", "M-PAGE", "M-CACHE"],
    ),
    (
        "server_features",
        "Server features: tools, resources, prompts, completion, logging",
        &[
            "L-TOOL", "M-TOOL", "M-CONT", "L-RES", "M-RSRC", "L-PROMPT", "M-PRMT", "L-COMP",
            "M-COMP", "L-LOG", "M-LOG",
        ],
    ),
    (
        "client_features",
        "Client features: input requests, sampling, elicitation, roots",
        &["M-MRTR", "L-SAMP", "M-SAMP", "L-ELIC", "M-ELIC", "L-ROOT", "M-ROOT"],
    ),
    ("tasks", "Tasks: of 2025-11-25, and the extension", &["L-TASK", "M-TASKX"]),
    ("races", "Races: two messages that cross, in both orders", &["L-RACE", "M-R"]),
    ("ambiguities", "Ambiguities of the specification", &["L-AMB", "M-AMB"]),
    ("http", "HTTP: Streamable HTTP, and HTTP with SSE", &["L-HTTP", "H-HTTP", "H-HR", "H-HA"]),
    (
        "authorization",
        "Authorization: OAuth 2.1 for clients and for servers",
        &[
            "A-GEN", "A-CHAL", "A-PRM", "A-DISC", "A-REG", "A-AUTHZ", "A-RESP", "A-TOK", "A-REF",
            "A-USE", "A-STEP", "A-RS", "A-SEC", "A-EXT",
        ],
    ),
    (
        "hosts_and_guides",
        "Architecture, duties of hosts, and mistakes of guides",
        &["M-ARCH", "L-HOST", "SEED2"],
    ),
];

const SITE: &str = "https://modelcontextprotocol.io/";
const GENERATED: &str = "<!-- Written by the test `the_conformance_list_is_true` from catalogue.tsv, pains.tsv and the tests. -->";

/// Row counts of one table.
#[derive(Default)]
struct Totals {
    rows: usize,
    met: usize,
    rulings: usize,
    deviations: usize,
    hosts: usize,
}

impl Totals {
    fn count(rows: &[&Requirement]) -> Self {
        let of = |is: fn(&Note) -> bool| rows.iter().filter(|row| is(&row.note)).count();
        let hosts = of(|note| matches!(note, Note::Host(_)));
        let deviations = of(|note| matches!(note, Note::Deviation(_)));
        Self {
            rows: rows.len(),
            met: rows.len() - hosts - deviations,
            rulings: of(|note| matches!(note, Note::Ruling(_))),
            deviations,
            hosts,
        }
    }

    fn cells(&self) -> String {
        let Self { rows, met, rulings, deviations, hosts } = self;
        format!("{rows} | {met} | {rulings} | {deviations} | {hosts}")
    }
}

/// Every page by its path from the root of the repository.
pub(super) fn all() -> BTreeMap<String, String> {
    let requirements = catalogue::requirements();
    let claims = Claims::of_requirements();
    let mut pages = BTreeMap::new();
    let mut contents = String::new();
    for (file, title, topics) in AREAS {
        let of_area = |topic: &'static str| {
            requirements.iter().filter(move |row| topic_of(row) == topic && area_of(row).0 == file)
        };
        let rows: Vec<&Requirement> = topics.iter().flat_map(|topic| of_area(topic)).collect();
        assert!(!rows.is_empty(), "{file} is empty");
        let name = format!("proptests/conformance/{file}.md");
        let cells = Totals::count(&rows).cells();
        writeln!(contents, "| [{title}]({name}) | {cells} |").unwrap();
        pages.insert(name, page(title, &rows, &claims));
    }
    let all: Vec<&Requirement> = requirements.iter().collect();
    pages.insert("CONFORMANCE.md".into(), front(&contents, &all));
    pages.insert("proptests/conformance/pains.md".into(), pains());
    pages
}

/// The only area that a requirement belongs to.
fn area_of(row: &Requirement) -> (&'static str, &'static str, &'static [&'static str]) {
    let mut areas = AREAS.into_iter().filter(|area| area.2.contains(&topic_of(row)));
    let area = areas.next().unwrap_or_else(|| panic!("{} belongs to no area", row.id));
    assert!(areas.next().is_none(), "{} belongs to two areas", row.id);
    area
}

/// `L-CANCEL` of `L-CANCEL-07`.
fn topic_of(row: &Requirement) -> &str {
    row.id.rsplit_once('-').unwrap().0
}

fn front(contents: &str, all: &[&Requirement]) -> String {
    let totals = Totals::count(all);
    let Totals { rows, met, rulings, deviations, hosts } = &totals;
    let pains = catalogue::pains().len();
    let levels: Vec<String> = LEVELS
        .iter()
        .map(|level| format!("{level} {}", all.iter().filter(|row| row.level == *level).count()))
        .collect();
    let links = all.iter().filter(|row| matches!(row.note, Note::Deviation(_)));
    let links: Vec<String> = links
        .map(|row| format!("[{}](proptests/conformance/{}.md)", row.id, area_of(row).0))
        .collect();
    format!(
        "{GENERATED}

# Conformance

Of {rows} requirements of the protocol {met} are met and {deviations} are deviations, each with a test; {hosts} are
duties of the host.

| area | requirements | met | of these by a ruling | deviations | of the host |
|---|---:|---:|---:|---:|---:|
{contents}| **all** | {cells} |

The requirements are the project's own list of rules in the pages and schemas of the
[specification]({SITE}specification), one rule to a row. A row has:

- its **ID**, with a link to the page that states the rule. `L` stands for the legacy revisions, `M` for 2026-07-28 and
  for both eras, `H` for HTTP, `A` for authorization, and `SEED2` for errors in a published guide, which peers have copied;
- its **level**: the word of RFC 2119; *RFC* for a rule of a standard that the specification makes binding; *derived* if
  the rule follows from others, from a schema or from JSON-RPC; *interop* if no text asks for it, but failures of other
  implementations do. There are: {levels};
- its **revisions**: {revisions};
- the **rule**, and the tests that fail if the rule is broken.

*Ruling* marks {rulings} rows in which the specification is ambiguous or leaves a choice, or the row is narrower than the
specification; the row states our choice. *Deviation* marks the rows that the library knowingly does not follow:
{links}. *Host* marks the rows that only the application can keep.

[Failures of other implementations](proptests/conformance/pains.md) lists {pains} failures that users of other
implementations reported, each with the test that shows the right behaviour.

The pages are written from [`catalogue.tsv`](proptests/conformance/catalogue.tsv) and the doc comments of the tests:

```sh
{write}
```
",
        cells = totals.cells(),
        levels = levels.join(", "),
        links = links.join(", "),
        revisions = revisions(),
        write = super::WRITE,
    )
}

/// The legend of the letters.
fn revisions() -> String {
    let letters = REVISIONS.iter().map(|(letter, date)| format!("{letter} is {date}"));
    letters.collect::<Vec<_>>().join(", ")
}

fn page(title: &str, rows: &[&Requirement], claims: &Claims) -> String {
    let mut page = format!(
        "{GENERATED}\n\n# {title}\n\nThe [front page](../../CONFORMANCE.md) explains the columns. Of the revisions {}.\n\n\
         | ID | level | revisions | rule | proven by |\n|---|---|---|---|---|\n",
        revisions(),
    );
    for row in rows {
        let Requirement { id, level, revisions, page: source, rule, .. } = row;
        let rule = if rule.ends_with('?') { rule.clone() } else { format!("{rule}.") };
        let (marked, proof) = match &row.note {
            Note::None => (rule.clone(), None),
            Note::Ruling(choice) => (format!("{rule} *Ruling*: {choice}."), None),
            Note::Deviation(what) => (format!("{rule} *Deviation*: {what}."), None),
            Note::Host(why) => (rule.clone(), Some(format!("*Host*: {why}."))),
        };
        let proof = proof.unwrap_or_else(|| tests(&claims.of(id)));
        writeln!(page, "| [{id}]({SITE}{source}) | {level} | {revisions} | {marked} | {proof} |")
            .unwrap();
    }
    page
}

fn pains() -> String {
    let claims = Claims::of_pains();
    let mut page = format!(
        "{GENERATED}\n\n# Failures of other implementations\n\n\
         Failures that users of other implementations reported, what this library does instead, and the tests \
         that show it.\n\n| | failure | behaviour here | shown by |\n|---|---|---|---|\n"
    );
    for pain in catalogue::pains() {
        let number = pain.number.to_string();
        let link = pain.evidence.map_or_else(|| number.clone(), |url| format!("[{number}]({url})"));
        let proof = tests(&claims.of(&number));
        writeln!(page, "| {link} | {} | {} | {proof} |", pain.pain, pain.behaviour).unwrap();
    }
    page
}

/// Names with links, as seen from `proptests/conformance`.
fn tests(tests: &[&Test]) -> String {
    let links = tests.iter().map(|Test { name, file }| {
        let file = file
            .strip_prefix("proptests/")
            .map_or_else(|| format!("../../{file}"), |file| format!("../{file}"));
        format!("[`{name}`]({file})")
    });
    links.collect::<Vec<_>>().join(", ")
}
