//! Roundhouse's runner: turns a commit of a CUDA-kernel campaign into a round with
//! reproducible evidence and a verdict. `ARCHITECTURE.md` is the map.

pub mod anchor;
pub mod bisect;
pub mod build;
pub mod bundle;
pub mod calibration;
pub mod claims;
pub mod cli;
pub mod config;
pub mod counters;
pub mod demo;
pub mod doctor;
pub mod gates;
pub mod git;
pub mod inspect;
pub mod judge;
pub mod machine;
pub mod measure;
pub mod model;
pub mod numbers;
pub mod pipeline;
pub mod process;
pub mod progress;
pub mod record;
pub mod registration;
pub mod render;
pub mod replay;
pub mod site;
pub mod stats;
pub mod term;
pub mod testing;
pub mod toolchain;
