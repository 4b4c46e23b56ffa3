//! Claims on counters, as scenarios of profiles.

use super::*;
use crate::model::{
    AbsentMetric, ClaimEvidence, ClaimOutcome, CounterLaunch, CounterProfile, CounterValue,
    Failure, PerSide, ProfileFailure, RegisteredClaim, Side, Source, UnixMillis,
};

const LOADS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
const CLAIM: &str = "counter mmq_wide shared_ld_conflicts 16,859,136 -> 0";

fn launch(kernel: &str, grid: &str, conflicts: f64) -> CounterLaunch {
    CounterLaunch {
        kernel: kernel.to_owned(),
        arch: Some("sm_90".to_owned()),
        grid: grid.to_owned(),
        block: "(256, 1, 1)".to_owned(),
        values: vec![CounterValue {
            metric: LOADS.to_owned(),
            unit: String::new(),
            value: conflicts,
        }],
    }
}

fn profile(entry: &str, side: Side, launches: Vec<CounterLaunch>) -> CounterProfile {
    CounterProfile {
        entry: entry.to_owned(),
        side,
        at: UnixMillis(1),
        profiler: Some("Nsight Compute 2025.3.1".to_owned()),
        launches,
        absent: vec![AbsentMetric {
            metric: "dram__bytes_read.sum".to_owned(),
            reason: "the profiler has no such metric for this chip".to_owned(),
        }],
        failure: None,
        log: None,
    }
}

/// One entry that launches `mmq_wide` on both sides, with these conflicts a launch.
fn q_proj(base: &[f64], head: &[f64]) -> Vec<CounterProfile> {
    let side = |side, values: &[f64]| {
        let launches = values
            .iter()
            .map(|v| launch("mmq_wide(const uint4 *, int)", "(28, 21, 1)", *v))
            .collect();
        profile("q_proj", side, launches)
    };
    vec![side(Side::Base, base), side(Side::Head, head)]
}

fn failed(mut profile: CounterProfile, failure: ProfileFailure) -> CounterProfile {
    profile.launches.clear();
    profile.failure = Some(failure);
    profile
}

fn exited() -> ProfileFailure {
    ProfileFailure::Command {
        failure: Failure::Exit { code: 3 },
        said: None,
    }
}

fn report(kernels: &[&str]) -> sass::Report {
    let kernel = |name: &&str| sass::Kernel {
        symbol: (*name).to_owned(),
        name: (*name).to_owned(),
        arch: "sm_90".to_owned(),
        container: "engine#0".to_owned(),
        ledger: sass::Ledger::default(),
        census: None,
        code_hash: "h".to_owned(),
    };
    sass::Report {
        files: Vec::new(),
        kernels: kernels.iter().map(kernel).collect(),
    }
}

fn with_facts(text: &str, counters: CounterFacts<'_>, compiled: &[&str]) -> ClaimEvidence {
    let reports = PerSide {
        base: report(compiled),
        head: report(compiled),
    };
    let context = ClaimContext {
        reports: &reports,
        facts: PerSide {
            base: &[],
            head: &[],
        },
        occupancy: &|_, _| None,
        counters,
    };
    let claims = [RegisteredClaim {
        text: text.to_owned(),
        source: Source::Trailer,
    }];
    evaluate(&claims, &context).remove(0)
}

fn evaluated(text: &str, profiles: &[CounterProfile]) -> ClaimEvidence {
    with_facts(text, CounterFacts::Taken(profiles), &["mmq_wide(int)"])
}

#[track_caller]
fn holds(text: &str, profiles: &[CounterProfile]) -> String {
    let evidence = evaluated(text, profiles);
    assert_eq!(evidence.outcome, ClaimOutcome::Holds, "{evidence:?}");
    evidence.observed
}

#[track_caller]
fn fails(text: &str, profiles: &[CounterProfile]) -> String {
    let evidence = evaluated(text, profiles);
    assert_eq!(evidence.outcome, ClaimOutcome::Fails, "{evidence:?}");
    evidence.observed
}

