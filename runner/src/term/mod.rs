//! What the terminal shows: live progress and tables.
