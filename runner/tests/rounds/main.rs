//! Whole rounds: the real program on real repositories, with a real compiler and database.

mod find;
mod init;
mod inspect;
mod lessons;
mod scenario;
