//! One run from commits to a stored verdict: the order of the stages.
