//! Watches the machine while a launch runs: one thread that sleeps between readings. What it
//! costs is part of both sides' samples alike.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::collect::Collector;
use super::{Moment, Sensors};
use crate::model::{Absent, HeldTo, SampleState};

/// From the end of one reading to the next.
pub const INTERVAL: Duration = Duration::from_millis(100);
/// How long an answer is waited for. A driver whose device is lost may take for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// The watching thread. It ends when this is dropped.
#[derive(Debug)]
pub struct Watch {
    orders: Sender<Order>,
    held_to: HeldTo,
    patience: Duration,
    is_stuck: AtomicBool,
}

/// What the thread is told.
#[derive(Debug)]
enum Order {
    Begin(oneshot::Sender<()>),
    End(oneshot::Sender<SampleState>),
}

impl Watch {
    /// Starts to watch by these sensors; `held_to` is what launches are held to from now on.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn start(sensors: Box<dyn Sensors>, held_to: HeldTo) -> std::io::Result<Watch> {
        Watch::start_with(sensors, held_to, INTERVAL)
    }

    pub(crate) fn start_with(
        sensors: Box<dyn Sensors>,
        held_to: HeldTo,
        interval: Duration,
    ) -> std::io::Result<Watch> {
        let (orders, received) = channel();
        let thread = Thread {
            sensors,
            held_to,
            interval,
        };
        std::thread::Builder::new()
            .name("sensors".to_owned())
            .spawn(move || thread.run(&received))?;
        Ok(Watch {
            orders,
            held_to,
            patience: PATIENCE,
            is_stuck: AtomicBool::new(false),
        })
    }

    /// Takes the reading before a launch; readings go on until [`Watch::end`].
    pub async fn begin(&self) {
        let (reply, answer) = oneshot::channel();
        self.order(Order::Begin(reply), answer).await;
    }

    /// Takes the reading after the launch, and gives all that was seen.
    pub async fn end(&self) -> SampleState {
        let (reply, answer) = oneshot::channel();
        let state = self.order(Order::End(reply), answer).await;
        state.unwrap_or_else(|| SampleState {
            held_to: self.held_to,
            absent: vec![Absent {
                reading: "all".to_owned(),
                reason: "the machine's sensors do not answer any more".to_owned(),
            }],
            ..SampleState::default()
        })
    }

    async fn order<T>(&self, order: Order, answer: oneshot::Receiver<T>) -> Option<T> {
        if self.is_stuck.load(Ordering::Relaxed) || self.orders.send(order).is_err() {
            return None;
        }
        let answered = tokio::time::timeout(self.patience, answer).await;
        let answered = answered.ok().and_then(Result::ok);
        if answered.is_none() {
            self.is_stuck.store(true, Ordering::Relaxed);
        }
        answered
    }
}

struct Thread {
    sensors: Box<dyn Sensors>,
    held_to: HeldTo,
    interval: Duration,
}

impl Thread {
    /// Follows orders until there is nobody left to give any.
    fn run(mut self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            if let Order::Begin(reply) = order
                && !self.launch(orders, reply)
            {
                return;
            }
        }
    }

    /// Watches one launch; `false` where nobody is left to tell.
    fn launch(&mut self, orders: &Receiver<Order>, begun: oneshot::Sender<()>) -> bool {
        let before = self.sensors.read(Moment::Before);
        let clock = Instant::now();
        let mut collector = Collector::begin(before, self.held_to, self.interval);
        // Whoever asked may have been stopped meanwhile; then nobody ends it either.
        let _ = begun.send(());
        loop {
            match orders.recv_timeout(self.interval) {
                Err(RecvTimeoutError::Timeout) => {
                    let taken = self.sensors.read(Moment::During);
                    collector.push(clock.elapsed(), taken);
                }
                Ok(Order::End(reply)) => {
                    let span = clock.elapsed();
                    let after = self.sensors.read(Moment::After);
                    let _ = reply.send(collector.end(span, after));
                    return true;
                }
                // The launch before was given up.
                Ok(Order::Begin(reply)) => return self.launch(orders, reply),
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
