//! Facts about the table.

use super::*;

#[test]
fn every_fault_has_its_own_name_and_is_found_by_it() {
    for fault in Fault::ALL.iter().copied() {
        assert_eq!(Fault::named(fault.name()), Some(fault));
    }
}

#[test]
fn codes_are_those_of_the_error_conditions_table_r_000_109_to_114() {
    assert_eq!(Fault::NoCapability.code(), ErrorCode::InvalidInput);
    assert_eq!(Fault::UnknownCapability.code(), ErrorCode::ValidationError);
    assert_eq!(Fault::MisroutedSynthesis.code(), ErrorCode::ValidationError);
    assert_eq!(Fault::MultipleTasks.code(), ErrorCode::ValidationError);
    assert_eq!(Fault::InputUnresolved.code(), ErrorCode::DependencyError);
    assert_eq!(Fault::ServerUnreachable.code(), ErrorCode::ProcessingError);
}

#[test]
fn recoverability_is_that_of_the_table_r_000_96_to_102() {
    for (fault, recoverable) in [
        (Fault::ToolTimeout, true),
        (Fault::RateLimited, true),
        (Fault::OutOfMemory, true),
        (Fault::InputCorrupt, false),
        (Fault::ServerNotFound, false),
        (Fault::UnknownCapability, false),
        (Fault::OutputFormat, true),
    ] {
        assert_eq!(fault.recoverable(), recoverable, "{}", fault.name());
    }
}
