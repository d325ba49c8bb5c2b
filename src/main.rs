//! The entry point. Everything else is in the library.

fn main() -> std::process::ExitCode {
    oneact::cli::main()
}
