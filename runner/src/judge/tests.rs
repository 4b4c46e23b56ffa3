//! Every verdict that can arise, each with its reasons; the evidence is built by hand.

use sass::{Census, Delta, FileReport, Kernel, Ledger, Report};

use super::*;
use crate::config::{Parity, Probe, Protocol};
use crate::measure::fake;
use crate::model::*;
use crate::stats::CONTROL_LAUNCH;

mod compared;
mod facts;
mod references;
mod rejected;
mod sequential;

fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).expect("a sha")
}

fn commit(digit: char) -> CommitInfo {
    CommitInfo {
        sha: sha(digit),
        tree: sha(digit),
        patch_id: None,
        parent: None,
        subject: "subject".to_owned(),
        message: "subject".to_owned(),
        author: "someone".to_owned(),
        committed_at: UnixMillis(0),
    }
}

fn build() -> Option<BuildEvidence> {
    Some(BuildEvidence {
        key: "key".to_owned(),
        cached: false,
        wall_ms: 1,
        failure: None,
        first_error: None,
        outputs: Vec::new(),
        log: None,
    })
}

fn broken_build() -> Option<BuildEvidence> {
    build().map(|b| BuildEvidence {
        failure: Some(Failure::Exit { code: 2 }),
        first_error: Some("mmq.cu(12): error: expected a \";\"".to_owned()),
        ..b
    })
}

fn kernel(name: &str, registers: u32) -> Kernel {
    Kernel {
        symbol: name.to_owned(),
        name: name.to_owned(),
        arch: "sm_121".to_owned(),
        container: "engine#0".to_owned(),
        ledger: Ledger {
            registers,
            static_smem: 1024,
            ..Ledger::default()
        },
        census: Some(Census::default()),
        code_hash: format!("{name}{registers}"),
    }
}

fn file() -> FileReport {
    FileReport {
        path: "engine".to_owned(),
        sha256: "00".to_owned(),
        bytes: 1,
        cubins: 1,
        host_hash: Some("h".to_owned()),
        ptx_only: Vec::new(),
        ptx_hash: None,
    }
}

/// One kernel whose registers go from 111 to `after`.
fn code(after: u32) -> CodeEvidence {
    let report = |registers| Report {
        files: vec![file()],
        kernels: vec![kernel("mmq", registers)],
    };
    let changed = if after == 111 {
        Vec::new()
    } else {
        vec![(kernel("mmq", 111), kernel("mmq", after))]
    };
    CodeEvidence {
        reports: PerSide {
            base: report(111),
            head: report(after),
        },
        delta: Delta {
            unchanged: u32::from(after == 111),
            changed,
            ..Delta::default()
        },
        occupancy: Vec::new(),
        runtime_files_changed: Vec::new(),
    }
}

fn sample(side: Side, role: SampleRole, pair: u32, value: Option<f64>) -> Sample {
    Sample {
        bench: "prefill".to_owned(),
        side,
        role,
        pair,
        slot: 0,
        attempt: 1,
        started_at: UnixMillis(0),
        wall_ms: 1.0,
        answer_ms: None,
        value,
        inner: Vec::new(),
        facts: Facts::default(),
        failure: value.is_none().then_some(Failure::Signal { signal: 11 }),
        log: None,
        state: None,
    }
}

/// Pairs on a base that wanders a little, with these effects in percent.
fn pairs(bench: &str, effects: &[f64]) -> BenchEvidence {
    let mut samples = Vec::new();
    for (pair, effect) in (0u32..).zip(effects) {
        let base = 1300.0 + f64::from(pair);
        let head = base * (1.0 + effect / 100.0);
        for (side, value) in [(Side::Base, base), (Side::Head, head)] {
            samples.push(Sample {
                bench: bench.to_owned(),
                ..sample(side, SampleRole::Pair, pair, Some(value))
            });
        }
    }
    BenchEvidence {
        plan: None,
        bench: bench.to_owned(),
        samples,
        base_history: Vec::new(),
        past_estimates: Vec::new(),
    }
}

const REAL: [f64; 5] = [1.9, 2.0, 2.1, 1.8, 2.2];
const SMALL: [f64; 5] = [1.0, 1.1, 0.9, 1.2, 0.8];
const NOTHING: [f64; 5] = [0.1, -0.1, 0.2, -0.2, 0.0];
const LOSS: [f64; 5] = [-1.0, -1.1, -0.9, -1.2, -0.8];
const WIDE: [f64; 5] = [2.5, -1.0, 3.0, 0.5, 2.0];

fn bar(bench: &str, bar: Bar) -> RegisteredBar {
    RegisteredBar {
        bench: bench.to_owned(),
        bar,
        source: Source::Trailer,
        text: format!("{bench} …"),
    }
}

fn claim(outcome: ClaimOutcome) -> ClaimEvidence {
    ClaimEvidence {
        text: "sass mmq LDS.64 == 0".to_owned(),
        source: Source::Trailer,
        outcome,
        expected: "== 0".to_owned(),
        observed: "32".to_owned(),
    }
}

