//! What is added to a run after it ended: decisions, corrections, later judgements.

use super::{RecordError, Records, Result, RunId, now};
use crate::model::{DecisionAction, Judgement, UnixMillis, Verdict};

/// A correction to record.
#[derive(Debug, Clone, Copy)]
pub struct CorrectionRequest<'a> {
    /// `verdict`, or `bench:NAME:FIGURE`.
    pub field: &'a str,
    /// The value that counts from now on.
    pub value: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Who.
    pub by: &'a str,
    /// The later run that gave the value.
    pub source: Option<RunId>,
}

/// The figures of a bench that can be corrected.
pub const FIGURES: [&str; 5] = ["estimate", "low", "high", "base_median", "head_median"];

impl Records {
    /// Records a decision and judges the run again with it.
    pub async fn decide(
        &self,
        run: RunId,
        action: DecisionAction,
        reason: &str,
        by: &str,
    ) -> Result<Judgement> {
        let decision = db::Decision {
            at: now().0,
            action: super::convert::tag(&action, ""),
            reason: reason.to_owned(),
            by: by.to_owned(),
        };
        // A run that cannot be judged again must not keep half of this.
        self.load(run).await?;
        let mut tx = self.db.write().await?;
        db::decision_insert(&mut tx, run, &decision).await?;
        tx.commit().await?;
        let stored = self.load(run).await?;
        let judgement = crate::judge::judge(&stored.evidence);
        if stored.judgement.as_ref() != Some(&judgement) {
            self.judgement_add(run, &judgement, "a decision was recorded")
                .await?;
        }
        Ok(judgement)
    }

    /// Records a correction; gives the value that counted before.
    pub async fn correct(&self, run: RunId, request: &CorrectionRequest<'_>) -> Result<String> {
        let stored = self.load(run).await?;
        let recorded = recorded_value(run, stored.judgement.as_ref(), request)?;
        let mut tx = self.db.write().await?;
        let earlier = db::run_corrections(&mut tx, run).await?;
        let old = earlier
            .into_iter()
            .find(|correction| correction.field == request.field)
            .map_or(recorded, |correction| correction.new_value);
        let correction = db::Correction {
            at: now().0,
            field: request.field.to_owned(),
            old_value: old.clone(),
            new_value: request.value.to_owned(),
            reason: request.reason.to_owned(),
            by: request.by.to_owned(),
            source_run_id: request.source,
        };
        db::correction_insert(&mut tx, run, &correction).await?;
        tx.commit().await?;
        Ok(old)
    }

    /// Keeps what a repetition said about its original, with the repetition.
    pub async fn store_comparison<T: serde::Serialize>(
        &self,
        run: RunId,
        comparison: &T,
    ) -> Result<()> {
        let mut tx = self.db.write().await?;
        let text = super::convert::json(comparison);
        db::run_document_insert(&mut tx, run, "replay", &text).await?;
        Ok(tx.commit().await?)
    }

    /// What a garbage collection keeps: landed rounds, decided ones, and every base.
    pub fn gc_policy(&self, keep_days: u32, keep_rounds: bool, now: UnixMillis) -> db::gc::Policy {
        let landed = [Verdict::Landed, Verdict::LandedSubBar];
        db::gc::Policy {
            now: now.0,
            min_age_ms: i64::from(keep_days) * 24 * 60 * 60 * 1000,
            keep_verdicts: match keep_rounds {
                true => landed
                    .iter()
                    .map(|verdict| verdict.word().to_owned())
                    .collect(),
                false => Vec::new(),
            },
            keep_decisions: match keep_rounds {
                true => vec!["land".to_owned()],
                false => Vec::new(),
            },
            keep_bases: keep_rounds,
        }
    }
}

/// The value that the judgement gave, after checking that the field exists and the new value is
/// of its kind.
fn recorded_value(
    run: RunId,
    judgement: Option<&Judgement>,
    request: &CorrectionRequest<'_>,
) -> Result<String> {
    let refuse = |why: String| RecordError::CannotCorrect {
        run,
        field: request.field.to_owned(),
        why,
    };
    let judgement = judgement.ok_or_else(|| refuse("the run was never judged".to_owned()))?;
    if request.field == "verdict" {
        Verdict::try_from(request.value.to_owned()).map_err(|error| {
            let words: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.word()).collect();
            refuse(format!("{error}; the verdicts are {}", words.join(", ")))
        })?;
        return Ok(judgement.verdict.word().to_owned());
    }
    let parts: Vec<&str> = request.field.split(':').collect();
    let ["bench", name, figure] = parts[..] else {
        return Err(refuse(
            "a field is `verdict` or `bench:NAME:FIGURE`".to_owned(),
        ));
    };
    let value: f64 = request.value.parse().unwrap_or(f64::NAN);
    if !value.is_finite() {
        return Err(refuse(format!(
            "`{}` is not a finite number",
            request.value
        )));
    }
    let bench = judgement
        .benches
        .iter()
        .find(|bench| bench.bench == name)
        .ok_or_else(|| {
            let known: Vec<_> = judgement
                .benches
                .iter()
                .map(|bench| bench.bench.as_str())
                .collect();
            refuse(format!(
                "the run has no bench `{name}`; it has {}",
                known.join(", ")
            ))
        })?;
    let found = match figure {
        "estimate" => bench.effect.map(|effect| effect.estimate),
        "low" => bench.effect.map(|effect| effect.low),
        "high" => bench.effect.map(|effect| effect.high),
        "base_median" => bench.base_median,
        "head_median" => bench.head_median,
        other => {
            return Err(refuse(format!(
                "`{other}` is none of {}",
                FIGURES.join(", ")
            )));
        }
    };
    Ok(found.map_or_else(|| "none".to_owned(), |value| value.to_string()))
}
