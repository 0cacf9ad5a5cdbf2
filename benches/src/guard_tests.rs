//! Tests that the guard fails when it must, with the right explanation.

use std::path::Path;

use crate::callgrind::Profile;
use crate::guard::{
    ALLOCATIONS_TOLERATED, HOW_TO_WRITE, Record, TOLERANCE, TOLERANCE_OF_THREADS,
    TOLERANCE_OVER_HTTP, Verdict, judge, tolerance,
};
use crate::measure::{Cost, Costs};
use crate::{Case, Contender};

const RECORD: &str = "# a comment\n\nping\t1000\t0\nclient call\t1000\t0\nlarge call\t1000\t0\n\
                      progress\t2000\t0.5\n";

/// Sample costs: of a ping for every contender, and of a progress notification for mcp-sansio.
fn costs() -> Costs {
    let cost = |instructions, allocations| {
        let mut cost = Cost::default();
        (cost.instructions, cost.allocations) = (instructions, allocations);
        cost
    };
    Costs::from([
        ((Case::Ping, Contender::Core), cost(1_000, 0.0)),
        ((Case::Ping, Contender::SerdeJson), cost(1_100, 1.0)),
        ((Case::Ping, Contender::Rmcp), cost(30_000, 100.0)),
        ((Case::ClientCall, Contender::Core), cost(1_000, 0.0)),
        ((Case::ClientCall, Contender::SerdeJson), cost(900, 1.0)),
        ((Case::LargeCall, Contender::Core), cost(1_000, 0.0)),
        ((Case::LargeCall, Contender::SerdeJson), cost(2_000, 1.0)),
        ((Case::Progress, Contender::Core), cost(2_000, 0.5)),
    ])
}

/// Returns the verdict after a change of one cost.
fn verdict(case: Case, contender: Contender, change: impl FnOnce(&mut Cost)) -> Verdict {
    let mut costs = costs();
    change(costs.get_mut(&(case, contender)).unwrap());
    judge(&Record::parse(RECORD).unwrap(), &costs)
}

/// Returns the only failure of the verdict.
fn failure(case: Case, contender: Contender, change: impl FnOnce(&mut Cost)) -> String {
    let verdict = verdict(case, contender, change);
    assert_eq!((verdict.failures.len(), verdict.notes.len()), (1, 0), "{verdict:?}");
    verdict.failures[0].clone()
}

#[test]
fn a_cost_within_the_tolerance_passes() {
    assert_eq!(judge(&Record::parse(RECORD).unwrap(), &costs()), Verdict::default());
    let most = 2_000 * (100 + TOLERANCE) / 100;
    let verdict = verdict(Case::Progress, Contender::Core, |cost| cost.instructions = most);
    assert_eq!(verdict, Verdict::default());
}

#[test]
fn more_instructions_fail() {
    let failures = failure(Case::Progress, Contender::Core, |cost| cost.instructions = 2_102);
    assert_eq!(
        failures,
        "progress: 2102 instructions, +5.1 % beside the recorded 2000; 5 % more are tolerated"
    );
    failure(Case::Progress, Contender::Core, |cost| cost.instructions = 2_101);
}

#[test]
fn one_more_allocation_fails() {
    let failures = failure(Case::Ping, Contender::Core, |cost| cost.allocations = 1.0);
    assert_eq!(failures, "ping: 1 allocations, where 0 are recorded; not one more is tolerated");
    // A fraction, one allocation in many rounds, also counts.
    failure(Case::Progress, Contender::Core, |cost| cost.allocations = 0.508);
}

/// Returns the verdict on a call through an adapter whose record is 1000 instructions and 15 allocations.
fn verdict_of_call(case: Case, instructions: u64, allocations: f64) -> Verdict {
    let mut cost = Cost::default();
    (cost.instructions, cost.allocations) = (instructions, allocations);
    let record = Record::parse(&format!("{case}\t1000\t15\n")).unwrap();
    judge(&record, &Costs::from([((case, Contender::Core), cost)]))
}

#[test]
fn threads_are_given_more_room() {
    let most = 1_000 * (100 + TOLERANCE_OF_THREADS) / 100;
    for case in [Case::Std1, Case::Std64, Case::Tokio1, Case::Tokio64] {
        let most_allocations = 15.0 + ALLOCATIONS_TOLERATED;
        assert_eq!(verdict_of_call(case, most, most_allocations), Verdict::default());
        assert_eq!(verdict_of_call(case, most + 1, 15.0).failures.len(), 1);
    }
    let failures = verdict_of_call(Case::Std64, 1_000, 16.0).failures;
    assert_eq!(
        failures,
        ["std, 64 in flight: 16 allocations, where 15 are recorded; 0.5 more are tolerated"]
    );
    for case in [Case::HttpStateless, Case::HttpSession] {
        let most = 1_000 * (100 + TOLERANCE_OVER_HTTP) / 100;
        assert_eq!(verdict_of_call(case, most, 15.0), Verdict::default());
        assert_eq!(verdict_of_call(case, most + 1, 15.0).failures.len(), 1);
        assert_eq!(verdict_of_call(case, 1_000, 15.6).failures.len(), 1);
    }
}

