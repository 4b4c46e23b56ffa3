//! What launches reported about themselves: whether both sides did the same work, whether the timed
//! runs' output is the same, and whether a changed kernel ran at all.
//!
//! A fact that is not reported is not known, and nothing follows from it.

use std::collections::BTreeMap;

use sass::Kernel;
use serde_json::Value;

use crate::config::{Bench, OutputClass};
use crate::model::{BenchEvidence, Evidence, Sample, SampleRole, Side, Verdict};

use super::reasons::{Reasons, Ruling};
use super::words::{count, list, shortened};

/// Facts and kernels that a sentence names.
const NAMED: usize = 4;

/// Both halves of a pair that have a value: they were given the same seed.
struct Halves<'a> {
    pair: u32,
    base: &'a Sample,
    head: &'a Sample,
}

fn halves(samples: &[Sample]) -> Vec<Halves<'_>> {
    let valued = |s: &&Sample| s.role == SampleRole::Pair && s.value.is_some();
    let of = |side| {
        samples
            .iter()
            .filter(valued)
            .filter(move |s| s.side == side)
    };
    of(Side::Base)
        .filter_map(|base| {
            let head = of(Side::Head).find(|head| head.pair == base.pair)?;
            Some(Halves {
                pair: base.pair,
                base,
                head,
            })
        })
        .collect()
}

/// Whether the sides of a bench were found to do different work, so that there is no use in
/// another pair.
pub fn differs_in_work(samples: &[Sample]) -> bool {
    halves(samples)
        .iter()
        .any(|pair| difference(pair).is_some())
}

/// The first fact that both halves of a pair report and that differs.
fn difference<'a>(pair: &Halves<'a>) -> Option<(&'a str, &'a Value, &'a Value)> {
    let (base, head) = (&pair.base.facts.work, &pair.head.facts.work);
    base.iter().find_map(|(name, is)| {
        let other = head.get(name).filter(|other| *other != is)?;
        Some((name.as_str(), is, other))
    })
}

/// Sides that did different work are not comparable, whatever their times say.
pub(super) fn work(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let mut different = Vec::new();
    for bench in &evidence.benches {
        let pairs = halves(&bench.samples);
        let found = pairs.iter().find_map(|p| Some((p.pair, difference(p)?)));
        match found {
            Some((pair, (name, base, head))) => different.push(format!(
                "`{}` did different work on the sides: in pair {}, `{name}` is {} on base and {} \
                 on head",
                bench.bench,
                pair + 1,
                shortened(&base.to_string(), 80),
                shortened(&head.to_string(), 80),
            )),
            None => work_words(bench, &pairs, reasons),
        }
    }
    let first = different.first()?.clone();
    different
        .iter()
        .skip(1)
        .for_each(|text| reasons.decisive(text));
    reasons.rule(Verdict::NotComparable, first)
}

