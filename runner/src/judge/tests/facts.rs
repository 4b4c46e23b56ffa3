//! What launches report about themselves, in verdicts.

use serde_json::json;

use super::*;
use crate::config::OutputClass;

/// Changes what every sample reports, given its side and pair.
fn reporting(evidence: &mut Evidence, facts: impl Fn(Side, u32) -> serde_json::Value) {
    for sample in &mut evidence.benches[0].samples {
        let reported = facts(sample.side, sample.pair);
        sample.facts = serde_json::from_value(reported).expect("facts");
    }
}

fn judged(facts: impl Fn(Side, u32) -> serde_json::Value) -> Judgement {
    changed(|e| reporting(e, facts))
}

#[test]
fn lesson_9_sides_that_did_different_work_are_not_comparable() {
    let judgement = judged(|side, pair| match (side, pair) {
        (Side::Head, 3) => json!({"work": {"tokens": 245, "seed": 7}}),
        _ => json!({"work": {"tokens": 4096, "seed": 7}}),
    });
    let words = [
        "`prefill` did different work on the sides",
        "in pair 4, `tokens` is 4096 on base and 245 on head",
    ];
    expect(&judgement, Verdict::NotComparable, &words);
}

#[test]
fn facts_that_differ_between_pairs_only_are_the_same_work() {
    let judgement = judged(|_, pair| json!({"work": {"seed": pair, "shape": "4x4", "hot": true}}));
    expect(&judgement, Verdict::Landed, &[]);
    let words = "reports the same work on both sides (hot true, seed 4, shape \"4x4\")";
    expect_reason(&judgement, Weight::Note, words);
}

#[test]
fn a_fact_of_one_side_only_is_said_and_decides_nothing() {
    for (side, word) in [(Side::Base, "base"), (Side::Head, "head")] {
        let judgement = judged(|s, _| match s == side {
            true => json!({"work": {"tokens": 512}, "output": "ab"}),
            false => json!({}),
        });
        expect(&judgement, Verdict::Landed, &[]);
        let words = format!("reports `tokens` of its work on {word} only");
        expect_reason(&judgement, Weight::Warning, &words);
        let words = format!("reports its timed output on {word} only");
        expect_reason(&judgement, Weight::Warning, &words);
    }
}

#[test]
fn work_is_compared_before_pairs_are_counted() {
    let mut evidence = lever(&REAL);
    reporting(&mut evidence, |side, _| json!({"work": {"side": side}}));
    evidence.benches[0].samples.retain(|s| s.pair == 0);
    expect(&judge(&evidence), Verdict::NotComparable, &["in pair 1"]);
    assert!(differs_in_work(&evidence.benches[0].samples));
    // A half without a value was never measured.
    evidence.benches[0].samples[1].value = None;
    assert!(!differs_in_work(&evidence.benches[0].samples));
}

#[test]
fn lesson_15_a_timed_output_that_must_not_differ_and_does_is_head_s_fault() {
    let other = |side, pair| match (side, pair) {
        (Side::Head, 2 | 4) => json!({"output": "beef"}),
        _ => json!({"output": "cafe"}),
    };
    let declared = |evidence: &mut Evidence| {
        evidence.config.benches[0].output = OutputClass::Bytes;
        reporting(evidence, other);
    };
    let words = [
        "the timed output of `prefill` differs in 2 of 5 pairs, first in pair 3 (cafe on base, \
         beef on head)",
        "something else than what the gates checked",
    ];
    expect(&changed(declared), Verdict::Broken, &words);
    let judgement = judged(other);
    expect(&judgement, Verdict::Landed, &[]);
    let words = "differs in 2 of 5 pairs; it does not declare";
    expect_reason(&judgement, Weight::Note, words);
}

#[test]
fn an_output_that_is_declared_and_the_same_or_missing_is_said() {
    let bytes = |facts: serde_json::Value| {
        changed(|e| {
            e.config.benches[0].output = OutputClass::Bytes;
            reporting(e, |_, _| facts.clone());
        })
    };
    let judgement = bytes(json!({"output": "cafe"}));
    expect(&judgement, Verdict::Landed, &[]);
    expect_reason(&judgement, Weight::Note, "is the same in 5 pairs");
    let judgement = bytes(json!({}));
    expect(&judgement, Verdict::Landed, &[]);
    expect_reason(&judgement, Weight::Warning, "no pair reports its output");
}