#[test]
fn fewer_instructions_are_noted() {
    let verdict = verdict(Case::Progress, Contender::Core, |cost| cost.instructions = 1_799);
    assert!(verdict.failures.is_empty(), "{verdict:?}");
    assert_eq!(
        verdict.notes,
        [
            "progress: 1799 instructions, -10.1 % beside the recorded 2000; the record could be tighter"
        ]
    );
}

#[test]
fn a_cost_no_longer_below_the_floor_fails() {
    let failures = failure(Case::LargeCall, Contender::SerdeJson, |cost| cost.instructions = 1_000);
    let costs = "1000 instructions, and 1000 of serde_json, the floor";
    assert_eq!(failures, format!("large call: {costs}: no longer below it"));
}

#[test]
fn a_cost_newly_below_the_floor_fails() {
    let failures =
        failure(Case::ClientCall, Contender::SerdeJson, |cost| cost.instructions = 1_001);
    let costs = "1000 instructions, and 1001 of serde_json, the floor";
    assert_eq!(failures, format!("client call: {costs}: below it at last"));
}

#[test]
fn the_official_sdk_that_comes_too_near_fails() {
    let failures = failure(Case::Ping, Contender::Rmcp, |cost| cost.instructions = 10_900);
    assert_eq!(
        failures,
        "ping: rmcp takes 10.9 times the instructions (10900, and 1000); promised are 15"
    );
    failure(Case::Ping, Contender::Rmcp, |cost| cost.instructions = 14_999);
}

#[test]
fn a_case_without_a_record_fails() {
    let record = Record::parse("ping\t1000\t0\nclient call\t1000\t0\nlarge call\t1000\t0\n");
    let verdict = judge(&record.unwrap(), &costs());
    assert_eq!(verdict.failures, ["progress: it is not recorded"]);
}

#[test]
fn the_record_says_how_it_is_moved() {
    let text = Record::of(&costs()).write();
    assert_eq!(Record::parse(&text).unwrap(), Record::parse(RECORD).unwrap());
    assert!(text.contains(&format!("{TOLERANCE} % more")), "{text}");
    for command in HOW_TO_WRITE.lines() {
        assert!(text.contains(command), "{text}");
    }
    let missing = Record::read(Path::new("no such file")).unwrap_err();
    assert!(missing.contains("no such file") && missing.contains(HOW_TO_WRITE), "{missing}");
}

#[test]
fn a_wrong_record_is_none() {
    for line in ["ping", "ping\t1\t2\t3", "ping\tmany\t0", "ping\t1\tmany", "sing\t1\t0"] {
        assert!(Record::parse(line).is_err(), "{line}");
    }
    assert!(Record::parse("ping\t1\t0\nping\t1\t0").is_err());
}

/// A profile of two rounds: 20 instructions outside the stages, 30 of framing, and 100 of writing. Of the writing, 60
/// are for the application, which takes 10 by itself. 40 prepare the input.
const PROFILE: &str = "\
positions: line
events: Ir

fn=(1) stage_everything
0 20
cfn=(2) a::stage_framing
calls=2 0
0 30
cfi=(9) a file
cfn=(3) a::stage_handling
calls=2 0
* 70
cfn=(4) a::stage_writing
calls=2 +5
0 40
cfn=(6) a::stage_driving
calls=2 0
0 40

fn=(3)
0 6
cfn=(5) echo
calls=2 0
0 64

fn=(5)
0 4
cfn=(4)
calls=2 0
0 60

totals: 200
";

#[test]
fn profile_stages_are_counted_separately() {
    let profile = Profile::parse(PROFILE).unwrap();
    assert_eq!(profile.total(), 200);
    assert_eq!(profile.inclusive("stage_writing"), 100);
    assert_eq!(profile.inside("stage_handling", "stage_writing"), 60);
    let cost = Cost::of(&profile, 2);
    assert_eq!(cost.instructions, 80);
    let stages = ["framing", "receiving", "handling", "writing", "sending", "reading"];
    assert_eq!(stages.map(|stage| cost.stage(stage)), [15, 0, 5, 50, 0, 0]);
}

#[test]
fn an_invalid_profile_is_refused() {
    for text in ["", "totals: many", "calls=1 0\n0 1\ntotals: 1", "fn=(1)\ntotals: 1"] {
        assert!(Profile::parse(text).is_err(), "{text}");
    }
}

/// The chapter on performance contains the recorded numbers.
#[test]
fn the_documentation_has_the_recorded_numbers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
    let (chapter, record) = (read("../src/manual/performance.md"), read("counts.txt"));
    let shown = |case: &str| -> u64 {
        let row = chapter.lines().find_map(|line| line.strip_prefix(&format!("| {case} | ")));
        row.unwrap_or_else(|| panic!("no row for {case}"))
            .split(" |")
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    let rows = record.lines().filter(|line| !line.starts_with('#'));
    let mut cases = 0;
    for row in rows {
        let (case, counts) = row.split_once('\t').unwrap();
        let recorded: u64 = counts.split('\t').next().unwrap().parse().unwrap();
        let tolerated = recorded * tolerance(case.parse().unwrap()) / 100;
        let (shown, least, most) = (shown(case), recorded - tolerated, recorded + tolerated);
        assert!((least..=most).contains(&shown), "{case}: {shown} shown, {recorded} recorded");
        cases += 1;
    }
    assert_eq!(cases, Case::ALL.len());
}
