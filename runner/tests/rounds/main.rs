//! Whole rounds: the real program on real repositories, with a real compiler and database.

mod faults;
mod harness;
mod hostile;
mod interrupted;
mod lessons;
mod places;
mod recorded;
mod scenario;
