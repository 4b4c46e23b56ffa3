//! The stages that need the device: gates, counters and benches.

use super::stages::Stages;
use super::window::Card;
use crate::build::Workbench;
use crate::machine::sensors::{MachineSensors, Watch};
use crate::machine::{self, Holder};
use crate::measure::Measurement;
use crate::model::{DeviceState, Evidence, GateOutcome, HeldTo, Stage};

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
        let card = self.card().await?;
        if self.options.calibration.is_some() {
            self.measure_in_window(card, bench).await?;
            return Ok(());
        }
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
        if !self.measure_in_window(card, bench).await? {
            return Ok(());
        }
        if counters_first || crate::judge::settled_by_launches(&self.evidence) {
            return Ok(());
        }
        self.take_counters(bench).await
    }

    /// Measures between two looks at the machine; `false` where it is not fit to be measured on.
    async fn measure_in_window(
        &mut self,
        card: Option<Card>,
        bench: &mut Workbench,
    ) -> anyhow::Result<bool> {
        let Some(window) = self.open_window(card).await? else {
            return Ok(false);
        };
        self.measure(bench).await?;
        self.close_window(window).await?;
        Ok(true)
    }

    async fn measure(&mut self, bench: &mut Workbench) -> anyhow::Result<()> {
        self.begin(Stage::Measure, None).await?;
        let narrowed = self.options.calibration.as_ref();
        let narrowed = narrowed.map(|plan| plan.narrowed(&self.prepared.config));
        if narrowed.is_none() {
            self.identify_references().await?;
        }
        let config = narrowed.as_ref().unwrap_or(&self.prepared.config);
        let watch = self.watch();
        let what = Measurement {
            config,
            registration: &self.prepared.registration,
            seed: self.seed,
            launches: &self.launches,
            progress: self.progress,
            watch: watch.as_ref(),
        };
        let benches = crate::measure::measure(&what, bench, &mut self.recorder).await?;
        let taken: usize = benches.iter().map(|bench| bench.samples.len()).sum();
        self.evidence.benches = benches;
        self.end(Stage::Measure, None, format!("{taken} samples"), true);
        Ok(())
    }

    /// Starts to watch the machine. A system without a thread to spare is measured on unwatched:
    /// its samples have no state.
    fn watch(&self) -> Option<Watch> {
        let sensors = MachineSensors::open(&self.evidence.device, self.recorder.uuid());
        let held_to = HeldTo {
            sm_clock_mhz: self.evidence.window.locked_mhz(),
            foreign_cpu: self.prepared.config.machine.max_foreign_cpu,
        };
        match Watch::start(Box::new(sensors), held_to) {
            Ok(watch) => Some(watch),
            Err(error) => {
                self.progress.note(format!(
                    "the machine is not watched while measuring: {error}"
                ));
                None
            }
        }
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
