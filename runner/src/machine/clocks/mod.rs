//! Locks a GPU's SM clock for a window, and sees to it that the lock is taken away again.
//!
//! The runner itself never changes a clock. A second process does, the *guardian*: this program
//! again, in a session of its own, deaf to signals, with the read end of a pipe that the runner
//! holds open. When the pipe ends (in order, or because the runner died, however it died), the
//! guardian takes the lock away. Before it sets a lock it leaves a *marker* beside the device
//! locks; where the guardian was killed as well, the next runner finds the marker and takes the
//! lock away first, unless the machine has restarted since, which does that by itself.
//!
//! A card that others use, or whose clocks somebody else has set, is left as it is.

mod decide;
mod guardian;
mod lock;
mod marker;

pub(super) use decide::listed;
pub use decide::{Choice, Facts, decide};
pub use guardian::{Guard, guard};
pub use lock::{ClockLock, Left, LockRequest, Restored, left_behind, request, restore_left_behind};
pub use marker::Mark;
