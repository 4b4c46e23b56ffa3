//! The machine around the window in which samples are taken: drained before it, its clock locked
//! where that is asked for, the canary before and after, and everything undone.

use std::time::Duration;

use super::stages::Stages;
use crate::machine::clocks::{self, Choice, ClockLock, Facts, LockRequest, Restored};
use crate::machine::{NvmlError, NvmlGpu, canary, drain};
use crate::model::{CanaryEvidence, CanaryReading, ClockState, DeviceState, Phase, Stage};
use crate::process::is_marked;

/// What is known of a GPU when the run has its device lock.
#[derive(Debug)]
pub(super) struct Card {
    uuid: String,
    /// The library, or why the card cannot be asked.
    nvml: Result<NvmlGpu, NvmlError>,
    /// Device memory in use then, bytes.
    idle: Option<u64>,
    /// Why its clock must be left alone, if an earlier lock is in the way.
    in_the_way: Option<String>,
}

/// A window under way.
#[derive(Debug)]
pub(super) struct OpenWindow {
    uuid: Option<String>,
    lock: Option<ClockLock>,
}

impl Stages<'_> {
    /// Looks at the card once the device lock is held, and takes away what a killed runner left
    /// locked on it. `None` for other devices.
    pub(super) async fn card(&mut self) -> anyhow::Result<Option<Card>> {
        let Some(uuid) = self.gpu_uuid() else {
            return Ok(None);
        };
        let (locks, of) = (self.dirs.locks.clone(), uuid.clone());
        let restored =
            tokio::task::spawn_blocking(move || clocks::restore_left_behind(&locks, &of)).await?;
        let in_the_way = match restored {
            Restored::Nothing => None,
            Restored::Reset(mark) => {
                self.remark(format!(
                    "the SM clock was still locked at {} MHz by a killed runner ({}); that was \
                     undone",
                    mark.mhz, mark.what
                ))
                .await?;
                None
            }
            Restored::Held => Some("another runner holds a lock on it".to_owned()),
            Restored::Failed { reason, .. } => {
                let text = format!(
                    "an earlier runner's lock of the SM clock could not be undone: {reason}; as \
                     root: `nvidia-smi -i {uuid} -rgc`"
                );
                self.remark(text.clone()).await?;
                Some(text)
            }
        };
        let nvml = NvmlGpu::open(&uuid);
        let memory = nvml.as_ref().ok().and_then(|gpu| gpu.memory().ok());
        Ok(Some(Card {
            uuid,
            nvml,
            idle: memory.map(|memory| memory.used),
            in_the_way,
        }))
    }

    fn gpu_uuid(&self) -> Option<String> {
        match &self.evidence.device {
            DeviceState::Present { id, .. } if id.starts_with("GPU-") => Some(id.clone()),
            DeviceState::Present { .. } | DeviceState::Absent { .. } => None,
        }
    }

    /// Waits for a drained device, locks its clock and runs the canary; `None` where the window
    /// cannot be opened, with the fault in the record.
    pub(super) async fn open_window(
        &mut self,
        card: Option<Card>,
    ) -> anyhow::Result<Option<OpenWindow>> {
        if let Err(reason) = self.drained(card.as_ref()).await? {
            let error = anyhow::anyhow!(reason);
            self.fault(Stage::Measure, None, None, &error).await?;
            return Ok(None);
        }
        let uuid = card.as_ref().map(|card| card.uuid.clone());
        let lock = self.locked(card).await?;
        let window = OpenWindow { uuid, lock };
        self.canary(&window, Phase::Before).await?;
        Ok(Some(window))
    }

    /// Runs the canary again and undoes the lock.
    pub(super) async fn close_window(&mut self, window: OpenWindow) -> anyhow::Result<()> {
        self.canary(&window, Phase::After).await?;
        let Some(lock) = window.lock else {
            return Ok(());
        };
        match tokio::task::spawn_blocking(move || lock.release()).await? {
            Ok(()) => Ok(()),
            Err(reason) => self.remark(reason).await,
        }
    }

    /// Waits until nobody else uses the device; the reason where that does not come about.
    async fn drained(&mut self, card: Option<&Card>) -> anyhow::Result<Result<(), String>> {
        let limit = Duration::from_secs(self.prepared.config.machine.drain_s);
        let mut waited = Duration::ZERO;
        match card.map(|card| (&card.nvml, card.idle)) {
            Some((Ok(gpu), idle)) => {
                let run = self.recorder.uuid();
                let ours = |pid| pid == std::process::id() || is_marked(pid, run);
                match drain::wait_for_gpu(gpu, idle, limit, ours, self.progress).await {
                    Ok(time) => waited += time,
                    Err(reason) => return Ok(Err(reason)),
                }
            }
            Some((Err(error), _)) => {
                let text = format!("who else uses the device was not looked at: {error}");
                self.remark(text).await?;
            }
            None => {}
        }
        if let Some(most_busy) = self.prepared.config.machine.drain_cpu {
            match drain::wait_for_cpu(most_busy, limit, self.progress).await {
                Ok(time) => waited += time,
                Err(reason) => return Ok(Err(reason)),
            }
        }
        if waited > Duration::from_secs(5) {
            let text = format!("waited {} s for a free device", waited.as_secs());
            self.remark(text).await?;
        }
        Ok(Ok(()))
    }

    /// Locks the clock where the campaign asks for it and the card is free for it.
    async fn locked(&mut self, card: Option<Card>) -> anyhow::Result<Option<ClockLock>> {
        if !self.prepared.config.machine.lock_clocks {
            return Ok(None);
        }
        let outcome = match card {
            Some(card) => self.lock_card(card).await?,
            None => {
                Err("the campaign runs on the CPU, whose clocks the runner leaves alone".into())
            }
        };
        let (state, lock) = match outcome {
            Ok((mhz, lock)) => (ClockState::Locked { mhz }, Some(lock)),
            Err(reason) => (ClockState::NotLocked { reason }, None),
        };
        self.recorder.clocks(&state).await?;
        self.progress.note(match &state {
            ClockState::Locked { mhz } => format!("the SM clock is locked at {mhz} MHz"),
            ClockState::NotLocked { reason } => format!("clocks are not locked: {reason}"),
        });
        self.evidence.window.clocks = Some(state);
        Ok(lock)
    }

    async fn lock_card(&self, card: Card) -> anyhow::Result<Result<(u32, ClockLock), String>> {
        if let Some(reason) = card.in_the_way {
            return Ok(Err(reason));
        }
        let gpu = match &card.nvml {
            Ok(gpu) => gpu,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let run = self.recorder.uuid();
        let facts = Facts::read(gpu, |pid| pid == std::process::id() || is_marked(pid, run));
        let mhz = match clocks::decide(&facts, self.prepared.config.machine.sm_clock) {
            Choice::Lock(mhz) => mhz,
            Choice::Leave(reason) => return Ok(Err(reason)),
        };
        let request = LockRequest {
            runner_exe: self.runner_exe.clone(),
            locks: self.dirs.locks.clone(),
            uuid: card.uuid,
            mhz,
            what: format!(
                "run {} of {}",
                self.recorder.run(),
                self.prepared.config.campaign.name
            ),
        };
        let asked = tokio::task::spawn_blocking(move || clocks::request(&request)).await?;
        Ok(asked.map(|lock| (mhz, lock)))
    }

    /// Runs the canary, where the campaign wants it; after the window only where it ran before.
    async fn canary(&mut self, window: &OpenWindow, phase: Phase) -> anyhow::Result<()> {
        let config = &self.prepared.config;
        let DeviceState::Present { id, .. } = &self.evidence.device else {
            return Ok(());
        };
        let earlier = self.evidence.window.canary.iter();
        let mut earlier = earlier.flat_map(|canary| &canary.readings);
        if !canary::is_wanted(config) || earlier.any(|reading| reading.times().is_none()) {
            return Ok(());
        }
        let at = crate::process::now();
        let uuid = window.uuid.as_deref();
        let outcome = canary::run(&self.runner_exe, uuid, self.recorder.uuid()).await;
        let reading = CanaryReading {
            phase,
            at,
            work: canary::work(config.device.kind).to_owned(),
            device: id.clone(),
            locked_mhz: self.evidence.window.locked_mhz(),
            outcome,
        };
        self.recorder.canary(&reading).await?;
        let canary: &mut CanaryEvidence = self.evidence.window.canary.get_or_insert_default();
        canary.readings.push(reading);
        Ok(())
    }

    /// Says something and puts it into the record.
    async fn remark(&mut self, text: String) -> anyhow::Result<()> {
        self.progress.note(text.clone());
        self.recorder.notes(std::slice::from_ref(&text)).await?;
        self.evidence.notes.push(text);
        Ok(())
    }
}