/// A clean run of a lever with a bar of +1.5 % and these effects in percent.
pub(super) fn lever(effects: &[f64]) -> Evidence {
    let mut config = fake::config(vec![fake::bench("prefill")]);
    config.protocol = Protocol::Pairs(u32::try_from(effects.len()).expect("few"));
    Evidence {
        config,
        registration: Registration {
            bars: vec![bar("prefill", Bar::Relative { percent: 1.5 })],
            ..Registration::default()
        },
        commits: PerSide {
            base: commit('b'),
            head: commit('a'),
        },
        builds: PerSide {
            base: build(),
            head: build(),
        },
        code: Some(code(109)),
        revert: None,
        gates: Vec::new(),
        claims: vec![claim(ClaimOutcome::Holds)],
        device: DeviceState::Present {
            name: "NVIDIA GB10".to_owned(),
            id: "GPU-1".to_owned(),
        },
        benches: vec![pairs("prefill", effects)],
        references: Vec::new(),
        counters: Vec::new(),
        window: crate::model::Window::default(),
        faults: Vec::new(),
        notes: Vec::new(),
        interrupted: false,
        decision: None,
    }
}

/// Changes a clean run with an effect of +2 %.
fn changed(change: impl FnOnce(&mut Evidence)) -> Judgement {
    let mut evidence = lever(&REAL);
    change(&mut evidence);
    judge(&evidence)
}

#[track_caller]
fn expect(judgement: &Judgement, verdict: Verdict, words: &[&str]) {
    assert_eq!(judgement.verdict, verdict, "{}", judgement.headline);
    for word in words {
        assert!(
            judgement.headline.contains(word),
            "`{word}` is not in: {}",
            judgement.headline
        );
    }
    assert!(
        judgement
            .reasons
            .first()
            .is_some_and(|r| r.weight == Weight::Decisive),
        "no decisive reason: {:?}",
        judgement.reasons
    );
}

#[track_caller]
fn expect_reason(judgement: &Judgement, weight: Weight, words: &str) {
    let found = judgement
        .reasons
        .iter()
        .any(|r| r.weight == weight && r.text.contains(words));
    assert!(
        found,
        "no {weight:?} with `{words}`: {:#?}",
        judgement.reasons
    );
}

#[test]
fn a_real_effect_over_the_bar_lands() {
    let judgement = judge(&lever(&REAL));
    expect(
        &judgement,
        Verdict::Landed,
        &[
            "prefill +2.00 % [+1.80, +2.20] (93.75 % interval, 5 of 5 pairs better) reaches its bar of +1.5 %",
        ],
    );
    expect_reason(
        &judgement,
        Weight::Note,
        "comes out as real in 3.1 % of runs",
    );
    let bench = &judgement.benches[0];
    assert_eq!(
        (bench.pairs, bench.pairs_positive, bench.pairs_missing),
        (5, 5, 0)
    );
    assert_eq!(bench.base_median, Some(1302.0));
}

#[test]
fn without_a_bar_a_real_effect_lands_and_every_bench_is_a_target() {
    let judgement = changed(|e| {
        e.registration.bars.clear();
        e.config.benches.push(fake::bench("decode"));
        e.benches.push(pairs("decode", &SMALL));
    });
    expect(
        &judgement,
        Verdict::Landed,
        &["prefill", "decode", "real improvement"],
    );
    assert!(judgement.benches.iter().all(|b| b.role == Role::Target));
}

#[test]
fn lower_is_better_and_an_absolute_bar() {
    let judgement = changed(|e| {
        e.config.benches[0].better = Better::Lower;
        e.config.benches[0].unit = "ms".to_owned();
        e.registration.bars = vec![bar("prefill", Bar::Absolute { value: 1290.0 })];
        e.benches = vec![pairs("prefill", &LOSS)];
    });
    expect(
        &judgement,
        Verdict::Landed,
        &["reaches its bar of <= 1,290 ms (+0.93 % over base)"],
    );
    let percent = judgement.benches[0].bar_percent.expect("a bar");
    assert!((percent - 100.0 * (1302.0f64 / 1290.0 - 1.0)).abs() < 1e-9);
}

#[test]
fn no_effect_and_regressions_are_reverted() {
    expect(
        &judge(&lever(&NOTHING)),
        Verdict::Reverted,
        &["shows no effect that could reach its bar"],
    );
    expect(
        &judge(&lever(&LOSS)),
        Verdict::Reverted,
        &["is a real regression"],
    );
    let judgement = changed(|e| {
        e.registration.bars.clear();
        e.benches = vec![pairs("prefill", &NOTHING)];
    });
    expect(
        &judgement,
        Verdict::Reverted,
        &["shows no worthwhile effect"],
    );
}

#[test]
fn an_open_interval_is_inconclusive() {
    let judgement = judge(&lever(&WIDE));
    expect(
        &judgement,
        Verdict::Inconclusive,
        &["does not land", "4 of 5 pairs better"],
    );
}

#[test]
fn a_guard_that_regresses_decides() {
    let judgement = changed(|e| {
        e.config.benches.insert(0, fake::bench("decode"));
        e.benches.insert(0, pairs("decode", &LOSS));
    });
    expect(
        &judgement,
        Verdict::Reverted,
        &["guard regressed: decode -1.00 %"],
    );
    assert_eq!(judgement.benches[0].bench, "prefill", "targets first");
    assert_eq!(judgement.benches[1].role, Role::Guard);
    let judgement = changed(|e| {
        e.config.benches.push(fake::bench("decode"));
        e.benches.push(pairs("decode", &NOTHING));
    });
    expect(&judgement, Verdict::Landed, &["prefill"]);
    expect_reason(&judgement, Weight::Note, "guard decode");
}

