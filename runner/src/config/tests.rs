//! Scenarios of whole files.
