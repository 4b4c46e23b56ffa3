//! Verdicts as a pure function of the evidence. No I/O, no clock.
