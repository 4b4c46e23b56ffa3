//! The matrix product of q4_K weights and q8 activations as a problem for a device: operands
//! from a seed, an f64 reference, launches of its three kernels and of the quantiser.
//!
//! The CUDA sources are in the patch series in `mmq/`; [`layout`] has what they do with shared
//! memory. Nothing here times or judges: that is [`standalone`](crate::standalone)'s, which runs
//! any [`Problem`](crate::standalone::Problem).

pub(crate) mod blocks;
pub mod layout;
mod product;
mod quantise;

pub use product::{Product, Shape, Tile, UnknownTile};
pub use quantise::Quantise;
pub(crate) use quantise::{PER_BLOCK as QUANTISED_PER_BLOCK, quantise};
