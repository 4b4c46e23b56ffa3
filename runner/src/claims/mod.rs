//! Claims: the grammar and the evaluation. Pure.
