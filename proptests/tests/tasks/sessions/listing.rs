//! The list of tasks.

use std::collections::BTreeSet;

use mcp_sansio::task::Tasks;
use mcp_sansio_proptests::{ClientSide, ServerSide};

use crate::sessions::kit::{Host, Stage, about, error, on_both, request, result, shown, unknown};

fn list(id: &str, cursor: Option<&str>) -> String {
    let members = cursor.map_or_else(String::new, |cursor| format!(r#""cursor":"{cursor}""#));
    request(id, "tasks/list", &members)
}

/// The `nextCursor` of a page.
fn cursor(page: &str) -> Option<String> {
    let (_, rest) = page.split_once(r#""nextCursor":""#)?;
    rest.split_once('"').map(|(cursor, _)| cursor.to_string())
}

/// The ids of the tasks on all pages.
fn walk<H: Host>(stage: &mut Stage<H>) -> Vec<String> {
    let (mut ids, mut next) = (Vec::new(), None::<String>);
    loop {
        let [page] = stage.answers(&list("1", next.as_deref())).try_into().unwrap();
        ids.extend(
            page.split(r#""taskId":""#).skip(1).map(|rest| rest.split('"').next().unwrap().into()),
        );
        next = cursor(&page);
        if next.is_none() {
            return ids;
        }
    }
}

/// Proves L-PAGE-03, L-TASK-60: a list comes in pages, and each page except the last has a `nextCursor`.
#[test]
fn tasks_are_listed_page_by_page() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::with(|config| (config.notify, config.page_items) = (false, 2));
        for id in ["a", "b", "c"] {
            stage.begin(id);
        }
        let [page] = stage.answers(&list("1", None)).try_into().unwrap();
        let next = cursor(&page).unwrap();
        let (a, b) = (shown("a", "working"), shown("b", "working"));
        let expected = format!(r#"{{"tasks":[{a},{b}],"nextCursor":"{next}"}}"#);
        assert_eq!(page, result("1", expected));
        let rest = format!(r#"{{"tasks":[{}]}}"#, shown("c", "working"));
        assert_eq!(stage.answers(&list("2", Some(&next))), [result("2", &rest)]);
        // Tasks that are forgotten or begun meanwhile do not affect the others.
        let b = stage.tasks.find("b").unwrap();
        stage.tasks.remove(b);
        assert_eq!(stage.answers(&list("3", Some(&next))), [result("3", rest)]);
        stage.begin("d");
        let c = stage.tasks.find("c").unwrap();
        stage.tasks.remove(c);
        let rest = format!(r#"{{"tasks":[{}]}}"#, shown("d", "working"));
        assert_eq!(stage.answers(&list("4", Some(&next))), [result("4", rest)]);
        // The two tasks fit on one page.
        assert_eq!(walk(&mut stage), ["a", "d"]);
        assert_eq!(cursor(&stage.answers(&list("5", None))[0]), None);
    }
    on_both!(check);
}

/// A page has at least one task, whatever its configured size.
#[test]
fn a_page_is_never_empty() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::with(|config| (config.notify, config.page_items) = (false, 0));
        for id in ["a", "b"] {
            stage.begin(id);
        }
        assert_eq!(walk(&mut stage), ["a", "b"]);
    }
    on_both!(check);
}

/// Proves L-PAGE-09, L-ERR-20, L-TASK-61: a cursor is valid only if this list issued it to this requestor; otherwise it is
/// refused.
#[test]
fn a_list_knows_its_own_cursors() {
    fn check<H: Host>() {
        let with_key = |key| {
            let mut stage = Stage::<H>::with(|config| {
                (config.notify, config.page_items, config.cursor_key) = (false, 1, key);
            });
            stage.begin("a");
            stage.begin("b");
            stage
        };
        let mut stage = with_key(1);
        let own = cursor(&stage.answers(&list("1", None))[0]).unwrap();
        let other = cursor(&with_key(2).answers(&list("1", None))[0]).unwrap();
        let later = own.replacen('0', "1", 1);
        for bad in ["", "x", "0-", "-", "1-0000000000000000", &later, &other, "\\ud800"] {
            let refused = error("2", -32602, "invalid cursor");
            assert_eq!(stage.answers(&list("2", Some(bad))), [refused], "{bad}");
        }
        stage.principal = 9;
        assert_eq!(stage.answers(&list("3", Some(&own))), [error("3", -32602, "invalid cursor")]);
        stage.principal = 0;
        assert_eq!(stage.answers(&list("4", Some(&own))).len(), 1);
        stage.receive(&request("5", "tasks/list", r#""cursor":7"#));
        assert!(stage.sent()[0].contains(r#""id":5,"error":{"code":-32602,"#));
    }
    on_both!(check);
}

/// A cursor of another process is refused, which depends on every bit of the key and on whether its task began
/// here.
#[test]
fn a_cursor_of_another_process_is_refused() {
    fn check<H: Host>() {
        let with = |key, ids: &[&str]| {
            let mut stage = Stage::<H>::with(|config| {
                (config.notify, config.page_items, config.cursor_key) = (false, 1, key);
            });
            for id in ids {
                stage.begin(id);
            }
            stage
        };
        let first = |key| cursor(&with(key, &["a", "b"]).answers(&list("1", None))[0]).unwrap();
        let cursors = BTreeSet::from([0, 1, 2, 3].map(first));
        assert_eq!(cursors.len(), 4);
        let mut longer = with(7, &["a", "b", "c"]);
        let own = cursor(&longer.answers(&list("1", None))[0]).unwrap();
        let next = cursor(&longer.answers(&list("2", Some(&own)))[0]).unwrap();
        let mut shorter = with(7, &["a"]);
        let refused = error("1", -32602, "invalid cursor");
        assert_eq!(shorter.answers(&list("1", Some(&next))), [refused]);
        shorter.begin("b");
        assert_eq!(shorter.answers(&list("2", Some(&next))), [result("2", r#"{"tasks":[]}"#)]);
    }
    on_both!(check);
}

/// Proves L-TASK-62, L-TASK-63: each requestor sees all its own tasks and no others, neither in a list, nor by id,
/// nor by cancellation.
#[test]
fn each_requestor_sees_only_its_own_tasks() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::with(|config| (config.notify, config.page_items) = (false, 3));
        let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
        for (number, id) in ids.iter().enumerate() {
            stage.principal = number as u64 % 2;
            stage.begin(id);
        }
        for principal in [0, 1, 2] {
            stage.principal = principal;
            let listed: BTreeSet<String> = walk(&mut stage).into_iter().collect();
            let mut known = BTreeSet::new();
            for id in ids {
                let [answer] = stage.answers(&about("2", "get", id)).try_into().unwrap();
                if answer == unknown("2") {
                    for what in ["result", "cancel"] {
                        assert_eq!(stage.answers(&about("3", what, id)), [unknown("3")]);
                    }
                } else {
                    known.insert(id.to_string());
                }
            }
            assert_eq!((listed.len(), &listed), ([6, 5, 0][principal as usize], &known));
        }
        assert!(stage.tasks.iter().all(|(_, task)| !task.status().is_final()));
    }
    on_both!(check);
}

/// Proves L-TASK-59, L-TASK-64: `tasks/list` and `tasks/cancel` are not served if they are not declared.
#[test]
fn undeclared_task_methods_are_not_served() {
    let mut config = crate::sessions::kit::server_config();
    let tasks = config.capabilities.tasks.as_mut().unwrap();
    (tasks.list, tasks.cancel) = (None, None);
    let side = ServerSide::ready_with(config, crate::sessions::kit::WITH_TASKS);
    refuses(Stage::of(side, Tasks::default()));
    let mut config = crate::sessions::kit::client_config();
    let tasks = config.capabilities.tasks.as_mut().unwrap();
    (tasks.list, tasks.cancel) = (None, None);
    let side = ClientSide::ready_with(config, crate::sessions::kit::WITH_TASKS);
    refuses(Stage::of(side, Tasks::default()));
}

fn refuses<H: Host>(mut stage: Stage<H>) {
    stage.begin("a");
    for frame in [list("1", None), about("1", "cancel", "a")] {
        stage.receive(&frame);
        let sent = stage.sent();
        assert!(sent[0].starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"#));
        assert_eq!(sent.len(), 1);
    }
    assert_eq!(stage.answers(&about("2", "get", "a")), [result("2", shown("a", "working"))]);
}