#[test]
fn below_the_bar_asks_for_a_decision() {
    let judgement = judge(&lever(&SMALL));
    expect(
        &judgement,
        Verdict::Inconclusive,
        &[
            "real but below its bar of +1.5 %",
            "runner decide aaaaaaaaaa --land --reason",
            "LANDED (sub-bar)",
        ],
    );
}

fn decided(action: DecisionAction) -> Option<Decision> {
    Some(Decision {
        action,
        reason: "frees registers for the next step".to_owned(),
        by: "kay".to_owned(),
        at: UnixMillis(9),
    })
}

#[test]
fn a_decision_lands_or_drops_what_is_below_the_bar() {
    let mut evidence = lever(&SMALL);
    evidence.decision = decided(DecisionAction::Land);
    let judgement = judge(&evidence);
    expect(
        &judgement,
        Verdict::LandedSubBar,
        &["by decision of kay: frees registers"],
    );
    evidence.decision = decided(DecisionAction::Revert);
    let judgement = judge(&evidence);
    expect(
        &judgement,
        Verdict::Reverted,
        &["reverted below its bar by decision of kay"],
    );
    assert!(
        !judgement
            .reasons
            .iter()
            .any(|r| r.text.contains("kept beside"))
    );
}

#[test]
fn a_decision_never_replaces_another_verdict() {
    let mut evidence = lever(&LOSS);
    evidence.decision = decided(DecisionAction::Land);
    let judgement = judge(&evidence);
    expect(&judgement, Verdict::Reverted, &["regression"]);
    expect_reason(&judgement, Weight::Note, "kay decided to land it");
}

#[test]
fn sub_bar_needs_all_its_conditions() {
    let below = |change: fn(&mut Evidence)| {
        let mut evidence = lever(&SMALL);
        evidence.decision = decided(DecisionAction::Land);
        change(&mut evidence);
        judge(&evidence)
    };
    expect(
        &below(|e| e.claims.clear()),
        Verdict::Reverted,
        &["no sub-bar landing", "no claim that could confirm"],
    );
    expect(
        &below(|e| {
            e.claims.push(claim(ClaimOutcome::NotEvaluated {
                reason: "needs counters".to_owned(),
            }));
        }),
        Verdict::Reverted,
        &["claim `sass mmq LDS.64 == 0` is not confirmed"],
    );
    expect(
        &below(|e| e.code = Some(code(120))),
        Verdict::Reverted,
        &["the ledger regressed: registers of mmq (sm_121) 111 -> 120"],
    );
    expect(
        &below(|e| e.code = None),
        Verdict::Reverted,
        &["not compared"],
    );
    expect(
        &below(|e| {
            let at = |warps| {
                Some(LaunchOccupancy {
                    launch: sass::Launch {
                        threads: 256,
                        dynamic_smem: 0,
                    },
                    from_launch_bound: true,
                    occupancy: sass::Occupancy {
                        blocks_per_sm: warps / 8,
                        warps_per_sm: warps,
                        max_warps_per_sm: 48,
                        limiters: Vec::new(),
                    },
                })
            };
            if let Some(code) = &mut e.code {
                code.occupancy = vec![KernelOccupancy {
                    kernel: "mmq".to_owned(),
                    arch: "sm_121".to_owned(),
                    base: at(16),
                    head: at(8),
                }];
            }
        }),
        Verdict::Reverted,
        &["resident warps per SM of mmq (sm_121) 16 -> 8"],
    );
}

#[test]
fn every_ledger_resource_is_watched() {
    let regress = |change: fn(&mut Ledger)| {
        let mut code = code(109);
        change(&mut code.delta.changed[0].1.ledger);
        ledger_regressions(&code).join("; ")
    };
    assert_eq!(regress(|_| ()), "");
    assert!(regress(|l| l.spill_loads = 4).contains("spill instructions of mmq (sm_121) 0 -> 4"));
    assert!(regress(|l| l.spill_stores = 1).contains("0 -> 1"));
    assert!(regress(|l| l.static_smem = 2048).contains("shared memory bytes of mmq (sm_121) 1024"));
    assert!(regress(|l| l.stack_bytes = 8).contains("stack bytes"));
    let mut code = code(109);
    let mut new = kernel("extra", 200);
    new.ledger.spill_loads = 2;
    code.delta.added.push(new);
    assert_eq!(
        ledger_regressions(&code),
        ["2 spill instructions in the new extra (sm_121)"]
    );
}

#[test]
fn a_registration_that_cannot_be_read_is_broken() {
    let judgement = changed(|e| e.registration.errors = vec!["Bar: prefil 1.5".to_owned()]);
    expect(
        &judgement,
        Verdict::Broken,
        &["registration cannot be read: Bar: prefil 1.5"],
    );
    let judgement = changed(|e| {
        e.registration
            .bars
            .push(bar("prefil", Bar::Relative { percent: 1.0 }));
    });
    expect(
        &judgement,
        Verdict::Broken,
        &["`prefil …` names no bench of campaign.toml"],
    );
}

