//! A lever that was measured again: tables show the newest run of each pair of commits, and that
//! there were earlier ones. None is dropped for good: each keeps its page, and the newest names it.

use super::input::RoundRow;

/// The newest run of each (base, head) in the order of those runs, with the number of the attempt
/// and the earlier ones' ids. Rows come oldest first.
pub fn newest_attempts(rows: &[RoundRow]) -> Vec<RoundRow> {
    let mut newest: Vec<RoundRow> = Vec::with_capacity(rows.len());
    for row in rows {
        let mut row = row.clone();
        if let Some(at) = newest.iter().position(|other| other.same_pair(&row)) {
            let before = newest.remove(at);
            row.earlier = before.earlier;
            row.earlier.push(before.run_id);
        }
        row.attempt = row.earlier.len() + 1;
        newest.push(row);
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    #[test]
    fn the_newest_attempt_stands_for_all_of_a_pair() {
        let mut rows = fixtures::history();
        for id in ["40", "41"] {
            rows.push(RoundRow {
                run_id: id.to_owned(),
                ..rows[0].clone()
            });
        }
        // The same head on another base is another pair.
        rows.push(RoundRow {
            run_id: "42".to_owned(),
            base: rows[0].head.clone(),
            ..rows[1].clone()
        });
        let shown = newest_attempts(&rows);
        let ids: Vec<&str> = shown.iter().map(|row| row.run_id.as_str()).collect();
        assert_eq!(ids, ["22", "23", "30", "41", "42"]);
        assert_eq!(shown[3].attempt, 3);
        assert_eq!(shown[3].earlier, ["17", "40"]);
        assert_eq!(shown[4].attempt, 1);
        let total: usize = shown.iter().map(|row| row.attempt).sum();
        assert_eq!(total, rows.len(), "no attempt is hidden");
    }
}
