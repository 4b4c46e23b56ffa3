//! The store against real SQLite files and real folders.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anchors;
mod append_only;
mod bundling;
mod canary;
mod collection;
mod crash;
mod files;
mod finding;
mod judging;
mod migrations;
mod noise;
mod opening;
mod rules;
mod world;