#[test]
fn faults_of_machine_and_apparatus_are_env_invalid() {
    for (stage, word) in [
        (Stage::Checkout, "checkout of head"),
        (Stage::Toolchain, "toolchain of head"),
        (Stage::Inspect, "inspection of head"),
        (Stage::Counters, "counters of head"),
        (Stage::Measure, "measurement of head"),
    ] {
        let judgement = changed(|e| {
            e.faults.push(Fault {
                stage,
                side: Some(Side::Head),
                failure: Some(Failure::DiskFull),
                message: "no space left; free some".to_owned(),
            });
        });
        expect(&judgement, Verdict::EnvInvalid, &[word, "no space left"]);
    }
}

#[test]
fn builds_tell_who_is_at_fault() {
    let judgement = changed(|e| {
        e.builds.head = broken_build();
        e.faults.push(Fault {
            stage: Stage::Build,
            side: Some(Side::Head),
            failure: Some(Failure::Exit { code: 2 }),
            message: "head's build failed".to_owned(),
        });
    });
    expect(
        &judgement,
        Verdict::Broken,
        &[
            "head does not build, base does",
            "mmq.cu(12): error: expected a \";\"",
        ],
    );
    let judgement = changed(|e| e.builds.base = broken_build());
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["base does not build", "head builds"],
    );
    let judgement = changed(|e| {
        e.builds = PerSide {
            base: broken_build(),
            head: broken_build(),
        };
    });
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["head does not build either"],
    );
    let judgement = changed(|e| {
        e.builds = PerSide {
            base: broken_build(),
            head: None,
        };
    });
    expect(&judgement, Verdict::EnvInvalid, &["head was not built"]);
    let judgement = changed(|e| {
        e.builds = PerSide {
            base: None,
            head: broken_build(),
        };
    });
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["it is open who is at fault"],
    );
    let judgement = changed(|e| {
        e.builds.head = broken_build().map(|b| BuildEvidence {
            failure: Some(Failure::DiskFull),
            ..b
        });
    });
    expect(&judgement, Verdict::EnvInvalid, &["disk was full"]);
    let judgement = changed(|e| e.builds.head = None);
    expect(&judgement, Verdict::EnvInvalid, &["head was not built"]);
}

#[test]
fn rounds_without_a_lever() {
    let judgement = changed(|e| e.registration.kind = RoundKind::Measured);
    expect(
        &judgement,
        Verdict::Measured,
        &["`prefill` 1,302.0 tok/s on base", "medians of 5 pairs"],
    );
    let judgement = changed(|e| {
        e.registration.kind = RoundKind::Analysed;
        e.benches.clear();
        e.builds = PerSide::default();
        e.code = None;
    });
    expect(
        &judgement,
        Verdict::Analysed,
        &["an analysis without a lever"],
    );
    let judgement = changed(|e| {
        e.registration.kind = RoundKind::Measured;
        e.benches.clear();
        e.device = absent();
    });
    expect(&judgement, Verdict::NotMeasured, &["no device"]);
    let judgement = changed(|e| {
        e.registration.kind = RoundKind::Measured;
        e.benches.clear();
    });
    expect(&judgement, Verdict::EnvInvalid, &["no bench has a value"]);
}

fn absent() -> DeviceState {
    DeviceState::Absent {
        reason: "no NVIDIA driver".to_owned(),
    }
}

fn revert(equal: Option<bool>) -> Option<RevertEvidence> {
    Some(RevertEvidence {
        reverts: sha('c'),
        before: Some(sha('d')),
        equal,
        detail: vec!["mmq differs".to_owned()],
    })
}

#[test]
fn reverts_are_verified_by_machine_code() {
    // Against another base it says nothing about what was measured.
    let judgement = changed(|e| e.revert = revert(Some(true)));
    expect(&judgement, Verdict::Landed, &["prefill"]);
    expect_reason(&judgement, Weight::Note, "judged like any lever");
    let judgement = changed(|e| {
        e.commits.base.sha = sha('c');
        e.revert = revert(Some(true));
    });
    expect(
        &judgement,
        Verdict::Reverted,
        &[
            "machine code equals the state before the experiment (dddddddddd)",
            "nothing to measure",
        ],
    );
    assert_eq!(judgement.revert_verified, Some(true));
    let judgement = changed(|e| e.revert = revert(Some(false)));
    expect(&judgement, Verdict::Landed, &["prefill"]);
    expect_reason(
        &judgement,
        Weight::Warning,
        "not the state before the experiment: mmq differs",
    );
    assert_eq!(judgement.revert_verified, Some(false));
    let judgement = changed(|e| e.revert = revert(None));
    expect_reason(&judgement, Weight::Warning, "could not be verified");
    assert_eq!(judgement.revert_verified, None);
}

/// Lesson 34: a change of the docs costs no GPU time.
#[test]
fn identical_machine_code_is_no_change_without_a_device() {
    let judgement = changed(|e| {
        e.code = Some(code(111));
        e.benches.clear();
        e.device = absent();
    });
    expect(
        &judgement,
        Verdict::NoChange,
        &["identical machine code on both sides (1 kernel"],
    );
}

