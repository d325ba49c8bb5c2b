//! The door: the command line, and the only writer of stdout.

/// Runs the command line and answers with its exit code.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
