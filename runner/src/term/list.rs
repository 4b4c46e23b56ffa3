//! The list of recorded runs.

use super::layout::Layout;
use super::table::{figures, table, text, words};

/// One run, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// Its number, and what it repeats.
    pub run: String,
    /// Its campaign.
    pub campaign: String,
    /// The round.
    pub round: String,
    /// The lever.
    pub lever: String,
    /// The verdict, or what became of the run without one.
    pub verdict: String,
    /// The effects on its benches.
    pub effects: String,
    /// The day on which it began.
    pub date: String,
    /// The head commit, short.
    pub head: String,
}

/// One line a run; columns that matter less go where the terminal is narrow.
pub fn run_list(lines: &[RunLine], layout: Layout) -> String {
    let is_other = |line: &RunLine| line.campaign != lines[0].campaign;
    // Where several campaigns are listed, a line must say which one it is of.
    let campaign = match lines.iter().any(is_other) {
        true => words("Campaign"),
        false => words("Campaign").rank(4),
    };
    let columns = [
        figures("Run"),
        words("Round"),
        text("Lever"),
        text("Verdict"),
        text("Effect").rank(1),
        words("Head").rank(2),
        words("Date").rank(3),
        campaign,
    ];
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let RunLine {
                run,
                campaign,
                round,
                lever,
                verdict,
                effects,
                date,
                head,
            } = line;
            [run, round, lever, verdict, effects, head, date, campaign]
                .map(Clone::clone)
                .to_vec()
        })
        .collect();
    table(&columns, &rows, layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(campaign: &str) -> RunLine {
        RunLine {
            run: "12".to_owned(),
            campaign: campaign.to_owned(),
            round: "r22".to_owned(),
            lever: "qa8 XOR swizzle with a name that is long".to_owned(),
            verdict: "REVERTED (corrected, was LANDED)".to_owned(),
            effects: "prefill +60.00 % (was +2.41 %), decode +0.02 %".to_owned(),
            date: "2026-01-02".to_owned(),
            head: "0123456789ab".to_owned(),
        }
    }

    #[test]
    fn the_campaign_stays_where_there_are_several() {
        let narrow = Layout::plain(60);
        let two = run_list(&[line("alpha"), line("beta")], narrow);
        assert!(two.contains("alpha") && two.contains("beta"), "{two}");
        let one = run_list(&[line("alpha"), line("alpha")], narrow);
        assert!(!one.contains("alpha"), "{one}");
        assert_eq!(run_list(&[], narrow).lines().count(), 2);
    }
}
