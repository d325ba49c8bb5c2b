//! The file: how it is found, cut and read, its tables for oneact itself, and the files in which MCP hosts keep their
//! servers.

pub(super) mod code;
pub(super) mod configuration;
pub(super) mod cut;
pub(super) mod document;
pub(super) mod error;
pub(super) mod host_command;
pub(super) mod host_values;
pub(super) mod settings;
pub(super) mod toml_text;
