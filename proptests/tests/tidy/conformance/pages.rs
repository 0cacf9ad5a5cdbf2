//! Writes the pages: a front page of totals, one page for each area, and one of pains.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::catalogue::{self, Note, REVISIONS, Requirement};
use super::claims::{Claims, Test};

/// The areas: file, title, and the beginnings of the ids.
const AREAS: [(&str, &str, &[&str]); 10] = [
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
        "hosts_and_guides",
        "Architecture, duties of hosts, and mistakes of guides",
        &["M-ARCH", "L-HOST", "SEED2"],
    ),
];

const SITE: &str = "https://modelcontextprotocol.io/";
const GENERATED: &str = "<!-- Written by the test `the_pages_are_up_to_date` from catalogue.tsv, pains.tsv and the tests. -->";

/// What a table counts of its rows.
#[derive(Default)]
struct Totals {
    rows: usize,
    proven: usize,
    rulings: usize,
    deviations: usize,
    hosts: usize,
}

impl Totals {
    fn count(rows: &[&Requirement]) -> Self {
        let of = |is: fn(&Note) -> bool| rows.iter().filter(|row| is(&row.note)).count();
        let hosts = of(|note| matches!(note, Note::Host(_)));
        Self {
            rows: rows.len(),
            proven: rows.len() - hosts,
            rulings: of(|note| matches!(note, Note::Ruling(_))),
            deviations: of(|note| matches!(note, Note::Deviation(_))),
            hosts,
        }
    }

    fn cells(&self) -> String {
        let Self { rows, proven, rulings, deviations, hosts } = self;
        format!("{rows} | {proven} | {rulings} | {deviations} | {hosts}")
    }
}

/// Every page by its path from the root of the repository.
pub(super) fn all() -> BTreeMap<String, String> {
    let requirements = catalogue::requirements();
    let claims = Claims::of_requirements();
    let mut pages = BTreeMap::new();
    let mut contents = String::new();
    for (file, title, topics) in AREAS {
        let rows: Vec<&Requirement> = topics
            .iter()
            .flat_map(|topic| requirements.iter().filter(|row| topic_of(row) == *topic))
            .collect();
        assert!(!rows.is_empty(), "{file} is empty");
        let name = format!("proptests/conformance/{file}.md");
        let cells = Totals::count(&rows).cells();
        writeln!(contents, "| [{title}]({name}) | {cells} |").unwrap();
        pages.insert(name, area(title, &rows, &claims));
    }
    let all: Vec<&Requirement> = requirements.iter().collect();
    let on_a_page = |row: &&Requirement| AREAS.iter().any(|area| area.2.contains(&topic_of(row)));
    assert!(all.iter().all(on_a_page), "an id belongs to no area");
    pages.insert("CONFORMANCE.md".into(), front(&contents, &Totals::count(&all)));
    pages.insert("proptests/conformance/pains.md".into(), pains());
    pages
}

/// `L-CANCEL` of `L-CANCEL-07`.
fn topic_of(row: &Requirement) -> &str {
    row.id.rsplit_once('-').unwrap().0
}

fn front(contents: &str, totals: &Totals) -> String {
    let Totals { rows, proven, rulings, deviations, hosts } = totals;
    let pains = catalogue::pains().len();
    let revisions: Vec<String> =
        REVISIONS.iter().map(|(letter, date)| format!("{letter} is {date}")).collect();
    let revisions = revisions.join(", ");
    format!(
        "{GENERATED}

# Conformance

Of {rows} requirements of the protocol {proven} are proven by tests, {deviations} of them with a deviation; {hosts} are \
duties of the host.

| area | requirements | proven | rulings | deviations | of the host |
|---|---:|---:|---:|---:|---:|
{contents}| **all** | {cells} |

The requirements are the project's own list of what the pages and schemas of the
[specification]({SITE}specification) ask, one rule to a row. A row has:

- its **ID**, with a link to the page that states the rule: `L` for the legacy revisions, `M` for 2026-07-28 and for
  both eras, `H` for HTTP, `SEED2` for mistakes of guides that peers therefore make;
- its **level**: the word of RFC 2119, or *derived* if the rule follows from others, from a schema or from JSON-RPC;
- its **revisions**: {revisions};
- the **rule**, and the tests that fail if the rule is broken.

*Ruling* marks the {rulings} rows where the specification leaves a choice or asks for more than is done; the text after it \
says
what was chosen. *Deviation* marks the rows where the library knowingly does something else. *Host* marks the rows that
only the application can keep. Authorization is not implemented, and its requirements are not listed.

[Failures of other implementations](proptests/conformance/pains.md) has {pains} failures that users of other
implementations reported, each with the test that shows the right behaviour.

The pages are written from [`catalogue.tsv`](proptests/conformance/catalogue.tsv) and the doc comments of the tests:

```sh
{write}
```
",
        cells = totals.cells(),
        write = super::WRITE,
    )
}

fn area(title: &str, rows: &[&Requirement], claims: &Claims) -> String {
    let mut page = format!(
        "{GENERATED}\n\n# {title}\n\nThe [front page](../../CONFORMANCE.md) explains the columns.\n\n\
         | ID | level | revisions | rule | proven by |\n|---|---|---|---|---|\n"
    );
    for row in rows {
        let Requirement { id, level, revisions, page: source, rule, .. } = row;
        let (marked, proof) = match &row.note {
            Note::None => (format!("{rule}."), None),
            Note::Ruling(choice) => (format!("{rule}. *Ruling*: {choice}."), None),
            Note::Deviation(what) => (format!("{rule}. *Deviation*: {what}."), None),
            Note::Host(why) => (format!("{rule}."), Some(format!("*Host*: {why}."))),
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
