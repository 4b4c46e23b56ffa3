//! Comparisons of two commits by the runner itself: anchors and bisections.

use super::*;
use crate::config::{DEFAULT_PROTOCOL, Protocol};
use crate::model::{RegisteredBar, Registration, RoundKind, Source};

/// A bisection's comparison; head may be slower by `allowed` percent.
fn compared(effects: &[f64], allowed: Option<f64>) -> Evidence {
    let mut evidence = lever(effects);
    evidence.config.protocol = DEFAULT_PROTOCOL;
    evidence.config.parity.clear();
    evidence.config.identity = None;
    evidence.gates.clear();
    evidence.claims.clear();
    let bench = evidence.config.benches[0].name.clone();
    evidence.registration = Registration {
        kind: RoundKind::Compared,
        bars: allowed
            .map(|percent| RegisteredBar {
                bench,
                bar: Bar::Relative { percent },
                source: Source::File,
                text: format!("{percent}%"),
            })
            .into_iter()
            .collect(),
        ..Registration::default()
    };
    evidence
}

fn finding(effects: &[f64], allowed: Option<f64>) -> (Verdict, Finding, u32) {
    let judgement = judge(&compared(effects, allowed));
    let bench = &judgement.benches[0];
    assert_eq!(bench.role, Role::Guard);
    (judgement.verdict, bench.finding, bench.pairs)
}

#[test]
fn a_comparison_asks_whether_head_is_slower_and_is_no_round() {
    let slower = finding(&[-2.0; 10], None);
    assert_eq!(slower, (Verdict::Measured, Finding::Regression, 10));
    let same = finding(&[0.0; 6], None);
    assert_eq!(same, (Verdict::Measured, Finding::NotWorse, 6));
    let faster = finding(&[3.0; 6], None);
    assert_eq!(faster, (Verdict::Measured, Finding::NotWorse, 6));
}

#[test]
fn a_loss_within_the_threshold_does_not_count_and_figures_stay_what_they_are() {
    assert_eq!(finding(&[-1.0; 10], None).1, Finding::Regression);
    assert_eq!(finding(&[-1.0; 6], Some(2.0)).1, Finding::NotWorse);
    assert_eq!(finding(&[-3.0; 10], Some(2.0)).1, Finding::Regression);
    // Exactly the threshold is no more than the threshold.
    assert_eq!(finding(&[-2.0; 6], Some(2.0)).1, Finding::NotWorse);
    let judgement = judge(&compared(&[-3.0; 10], Some(2.0)));
    let effect = judgement.benches[0].effect.expect("an effect");
    assert!((effect.estimate + 3.0).abs() < 1e-9, "{effect:?}");
    assert!((effect.high + 3.0).abs() < 1e-9, "{effect:?}");
}

#[test]
fn a_fixed_number_of_pairs_gives_the_effect_with_its_interval() {
    let mut evidence = compared(&[4.0; 26], None);
    evidence.config.protocol = Protocol::Pairs(26);
    let judgement = judge(&evidence);
    expect(
        &judgement,
        Verdict::Measured,
        &["+4.00 %", "26 of 26 pairs"],
    );
    assert!(judgement.benches[0].effect.is_some());
    evidence.config.protocol = Protocol::Pairs(40);
    let judgement = judge(&evidence);
    assert_eq!(judgement.verdict, Verdict::EnvInvalid, "pairs are missing");
}
