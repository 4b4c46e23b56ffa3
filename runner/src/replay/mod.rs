//! Repeats a recorded lever and says SAME, CHANGED or DRIFT.
