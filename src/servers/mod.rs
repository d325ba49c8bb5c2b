//! Tool servers inside the binary (`oneact serve NAME`): no logic beyond their tools.

pub(crate) mod acquisition;
pub(crate) mod tool;
