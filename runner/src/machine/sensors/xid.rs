//! Xid errors: the driver's events on one device, as they come.

use nvml_wrapper::EventSet;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError as Source;

use crate::machine::nvml::{NvmlError, NvmlGpu};

/// What the driver says where it does not know the number itself.
const UNKNOWN: u64 = 999;
/// The most that are fetched at once; the rest comes with the next reading.
const AT_ONCE: usize = 16;

/// Waits for none: tells those that have come since it was asked last.
#[derive(Debug)]
pub(super) struct Xids {
    events: EventSet<'static>,
}

impl Xids {
    /// Asks to be told of errors from now on. The library stays open: events borrow it.
    pub(super) fn of(gpu: &'static NvmlGpu) -> Result<Xids, NvmlError> {
        const DOING: &str = "asking to be told of Xid errors";
        let device = gpu.device()?;
        let events = device.nvml().create_event_set();
        let events = events.map_err(|error| NvmlError::new(DOING, &error))?;
        device
            .register_events(EventTypes::CRITICAL_XID_ERROR, events)
            .map(|events| Xids { events })
            .map_err(|error| NvmlError::new(DOING, &error.error))
    }

    /// The numbers of the errors since the last time.
    pub(super) fn new_ones(&self) -> Result<Vec<u64>, NvmlError> {
        let mut found = Vec::new();
        while found.len() < AT_ONCE {
            match self.events.wait(0) {
                Ok(event) => found.push(match event.event_data {
                    Some(XidError::Value(number)) => number,
                    Some(XidError::Unknown) | None => UNKNOWN,
                }),
                Err(Source::Timeout) => break,
                Err(error) => return Err(NvmlError::new("fetching Xid errors", &error)),
            }
        }
        Ok(found)
    }
}
