//! Sensors for tests, scripted by a closure.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::{Moment, Sensors, Taken};
use crate::model::{Absent, GpuReading, HostReading, Reading};

type Script = Box<dyn FnMut(u32, Moment) -> Taken + Send>;

/// Reads what a closure says of the launch (numbered from 0) and the moment.
pub(crate) struct Scripted {
    script: Script,
    launches: u32,
    taken: Sender<Moment>,
}

impl Scripted {
    /// The sensors, and where each reading is announced.
    pub(crate) fn new(
        script: impl FnMut(u32, Moment) -> Taken + Send + 'static,
    ) -> (Scripted, Receiver<Moment>) {
        let (taken, announced) = channel();
        let sensors = Scripted {
            script: Box::new(script),
            launches: 0,
            taken,
        };
        (sensors, announced)
    }
}

impl Sensors for Scripted {
    fn read(&mut self, moment: Moment) -> Taken {
        let launch = match moment {
            Moment::Before => {
                self.launches += 1;
                self.launches - 1
            }
            Moment::During | Moment::After => self.launches - 1,
        };
        let taken = (self.script)(launch, moment);
        // The test may have seen enough.
        let _ = self.taken.send(moment);
        taken
    }
}

/// Waits until the launch that was begun last has been read once while it runs. Readings that the
/// launch before left over are passed by.
pub(crate) fn wait_for_reading(announced: &Receiver<Moment>) {
    for moment in [Moment::Before, Moment::During] {
        while announced.recv().expect("the sensors are read") != moment {}
    }
}

/// A reading of a GPU.
pub(crate) fn of_gpu(gpu: GpuReading) -> Taken {
    Taken {
        reading: Reading {
            gpu: Some(gpu),
            host: None,
        },
        absent: Vec::new(),
    }
}

/// A reading of a host.
pub(crate) fn of_host(host: HostReading) -> Taken {
    Taken {
        reading: Reading {
            gpu: None,
            host: Some(host),
        },
        absent: Vec::new(),
    }
}

/// A GPU that does not answer any more.
pub(crate) fn lost() -> Taken {
    Taken {
        reading: Reading::default(),
        absent: vec![Absent {
            reading: "GPU".to_owned(),
            reason: "the device is lost".to_owned(),
        }],
    }
}