#[test]
fn equal_code_with_other_runtime_files_or_ptx_is_judged() {
    let with = |change: fn(&mut CodeEvidence)| {
        changed(|e| {
            let mut same = code(111);
            change(&mut same);
            e.code = Some(same);
        })
    };
    let judgement = with(|c| c.runtime_files_changed = vec!["prompt.txt".to_owned()]);
    expect(&judgement, Verdict::Landed, &["prefill"]);
    expect_reason(
        &judgement,
        Weight::Note,
        "but prompt.txt, which commands may read, changed",
    );
    let judgement = with(|c| {
        c.reports.head.files[0].ptx_only = vec!["sm_121".to_owned()];
        c.reports.head.files[0].sha256 = "01".to_owned();
    });
    expect_reason(
        &judgement,
        Weight::Note,
        "engine holds PTX that the driver compiles",
    );
    assert_eq!(judgement.verdict, Verdict::Landed);
    let judgement = with(|c| c.delta.host_changed = vec!["engine".to_owned()]);
    assert_eq!(judgement.verdict, Verdict::Landed);
    let judgement = with(|c| c.reports.head.files.clear());
    assert_ne!(
        judgement.verdict,
        Verdict::NoChange,
        "nothing was inspected"
    );
}

#[test]
fn a_failing_claim_refutes_the_mechanism() {
    let judgement = changed(|e| e.claims.push(claim(ClaimOutcome::Fails)));
    expect(
        &judgement,
        Verdict::Reverted,
        &["mechanism refuted: claim `sass mmq LDS.64 == 0` fails: expected == 0, observed 32"],
    );
    expect_reason(&judgement, Weight::Note, "1 of 2 claims holds");
}

/// A profile of one side that failed so.
fn unprofiled(side: Side, failure: Option<ProfileFailure>) -> CounterProfile {
    CounterProfile {
        entry: "q_proj".to_owned(),
        side,
        at: UnixMillis(0),
        profiler: None,
        launches: Vec::new(),
        absent: Vec::new(),
        failure,
        log: None,
    }
}

#[test]
fn counters_that_could_not_be_taken_decide_nothing_and_are_told_once() {
    let missing = || ProfileFailure::Missing {
        detail: "there is no `ncu` on PATH".to_owned(),
    };
    let crashed = || ProfileFailure::Command {
        failure: Failure::Exit { code: 3 },
        said: None,
    };
    // (base's failure, head's, the weight and words of what is said of it, how often)
    type Row = (
        Option<ProfileFailure>,
        Option<ProfileFailure>,
        Weight,
        &'static str,
        usize,
    );
    let rows: [Row; 6] = [
        (
            None,
            Some(ProfileFailure::NotUnderstood {
                line: String::new(),
                why: "it printed nothing".to_owned(),
            }),
            Weight::Warning,
            "q_proj were taken on base and not on head",
            1,
        ),
        (
            Some(missing()),
            Some(missing()),
            Weight::Note,
            "no counters: the profiler",
            1,
        ),
        (
            Some(ProfileFailure::NotPermitted),
            Some(ProfileFailure::NotPermitted),
            Weight::Note,
            "NVreg_RestrictProfilingToAdminUsers=0",
            1,
        ),
        (
            None,
            Some(crashed()),
            Weight::Warning,
            "on head, while base's works",
            1,
        ),
        (
            Some(crashed()),
            Some(crashed()),
            Weight::Note,
            "exited with status 3",
            2,
        ),
        (Some(crashed()), None, Weight::Note, "q_proj on base", 1),
    ];
    for (base, head, weight, words, times) in rows {
        let judgement = changed(|e| {
            e.counters = vec![unprofiled(Side::Base, base), unprofiled(Side::Head, head)];
        });
        assert_eq!(judgement.verdict, Verdict::Landed, "{words}");
        let said = judgement.reasons.iter().filter(|r| r.text.contains(words));
        let weights: Vec<Weight> = said.map(|r| r.weight).collect();
        assert_eq!(
            weights,
            vec![weight; times],
            "{words}: {:#?}",
            judgement.reasons
        );
    }
    // A claim that stays open for that reason has said it already.
    let judgement = changed(|e| {
        e.counters = vec![unprofiled(Side::Base, Some(missing()))];
        let reason = format!(
            "q_proj on base: {}",
            crate::counters::failure_words(&missing())
        );
        e.claims.push(claim(ClaimOutcome::NotEvaluated { reason }));
    });
    let said = judgement
        .reasons
        .iter()
        .filter(|r| r.text.contains("no `ncu`"));
    assert_eq!(said.count(), 1, "{:#?}", judgement.reasons);
}

