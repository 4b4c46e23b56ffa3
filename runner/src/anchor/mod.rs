//! Where a campaign stands against a pinned commit.

mod series;

pub use series::{Change, Claimed, Drift, Landed, Point, Standing, standing};
