//! The machine: environment record, device, locks.

mod lock;

pub use lock::{HeldLock, Holder, LockError};
