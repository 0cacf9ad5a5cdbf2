//! Tools that may, must or must not run as tasks.

use mcp_sansio::call::{TaskOptions, ToolTasks};
use mcp_sansio::error::NotAllowed;
use mcp_sansio::json::Raw;
use mcp_sansio::model::TaskSupport;
use mcp_sansio::{CallError, CallOptions, Revision};
use mcp_sansio_proptests::ClientSide;

use super::kit::*;

/// A list of tools, one for each support value.
fn listed(support: &[&str]) -> ToolTasks {
    let mut tools = ToolTasks::default();
    tools.page(&page(support));
    tools.finish();
    tools
}

fn page(support: &[&str]) -> Raw<'static> {
    let tool = |word: &&str| match *word {
        "silent" => String::from(r#"{"name":"silent","inputSchema":{"type":"object"}}"#),
        "odd" => String::from(r#"{"name":"odd","execution":{"taskSupport":7}}"#),
        word => format!(r#"{{"name":"{word}","execution":{{"taskSupport":"{word}"}}}}"#),
    };
    let tools: Vec<String> = support.iter().map(tool).collect();
    Raw::new(&format!(r#"{{"tools":[{}]}}"#, tools.join(","))).unwrap().into_owned()
}

const ALL: [&str; 6] = ["forbidden", "optional", "required", "silent", "odd", "someday"];

fn wish() -> Option<TaskOptions> {
    Some(TaskOptions::new())
}

fn refused() -> Result<CallOptions, CallError> {
    Err(CallError::NotAllowed(NotAllowed::TaskSupport))
}

/// The call options for the tool with the requested task options.
fn options(
    side: &ClientSide,
    tool: &str,
    wish: Option<TaskOptions>,
) -> Result<CallOptions, CallError> {
    side.client.tool_options(&listed(&ALL), tool, wish)
}

/// Proves L-TASK-08, L-TASK-10: a tool declares whether it may, must or must not run as a task.
#[test]
fn a_tool_runs_as_it_says() {
    let side = in_session();
    let (plain, task) = (CallOptions::new(), CallOptions::new().task(TaskOptions::new()));
    for tool in ["forbidden", "silent", "odd", "someday", "unknown"] {
        assert_eq!(options(&side, tool, None), Ok(plain), "{tool}");
        assert_eq!(options(&side, tool, wish()), refused(), "{tool}");
    }
    assert_eq!(options(&side, "optional", None), Ok(plain));
    assert_eq!(options(&side, "optional", wish()), Ok(task));
    assert_eq!(options(&side, "required", None), Ok(task));
    assert_eq!(options(&side, "required", wish()), Ok(task));
    let by_hand = TaskOptions::new().by_hand();
    let expected = Ok(CallOptions::new().task(by_hand));
    assert_eq!(options(&side, "required", Some(by_hand)), expected);
}

/// Proves L-TASK-07, L-TASK-12: the declaration of a tool counts only if its server supports tasks.
#[test]
fn tools_of_servers_without_tasks_are_called_plainly() {
    let latest = Revision::V2025_11_25;
    for (revision, tasks) in [(latest, ""), (Revision::V2025_06_18, TASKS)] {
        let mut side = in_session_with(of_sessions(), revision, tasks);
        for tool in ALL {
            assert_eq!(options(&side, tool, None), Ok(CallOptions::new()));
            let options = options(&side, tool, wish()).unwrap();
            call_with(&mut side, options);
            let sent = side.sent();
            assert!(sent[0].ends_with(r#""params":{"name":"t"}}"#), "{tool} {}", sent[0]);
        }
    }
}

/// Proves M-TASKX-03 for clients: in the modern era the server decides, independent of the known tools.
#[test]
fn without_sessions_the_server_decides() {
    let side = without_session();
    for tool in ALL {
        assert_eq!(options(&side, tool, None), Ok(CallOptions::new()));
        assert!(options(&side, tool, wish()).is_ok());
    }
}

/// Proves L-TASK-13, L-RACE-26: an unknown tool runs as no task. A list counts once its last page was read, until
/// it changes.
#[test]
fn a_list_counts_from_its_end_until_it_changes() {
    let mut tools = ToolTasks::default();
    assert_eq!(tools.support("optional"), TaskSupport::Forbidden);
    tools.page(&page(&["optional"]));
    assert_eq!(tools.support("optional"), TaskSupport::Forbidden, "it goes on");
    tools.page(&page(&["required"]));
    tools.finish();
    assert_eq!(tools.support("optional"), TaskSupport::Optional);
    assert_eq!(tools.support("required"), TaskSupport::Required);
    // The list is read again, and the reading is aborted.
    tools.page(&page(&["silent"]));
    tools.restart();
    assert_eq!(tools.support("optional"), TaskSupport::Optional);
    tools.page(&page(&["required"]));
    tools.finish();
    assert_eq!(tools.support("optional"), TaskSupport::Forbidden, "it is gone");
    tools.page(&page(&["optional"]));
    tools.forget();
    assert_eq!(tools.support("required"), TaskSupport::Forbidden);
    tools.finish();
    assert_eq!(tools.support("optional"), TaskSupport::Forbidden, "those pages are forgotten");
}

/// A malformed list and tools without names have no effect.
#[test]
fn odd_lists_teach_nothing() {
    let odd = [
        "{}",
        r#"{"tools":{}}"#,
        r#"{"tools":[7,null,{},{"execution":{"taskSupport":"required"}}]}"#,
        r#"{"tools":[{"name":7,"execution":{"taskSupport":"required"}}]}"#,
        r#"{"tools":[{"name":"a","execution":"required"}]}"#,
    ];
    for list in odd {
        let mut tools = ToolTasks::default();
        tools.page(&Raw::new(list).unwrap());
        tools.finish();
        assert_eq!(tools, ToolTasks::default(), "{list}");
    }
}
