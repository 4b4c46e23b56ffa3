//! Which attempt stands, and when a verdict may be confirmed.

use super::*;
use crate::render::{Registered, fixtures};

/// An attempt at one registration.
fn attempt(id: &str, verdict: Verdict) -> RoundRow {
    RoundRow {
        run_id: id.to_owned(),
        verdict,
        judged_verdict: verdict,
        ..fixtures::history()[0].clone()
    }
}

fn confirmation(id: &str, verdict: Verdict, of: &str) -> RoundRow {
    let mut row = attempt(id, verdict);
    row.registered.confirms = Some(of.to_owned());
    row
}

/// The shown rows as `id verdict: text`.
fn shown(rows: &[RoundRow]) -> Vec<String> {
    let line = |row: RoundRow| {
        let text = row.attempt_text.unwrap_or_default();
        format!("{} {}: {text}", row.run_id, row.verdict)
    };
    standing_rounds(rows).into_iter().map(line).collect()
}

fn confirmable(rows: &[RoundRow]) -> Result<Confirmable, String> {
    Attempts::all(rows)[0].confirmable()
}

#[test]
fn the_first_decided_attempt_stands_whatever_the_later_ones_say() {
    let rows = [
        attempt("1", Verdict::EnvInvalid),
        attempt("2", Verdict::NotMeasured),
        attempt("3", Verdict::Reverted),
        attempt("4", Verdict::Landed),
        attempt("5", Verdict::Landed),
    ];
    assert_eq!(shown(&rows), ["3 REVERTED: attempt 3 of 5 stands"]);
    let row = &standing_rounds(&rows)[0];
    assert_eq!(
        (row.attempt, &row.earlier[..], &row.later[..]),
        (
            3,
            &["1".to_owned(), "2".to_owned()][..],
            &["4".to_owned(), "5".to_owned()][..],
        )
    );
    assert_eq!(
        shown(&rows[..2]),
        ["2 NOT MEASURED: attempt 2; none decided anything"]
    );
    assert_eq!(shown(&rows[..1]), ["1 ENV-INVALID: "]);
}

#[test]
fn an_interrupted_attempt_decides_nothing() {
    let mut cut = attempt("1", Verdict::Landed);
    cut.registered.interrupted = true;
    cut.registered.samples = 0;
    let rows = [cut.clone(), attempt("2", Verdict::Reverted)];
    assert_eq!(shown(&rows), ["2 REVERTED: attempt 2 of 2 stands"]);
    cut.registered.samples = 12;
    let rows = [cut, attempt("2", Verdict::Reverted)];
    let seen = "2 REVERTED: attempt 2 of 2 stands; 1 attempt stopped while measuring";
    assert_eq!(shown(&rows), [seen]);
}

#[test]
fn a_corrected_verdict_is_the_one_that_counts() {
    let mut wrong = attempt("1", Verdict::EnvInvalid);
    wrong.judged_verdict = Verdict::Landed;
    let rows = [wrong, attempt("2", Verdict::Reverted)];
    assert_eq!(shown(&rows), ["1 ENV-INVALID: attempt 1 of 2 stands"]);
}

/// A verdict that someone does not like is not corrected away until a better one comes.
#[test]
fn a_verdict_corrected_to_env_invalid_makes_room_for_one_confirmation_only() {
    let mut away = attempt("1", Verdict::EnvInvalid);
    away.judged_verdict = Verdict::Reverted;
    let mut rows = vec![away, attempt("2", Verdict::Landed)];
    assert_eq!(shown(&rows), ["1 ENV-INVALID: attempt 1 of 2 stands"]);
    let found = confirmable(&rows).expect("once");
    assert_eq!(
        found.reason,
        "REVERTED by run 1 was corrected to ENV-INVALID"
    );
    let mut confirmation = attempt("3", Verdict::EnvInvalid);
    confirmation.registered.confirms = Some("1".to_owned());
    confirmation.judged_verdict = Verdict::Reverted;
    rows.push(confirmation);
    let refused = confirmable(&rows).expect_err("its correction makes no room for another");
    assert!(refused.contains("run 3"), "{refused}");
}

#[test]
fn another_registration_of_the_same_code_is_another_row_that_says_so() {
    let first = attempt("1", Verdict::Reverted);
    let mut again = attempt("2", Verdict::Landed);
    again.registered.registration = "a lower bar".to_owned();
    let mut third = again.clone();
    third.run_id = "3".to_owned();
    let rows = [first, again, third];
    assert_eq!(
        shown(&rows),
        [
            "1 REVERTED: ",
            "2 LANDED: attempt 1 of 2 stands; registered again after run 1 was REVERTED"
        ]
    );
    let mut config = attempt("4", Verdict::Landed);
    config.registered.config = "fewer pairs".to_owned();
    let rows = [attempt("1", Verdict::EnvInvalid), config];
    let nothing_before = ["1 ENV-INVALID: ", "4 LANDED: "];
    assert_eq!(shown(&rows), nothing_before);
}

