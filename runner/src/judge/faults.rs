//! Who is at fault when something went wrong: head, base, or the machine. Decided by stages.

use crate::model::{
    BenchJudgement, BuildEvidence, Evidence, Failure, Fault, Finding, PerSide, RoundKind, Sample,
    SampleRole, Side, Stage, Verdict,
};
use crate::stats::CONTROL_LAUNCH;

use super::benches::valid_pairs;
use super::looks;
use super::reasons::{Reasons, Ruling};
use super::words::{count, failure_words, list, shortened};

/// No verdict rests on fewer pairs.
const LEAST_PAIRS: u32 = 3;

/// The largest share of planned pairs that may be missing (measurement protocol: 20 %).
pub(super) const MOST_MISSING: f64 = 0.2;

/// A registration that cannot be read is head's fault: nothing was promised, so nothing can be
/// judged.
pub(super) fn registration(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let registration = &evidence.registration;
    let known = |name: &str| evidence.config.benches.iter().any(|b| b.name == name);
    let mut errors = registration.errors.clone();
    errors.extend(
        registration
            .bars
            .iter()
            .filter(|bar| !known(&bar.bench))
            .map(|bar| format!("`{}` names no bench of campaign.toml", bar.text)),
    );
    if errors.is_empty() {
        return None;
    }
    let text = format!(
        "registration cannot be read: {}; correct the trailers and push again",
        errors.join("; ")
    );
    reasons.rule(Verdict::Broken, text)
}

/// A run that was cut short gives no verdict on the lever, whatever it got to.
pub(super) fn interrupted(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    if !evidence.interrupted {
        return None;
    }
    let kept: usize = evidence.benches.iter().map(|b| b.samples.len()).sum();
    let text = format!(
        "interrupted; {} kept, not pooled: run again for a verdict",
        count(kept, "sample")
    );
    reasons.rule(Verdict::EnvInvalid, text)
}

/// Faults outside single gates and samples: the machine's or the apparatus', except for a build's
/// own failure, which [`builds`] judges.
pub(super) fn outside(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let mut sentences = evidence
        .faults
        .iter()
        .filter(|f| !is_build_failure(f, evidence))
        .map(fault_words);
    let first = sentences.next()?;
    let ruling = reasons.rule(Verdict::EnvInvalid, first);
    sentences.for_each(|sentence| reasons.decisive(sentence));
    ruling
}

/// Whether a fault only repeats what the side's build evidence says.
fn is_build_failure(fault: &Fault, evidence: &Evidence) -> bool {
    let build = fault
        .side
        .and_then(|side| evidence.builds.get(side).as_ref());
    fault.stage == Stage::Build
        && fault.failure != Some(Failure::DiskFull)
        && build.is_some_and(|b| b.failure.is_some())
}

fn fault_words(fault: &Fault) -> String {
    let stage = match fault.stage {
        Stage::Checkout => "checkout",
        Stage::Toolchain => "toolchain",
        Stage::Build => "build",
        Stage::Inspect => "inspection",
        Stage::Gates => "gates",
        Stage::Counters => "counters",
        Stage::Measure => "measurement",
    };
    let side = fault.side.map_or(String::new(), |s| format!(" of {s}"));
    let why = match &fault.failure {
        Some(failure) => format!(" ({})", failure_words(failure)),
        None => String::new(),
    };
    format!("{stage}{side}: {}{why}", fault.message)
}

