//! Turns a record into what people and scripts read: the pull-request comment, the pages, the
//! JSON documents; [`crate::term`] shows the same views in a terminal.
//!
//! Every output has one serialisable view, built by a pure function from [`crate::model`] and the
//! few extras of [`input`]. Nothing here opens a file, asks a clock, or judges: a figure that is
//! not in the evidence or the judgement is not shown. Templates do no arithmetic and every value
//! in them is escaped unless this module made it safe. Only `render::engine` uses minijinja.

pub mod attempts;
pub mod comment;
pub mod corrected;
mod engine;
pub mod input;
pub mod json;
pub mod pages;
pub mod registered;
pub mod text;
pub mod view;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;

pub use attempts::{Attempts, Confirmable, standing_rounds};
pub use comment::{Comment, CommentOptions, comment};
pub use corrected::{Shown, ShownBench, shown};
pub use engine::RenderError;
pub use input::{CorrectionNote, LeverInput, LogExcerpt, RoundBench, RoundRow};
pub use pages::{IndexInput, index_page, lever_page};
pub use registered::Registered;
pub use view::{CompareView, LeverView, compare_view, lever_view};
pub(crate) use view::{counters_view, standing_verdict};
