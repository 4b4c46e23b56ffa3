use super::super::judge;
use super::super::tests::lever;
use super::*;
use crate::config::Machine;
use crate::model::{CanaryReading, UnixMillis, Window};

fn times(compute_us: f64, copy_us: f64) -> CanaryTimes {
    CanaryTimes {
        compute_us,
        copy_us,
    }
}

fn reading(phase: Phase, outcome: CanaryOutcome) -> CanaryReading {
    CanaryReading {
        phase,
        at: UnixMillis(1000),
        work: "cuda-1".to_owned(),
        device: "GPU-1".to_owned(),
        locked_mhz: None,
        outcome,
    }
}

/// A lever that lands, with the canary's times before and after and those of earlier windows.
fn window(before: CanaryTimes, after: CanaryTimes, history: &[CanaryTimes]) -> Evidence {
    let past = (0i64..).zip(history).map(|(n, past)| PastCanary {
        at: UnixMillis(n),
        before: *past,
        after: *past,
    });
    let mut evidence = lever(&[3.0, 3.1, 2.9, 3.0, 3.2, 2.8]);
    evidence.window.canary = Some(CanaryEvidence {
        readings: vec![
            reading(Phase::Before, CanaryOutcome::Measured(before)),
            reading(Phase::After, CanaryOutcome::Measured(after)),
        ],
        history: past.collect(),
    });
    evidence
}

const USUAL: (f64, f64) = (5000.0, 100.0);

fn usual(windows: usize) -> Vec<CanaryTimes> {
    let scatter = [0.0, 0.001, -0.001, 0.002, -0.002];
    let one = |n: usize| {
        let factor = 1.0 + scatter[n % scatter.len()];
        times(USUAL.0 * factor, USUAL.1 * factor)
    };
    (0..windows).map(one).collect()
}

fn verdict(evidence: &Evidence) -> (Verdict, String) {
    let judgement = judge(evidence);
    (judgement.verdict, judgement.headline)
}

#[test]
fn a_steady_machine_is_a_good_window() {
    let same = times(5000.0, 100.0);
    for windows in [0, 4, 5, 40] {
        let evidence = window(same, times(5020.0, 100.4), &usual(windows));
        assert_eq!(verdict(&evidence).0, Verdict::Landed, "{windows} windows");
    }
    let judgement = judge(&window(same, same, &usual(12)));
    let said = |words: &str| judgement.reasons.iter().any(|r| r.text.contains(words));
    assert!(said("within its band of 12 earlier windows"));
}

#[test]
fn a_slow_state_makes_the_window_invalid() {
    let slow = times(5000.0, 106.1);
    let (found, headline) = verdict(&window(slow, slow, &usual(12)));
    assert_eq!(found, Verdict::EnvInvalid);
    assert!(
        headline.contains(
            "canary copy 6.1 % slower than its median over 12 windows on this machine (before the \
             window; its band is ± 1.0 %)"
        ),
        "{headline}"
    );
    let later = window(times(5000.0, 100.0), times(5400.0, 100.0), &usual(12));
    let (found, headline) = verdict(&later);
    assert_eq!(found, Verdict::EnvInvalid);
    assert!(
        headline.contains("canary compute 8.0 % slower"),
        "{headline}"
    );
    assert!(headline.contains("(after the window"), "{headline}");
    let fast = times(5000.0, 90.0);
    let (_, headline) = verdict(&window(fast, fast, &usual(12)));
    assert!(headline.contains("canary copy 10.0 % faster"), "{headline}");
}

#[test]
fn a_noisy_machine_has_a_wider_band() {
    let noisy: Vec<CanaryTimes> = [0.0, 0.02, -0.02, 0.03, -0.03, 0.01, -0.01]
        .map(|share| times(5000.0, 100.0 * (1.0 + share)))
        .to_vec();
    // 3 * 1.4826 * 2 % = 8.9 %; the windows after the fifth are within the band of the first five.
    let good = times(5000.0, 108.0);
    assert_eq!(verdict(&window(good, good, &noisy)).0, Verdict::Landed);
    let bad = times(5000.0, 110.0);
    assert_eq!(verdict(&window(bad, bad, &noisy)).0, Verdict::EnvInvalid);
}

