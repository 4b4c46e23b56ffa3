//! Whole rounds: the real program on real repositories, with a real compiler and database.

mod across;
mod attempts;
mod bundles;
mod calibrate;
mod counters;
mod faults;
mod find;
mod harness;
mod hostile;
mod init;
mod inspect;
mod interrupted;
mod lessons;
mod places;
mod recorded;
mod reference;
mod scenario;
mod sequential;
mod shown;
mod window;