/// Builds: head that does not build while base does is broken; a base that does not build leaves
/// nothing to compare with.
pub(super) fn builds(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let PerSide { base, head } = &evidence.builds;
    let unbuilt = base.is_none() && head.is_none();
    if unbuilt && evidence.registration.kind == RoundKind::Analysed {
        return None;
    }
    let failure = |b: &Option<BuildEvidence>| b.as_ref().and_then(|b| b.failure.clone());
    let failures = [failure(base), failure(head)];
    if failures.contains(&Some(Failure::DiskFull)) {
        let text = "the disk was full while building; free some space and run again";
        return reasons.rule(Verdict::EnvInvalid, text);
    }
    let head_too = match (head, &failures[1]) {
        (None, _) => "head was not built",
        (_, Some(_)) => "head does not build either",
        _ => "head builds",
    };
    let (verdict, text) = match (base, head, &failures) {
        (Some(base), _, [Some(why), _]) => (
            Verdict::EnvInvalid,
            format!(
                "base does not build: {}; {head_too}; give a base that builds with --base",
                build_words(base, why)
            ),
        ),
        (Some(_), Some(head), [None, Some(why)]) => (
            Verdict::Broken,
            format!("head does not build, base does: {}", build_words(head, why)),
        ),
        (None, Some(head), [_, Some(why)]) => (
            Verdict::EnvInvalid,
            format!(
                "head does not build and base was not built, so it is open who is at fault: {}",
                build_words(head, why)
            ),
        ),
        (Some(_), Some(_), _) => return None,
        (None, ..) => (
            Verdict::EnvInvalid,
            "base was not built; run again".to_owned(),
        ),
        (_, None, _) => (
            Verdict::EnvInvalid,
            "head was not built; run again".to_owned(),
        ),
    };
    reasons.rule(verdict, text)
}

fn build_words(build: &BuildEvidence, failure: &Failure) -> String {
    match &build.first_error {
        Some(error) => format!(
            "{} (its command {})",
            shortened(error, 300),
            failure_words(failure)
        ),
        None => format!("its command {}", failure_words(failure)),
    }
}

/// Launches that failed for good. The driver stops at the first one, after a control launch of
/// base where it was head's.
pub(super) fn launches(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let samples: Vec<&Sample> = evidence.benches.iter().flat_map(|b| &b.samples).collect();
    let failed: Vec<&Sample> = samples
        .iter()
        .filter(|s| s.value.is_none())
        .copied()
        .collect();
    if failed.iter().any(|s| s.failure == Some(Failure::DiskFull)) {
        let text = "the disk was full while measuring; free some space and run again";
        return reasons.rule(Verdict::EnvInvalid, text);
    }
    let of = |side| failed.iter().filter(move |s| s.side == side);
    let for_good = |side| {
        of(side)
            .find(|s| !is_control(s) && !has_value_at(&samples, s) && !was_replaced(evidence, s))
    };
    if let Some(base) = for_good(Side::Base) {
        let text = format!(
            "base cannot be measured: `{}` {}; nothing to compare head with",
            base.bench,
            why(base)
        );
        return reasons.rule(Verdict::EnvInvalid, text);
    }
    if let Some(head) = for_good(Side::Head) {
        let base_failed = of(Side::Base).next().copied();
        let base_works = samples
            .iter()
            .any(|s| s.side == Side::Base && s.value.is_some());
        let (verdict, text) = match (base_failed, base_works) {
            _ if matches!(head.failure, Some(Failure::Device { .. })) => {
                (Verdict::EnvInvalid, head_words(head))
            }
            (Some(base), _) => (Verdict::EnvInvalid, both_fail(head, base)),
            (None, false) => (Verdict::EnvInvalid, base_unknown(head)),
            (None, true) => (Verdict::Broken, head_fails(head, of(Side::Head).count())),
        };
        return reasons.rule(verdict, text);
    }
    for sample in failed {
        let then = match has_value_at(&samples, sample) {
            true => "was repeated; its pair counts",
            false => "could not be repeated; another pair was measured in the place of its own",
        };
        reasons.warn(format!(
            "a launch of {} on `{}` {} and {then}",
            sample.side,
            sample.bench,
            why(sample)
        ));
    }
    None
}

/// `` `prefill` was ended by signal 11 (SIGSEGV) on head ``.
fn head_words(head: &Sample) -> String {
    format!("`{}` {} on head", head.bench, why(head))
}

