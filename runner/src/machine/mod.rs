//! The machine: environment record, device, locks.
