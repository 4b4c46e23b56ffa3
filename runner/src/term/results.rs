//! The sections of a summary that say how it came out: verdict, reasons, benches, code, claims,
//! gates.

use super::layout::Layout;
use super::summary::LEVER_CHARS;
use super::table::{figures, text, words};
use super::writer::Out;
use crate::model::Weight;
use crate::render::text::{one_line, shorten};
use crate::render::view::{BenchView, DeltaView, KernelRow, LeverView, VerdictView};

impl Out {
    pub(super) fn head(&mut self, lever: &LeverView) {
        let verdict = verdict_text(&lever.verdict, self.layout);
        let round = lever
            .round
            .as_deref()
            .map_or(String::new(), |r| format!("{r} "));
        let name = shorten(&one_line(&format!("{round}{}", lever.lever)), LEVER_CHARS);
        match lever.standing.as_ref().filter(|standing| !standing.own) {
            Some(standing) => {
                let stands = verdict_text(&standing.verdict, self.layout);
                self.line(&format!("{stands} stands  {name}"));
                self.paragraph(&standing.text, 2);
                self.paragraph(
                    &format!("This run: {}: {}", lever.verdict.word, lever.headline),
                    2,
                );
            }
            None => {
                self.line(&format!("{verdict}  {name}"));
                self.paragraph(&lever.headline, 2);
            }
        }
        if let Some(was) = &lever.headline_was {
            self.paragraph(&format!("As judged: {was}"), 2);
        }
        let commits = format!(
            "{} against {}, run {}, {}",
            lever.head.short, lever.base.short, lever.run_id, lever.started_at
        );
        self.paragraph(&commits, 2);
        if lever.interrupted {
            self.paragraph(
                "The run was cut short; its samples are kept and never pooled.",
                2,
            );
        }
        if let Some(d) = &lever.decision {
            self.paragraph(
                &format!("Decision: {}, by {}, {}: {}", d.word, d.by, d.at, d.reason),
                2,
            );
        }
        for c in &lever.corrections {
            self.paragraph(
                &format!(
                    "Corrected {}: {} {} -> {} ({}: {})",
                    c.at, c.field, c.old, c.new, c.by, c.reason
                ),
                2,
            );
        }
        if let Some(original) = &lever.replay_of {
            self.paragraph(&format!("A replay of run {original}."), 2);
        }
        if let Some(standing) = lever.standing.as_ref().filter(|standing| standing.own) {
            self.paragraph(&sentence(&standing.text), 2);
        }
    }

    pub(super) fn reasons(&mut self, lever: &LeverView) {
        if !lever.has_why && lever.first_errors().next().is_none() {
            return;
        }
        self.title(match lever.headline_was {
            Some(_) => "Why it was judged so",
            None => "Why",
        });
        for reason in lever.reasons.iter().filter(|r| !r.in_headline) {
            let mark = match reason.weight {
                Weight::Decisive => "* ",
                Weight::Warning => "! ",
                Weight::Note => "- ",
            };
            self.hanging(mark, &reason.text, 2);
        }
        for fault in &lever.faults {
            self.hanging("! ", &format!("{}: {}", fault.place, fault.text), 2);
        }
        if let Some(revert) = &lever.revert {
            self.hanging(
                "* ",
                &format!("reverts {}; {}", revert.reverts, revert.text),
                2,
            );
        }
        let errors: Vec<String> = lever
            .first_errors()
            .map(|(side, e)| format!("{side}: {e}"))
            .collect();
        for error in errors {
            self.hanging("! ", &error, 2);
        }
    }

