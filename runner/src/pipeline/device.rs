//! The stages that need the device: gates, counters and benches.

use super::stages::Stages;
use crate::build::Workbench;
use crate::machine::{self, Holder};
use crate::measure::Measurement;
use crate::model::{DeviceState, Evidence, GateOutcome, Stage};

impl Stages<'_> {
    /// Gates, counters and benches, with the device to ourselves.
    pub(super) async fn on_device(&mut self, bench: &mut Workbench) -> anyhow::Result<()> {
        let DeviceState::Present { id, .. } = &self.evidence.device else {
            return Ok(());
        };
        let holder = Holder::this_process(
            self.recorder.uuid(),
            &format!(
                "run {} of {}",
                self.recorder.run(),
                self.prepared.config.campaign.name
            ),
        );
        let wait = self.options.wait.then_some(self.progress);
        let _lock = match machine::lock_device(&self.dirs.locks, id, &holder, wait).await {
            Ok(lock) => lock,
            Err(error) => return self.fault(Stage::Gates, None, None, &error.into()).await,
        };
        self.begin(Stage::Gates, None).await?;
        let config = &self.prepared.config;
        let gates = crate::gates::run(config, bench, &mut self.recorder, self.progress).await?;
        self.recorder.gates(&gates).await?;
        self.evidence.gates = gates;
        let stopped = crate::judge::settled_by_gates(&self.evidence);
        self.end(Stage::Gates, None, gates_summary(&self.evidence), !stopped);
        if stopped {
            return Ok(());
        }
        let counters_first = self.claims_need_counters();
        if counters_first {
            self.take_counters(bench).await?;
            if self.is_settled() {
                return Ok(());
            }
        }
        self.measure(bench).await?;
        if counters_first || crate::judge::settled_by_launches(&self.evidence) {
            return Ok(());
        }
        self.take_counters(bench).await
    }

    async fn measure(&mut self, bench: &mut Workbench) -> anyhow::Result<()> {
        self.begin(Stage::Measure, None).await?;
        self.identify_references().await?;
        let what = Measurement {
            config: &self.prepared.config,
            registration: &self.prepared.registration,
            seed: self.seed,
            progress: self.progress,
        };
        let benches = crate::measure::measure(&what, bench, &mut self.recorder).await?;
        let taken: usize = benches.iter().map(|bench| bench.samples.len()).sum();
        self.evidence.benches = benches;
        self.end(Stage::Measure, None, format!("{taken} samples"), true);
        Ok(())
    }
}

fn gates_summary(evidence: &Evidence) -> String {
    let passed = evidence.gates.iter().filter(|gate| {
        matches!(
            gate.outcome,
            GateOutcome::Passed | GateOutcome::Flaky { .. }
        )
    });
    format!("{} of {} passed", passed.count(), evidence.gates.len())
}