#[test]
fn a_claim_that_was_counted_on_one_side_only_keeps_a_lever_from_landing() {
    let counted = |side: Side, value: Option<f64>| CounterProfile {
        launches: vec![CounterLaunch {
            kernel: "mmq(int)".to_owned(),
            arch: None,
            grid: "(1, 1, 1)".to_owned(),
            block: "(32, 1, 1)".to_owned(),
            values: value
                .map(|value| CounterValue {
                    metric: "smsp__inst_executed.sum".to_owned(),
                    unit: "inst".to_owned(),
                    value,
                })
                .into_iter()
                .collect(),
        }],
        ..unprofiled(side, None)
    };
    let silent = || {
        Some(ProfileFailure::NotUnderstood {
            line: String::new(),
            why: "it printed nothing".to_owned(),
        })
    };
    let judged = |base: CounterProfile, head: CounterProfile, text: &str| {
        changed(|e| {
            e.counters = vec![base, head];
            e.claims.push(ClaimEvidence {
                text: text.to_owned(),
                ..claim(ClaimOutcome::NotEvaluated {
                    reason: "why it is open".to_owned(),
                })
            });
        })
    };
    let open = "counter mmq instructions down";
    for (base, head, side) in [
        (
            counted(Side::Base, Some(3.0)),
            unprofiled(Side::Head, silent()),
            "base",
        ),
        (
            unprofiled(Side::Base, silent()),
            counted(Side::Head, Some(3.0)),
            "head",
        ),
        (
            counted(Side::Base, Some(3.0)),
            counted(Side::Head, None),
            "base",
        ),
        (
            counted(Side::Base, Some(3.0)),
            unprofiled(Side::Head, Some(ProfileFailure::NotPermitted)),
            "base",
        ),
    ] {
        let only = format!("could be evaluated on {side} only: why it is open");
        let judgement = judged(base.clone(), head.clone(), open);
        expect(&judgement, Verdict::Inconclusive, &[&only]);
        // Another kernel's claim is not half evaluated, nor one on the compiled code.
        for text in ["counter other instructions down", "sass mmq LDS == 0"] {
            let judgement = judged(base.clone(), head.clone(), text);
            assert_eq!(judgement.verdict, Verdict::Landed, "{text}");
        }
    }
    for failure in [silent(), Some(ProfileFailure::NotPermitted)] {
        let neither = Side::BOTH.map(|side| unprofiled(side, failure.clone()));
        let [base, head] = neither;
        assert_eq!(judged(base, head, open).verdict, Verdict::Landed);
    }
}

#[test]
fn claims_that_hold_are_summed_up_and_the_others_are_listed() {
    let judgement = changed(|e| {
        let reason = "needs hardware counters".to_owned();
        e.claims = vec![claim(ClaimOutcome::Holds); 7];
        e.claims.push(claim(ClaimOutcome::NotEvaluated { reason }));
    });
    let about_claims = judgement
        .reasons
        .iter()
        .filter(|r| r.text.contains("claim"));
    let texts: Vec<&str> = about_claims.map(|r| r.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "7 of 8 claims hold",
            "claim `sass mmq LDS.64 == 0` was not evaluated: needs hardware counters",
        ]
    );
    let judgement = changed(|e| e.claims = vec![claim(ClaimOutcome::Fails); 3]);
    expect(
        &judgement,
        Verdict::Reverted,
        &["mechanism refuted: claim `sass", "; and 2 more claims fail"],
    );
    let decisive = |r: &&Reason| r.weight == Weight::Decisive && r.text.contains("fails: expected");
    assert_eq!(judgement.reasons.iter().filter(decisive).count(), 3);
}

fn gate(kind: GateKind, side: Option<Side>, outcome: GateOutcome) -> GateEvidence {
    GateEvidence {
        kind,
        name: match kind {
            GateKind::Parity => "KD=4".to_owned(),
            GateKind::Identity => "greedy-32".to_owned(),
        },
        side,
        outcome,
        figures: Vec::new(),
        failure: None,
        logs: Vec::new(),
    }
}

fn failed() -> GateOutcome {
    GateOutcome::Failed {
        reason: "nmse is 0.5".to_owned(),
    }
}

fn no_data() -> GateOutcome {
    GateOutcome::NoData {
        reason: "nmse was not printed".to_owned(),
    }
}

/// A run with these gates, and parity configured.
fn gated(gates: Vec<GateEvidence>) -> Judgement {
    changed(|e| {
        e.config.parity.push(Parity {
            name: "KD=4".to_owned(),
            probe: Probe::Harness("KD=4".to_owned()),
            figures: Vec::new(),
            env: Default::default(),
            timeout_s: 1,
        });
        e.gates = gates;
    })
}

/// Lesson 13: not run, no data and passed are three different things.
#[test]
fn parity_tells_who_is_at_fault() {
    use GateKind::Parity;
    use GateOutcome::Passed;
    let on = |side, outcome| gate(Parity, Some(side), outcome);
    let head = |outcome| on(Side::Head, outcome);
    let base = |outcome| on(Side::Base, outcome);
    let table = [
        (vec![head(Passed)], Verdict::Landed),
        (vec![head(failed()), base(Passed)], Verdict::Broken),
        (vec![head(failed())], Verdict::Broken),
        (vec![head(failed()), base(failed())], Verdict::EnvInvalid),
        (vec![head(no_data()), base(Passed)], Verdict::Broken),
        (vec![head(no_data()), base(no_data())], Verdict::EnvInvalid),
        (vec![head(no_data())], Verdict::EnvInvalid),
        (vec![], Verdict::EnvInvalid),
        (vec![base(Passed)], Verdict::EnvInvalid),
    ];
    for (gates, verdict) in table {
        let words = format!("{gates:?}");
        let judgement = gated(gates);
        assert_eq!(
            judgement.verdict, verdict,
            "{words}: {}",
            judgement.headline
        );
    }
    expect(
        &gated(vec![]),
        Verdict::EnvInvalid,
        &["parity KD=4 was not run"],
    );
    let flaky = GateOutcome::Flaky {
        first: "exited with status 1".to_owned(),
    };
    let judgement = gated(vec![head(flaky)]);
    expect(&judgement, Verdict::Landed, &["prefill"]);
    expect_reason(&judgement, Weight::Warning, "parity KD=4 on head is flaky");
}