    pub(super) fn benches(&mut self, lever: &LeverView) {
        let benches = &lever.benches;
        for bench in &lever.unjudged {
            self.blank();
            self.paragraph(&bench.text, 0);
        }
        if benches.is_empty() {
            return;
        }
        self.title("Benches");
        if let Some(names) = &lever.not_measured {
            self.paragraph(&format!("not measured: {names}"), 2);
            return;
        }
        if lever.figures_void {
            self.paragraph("These figures decide nothing: see the verdict.", 2);
        }
        let rows: Vec<Vec<String>> = benches
            .iter()
            .map(|b| {
                let effect = b.effect.as_ref();
                let dash = || "–".to_owned();
                vec![
                    b.name.clone(),
                    with_was(
                        effect.map_or_else(dash, |e| e.estimate.clone()),
                        &b.effect_was,
                    ),
                    effect.map_or_else(dash, |e| e.interval.clone()),
                    b.bar_effect
                        .clone()
                        .or_else(|| b.bar.clone())
                        .unwrap_or_else(dash),
                    positive(b),
                    with_was(
                        format!(
                            "{} -> {} {}",
                            b.base_median_text, b.head_median_text, b.unit
                        ),
                        &b.medians_was,
                    ),
                    b.finding_text.clone(),
                    b.range.clone().unwrap_or_else(dash),
                ]
            })
            .collect();
        let columns = [
            text("Bench"),
            // With the figure that it was before a correction, it has to wrap.
            match benches.iter().any(|b| b.effect_was.is_some()) {
                true => text("Effect"),
                false => figures("Effect"),
            },
            figures("Interval, %"),
            figures("Bar"),
            figures("Positive"),
            match benches.iter().any(|b| b.medians_was.is_some()) {
                true => text("Base -> head").rank(2),
                false => figures("Base -> head").rank(2),
            },
            text("Finding").rank(1),
            figures("Range of pairs").rank(3),
        ];
        self.table(&columns, &rows);
        self.looks(benches);
    }

    /// What each look of the sequential protocol saw.
    fn looks(&mut self, benches: &[BenchView]) {
        let rows: Vec<Vec<String>> = benches
            .iter()
            .flat_map(|bench| bench.looks.iter().map(move |look| (bench, look)))
            .map(|(bench, look)| {
                vec![
                    bench.name.clone(),
                    look.name.clone(),
                    look.pairs.clone(),
                    look.estimate.clone(),
                    look.real.clone(),
                    look.close.clone(),
                    look.state.to_owned(),
                ]
            })
            .collect();
        if rows.is_empty() {
            return;
        }
        self.title("Looks");
        let columns = [
            text("Bench"),
            words("Look").rank(2),
            figures("Pairs"),
            figures("Effect"),
            figures("Interval for real, %"),
            figures("For bar and stop, %").rank(1),
            words("Effect is"),
        ];
        self.table(&columns, &rows);
    }

    pub(super) fn missing(&mut self, benches: &[BenchView]) {
        for bench in benches {
            for m in &bench.missing {
                let text = format!(
                    "{}, {}, {}, attempt {}: {}",
                    bench.name, m.place, m.side, m.attempt, m.reason
                );
                self.hanging("! ", &text, 2);
            }
        }
    }

    pub(super) fn delta(&mut self, delta: &DeltaView, limit: usize) {
        self.title("Compiled code");
        self.paragraph(&delta.summary, 2);
        for (what, files) in [
            ("host code differs in", &delta.host_changed),
            (
                "files read at run time differ:",
                &delta.runtime_files_changed,
            ),
        ] {
            if !files.is_empty() {
                self.paragraph(&format!("{what} {}", files.join(", ")), 2);
            }
        }
        if delta.kernels.is_empty() {
            return;
        }
        let mut rows: Vec<Vec<String>> =
            delta.kernels.iter().take(limit).map(kernel_cells).collect();
        let mut columns = vec![
            text("Kernel"),
            words("Arch").rank(2),
            words("").rank(5),
            figures("Registers"),
            figures("Spills"),
            figures("Shared memory"),
            figures("Stack").rank(3),
            figures("Code, B").rank(4),
            text("Blocks/SM").rank(1),
        ];
        if !delta.has_blocks {
            columns.pop();
            rows.iter_mut().for_each(|row| drop(row.pop()));
        }
        self.table(&columns, &rows);
        if delta.kernels.len() > limit {
            self.paragraph(&format!("and {} more", delta.kernels.len() - limit), 2);
        }
    }

