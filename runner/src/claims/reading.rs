//! The value of a metric on one kernel of one side.

use regex::Regex;

use super::ast::Metric;
use super::evaluate::ClaimContext;
use crate::config::KernelFacts;
use crate::model::{PerSide, Side};

/// A value, and what a reader should know of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    /// The value.
    pub(super) value: f64,
    /// A remark for people.
    pub(super) note: Option<&'static str>,
}

impl Reading {
    fn plain(value: impl Into<f64>) -> Self {
        Reading {
            value: value.into(),
            note: None,
        }
    }
}

/// `[[kernel]]` tables with their patterns compiled. The first that matches counts.
pub(super) struct Facts<'a>(Vec<(Regex, &'a KernelFacts)>);

impl<'a> Facts<'a> {
    /// Tables whose pattern does not compile were refused when the config was read.
    pub(super) fn new(facts: &'a [KernelFacts]) -> Self {
        Facts(
            facts
                .iter()
                .filter_map(|facts| Some((Regex::new(&facts.name).ok()?, facts)))
                .collect(),
        )
    }

    fn find(&self, kernel: &sass::Kernel) -> Option<&'a KernelFacts> {
        let found = self.0.iter().find(|(name, _)| name.is_match(&kernel.name));
        found.map(|(_, facts)| *facts)
    }
}

/// Reads a metric; the error is why it cannot be read here.
pub(super) fn read(
    metric: &Metric,
    kernel: &sass::Kernel,
    side: Side,
    context: &ClaimContext<'_>,
    facts: &PerSide<Facts<'_>>,
) -> Result<Reading, String> {
    let ledger = &kernel.ledger;
    match metric {
        Metric::Sass { opcode } => census(kernel).map(|c| count(c.count(opcode))),
        Metric::Instructions => census(kernel).map(|c| count(c.total)),
        Metric::Registers => Ok(Reading::plain(ledger.registers)),
        Metric::Spills => Ok(Reading::plain(
            f64::from(ledger.spill_stores) + f64::from(ledger.spill_loads),
        )),
        Metric::Stack => Ok(Reading::plain(ledger.stack_bytes)),
        Metric::Barriers => Ok(Reading::plain(ledger.barriers)),
        Metric::SharedMemory => Ok(shared_memory(kernel, facts.get(side))),
        Metric::Occupancy => occupancy(kernel, side, context),
        Metric::Counter { .. } => Err("counters are not in the compiled code".to_owned()),
        Metric::Live => Err(
            "how often a kernel ran needs the harness's report, a profiler or the emulator, which this \
             version does not have"
                .to_owned(),
        ),
        Metric::Code => Err("machine code is compared, not counted".to_owned()),
    }
}

fn count(value: u64) -> Reading {
    Reading::plain(value as f64)
}

fn census(kernel: &sass::Kernel) -> Result<&sass::Census, String> {
    kernel.census.as_ref().ok_or_else(|| {
        "no disassembler was at hand, so instructions were not counted; \
         `runner check` says how to get nvdisasm"
            .to_owned()
    })
}

fn shared_memory(kernel: &sass::Kernel, facts: &Facts<'_>) -> Reading {
    let facts = facts.find(kernel);
    let dynamic = facts.map_or(0, |facts| facts.dynamic_smem);
    Reading {
        value: f64::from(kernel.ledger.static_smem) + f64::from(dynamic),
        note: Some(match (dynamic, facts) {
            (0, None) => "static only: no `[[kernel]]` gives a dynamic part",
            (0, Some(_)) => "static only",
            _ => "static + dynamic from `[[kernel]]`",
        }),
    }
}

fn occupancy(
    kernel: &sass::Kernel,
    side: Side,
    context: &ClaimContext<'_>,
) -> Result<Reading, String> {
    let found = (context.occupancy)(side, kernel).ok_or_else(|| {
        "how the kernel is launched is not known; give its `threads` in `[[kernel]]`".to_owned()
    })?;
    Ok(Reading {
        value: f64::from(found.occupancy.blocks_per_sm),
        note: found
            .from_launch_bound
            .then_some("threads from the launch bound"),
    })
}

/// A value as it is shown to people.
pub(super) fn shown(metric: &Metric, value: f64) -> String {
    let text = super::ast::number_text(value);
    match metric.is_bytes() {
        true if value >= 1.0 => format!("{text} B"),
        _ => text,
    }
}

/// A count for people.
pub(super) fn shown_count(count: usize) -> String {
    crate::numbers::count(count as u64)
}
