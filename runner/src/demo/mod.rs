//! `runner demo`: a git repository made from the sample campaign's patch series, and its rounds.