#[test]
fn identity_tells_who_is_at_fault() {
    let identity =
        |side, outcome| changed(|e| e.gates = vec![gate(GateKind::Identity, side, outcome)]);
    expect(
        &identity(None, failed()),
        Verdict::Broken,
        &["identity greedy-32 failed"],
    );
    expect(
        &identity(Some(Side::Head), failed()),
        Verdict::Broken,
        &["on head failed"],
    );
    expect(
        &identity(Some(Side::Base), no_data()),
        Verdict::EnvInvalid,
        &["on base gave no data"],
    );
    expect(
        &identity(None, no_data()),
        Verdict::EnvInvalid,
        &["gave no data"],
    );
    expect(&identity(None, GateOutcome::Passed), Verdict::Landed, &[]);
}

#[test]
fn without_a_device_claims_are_still_checked() {
    let bare = |change: fn(&mut Evidence)| {
        changed(|e| {
            e.benches.clear();
            e.device = absent();
            change(e);
        })
    };
    let judgement = bare(|_| ());
    expect(
        &judgement,
        Verdict::NotMeasured,
        &[
            "no device to measure on: no NVIDIA driver",
            "established without one: machine code of `mmq` changed, the claim holds",
        ],
    );
    expect_reason(&judgement, Weight::Note, "the claim holds");
    let judgement = bare(|e| {
        let reason = "needs hardware counters".to_owned();
        e.claims = vec![claim(ClaimOutcome::Holds); 7];
        e.claims.push(claim(ClaimOutcome::NotEvaluated { reason }));
    });
    expect(
        &judgement,
        Verdict::NotMeasured,
        &["7 of 8 claims hold, 1 was not evaluated (needs hardware counters)"],
    );
    let judgement = bare(|e| {
        e.claims.clear();
        e.code = None;
    });
    assert!(!judgement.headline.contains("established"), "{judgement:?}");
    let judgement = bare(|e| e.claims = vec![claim(ClaimOutcome::Fails)]);
    expect(&judgement, Verdict::Reverted, &["mechanism refuted"]);
    let judgement = bare(|e| e.builds.head = broken_build());
    expect(&judgement, Verdict::Broken, &["head does not build"]);
}

#[test]
fn an_interrupted_run_keeps_its_samples_and_pools_none() {
    let judgement = changed(|e| e.interrupted = true);
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["interrupted; 10 samples kept, not pooled"],
    );
    assert!(judgement.benches.is_empty());
}

/// Samples as letters: `b` and `h` are good, `x` (base) and `y` (head) crash; a pair each two.
fn crashes(letters: &str, control: Option<Option<f64>>) -> BenchEvidence {
    let mut evidence = pairs("prefill", &[]);
    for (index, letter) in (0u32..).zip(letters.chars()) {
        let (side, value) = match letter {
            'b' => (Side::Base, Some(1300.0)),
            'h' => (Side::Head, Some(1330.0)),
            'x' => (Side::Base, None),
            _ => (Side::Head, None),
        };
        evidence
            .samples
            .push(sample(side, SampleRole::Pair, index / 2, value));
    }
    if let Some(value) = control {
        let control = sample(Side::Base, SampleRole::ThrowAway, CONTROL_LAUNCH, value);
        evidence.samples.push(control);
    }
    evidence
}

/// Lesson 12: a crash is no 0.00 tok/s; whose fault it is is decided by who else fails.
#[test]
fn launches_that_fail_for_good_tell_who_is_at_fault() {
    let judged = |letters: &str, control| {
        let bench = crashes(letters, control);
        changed(|e| e.benches = vec![bench])
    };
    let judgement = judged("bhby", Some(Some(1300.0)));
    expect(
        &judgement,
        Verdict::Broken,
        &[
            "`prefill` was ended by signal 11 (SIGSEGV) on head",
            "base works on the same machine",
        ],
    );
    let judgement = judged("bhby", Some(None));
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["base failed in the same window too"],
    );
    let judgement = judged("bhx", None);
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["base cannot be measured"],
    );
    let judgement = judged("y", None);
    expect(&judgement, Verdict::EnvInvalid, &["base was not measured"]);
    for judgement in [judged("bhby", Some(Some(1300.0))), judged("bhx", None)] {
        let text = format!("{judgement:?}");
        assert!(
            !text.contains("-100") && !text.contains("value: Some(0.0)"),
            "{text}"
        );
    }
}

#[test]
fn a_repeated_launch_counts_and_is_shown() {
    let judgement = changed(|e| {
        let mut crash = sample(Side::Head, SampleRole::Pair, 1, None);
        crash.slot = 1;
        e.benches[0].samples.insert(2, crash);
    });
    expect(&judgement, Verdict::Landed, &["5 of 5 pairs better"]);
    expect_reason(
        &judgement,
        Weight::Warning,
        "a launch of head on `prefill` was ended by signal 11",
    );
}