fn both_fail(head: &Sample, base: &Sample) -> String {
    format!(
        "{}, and base failed in the same window too ({}): the machine is at fault",
        head_words(head),
        why(base)
    )
}

fn base_unknown(head: &Sample) -> String {
    format!(
        "{}, and base was not measured: it is open who is at fault",
        head_words(head)
    )
}

fn head_fails(head: &Sample, times: usize) -> String {
    let launches = if times == 1 { "launch" } else { "launches" };
    format!(
        "{} ({times} {launches} failed), while base works on the same machine",
        head_words(head)
    )
}

fn why(sample: &Sample) -> String {
    let failure = sample.failure.as_ref();
    failure.map_or("gave no value".to_owned(), failure_words)
}

fn is_control(sample: &Sample) -> bool {
    sample.role == SampleRole::ThrowAway
        && sample.side == Side::Base
        && sample.pair >= CONTROL_LAUNCH
}

/// Whether another attempt at the same place has a value.
fn has_value_at(samples: &[&Sample], failed: &Sample) -> bool {
    let place = |s: &Sample| (s.bench.clone(), s.side, s.role == SampleRole::Pair, s.pair);
    samples
        .iter()
        .any(|s| s.value.is_some() && place(s) == place(failed))
}

/// Whether a later pair of the same bench is valid, so that the launch did not fail for good.
/// Under a fixed protocol there is none: its driver stops at the first loss.
fn was_replaced(evidence: &Evidence, failed: &Sample) -> bool {
    let taken = evidence.benches.iter().find(|b| b.bench == failed.bench);
    let later = taken.map_or_else(Vec::new, |taken| {
        let is_later = |s: &&Sample| s.role == SampleRole::Pair && s.pair > failed.pair;
        taken.samples.iter().filter(is_later).cloned().collect()
    });
    failed.role == SampleRole::Pair && !valid_pairs(&later).is_empty()
}

/// Benches without enough valid pairs, and windows that lost too many of them.
pub(super) fn too_few_pairs(
    evidence: &Evidence,
    benches: &[BenchJudgement],
    reasons: &mut Reasons,
) -> Option<Ruling> {
    let Some(planned) = evidence.config.protocol.fixed_pairs() else {
        return too_few_looked_at(evidence, benches, reasons);
    };
    if planned < LEAST_PAIRS && !benches.is_empty() {
        let text = format!(
            "the protocol plans {}, and no verdict rests on fewer than {LEAST_PAIRS}: set \
             `pairs = 5` or more in [protocol]",
            count(planned as usize, "pair")
        );
        return reasons.rule(Verdict::Inconclusive, text);
    }
    let short: Vec<String> = benches
        .iter()
        .filter(|b| {
            b.pairs < LEAST_PAIRS || f64::from(b.pairs_missing) > MOST_MISSING * f64::from(planned)
        })
        .map(|b| {
            format!(
                "`{}` has {} of {planned} planned",
                b.bench,
                count(b.pairs as usize, "valid pair")
            )
        })
        .collect();
    if short.is_empty() {
        return None;
    }
    let text = format!("too few valid pairs: {}; run again", list(&short));
    reasons.rule(Verdict::EnvInvalid, text)
}

/// The same under the sequential protocol, which has no number of pairs to hold them against.
fn too_few_looked_at(
    evidence: &Evidence,
    benches: &[BenchJudgement],
    reasons: &mut Reasons,
) -> Option<Ruling> {
    let short: Vec<String> = benches
        .iter()
        .filter(|b| b.finding != Finding::NotMeasured)
        .filter_map(|b| looks::shortfall(evidence, b, MOST_MISSING))
        .collect();
    if short.is_empty() {
        return None;
    }
    let text = format!("too few valid pairs: {}; run again", list(&short));
    reasons.rule(Verdict::EnvInvalid, text)
}
