//! The store: one SQLite database and the content-addressed artefact store beside it.
//!
//! Holds typed rows, checked queries, the migrations' runner, and [`artifacts::Store`]. It must
//! not know the program's other types: what crosses this border are ids, strings, numbers and
//! JSON text, converted by hand on the other side. It takes no times itself: every `*_at` and
//! `now` is milliseconds since 1970-01-01 UTC, passed in. It decides nothing about verdicts.
//!
//! Functions take a connection ([`Conn`]); the caller owns the transaction: [`Db::write`] for
//! anything that writes, [`Db::read`] for a view that does not change while it is read. A
//! transaction that is dropped without [`Tx::commit`] leaves no trace.
//!
//! The record is append-only, and the database itself refuses to change or delete evidence.

mod anchor;
pub mod artifacts;
mod build;
pub mod bundle;
mod canary;
mod confirmation;
mod counter;
mod error;
mod evidence;
mod facts;
mod find;
pub mod gc;
mod history;
mod ids;
mod judgement;
mod noise;
mod open;
mod reference;
mod run;
mod sample;
mod sample_facts;
mod sample_state;

pub use anchor::*;
pub use build::*;
pub use canary::*;
pub use confirmation::*;
pub use counter::*;
pub use error::{Error, Result};
pub use evidence::*;
pub use facts::*;
pub use find::*;
pub use history::*;
pub use ids::*;
pub use judgement::*;
pub use noise::*;
pub use open::{APPLICATION_ID, Db, Snapshot, Tx};
pub use reference::*;
pub use run::*;
pub use sample::*;
pub use sample_facts::*;
pub use sample_state::*;

/// A connection to the database. [`Tx`] and [`Snapshot`] dereference to it.
pub type Conn = sqlx::SqliteConnection;
