use super::*;

fn sha(n: usize) -> Sha {
    format!("{n:040x}").parse().expect("a sha")
}

fn commit(n: usize) -> Passed {
    Passed {
        sha: sha(n),
        tree: sha(1000 + n),
        subject: format!("commit {n}"),
        reverts: None,
    }
}

fn reverting(n: usize, what: usize) -> Passed {
    Passed {
        reverts: Some(sha(what).to_string()),
        ..commit(n)
    }
}

/// The measurement of the head that is `commits` after the anchor.
fn point(run: i64, estimate: f64, passed: Vec<Passed>) -> Point {
    Point {
        run: RunId(run),
        head: passed.last().map_or(sha(0), |commit| commit.sha.clone()),
        at: UnixMillis(run),
        estimate,
        interval: (estimate - 0.2, estimate + 0.2),
        coverage: 0.95,
        pairs: 26,
        passed,
    }
}

fn linear(run: i64, estimate: f64, commits: usize) -> Point {
    point(run, estimate, (1..=commits).map(commit).collect())
}

fn landed(n: usize, estimate: f64) -> Landed {
    Landed {
        run: RunId(i64::try_from(n).expect("small")),
        name: format!("r{n}"),
        head: sha(n),
        tree: sha(1000 + n),
        is_same_machine: true,
        estimates: vec![("speed".to_owned(), estimate)],
    }
}

fn names(claimed: &Claimed) -> Vec<&str> {
    claimed
        .rounds
        .iter()
        .map(|(name, _)| name.as_str())
        .collect()
}

#[test]
fn claims_compound_as_factors() {
    let rounds = [landed(1, 5.0), landed(2, 4.0), landed(3, -1.0)];
    let standing = standing("speed", vec![linear(9, 6.8, 3)], &rounds).expect("measured");
    let expected = 100.0 * (1.05 * 1.04 * 0.99 - 1.0);
    let claimed = standing.claimed.percent.expect("figures");
    assert!((claimed - expected).abs() < 1e-9, "{claimed}");
    assert_eq!(names(&standing.claimed), ["r1", "r2", "r3"]);
    assert_eq!(standing.not_in_head, [""; 0]);
    assert_eq!(standing.newest().map(|p| p.estimate), Some(6.8));
}

#[test]
fn rounds_without_a_figure_and_of_other_machines_are_named() {
    let mut rounds = vec![landed(1, 5.0), landed(2, 4.0)];
    rounds[0].is_same_machine = false;
    rounds[1].estimates[0].0 = "decode".to_owned();
    let standing = standing("speed", vec![linear(9, 6.8, 2)], &rounds).expect("measured");
    assert_eq!(
        standing.claimed,
        Claimed {
            percent: Some(5.0),
            rounds: vec![("r1".to_owned(), Some(5.0)), ("r2".to_owned(), None)],
            other_machine: 1,
        }
    );
    let none = super::standing("other", vec![linear(9, 0.0, 2)], &rounds).expect("measured");
    assert_eq!(none.claimed.percent, None);
    assert!(super::standing("speed", Vec::new(), &rounds).is_none());
}

#[test]
fn what_was_reverted_is_not_claimed_unless_the_revert_was() {
    let rounds = [landed(1, 5.0), landed(2, 4.0)];
    let claims = |passed: Vec<Passed>| {
        let standing = standing("speed", vec![point(9, 0.0, passed)], &rounds).expect("measured");
        (
            names(&standing.claimed).join(" "),
            standing.not_in_head.join(" "),
        )
    };
    let is = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(claims(vec![commit(1), commit(2)]), is("r1 r2", ""));
    let gone = vec![commit(1), commit(2), reverting(3, 1)];
    assert_eq!(claims(gone.clone()), is("r2", "r1"));
    let back = [gone, vec![reverting(4, 3)]].concat();
    assert_eq!(claims(back), is("r1 r2", ""));
}

#[test]
fn a_rewritten_commit_is_known_by_its_tree() {
    let rounds = [landed(1, 5.0)];
    let rewritten = Passed {
        tree: sha(1001),
        ..commit(77)
    };
    let points = vec![point(9, 5.0, vec![rewritten, commit(78)])];
    let standing = standing("speed", points, &rounds).expect("measured");
    assert_eq!(names(&standing.claimed), ["r1"]);
}

#[test]
fn a_step_is_matched_to_the_rounds_that_landed_between_two_heads() {
    let rounds = [landed(5, 0.4), landed(17, 1.4), landed(30, 0.1)];
    let wiggle = |i: usize| if i.is_multiple_of(2) { 0.05 } else { -0.05 };
    let mut points: Vec<Point> = (0..24)
        .map(|i| {
            let level = if i < 12 { 0.4 } else { 2.5 };
            linear(100 + i as i64, level + wiggle(i), 6 + i)
        })
        .collect();
    // Measured last, but of an older head: it takes its place.
    points.push(linear(999, 0.4, 7));
    let standing = standing("speed", points, &rounds).expect("measured");
    assert_eq!(standing.points[2].run, RunId(999));
    assert_eq!(standing.changes.len(), 1);
    let change = &standing.changes[0];
    assert_eq!((&change.from, &change.to), (&sha(17), &sha(18)));
    assert!((change.percent - 2.09).abs() < 0.02, "{}", change.percent);
    assert_eq!(names(&change.claimed), [""; 0], "r17 is in both heads");
    assert_eq!(names(&standing.claimed), ["r5", "r17"]);
    assert_eq!(standing.not_in_head, ["r30"]);

    let earlier = [landed(18, 1.4)];
    let standing = super::standing("speed", standing.points, &earlier).expect("measured");
    let found = &standing.changes[0].claimed;
    assert_eq!((names(found), found.percent), (vec!["r18"], Some(1.4)));
}

#[test]
fn a_creep_is_matched_to_what_landed_while_it_grew() {
    let rounds: Vec<Landed> = (31..40).map(|n| landed(n, 0.02)).collect();
    let points: Vec<Point> = (0..40usize)
        .map(|i| {
            // All of it is less than the smallest step that is kept.
            let wiggle = if i.is_multiple_of(2) { 0.05 } else { -0.05 };
            let crept = 0.03 * i.saturating_sub(30) as f64;
            linear(i as i64, crept + wiggle, 1 + i)
        })
        .collect();
    let found = standing("speed", points, &rounds).expect("measured");
    assert!(found.changes.is_empty(), "{:?}", found.changes);
    let drift = found.drifts.first().expect("a creep");
    assert!(drift.percent > 0.1, "{drift:?}");
    assert!(!drift.claimed.rounds.is_empty(), "{drift:?}");
    assert!(drift.claimed.percent < Some(drift.percent));
}