#[track_caller]
fn open(text: &str, profiles: &[CounterProfile]) -> String {
    match evaluated(text, profiles).outcome {
        ClaimOutcome::NotEvaluated { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn comparisons_are_exact_unless_the_claim_has_a_tolerance() {
    let exact = q_proj(&[16_859_136.0], &[0.0]);
    assert_eq!(
        holds(CLAIM, &exact),
        "shared_ld_conflicts: base 16,859,136, head 0"
    );
    // What an H200 counted, arbitration included.
    let busy = q_proj(&[16_859_307.0], &[23.0]);
    for (relation, so) in [
        ("16,859,136 -> 0", false),
        ("16,859,136 -> 0 +- 100", false),
        ("16,859,136 -> 0 +- 171", true),
        ("16,859,307 -> 23", true),
        ("16,859,300 -> 23 +- 0.1%", true),
        ("== 0", false),
        ("== 0 +- 22", false),
        ("== 0 +- 23", true),
        ("<= 23", true),
        ("down", true),
        ("unchanged", false),
        ("== base +- 16,859,284", true),
        ("-100% +- 0.01%", true),
    ] {
        let text = format!("counter mmq_wide shared_ld_conflicts {relation}");
        match so {
            true => holds(&text, &busy),
            false => fails(&text, &busy),
        };
    }
}

#[test]
fn the_smallest_of_the_launches_of_one_geometry_counts_on_both_sides() {
    let several = q_proj(&[16_859_307.0, 16_859_136.0], &[23.0, 0.0, 7.0]);
    assert_eq!(
        holds(CLAIM, &several),
        "shared_ld_conflicts: base 16,859,136 (smallest of 2 launches, at most 16,859,307), head 0 \
         (smallest of 3 launches, at most 23)"
    );
    assert_eq!(
        fails(
            "counter mmq_wide shared_ld_conflicts > 5",
            &q_proj(&[1.0], &[4.0, 4.0])
        ),
        "shared_ld_conflicts: base 1, head 4 in each of 2 launches"
    );
    // Another grid is other work: it is not hidden behind the smaller one.
    let mut profiles = q_proj(&[9.0], &[0.0]);
    profiles[1]
        .launches
        .push(launch("mmq_wide", "(1, 1, 1)", 5.0));
    profiles[1].launches[1].kernel = profiles[1].launches[0].kernel.clone();
    let observed = fails("counter mmq_wide shared_ld_conflicts == 0", &profiles);
    assert!(
        observed.contains("grid (1, 1, 1), shared_ld_conflicts: head 5"),
        "{observed}"
    );
}

#[test]
fn every_entry_must_hold_and_is_named_where_there_are_several() {
    let mut profiles = q_proj(&[8.0], &[0.0]);
    for mut other in q_proj(&[8.0], &[2.0]) {
        other.entry = "down".to_owned();
        profiles.push(other);
    }
    let observed = fails("counter mmq_* shared_ld_conflicts == 0", &profiles);
    assert!(
        observed.starts_with("down, shared_ld_conflicts: base 8, head 2"),
        "{observed}"
    );
    assert!(
        observed.contains("q_proj, shared_ld_conflicts: base 8, head 0"),
        "{observed}"
    );
    let observed = fails("counter mmq_* @sm_121 shared_ld_conflicts == 0", &profiles);
    assert!(
        observed.contains("the kernel is there for sm_90"),
        "{observed}"
    );
    holds("counter mmq_* @sm_90 shared_ld_conflicts down", &profiles);
}

#[test]
fn a_lever_may_change_grid_and_name() {
    let mut profiles = q_proj(&[8.0], &[0.0]);
    profiles[1].launches[0].grid = "(14, 21, 1)".to_owned();
    holds("counter mmq_wide shared_ld_conflicts 8 -> 0", &profiles);
    profiles[0].launches[0].kernel = "mmq_old(int)".to_owned();
    holds("counter /^mmq_/ shared_ld_conflicts 8 -> 0", &profiles);
    let observed = fails("counter mmq_wide shared_ld_conflicts 8 -> 0", &profiles);
    assert!(observed.contains("base has no such launch"), "{observed}");
    holds("counter mmq_wide shared_ld_conflicts == 0", &profiles);
}

#[test]
fn what_has_no_value_stays_open_with_the_reason() {
    let profiles = q_proj(&[8.0], &[0.0]);
    let reason = open("counter mmq_wide dram_read_bytes down", &profiles);
    assert!(reason.contains("no such metric for this chip"), "{reason}");
    let reason = open("counter mmq_wide lts__t_bytes.sum down", &profiles);
    assert!(reason.contains("not asked for it"), "{reason}");
}

#[test]
fn kernels_that_were_not_profiled_stay_open_and_slips_fail() {
    let profiles = q_proj(&[8.0], &[0.0]);
    let claim = "counter mmq_nb shared_ld_conflicts == 0";
    let taken = CounterFacts::Taken(&profiles);
    let evidence = with_facts(claim, taken, &["mmq_wide(int)", "mmq_nb(int)"]);
    let ClaimOutcome::NotEvaluated { reason } = evidence.outcome else {
        panic!("{evidence:?}");
    };
    assert!(reason.contains("profiled: `mmq_wide`"), "{reason}");
    let evidence = with_facts(claim, taken, &["mmq_wide(int)", "mmq_ab(int)"]);
    assert_eq!(evidence.outcome, ClaimOutcome::Fails);
    assert!(evidence.observed.contains("nearest"), "{evidence:?}");
    // Nothing is known of kernels that are not in the outputs.
    let evidence = with_facts(claim, taken, &[]);
    assert!(matches!(
        evidence.outcome,
        ClaimOutcome::NotEvaluated { .. }
    ));
    // A library's kernel is in no output, and can be profiled.
    let evidence = with_facts(CLAIM, taken, &["other"]);
    assert_eq!(evidence.outcome, ClaimOutcome::Fails);
    assert!(evidence.observed.contains("base 8"), "{evidence:?}");
}

#[test]
fn a_profiler_that_is_missing_or_not_permitted_leaves_claims_open() {
    for (failure, part) in [
        (
            ProfileFailure::Missing {
                detail: "there is no `ncu` on PATH".to_owned(),
            },
            "install Nsight Compute",
        ),
        (ProfileFailure::NotPermitted, "ERR_NVGPUCTRPERM"),
        (
            ProfileFailure::NotUnderstood {
                line: "x".to_owned(),
                why: "no number".to_owned(),
            },
            "`x`",
        ),
        (exited(), "status 3"),
    ] {
        let profiles: Vec<_> = q_proj(&[8.0], &[0.0])
            .into_iter()
            .map(|profile| failed(profile, failure.clone()))
            .collect();
        let reason = open(CLAIM, &profiles);
        assert!(reason.contains(part), "{reason}");
    }
    for (facts, part) in [
        (CounterFacts::Pending, "after the gates"),
        (CounterFacts::Unavailable("no device"), "no device"),
    ] {
        let evidence = with_facts(CLAIM, facts, &["other(int)"]);
        let ClaimOutcome::NotEvaluated { reason } = evidence.outcome else {
            panic!("{evidence:?}");
        };
        assert!(reason.contains(part), "{reason}");
    }
}

#[test]
fn only_a_command_that_fails_on_head_alone_fails_its_claims() {
    let [base, head] = <[_; 2]>::try_from(q_proj(&[16_859_136.0], &[0.0])).expect("two");
    let by_head = [base.clone(), failed(head.clone(), exited())];
    let observed = fails(CLAIM, &by_head);
    assert!(observed.contains("head is at fault"), "{observed}");
    // A claim on a kernel that base's command did not launch is not about it.
    assert!(open("counter other shared_ld_conflicts == 0", &by_head).contains("status 3"));
    let gave_up = ProfileFailure::Profiler {
        said: "a driver resource was unavailable".to_owned(),
    };
    let reason = open(CLAIM, &[base.clone(), failed(head.clone(), gave_up)]);
    assert!(reason.contains("driver resource"), "{reason}");
    let by_base = [failed(base, exited()), head];
    let reason = open(CLAIM, &by_base);
    assert!(
        reason.starts_with("base: ") && reason.contains("status 3"),
        "{reason}"
    );
    holds("counter mmq_wide shared_ld_conflicts == 0", &by_base);
}

#[test]
fn claims_name_their_counters() {
    let claims: Vec<RegisteredClaim> = [
        "regs k <= 3",
        CLAIM,
        "counter k smsp__inst_executed.sum down",
        "counter k shared_ld_conflicts == 0",
    ]
    .into_iter()
    .map(|text| RegisteredClaim {
        text: text.to_owned(),
        source: Source::File,
    })
    .collect();
    assert_eq!(
        counters_named(&claims),
        ["shared_ld_conflicts", "smsp__inst_executed.sum"]
    );
}

/// `docs/counters.md` shows claims in `claim` code blocks.
#[test]
fn the_examples_of_the_document_are_claims_on_counters() {
    let document = include_str!("../../../docs/counters.md");
    let blocks = document.split("```claim\n").skip(1);
    let lines: Vec<&str> = blocks
        .filter_map(|block| block.split("```").next())
        .flat_map(str::lines)
        .collect();
    assert!(lines.len() >= 3, "{lines:?}");
    for line in lines {
        let claim: Claim = line.parse().unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(matches!(claim.metric, Metric::Counter { .. }), "{line}");
    }
}
