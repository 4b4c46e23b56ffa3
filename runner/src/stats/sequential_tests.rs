//! Every row of the table of states, and what lies at its edges.

use super::*;
use crate::stats::{k_for, tail};

const M0: f64 = 0.5;
const ANY: Question = Question::Improvement { bar: None };
const BAR: Question = Question::Improvement { bar: Some(1.5) };

/// The outcome with its number of pairs; 44 pairs are at hand.
fn outcome(question: Question, d: &[f64]) -> (Outcome, usize) {
    let (next, readings) = replay(question, M0, d);
    match next {
        Next::Done(outcome) => (outcome, readings.last().map_or(0, |last| last.pairs)),
        Next::Pairs(pairs) => panic!("{pairs} pairs wanted after {readings:?}"),
    }
}

/// Each value so many times, one group after the other.
fn groups(groups: &[(usize, f64)]) -> Vec<f64> {
    groups
        .iter()
        .flat_map(|(times, value)| std::iter::repeat_n(*value, *times))
        .collect()
}

/// 44 values around `centre`, in pairs that cancel: every even look sees a symmetric sample.
fn around(centre: f64, spread: f64) -> Vec<f64> {
    (0..44u32)
        .map(|i| {
            let size = spread * f64::from(i / 2 % 7 + 1) / 7.0;
            centre + if i % 2 == 0 { size } else { -size }
        })
        .collect()
}

#[test]
fn the_counts_are_those_of_the_exact_null() {
    for look in LOOKS {
        assert_eq!(k_for(look.pairs, ALPHA_CLOSE), Some(look.k_close));
        if let Some(k) = look.k_real {
            assert!(tail(look.pairs, k) < ALPHA, "{look:?}");
        }
    }
    // The first look could not be significant at a level worth spending.
    assert!(tail(6, 0) > ALPHA);
}

#[test]
fn constant_values_at_every_place() {
    for (question, value, expected) in [
        // No bar: real at the first look that can say so.
        (ANY, 1.0, (Outcome::Landed, 10)),
        (ANY, 0.5, (Outcome::Landed, 10)),
        // Below m0 the first look already is futile, real or not.
        (ANY, 0.499, (Outcome::NoEffect, 6)),
        (ANY, 0.0, (Outcome::NoEffect, 6)),
        (ANY, -3.0, (Outcome::NoEffect, 6)),
        // With a bar.
        (BAR, 1.6, (Outcome::Landed, 10)),
        (BAR, 1.5, (Outcome::Landed, 10)),
        (BAR, 1.499, (Outcome::SubBar, 10)),
        (BAR, 0.5, (Outcome::SubBar, 10)),
        (BAR, 0.0, (Outcome::NoEffect, 6)),
        // Guard.
        (Question::Regression, -1.0, (Outcome::Regression, 10)),
        (Question::Regression, -0.5, (Outcome::Regression, 10)),
        (Question::Regression, -0.499, (Outcome::Pass, 6)),
        (Question::Regression, 0.0, (Outcome::Pass, 6)),
        (Question::Regression, 5.0, (Outcome::Pass, 6)),
    ] {
        assert_eq!(
            outcome(question, &[value; 44]),
            expected,
            "{question:?} {value}"
        );
    }
}

#[test]
fn pairs_of_exactly_the_bar_reach_it() {
    let m0 = log_percent(M0);
    for percent in [M0, 1.0, 1.5, 3.0, 7.0, 20.0] {
        let bar = Some(log_percent(percent));
        for base in [1.0, 37.3, 100.0, 1e6] {
            let head = base * (1.0 + percent / 100.0);
            let d = 100.0 * f64::ln(head / base);
            let (next, readings) = replay(Question::Improvement { bar }, m0, &[d; 44]);
            assert_eq!(next, Next::Done(Outcome::Landed), "{percent} % of {base}");
            assert_eq!(readings.len(), 2);
        }
    }
}

#[test]
fn a_regression_is_called_one_only_where_its_interval_says_so() {
    // Five good pairs keep the first two looks open; six bad ones then settle it.
    let d = groups(&[(5, 0.5), (11, -100.0)]);
    assert_eq!(outcome(ANY, &d), (Outcome::Regression, 16));
    assert_eq!(outcome(BAR, &d), (Outcome::Regression, 16));
    // One more good pair at the end, and U is above zero: no effect, and no more is claimed.
    let d = groups(&[(5, 0.5), (10, -100.0), (1, 200.0)]);
    assert_eq!(outcome(ANY, &d), (Outcome::NoEffect, 16));
}

#[test]
fn real_is_latched() {
    // Real at 10 pairs, between 0 and the bar; then the effect is gone.
    let d = groups(&[(5, 2.0), (5, 1.0), (34, -9.0)]);
    let (next, readings) = replay(BAR, M0, &d);
    assert_eq!(next, Next::Done(Outcome::SubBar));
    assert_eq!(readings.len(), 3);
    assert!(!readings[0].is_real && readings[1].is_real);
    let last = readings[2];
    assert!(last.real.is_some_and(|(low, _)| low < 0.0), "{last:?}");
    // Not real any more by its own interval, and below m0: still sub-bar, not futile.
    assert!(last.is_real && last.close.1 < 1.5, "{last:?}");
}

#[test]
fn the_last_look_decides_a_real_effect_by_its_estimate() {
    // The close interval has the bar inside at every look.
    for (centre, expected) in [
        (1.51, Outcome::Landed),
        (1.5, Outcome::Landed),
        (1.49, Outcome::SubBar),
    ] {
        let (next, readings) = replay(BAR, M0, &around(centre, 1.4));
        assert_eq!(next, Next::Done(expected), "{readings:?}");
        assert_eq!(readings.len(), 5);
        assert!(readings[4].is_real);
        assert!(readings[4].close.0 < 1.5 && readings[4].close.1 > 1.5);
    }
}

