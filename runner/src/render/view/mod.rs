//! The views: what each output shows, already in words and in the order to show it, with the raw
//! numbers beside for scripts. Built here, never changed by an output.

mod attempts;
mod bench;
mod builds;
mod census;
mod code;
mod commits;
mod compare;
mod counters;
mod drift;
mod drift_plot;
mod failure;
mod gates;
mod lever;
mod looks;
mod machine;
mod pairs;
mod plot;
mod rounds;
mod setup;
mod verdict;

pub(crate) use attempts::standing_verdict;
pub use attempts::{AttemptView, StandingView};
pub use bench::{BenchView, MissingView, SampleView, UnjudgedBench};
pub use builds::{BuildView, OutputView};
pub use census::{CensusRow, CensusView};
pub use code::{Change, DeltaView, KernelRow, Trend, delta_view, resource_summary};
pub use commits::{CommitView, CorrectionView, DecisionView, RegistrationView};
pub use compare::{BenchComparison, CompareView, ComparedRun, Difference, compare_view};
pub(crate) use counters::counters_view;
pub use counters::{CountedKernel, CounterRow, CountersView};
pub use drift::{DriftView, drift_views};
pub use drift_plot::{DriftPlot, DriftPoint};
pub use failure::failure_text;
pub(crate) use gates::stage_word;
pub use gates::{ClaimView, ClaimsView, FaultView, FigureView, GateView, GatesView, LogView};
pub use lever::{Fact, LeverView, ReasonView, RevertView, lever_view};
pub use looks::LookView;
pub use machine::{MachineRow, MachineView};
#[cfg(test)]
pub(super) use pairs::valid_pair_effects;
pub use plot::{Plot, plot};
pub use rounds::{RoundCell, RoundView, RoundsView, Strip, rounds_view};
pub use verdict::{Tone, VerdictView};
