//! The artefact store: content kept by its hash, and the database's index of it.
//!
//! Content is written to disk first ([`Store`]), then noted in the database together with the
//! rows that need it ([`record`]); so a row never points to content that was not completely
//! written. It knows nothing of what the content means.

mod error;
mod index;
mod store;

pub use error::StoreError;
pub use index::{Artifact, Use, get, mark_lost, record, uses};
pub use store::{Entry, Extract, Store, Stored};
