//! Signed-rank statistics and the measuring schedule. Pure.
