//! Windows in which the machine's state spoke against pairs.

use super::*;
use crate::model::{SampleState, Throttle};

/// Rejects these pairs by the state of that side's half.
fn reject(evidence: &mut Evidence, pairs: std::ops::Range<u32>, side: Side, why: Throttle) {
    for sample in &mut evidence.benches[0].samples {
        if sample.side == side && pairs.contains(&sample.pair) {
            let mut state = SampleState::default();
            state.during.throttle = Some(vec![why]);
            sample.state = Some(state);
        }
    }
}

/// So many pairs of a clear gain, planned to be that many less `rejected`.
fn planned(pairs: usize, rejected: u32) -> Evidence {
    let effects: Vec<f64> = (0..pairs).map(|i| 2.0 + 0.01 * i as f64).collect();
    let mut evidence = lever(&effects);
    evidence.config.protocol = Protocol::Pairs(pairs as u32 - rejected);
    evidence
}

#[test]
fn too_many_rejected_pairs_give_no_verdict() {
    let mut evidence = planned(20, 9);
    reject(&mut evidence, 0..4, Side::Base, Throttle::HardwareSlowdown);
    reject(&mut evidence, 4..7, Side::Head, Throttle::HardwareSlowdown);
    reject(&mut evidence, 7..9, Side::Head, Throttle::SyncBoost);
    let judgement = judge(&evidence);
    expect(
        &judgement,
        Verdict::EnvInvalid,
        &["`prefill`: 9 of 20 pairs rejected: 7 hardware slowdown, 2 sync boost; see to power"],
    );
    assert_eq!(judgement.benches[0].pairs, 11);
}

#[test]
fn few_rejected_pairs_are_said_and_do_not_count() {
    let mut evidence = planned(12, 2);
    // A wild value in a rejected pair has no say.
    evidence.benches[0].samples[0].value = Some(1e6);
    reject(&mut evidence, 0..2, Side::Base, Throttle::PowerBrake);
    let judgement = judge(&evidence);
    assert_eq!(judgement.verdict, Verdict::Landed, "{}", judgement.headline);
    assert_eq!(judgement.benches[0].pairs, 10);
    assert_eq!(judgement.benches[0].pairs_missing, 0);
    let said = "`prefill`: 2 of 12 pairs rejected for the machine's state and measured again: 2 \
                power brake";
    let notes: Vec<&str> = judgement.reasons.iter().map(|r| r.text.as_str()).collect();
    assert!(notes.contains(&said), "{notes:#?}");
}

#[test]
fn rejections_of_one_side_only_give_no_verdict() {
    let mut evidence = planned(40, 6);
    reject(&mut evidence, 0..6, Side::Head, Throttle::PowerBrake);
    expect(
        &judge(&evidence),
        Verdict::EnvInvalid,
        &["6 by head's state and 0 by base's (binomial p = 0.031): 6 power brake"],
    );
    let mut even = planned(40, 6);
    reject(&mut even, 0..3, Side::Head, Throttle::PowerBrake);
    reject(&mut even, 3..6, Side::Base, Throttle::PowerBrake);
    assert_eq!(judge(&even).verdict, Verdict::Landed);
}

/// Under the sequential protocol a rejected pair is not a lost one.
#[test]
fn two_rejected_of_eight_are_enough_pairs_for_the_first_look() {
    let mut evidence = lever(&[0.0; 8]);
    evidence.config.protocol = crate::config::DEFAULT_PROTOCOL;
    reject(&mut evidence, 3..5, Side::Base, Throttle::PowerBrake);
    let judgement = judge(&evidence);
    assert_eq!(
        judgement.verdict,
        Verdict::Reverted,
        "{}",
        judgement.headline
    );
    assert_eq!(judgement.benches[0].pairs, 6);
}

#[test]
fn a_round_without_a_lever_is_warned_of_its_window() {
    let mut evidence = planned(8, 4);
    evidence.registration.kind = RoundKind::Measured;
    reject(&mut evidence, 0..4, Side::Base, Throttle::SyncBoost);
    let judgement = judge(&evidence);
    assert_eq!(judgement.verdict, Verdict::Measured);
    let warned = judgement.reasons.iter().any(|r| {
        r.weight == crate::model::Weight::Warning && r.text.contains("4 of 8 pairs rejected")
    });
    assert!(warned, "{:#?}", judgement.reasons);
}

#[test]
fn notes_on_the_machine_are_passed_on_once() {
    let mut evidence = lever(&REAL);
    for (index, sample) in evidence.benches[0].samples.iter_mut().enumerate() {
        sample.state = Some(SampleState {
            notes: vec![format!("no reading of the machine for {index}.5 s")],
            ..SampleState::default()
        });
    }
    let judgement = judge(&evidence);
    let said = "no reading of the machine for 0.5 s (and 9 alike)";
    assert!(judgement.reasons.iter().any(|r| r.text == said));
}
