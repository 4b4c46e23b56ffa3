//! Parity and identity: run the commands, compare, say pass or fail.
