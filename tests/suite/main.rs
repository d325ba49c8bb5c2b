//! Everything that is tested from outside, through the binary.

#[cfg(test)]
mod tidy;