    pub(super) fn census(&mut self, lever: &LeverView) {
        const OPCODES: usize = 20;
        for census in lever.census.iter().filter(|c| !c.rows.is_empty()) {
            self.title("Instruction census");
            self.paragraph(
                &format!(
                    "{} ({}): {} instructions",
                    census.kernel, census.arch, census.total.text
                ),
                2,
            );
            let rows: Vec<Vec<String>> = census
                .rows
                .iter()
                .take(OPCODES)
                .map(|o| {
                    vec![
                        o.opcode.clone(),
                        o.before.to_string(),
                        o.after.to_string(),
                        o.difference.clone(),
                    ]
                })
                .collect();
            self.table(
                &[
                    text("Opcode"),
                    figures("Base"),
                    figures("Head"),
                    figures("Difference"),
                ],
                &rows,
            );
            if census.rows.len() > OPCODES {
                self.paragraph(&format!("and {} more", census.rows.len() - OPCODES), 2);
            }
        }
    }

    pub(super) fn claims(&mut self, lever: &LeverView) {
        if lever.claims.rows.is_empty() {
            return;
        }
        self.title(&format!("Claims: {}", lever.claims.summary));
        let rows: Vec<Vec<String>> = lever
            .claims
            .rows
            .iter()
            .map(|c| {
                vec![
                    format!("{} {}", c.mark, c.outcome),
                    c.text.clone(),
                    c.expected.clone(),
                    c.observed.clone(),
                ]
            })
            .collect();
        self.table(
            &[
                words(""),
                text("Claim"),
                text("Expected").rank(1),
                text("Observed"),
            ],
            &rows,
        );
    }

    pub(super) fn gates(&mut self, lever: &LeverView) {
        if lever.gates.rows.is_empty() {
            return;
        }
        self.title(&format!("Gates: {}", lever.gates.summary));
        let rows: Vec<Vec<String>> = lever
            .gates
            .rows
            .iter()
            .map(|g| {
                let shown: Vec<String> = g
                    .figures
                    .iter()
                    .map(|f| format!("{} {}", f.name, f.text))
                    .collect();
                let detail = [shown.join(", "), g.detail.clone()];
                let detail: Vec<String> = detail.into_iter().filter(|d| !d.is_empty()).collect();
                vec![
                    format!("{} {}", g.mark, g.outcome),
                    g.title.clone(),
                    g.side.map_or("both", |s| s.as_str()).to_owned(),
                    detail.join("; "),
                ]
            })
            .collect();
        self.table(
            &[words(""), text("Gate"), words("Side").rank(1), text("")],
            &rows,
        );
    }
}

pub(super) fn verdict_text(verdict: &VerdictView, layout: Layout) -> String {
    let text = verdict.text(false);
    layout.toned(verdict.tone, &format!("{} {text}", verdict.symbol))
}

/// A text with a capital at its beginning and a full stop at its end.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars
        .next()
        .map(|c| c.to_uppercase())
        .into_iter()
        .flatten()
        .collect();
    format!("{first}{}.", chars.as_str())
}

/// A figure with the one that it was before a correction.
fn with_was(figure: String, was: &Option<String>) -> String {
    match was {
        Some(was) => format!("{figure} (was {was})"),
        None => figure,
    }
}

fn positive(bench: &BenchView) -> String {
    match bench.raw.pairs_missing {
        0 => bench.positive.clone(),
        n => format!("{}, {n} missing", bench.positive),
    }
}

fn kernel_cells(k: &KernelRow) -> Vec<String> {
    let kind = if k.kind == "changed" {
        String::new()
    } else {
        k.kind.to_owned()
    };
    vec![
        shorten(&one_line(&k.short), 80),
        k.arch.clone(),
        kind,
        k.registers.text.clone(),
        k.spills.text.clone(),
        k.smem.text.clone(),
        k.stack.text.clone(),
        k.code_bytes.text.clone(),
        k.blocks.text.clone(),
    ]
}