/// Says what agrees, and what only one side reports.
fn work_words(bench: &BenchEvidence, pairs: &[Halves<'_>], reasons: &mut Reasons) {
    let mut common: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut alone: BTreeMap<&str, &str> = BTreeMap::new();
    for pair in pairs {
        let (base, head) = (&pair.base.facts.work, &pair.head.facts.work);
        for (name, value) in base {
            if head.contains_key(name) {
                common.insert(name, value);
            } else {
                alone.insert(name, "base");
            }
        }
        for name in head.keys().filter(|name| !base.contains_key(*name)) {
            alone.insert(name, "head");
        }
    }
    if !common.is_empty() {
        let facts = common.iter().take(NAMED);
        let facts: Vec<String> = facts
            .map(|(name, value)| format!("{name} {}", shortened(&value.to_string(), 40)))
            .collect();
        let more = match common.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        reasons.note(format!(
            "`{}` reports the same work on both sides ({}{more})",
            bench.bench,
            facts.join(", ")
        ));
    }
    for (name, side) in alone {
        reasons.warn(format!(
            "`{}` reports `{name}` of its work on {side} only, so it was not compared",
            bench.bench
        ));
    }
}

/// A timed run whose output differs computes something else than what the gates checked, where the
/// bench declares that its output does not depend on the side.
pub(super) fn outputs(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let mut broken = Vec::new();
    for bench in &evidence.benches {
        let declared = evidence
            .config
            .benches
            .iter()
            .find(|b| b.name == bench.bench);
        let is_bytes = declared.is_some_and(|b: &Bench| b.output == OutputClass::Bytes);
        let pairs = halves(&bench.samples);
        let hash = |s: &Sample| s.facts.output.clone();
        let both: Vec<(u32, String, String)> = pairs
            .iter()
            .filter_map(|p| Some((p.pair, hash(p.base)?, hash(p.head)?)))
            .collect();
        let differing: Vec<&(u32, String, String)> =
            both.iter().filter(|(_, base, head)| base != head).collect();
        let name = &bench.bench;
        let all = count(both.len(), "pair");
        match differing.first() {
            Some((pair, base, head)) if is_bytes => broken.push(format!(
                "the timed output of `{name}` differs in {} of {all}, first in pair {} ({} on \
                 base, {} on head): the timed runs compute something else than what the gates \
                 checked",
                differing.len(),
                pair + 1,
                shortened(base, 16),
                shortened(head, 16),
            )),
            Some(_) => reasons.note(format!(
                "the timed output of `{name}` differs in {} of {all}; it does not declare `output \
                 = \"bytes\"`, so that is only shown",
                differing.len()
            )),
            None if !both.is_empty() => {
                reasons.note(format!("the timed output of `{name}` is the same in {all}"));
            }
            None => missing_outputs(name, is_bytes, &pairs, reasons),
        }
    }
    let first = broken.first()?.clone();
    broken
        .iter()
        .skip(1)
        .for_each(|text| reasons.decisive(text));
    reasons.rule(Verdict::Broken, first)
}

fn missing_outputs(name: &str, is_bytes: bool, pairs: &[Halves<'_>], reasons: &mut Reasons) {
    let reports = |of: fn(&Halves<'_>) -> bool| pairs.iter().any(of);
    let base = reports(|p| p.base.facts.output.is_some());
    let head = reports(|p| p.head.facts.output.is_some());
    match (base, head) {
        _ if pairs.is_empty() => {}
        (true, false) | (false, true) => reasons.warn(format!(
            "`{name}` reports its timed output on {} only, so it was not compared",
            if base { "base" } else { "head" }
        )),
        _ if is_bytes => reasons.warn(format!(
            "`{name}` declares `output = \"bytes\"`, but no pair reports its output on both sides"
        )),
        _ => {}
    }
}

/// A lever whose changed kernels never ran in any bench is not exercised: no time says anything
/// about it. Known only where every measured bench reports which kernels ran.
pub(super) fn exercised(evidence: &Evidence, reasons: &mut Reasons) -> Option<Ruling> {
    let delta = &evidence.code.as_ref()?.delta;
    let after = delta.changed.iter().map(|(_, after)| after);
    let mut changed: Vec<&Kernel> = after.chain(&delta.added).collect();
    changed.sort_by(|a, b| a.name.cmp(&b.name));
    changed.dedup_by(|a, b| a.name == b.name);
    let valued = |bench: &BenchEvidence| bench.samples.iter().any(|s| s.value.is_some());
    let measured: Vec<&BenchEvidence> = evidence.benches.iter().filter(|b| valued(b)).collect();
    let (known, unknown): (Vec<_>, Vec<_>) = measured.into_iter().partition(|b| reports_all(b));
    if changed.is_empty() || known.is_empty() {
        return None;
    }
    let ran = ran(&known);
    let (live, dead): (Vec<&Kernel>, Vec<&Kernel>) = changed
        .into_iter()
        .partition(|k| ran.iter().any(|name| names(name, k)));
    let benches = known
        .iter()
        .map(|b| format!("`{}`", b.bench))
        .collect::<Vec<_>>();
    let benches = list(&benches);
    if dead.is_empty() {
        reasons.note(format!("every changed kernel ran in {benches}"));
        return None;
    }
    let names = kernel_names(&dead);
    if !live.is_empty() {
        reasons.warn(format!("{names} changed and never ran in {benches}"));
        return None;
    }
    if !unknown.is_empty() {
        let others: Vec<String> = unknown.iter().map(|b| format!("`{}`", b.bench)).collect();
        reasons.warn(format!(
            "{names} changed and never ran in {benches}; {} did not say which kernels ran",
            list(&others)
        ));
        return None;
    }
    let text = format!(
        "no changed kernel ever ran in {benches} ({names}): the lever was not exercised, so its \
         times say nothing; measure a case that takes its path"
    );
    reasons.rule(Verdict::NotExercised, text)
}

/// Whether every launch of head that gave a value said which kernels ran.
fn reports_all(bench: &BenchEvidence) -> bool {
    let head = |s: &&Sample| s.side == Side::Head && s.value.is_some();
    let mut own = bench.samples.iter().filter(head).peekable();
    own.peek().is_some() && own.all(|s| s.facts.ran.is_some())
}

/// The names of the kernels that ran, on either side: a kernel that head took out of the way ran on
/// base.
fn ran<'a>(benches: &[&'a BenchEvidence]) -> Vec<&'a str> {
    let samples = benches.iter().flat_map(|b| &b.samples);
    let counts = samples.filter_map(|s| s.facts.ran.as_ref()).flatten();
    let mut names: Vec<&str> = counts
        .filter(|(_, times)| **times > 0)
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a reported name means a kernel: its symbol, its whole name, the name without parameters
/// and scopes, or that without template arguments too.
fn names(reported: &str, kernel: &Kernel) -> bool {
    let short = sass::names::short_name(&kernel.name);
    let plain = short.split('<').next().unwrap_or(short);
    [kernel.symbol.as_str(), &kernel.name, short, plain].contains(&reported)
        || sass::names::short_name(reported) == short
}

fn kernel_names(kernels: &[&Kernel]) -> String {
    let short = |k: &&Kernel| format!("`{}`", sass::names::short_name(&k.name));
    let mut names: Vec<String> = kernels.iter().take(NAMED).map(short).collect();
    if kernels.len() > NAMED {
        names.push(format!("{} more", kernels.len() - NAMED));
    }
    list(&names)
}
