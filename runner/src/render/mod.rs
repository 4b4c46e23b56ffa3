//! Comments and pages from view structs; the only module that uses minijinja.
