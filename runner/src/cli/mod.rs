//! The command line: arguments, dispatch, exit statuses. The only module that uses clap.
//! Each subcommand has a file of its own; none of them holds logic beyond turning arguments
//! into calls and results into output.

pub mod check;
mod dirs;

pub use dirs::Dirs;

/// Parses the arguments, runs the command, and gives the exit status.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