#[test]
fn code_is_the_same_by_tree_or_by_the_patch_on_the_same_base() {
    let one = attempt("1", Verdict::Reverted).registered;
    let mut other = one.clone();
    other.head_tree = one.base_tree.clone();
    assert!(!one.same_code(&other), "neither has a patch-id");
    let patched = |registered: &Registered, patch: &str| Registered {
        patch: Some(patch.to_owned()),
        ..registered.clone()
    };
    assert!(patched(&one, "p").same_registration(&patched(&other, "p")));
    assert!(!patched(&one, "p").same_code(&patched(&other, "q")));
    other.base_tree = one.head_tree.clone();
    assert!(!patched(&one, "p").same_code(&patched(&other, "p")));
}

#[test]
fn a_disagreement_may_be_confirmed_once_and_the_confirmation_stands() {
    let mut rows = vec![
        attempt("1", Verdict::Reverted),
        attempt("2", Verdict::Reverted),
    ];
    let refused = confirmable(&rows).expect_err("they agree");
    assert!(refused.contains("not flaky"), "{refused}");
    rows.push(attempt("3", Verdict::Landed));
    let expected = Confirmable {
        confirms: "1".to_owned(),
        reason: "attempts disagree: REVERTED by run 1, LANDED by run 3".to_owned(),
    };
    assert_eq!(confirmable(&rows), Ok(expected));
    // The machine was at fault: that one is free.
    rows.push(confirmation("4", Verdict::EnvInvalid, "1"));
    assert!(confirmable(&rows).is_ok());
    assert_eq!(shown(&rows), ["1 REVERTED: attempt 1 of 4 stands"]);
    rows.push(confirmation("5", Verdict::Inconclusive, "1"));
    assert_eq!(
        shown(&rows),
        ["5 INCONCLUSIVE: attempt 5 of 5, a confirmation, stands"],
        "whatever it says"
    );
    let refused = confirmable(&rows).expect_err("once");
    assert!(refused.contains("run 5, gave INCONCLUSIVE"), "{refused}");
    rows.push(attempt("6", Verdict::Landed));
    assert!(shown(&rows)[0].starts_with("5 INCONCLUSIVE"));
}

#[test]
fn what_the_measurements_leave_open_may_be_confirmed_and_a_wait_for_a_decision_may_not() {
    let open = attempt("1", Verdict::Inconclusive);
    let found = confirmable(std::slice::from_ref(&open)).expect("prefill is open");
    assert!(found.reason.contains("leave prefill open"), "{found:?}");
    let mut waiting = open.clone();
    waiting.benches[0].finding = Finding::BelowBar;
    assert!(confirmable(&[waiting]).is_err());
    let mut corrected = open;
    corrected.judged_verdict = Verdict::Landed;
    assert!(confirmable(&[corrected]).is_err(), "a person said so");
    let refused = confirmable(&[attempt("1", Verdict::EnvInvalid)]).expect_err("nothing decided");
    assert!(refused.contains("runner run"), "{refused}");
}

#[test]
fn a_confirmation_that_was_stopped_after_samples_is_used_up() {
    let open = attempt("1", Verdict::Inconclusive);
    let mut stopped = confirmation("2", Verdict::EnvInvalid, "1");
    stopped.registered.interrupted = true;
    let rows = [open.clone(), stopped.clone()];
    assert!(confirmable(&rows).is_ok(), "it had not begun to measure");
    stopped.registered.samples = 7;
    let refused = confirmable(&[open, stopped]).expect_err("it was looked at");
    assert!(refused.contains("cut short after 7 samples"), "{refused}");
}

#[test]
fn rows_stand_where_the_attempt_that_counts_was_made() {
    let mut rows = fixtures::history();
    for (id, of) in [("40", 0), ("41", 3)] {
        rows.push(RoundRow {
            run_id: id.to_owned(),
            ..rows[of].clone()
        });
    }
    let ids: Vec<String> = standing_rounds(&rows)
        .into_iter()
        .map(|r| r.run_id)
        .collect();
    assert_eq!(ids, ["17", "22", "23", "30"]);
    let total: usize = standing_rounds(&rows)
        .iter()
        .map(|row| 1 + row.earlier.len() + row.later.len())
        .sum();
    assert_eq!(total, rows.len(), "no attempt is hidden");
}