/// Lessons 12 and 32: zero and NaN never enter a comparison.
#[test]
fn a_missing_value_is_never_a_zero() {
    let judgement = changed(|e| {
        e.benches[0].samples[3].value = Some(0.0);
        e.benches[0].samples[5].value = Some(f64::NAN);
    });
    assert_eq!(judgement.benches[0].pairs, 3);
    assert_eq!(judgement.benches[0].pairs_missing, 2);
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["too few valid pairs", "3 valid pairs of 5 planned"],
    );
}

/// Lesson 17: no verdict from single samples.
#[test]
fn no_verdict_from_fewer_than_three_pairs() {
    let judgement = judge(&lever(&[30.0]));
    expect(
        &judgement,
        Verdict::Inconclusive,
        &["plans 1 pair", "fewer than 3"],
    );
    let judgement = changed(|e| e.benches.clear());
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["too few valid pairs", "0 valid pairs of 5"],
    );
    let judgement = changed(|e| e.config.benches.push(fake::bench("decode")));
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["`decode` has 0 valid pairs"],
    );
    let three = judge(&lever(&[1.6, 1.7, 1.8]));
    expect(&three, Verdict::Landed, &["75 % interval"]);
    expect_reason(&three, Weight::Note, "34 % of levers");
    expect_reason(&three, Weight::Note, "as real in 12.5 % of runs");
}

/// Lesson 17: one bad base sample once gave +96 % and was merged.
#[test]
fn one_bad_base_is_held_against_its_history() {
    let judgement = changed(|e| e.benches[0].base_history = vec![700.0, 702.0, 699.0, 701.0]);
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &[
            "base is outside its own history on `prefill`: 1,302.0 tok/s",
            "4 earlier runs",
        ],
    );
    let judgement = changed(|e| e.benches[0].base_history = vec![1290.0, 1310.0, 1300.0]);
    expect(&judgement, Verdict::Landed, &["prefill"]);
    let judgement = changed(|e| e.benches[0].base_history = vec![700.0, 702.0]);
    expect(&judgement, Verdict::Landed, &["prefill"]);
}

fn past(head: char, estimate: f64, base_values: Vec<f64>) -> PastEstimate {
    PastEstimate {
        head: sha(head),
        estimate,
        base_values,
    }
}

/// Lesson 3: a cached base made unrelated changes all look alike.
#[test]
fn results_that_are_too_equal_are_flagged() {
    let judgement = changed(|e| {
        let base: Vec<f64> = (0..5u32).map(|i| 1300.0 + f64::from(i)).collect();
        e.benches[0].past_estimates = vec![past('1', 9.0, base)];
    });
    expect(&judgement, Verdict::Landed, &[]);
    expect_reason(
        &judgement,
        Weight::Warning,
        "number by number, as in the run of 1111111111",
    );
    let equal = |heads: &[(char, f64)]| {
        changed(|e| {
            e.benches[0].past_estimates =
                heads.iter().map(|(h, v)| past(*h, *v, vec![1.0])).collect();
        })
    };
    let warned = |j: &Judgement| {
        j.reasons
            .iter()
            .any(|r| r.text.contains("have the same effect"))
    };
    assert!(warned(&equal(&[('1', 2.04), ('2', 1.96)])));
    assert!(
        !warned(&equal(&[('1', 2.04), ('1', 1.96)])),
        "one lever, measured twice"
    );
    assert!(!warned(&equal(&[('1', 2.04), ('2', 2.2)])));
}

#[test]
fn a_campaign_without_benches_is_inconclusive() {
    let judgement = changed(|e| {
        e.config.benches.clear();
        e.registration.bars.clear();
        e.benches.clear();
    });
    expect(&judgement, Verdict::Inconclusive, &["no [[bench]]"]);
}

/// Lesson 31: 9.9996 % was shown as 10.0 % and labelled as below 10 %.
#[test]
fn rounding_never_contradicts_the_verdict() {
    let judgement = changed(|e| {
        e.registration.bars = vec![bar("prefill", Bar::Relative { percent: 10.0 })];
        e.benches = vec![pairs("prefill", &[9.9996; 5])];
    });
    assert_eq!(judgement.benches[0].finding, Finding::BelowBar);
    assert!(
        judgement.headline.contains("+9.9996 %"),
        "{}",
        judgement.headline
    );
}

/// Lesson 13: not run and no data are two different things.
#[test]
fn a_bench_is_without_data_only_once_measuring_began() {
    let never = changed(|e| {
        e.device = absent();
        e.benches.clear();
    });
    assert_eq!(never.benches[0].finding, Finding::NotMeasured);
    assert_eq!(never.benches[0].pairs_missing, 0);
    let stopped = changed(|e| {
        e.config.benches.push(fake::bench("decode"));
        e.benches[0].samples.truncate(3);
    });
    let decode = stopped.benches.iter().find(|b| b.bench == "decode");
    let decode = decode.expect("it is judged");
    assert_eq!(decode.finding, Finding::NoData);
    assert_eq!(decode.pairs_missing, 5);
}

#[test]
fn a_judgement_survives_its_json() {
    let evidence = lever(&REAL);
    let judgement = judge(&evidence);
    let text = serde_json::to_string(&(&evidence, &judgement)).expect("it serialises");
    let (e, j): (Evidence, Judgement) = serde_json::from_str(&text).expect("it reads back");
    assert_eq!(judge(&e), j);
}
