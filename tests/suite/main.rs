//! Everything that is tested from outside, through the binary.

mod tidy;