#[test]
fn the_last_look_leaves_open_what_is_not_real_and_not_futile() {
    let d = around(0.3, 6.0);
    let (next, readings) = replay(ANY, M0, &d);
    assert_eq!(next, Next::Done(Outcome::Open), "{readings:?}");
    assert_eq!(readings.len(), 5);
    let slower: Vec<f64> = d.iter().map(|value| -value).collect();
    assert_eq!(
        outcome(Question::Regression, &slower),
        (Outcome::Open, 44),
        "guard mode is the same on -d"
    );
}

#[test]
fn the_first_look_never_makes_an_effect_real() {
    let (next, readings) = replay(ANY, M0, &[50.0; 6]);
    assert_eq!(next, Next::Pairs(10));
    assert_eq!(readings[0].real, None);
    assert!(!readings[0].is_real);
}

#[test]
fn between_looks_the_next_one_is_wanted_and_nothing_is_read_twice() {
    let mut machine = Sequential::new(ANY, M0);
    let d = around(0.6, 3.0);
    let mut wanted = Vec::new();
    for n in 0..=44 {
        match machine.look(&d[..n]) {
            Next::Pairs(pairs) => wanted.push(pairs),
            Next::Done(_) => wanted.push(0),
        }
        assert!(machine.readings().iter().all(|r| r.pairs <= n));
    }
    let expected = groups(&[(6, 6.0), (4, 10.0), (6, 16.0), (10, 26.0), (18, 44.0)]);
    let wanted: Vec<f64> = wanted.into_iter().map(|n| n as f64).collect();
    assert_eq!(wanted[..44], expected);
    assert_eq!(wanted[44], 0.0, "answered at the last look");
    // One by one or all at once is the same.
    assert_eq!(machine.readings(), replay(ANY, M0, &d).1);
}

#[test]
fn an_outcome_stays() {
    let mut machine = Sequential::new(ANY, M0);
    let landed = Next::Done(Outcome::Landed);
    assert_eq!(machine.look(&[2.0; 10]), landed);
    assert_eq!(machine.look(&groups(&[(10, 2.0), (34, -9.0)])), landed);
    assert_eq!(machine.look(&[]), landed);
    assert_eq!(machine.readings().len(), 2);
}

#[test]
fn readings_are_the_order_statistics_of_the_walsh_averages() {
    // 21 averages of 0..=5: 0 .5 1 1 1.5 1.5 2 2 2 2.5 ...; 3 from either end, and the middle.
    let d = [4.0, 0.0, 5.0, 2.0, 1.0, 3.0];
    let (_, readings) = replay(ANY, M0, &d);
    assert_eq!(readings[0].close, (1.0, 4.0));
    assert_eq!(readings[0].estimate, 2.5);
    // In guard mode readings keep the sign of d.
    let (_, guarded) = replay(Question::Regression, M0, &d);
    assert_eq!(guarded[0].close, (1.0, 4.0));
    assert_eq!(guarded[0].estimate, 2.5);
}

#[test]
fn guard_mode_calls_a_slow_down_real_in_the_sign_of_d() {
    let (next, readings) = replay(Question::Regression, M0, &around(-2.0, 1.0));
    assert_eq!(next, Next::Done(Outcome::Regression));
    let last = readings[readings.len() - 1];
    assert!(last.is_real && last.estimate < -1.9, "{last:?}");
    assert!(
        last.real
            .is_some_and(|(low, high)| low < high && high < 0.0)
    );
}

#[test]
fn ties_with_zero_are_no_evidence() {
    // A bench that returns the same number nearly always: two pairs of ten moved.
    let d = groups(&[(8, 0.0), (2, 40.0)]);
    assert_eq!(outcome(ANY, &d), (Outcome::NoEffect, 6));
    // Half of them zero: never real, and no longer futile.
    let d: Vec<f64> = (0..44).map(|i| f64::from(i % 2) * 2.0).collect();
    let (_, readings) = replay(ANY, M0, &d);
    assert!(!readings[1].is_real, "{readings:?}");
}

#[test]
fn what_is_not_finite_decides_nothing() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for question in [ANY, BAR, Question::Regression] {
            for place in [0, 5, 9] {
                let mut d = [if question == Question::Regression {
                    -2.0
                } else {
                    2.0
                }; 44];
                d[place] = bad;
                assert_eq!(outcome(question, &d).0, Outcome::Open, "{bad} at {place}");
            }
        }
    }
    // Beyond the look that answers, nothing is read.
    let mut d = [2.0; 44];
    d[10] = f64::NAN;
    assert_eq!(outcome(ANY, &d), (Outcome::Landed, 10));
    // The largest finite values do not overflow into an answer.
    assert_eq!(outcome(ANY, &[f64::MAX; 44]), (Outcome::Landed, 10));
    assert_eq!(outcome(ANY, &[f64::MIN; 44]), (Outcome::NoEffect, 6));
}

#[test]
fn percent_and_d_units_are_two_ways_to_say_it() {
    assert_eq!(log_percent(0.0), 0.0);
    assert!((log_percent(1.5) - 1.488_861_249_4).abs() < 1e-9);
    assert!((log_percent(100.0) - 69.314_718_056).abs() < 1e-9);
    assert!(!log_percent(-100.0).is_finite());
}
