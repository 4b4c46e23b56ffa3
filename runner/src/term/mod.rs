//! What a person sees in a terminal: the live view of a run and the summaries of records. Shows
//! the views of [`crate::render`]; decides nothing and reads no record.

mod across;
mod counters;
pub mod inspect;
mod layout;
mod list;
mod live;
mod machine;
mod model;
mod prose;
mod record;
mod reporter;
mod results;
mod summary;
mod table;
mod writer;

#[cfg(test)]
mod tests;

pub use across::{anchor_summary, bisect_summary};
pub use counters::counters_summary;
pub use layout::Layout;
pub use list::{RunLine, run_list};
pub use live::LiveView;
pub use model::gguf_summary;
pub use prose::wrapped;
pub use reporter::{Line, Mark, Reporter, Update};
pub use summary::{compare_summary, run_summary, show_summary};
