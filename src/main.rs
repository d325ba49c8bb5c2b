//! The process: everything it does is in the library.

fn main() -> std::process::ExitCode {
    oneact::cli::main()
}
