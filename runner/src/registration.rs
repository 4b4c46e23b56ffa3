//! From commit message and config to the registration. Pure.