#[test]
fn without_a_band_before_and_after_must_agree() {
    let before = times(5000.0, 100.0);
    let (found, _) = verdict(&window(before, times(5000.0, 102.9), &usual(4)));
    assert_eq!(found, Verdict::Landed);
    let (found, headline) = verdict(&window(before, times(5000.0, 104.0), &usual(4)));
    assert_eq!(found, Verdict::EnvInvalid);
    assert!(
        headline.contains("canary copy 4.0 % slower after the window than before it (at most 3 %"),
        "{headline}"
    );
}

#[test]
fn a_machine_that_stays_slow_does_not_become_the_usual_one() {
    let mut history = usual(6);
    history.extend(vec![times(5000.0, 110.0); 30]);
    let slow = times(5000.0, 110.0);
    let evidence = window(slow, slow, &history);
    let (found, headline) = verdict(&evidence);
    assert_eq!(found, Verdict::EnvInvalid);
    assert!(headline.contains("over 6 windows"), "{headline}");
    // A person says from when on it is another machine.
    let mut since = evidence;
    since.config.machine = Machine {
        canary_since: Some(UnixMillis(6)),
        ..Machine::default()
    };
    assert_eq!(verdict(&since).0, Verdict::Landed);
}

#[test]
fn a_canary_that_does_not_come_back_is_a_sign() {
    let good = times(5000.0, 100.0);
    let failed = || CanaryOutcome::Failed {
        reason: "the device is lost".to_owned(),
    };
    let mut evidence = window(good, good, &usual(12));
    if let Some(canary) = &mut evidence.window.canary {
        canary.readings[1].outcome = failed();
    }
    let (found, headline) = verdict(&evidence);
    assert_eq!(found, Verdict::EnvInvalid);
    assert!(
        headline.contains("not after it: the device is lost"),
        "{headline}"
    );
    // Where it never ran, nothing is known, and that is said.
    if let Some(canary) = &mut evidence.window.canary {
        canary.readings[0].outcome = failed();
    }
    let judgement = judge(&evidence);
    assert_eq!(judgement.verdict, Verdict::Landed);
    let warned = judgement.reasons.iter().any(|reason| {
        reason.weight == crate::model::Weight::Warning
            && reason.text == "no canary watched the machine: the device is lost"
    });
    assert!(warned, "{:?}", judgement.reasons);
}

#[test]
fn an_interrupted_run_stays_interrupted() {
    let slow = times(5000.0, 120.0);
    let mut evidence = window(slow, slow, &usual(12));
    evidence.interrupted = true;
    assert!(verdict(&evidence).1.starts_with("interrupted"));
}

#[test]
fn clocks_and_a_canary_that_is_off_are_said() {
    let mut evidence = lever(&[3.0, 3.1, 2.9, 3.0, 3.2, 2.8]);
    let said = |evidence: &Evidence, words: &str| {
        let reasons = judge(evidence).reasons;
        assert!(
            reasons.iter().any(|r| r.text.contains(words)),
            "{reasons:?}"
        );
    };
    evidence.window = Window {
        clocks: Some(ClockState::Locked { mhz: 1500 }),
        canary: None,
    };
    evidence.config.device.kind = DeviceKind::Cuda;
    evidence.config.machine.canary = Some(false);
    said(&evidence, "locked at 1500 MHz");
    said(&evidence, "`canary = false`");
    evidence.window.clocks = Some(ClockState::NotLocked {
        reason: "others use the card".to_owned(),
    });
    said(&evidence, "clocks were not locked: others use the card");
}

/// `docs/machine-control.md` gives the numbers of the rule.
#[test]
fn the_document_gives_the_constants() {
    let document = include_str!("../../../docs/machine-control.md");
    let words: Vec<&str> = document.split_whitespace().collect();
    let document = words.join(" ");
    for said in [
        format!("at least ± {:.0} %", BAND_LEAST * 100.0),
        format!("{BAND_SD:.0} robust standard deviations"),
        format!("({MAD_TO_SD} times the median absolute deviation)"),
        format!("differ by at most {:.0} %", STEADY * 100.0),
        format!("{LEAST_HISTORY} earlier windows"),
        format!("`drain_s` ({} by default)", crate::config::DEFAULT_DRAIN_S),
    ] {
        assert!(
            document.contains(&said),
            "docs/machine-control.md does not say `{said}`"
        );
    }
}
