//! A reference program beside the pairs.

use super::*;

/// A reference beside every other pair whose values are these.
fn reference(values: &[Option<f64>], history: &[f64]) -> ReferenceEvidence {
    let sample = |(block, value): (usize, &Option<f64>)| ReferenceSample {
        reference: "other".to_owned(),
        bench: "prefill".to_owned(),
        role: ReferenceRole::Beside,
        pair: 2 * block as u32,
        slot: 0,
        started_at: UnixMillis(0),
        wall_ms: 1.0,
        value: *value,
        failure: value.is_none().then_some(Failure::Exit { code: 1 }),
        log: None,
    };
    ReferenceEvidence {
        identity: ReferenceIdentity {
            name: "other".to_owned(),
            bench: "prefill".to_owned(),
            pinned: "commit b4567".to_owned(),
            asks_sha256: String::new(),
            files: Vec::new(),
        },
        samples: values.iter().enumerate().map(sample).collect(),
        history: history.to_vec(),
    }
}

fn beside(values: &[Option<f64>], history: &[f64]) -> (Judgement, ReferenceReading) {
    let mut evidence = lever(&[2.0; 5]);
    evidence.references = vec![reference(values, history)];
    let reading = reference_readings(&evidence).remove(0);
    (judge(&evidence), reading)
}

#[test]
fn lesson_23_head_against_a_reference_is_a_ratio_with_its_interval() {
    // Head is 1326, 1328.04 and 1330.08 in pairs 0, 2 and 4.
    let (judgement, reading) = beside(&[Some(1020.0), Some(1021.5692), Some(1023.1385)], &[]);
    expect(&judgement, Verdict::Landed, &[]);
    assert_eq!((reading.blocks, reading.failed), (3, 0));
    let ratio = reading.ratio.expect("blocks");
    assert!((ratio - 1.3).abs() < 1e-4, "{reading:?}");
    let words = "head is 1.300 [1.300, 1.300] times as fast as other (commit b4567) on `prefill` \
                 (75 % interval, 3 blocks)";
    expect_reason(&judgement, Weight::Note, words);
}

#[test]
fn a_reference_that_fails_decides_nothing_and_is_said() {
    let (judgement, reading) = beside(&[None, None], &[]);
    expect(&judgement, Verdict::Landed, &[]);
    assert_eq!(
        (reading.ratio, reading.blocks, reading.failed),
        (None, 0, 2)
    );
    let words = "reference other (commit b4567): 2 of 2 launches failed";
    expect_reason(&judgement, Weight::Warning, words);
    let (judgement, reading) = beside(&[Some(1020.0), None, Some(1020.0)], &[]);
    expect(&judgement, Verdict::Landed, &[]);
    assert_eq!((reading.blocks, reading.failed), (2, 1));
}

#[test]
fn a_reference_outside_its_history_is_a_warning_about_the_window() {
    let before = [1000.0, 1001.0, 999.0];
    let (judgement, _) = beside(&[Some(900.0), Some(901.0)], &before);
    expect(&judgement, Verdict::Landed, &[]);
    let words =
        "other is outside its own history on `prefill`: 900.50 tok/s, where 3 earlier windows";
    expect_reason(&judgement, Weight::Warning, words);
    let (judgement, _) = beside(&[Some(1002.0), Some(1003.0)], &before);
    let warned = judgement
        .reasons
        .iter()
        .any(|r| r.text.contains("its own history"));
    assert!(!warned, "{:?}", judgement.reasons);
}

#[test]
fn a_block_whose_pair_is_not_valid_does_not_count() {
    let mut evidence = lever(&[2.0; 5]);
    evidence.references = vec![reference(&[Some(1000.0), Some(1000.0)], &[])];
    for sample in evidence.benches[0]
        .samples
        .iter_mut()
        .filter(|s| s.pair == 2)
    {
        sample.value = None;
    }
    assert_eq!(reference_readings(&evidence)[0].blocks, 1);
}