#[test]
fn lesson_16_a_lever_whose_kernel_never_ran_is_not_exercised() {
    let judgement = judged(|_, _| json!({"ran": {"quantise": 12, "mmq": 0}}));
    let words = ["no changed kernel ever ran in `prefill` (`mmq`)"];
    expect(&judgement, Verdict::NotExercised, &words);
    let judgement = judged(|_, _| json!({"ran": {}}));
    expect(&judgement, Verdict::NotExercised, &[]);
    let judgement = judged(|_, _| json!({"ran": {"mmq": 3}}));
    expect(&judgement, Verdict::Landed, &[]);
    expect_reason(&judgement, Weight::Note, "every changed kernel ran");
    // Nothing said is nothing known, and one launch that says nothing leaves it open.
    expect(&judged(|_, _| json!({})), Verdict::Landed, &[]);
    let judgement = judged(|_, pair| match pair {
        0 => json!({}),
        _ => json!({"ran": {"quantise": 12}}),
    });
    expect(&judgement, Verdict::Landed, &[]);
}

#[test]
fn a_kernel_that_ran_on_base_was_exercised_and_unknown_benches_leave_it_open() {
    let judgement = judged(|side, _| match side {
        Side::Base => json!({"ran": {"mmq": 1}}),
        Side::Head => json!({"ran": {"other": 1}}),
    });
    expect(&judgement, Verdict::Landed, &[]);
    let judgement = changed(|e| {
        reporting(e, |_, _| json!({"ran": {"other": 1}}));
        e.config.benches.push(fake::bench("decode"));
        e.benches.push(pairs("decode", &NOTHING));
    });
    expect(&judgement, Verdict::Landed, &[]);
    expect_reason(&judgement, Weight::Warning, "`decode` did not say");
}

#[test]
fn kernels_are_known_by_every_name_that_a_harness_may_use() {
    let mangled = "_ZN2ns8mmq_wideILi8EEEvPf";
    for (reported, verdict) in [
        (mangled, Verdict::Landed),
        ("void ns::mmq_wide<8>(float*)", Verdict::Landed),
        ("ns::mmq_wide<8>", Verdict::Landed),
        ("mmq_wide<8>", Verdict::Landed),
        ("mmq_wide", Verdict::Landed),
        ("mmq_wide<4>", Verdict::NotExercised),
        ("mmq", Verdict::NotExercised),
    ] {
        let judgement = changed(|e| {
            let code = e.code.as_mut().expect("compared");
            let (_, after) = &mut code.delta.changed[0];
            after.name = "void ns::mmq_wide<8>(float*)".to_owned();
            after.symbol = mangled.to_owned();
            reporting(e, |_, _| json!({"ran": {reported: 1}}));
        });
        assert_eq!(
            judgement.verdict, verdict,
            "{reported}: {}",
            judgement.headline
        );
    }
}

#[test]
fn a_lever_without_a_changed_kernel_needs_no_kernel_to_run() {
    let judgement = changed(|e| {
        let code = e.code.as_mut().expect("compared");
        code.delta.changed.clear();
        code.delta.host_changed.push("engine".to_owned());
        reporting(e, |_, _| json!({"ran": {"other": 1}}));
    });
    expect(&judgement, Verdict::Landed, &[]);
}

#[test]
fn an_impossible_value_is_whose_launch_it_was() {
    let impossible = Some(Failure::Impossible {
        message: "12.3 us is below the floor of 41.0 us: 11.2 MB at 273 GB/s".to_owned(),
    });
    for (side, verdict) in [
        (Side::Head, Verdict::Broken),
        (Side::Base, Verdict::EnvInvalid),
    ] {
        let judgement = changed(|e| {
            let samples = &mut e.benches[0].samples;
            samples.retain(|s| s.pair < 3);
            for sample in samples.iter_mut().filter(|s| s.side == side && s.pair == 2) {
                sample.value = None;
                sample.failure = impossible.clone();
            }
        });
        let words = ["impossible: 12.3 us is below the floor of 41.0 us: 11.2 MB at 273 GB/s"];
        expect(&judgement, verdict, &words);
    }
}
