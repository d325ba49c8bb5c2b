//! Everything that is tested from outside, through the binary.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod agent;
#[cfg(test)]
mod approvals;
mod audio_against_ffmpeg;
#[cfg(test)]
mod beginning;
#[cfg(test)]
mod callers;
#[cfg(test)]
mod calling;
#[cfg(test)]
mod catalog_live;
#[cfg(test)]
mod circles;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod diffs;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod engines;
#[cfg(test)]
mod engines_bad;
#[cfg(test)]
mod eras;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod fences;
#[cfg(test)]
mod grants;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod importing;
#[cfg(test)]
mod improvised;
#[cfg(test)]
mod in_process;
#[cfg(test)]
mod installed;
#[cfg(test)]
mod json_conformance;
#[cfg(test)]
mod judged;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod large_results;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod ledger_once;
#[cfg(test)]
mod ledger_shared;
#[cfg(test)]
mod looking;
#[cfg(test)]
mod looking_page;
mod looking_width;
#[cfg(test)]
mod misbehaving_servers;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod otlp;
#[cfg(test)]
mod pictures;
#[cfg(test)]
mod pipelines;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod plans_undone;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod process;
#[cfg(test)]
mod program;
#[cfg(test)]
mod promoted;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod races;
#[cfg(test)]
mod real_servers;
#[cfg(test)]
mod receipts;
#[cfg(test)]
mod recipes;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod reported;
#[cfg(test)]
mod request_context;
#[cfg(test)]
mod reviewed;
#[cfg(test)]
mod s3;
#[cfg(test)]
mod s3_server;
#[cfg(test)]
mod sdks;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod serving_bad;
#[cfg(test)]
mod serving_client;
#[cfg(test)]
mod serving_conformance;
#[cfg(test)]
mod serving_elicit;
#[cfg(test)]
mod serving_http;
#[cfg(test)]
mod serving_kept;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod shipped_tools;
#[cfg(test)]
mod signals;
#[cfg(test)]
mod small_blocks;
#[cfg(test)]
mod spawned;
#[cfg(test)]
mod speech;
#[cfg(test)]
mod story;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod told_by_others;
#[cfg(test)]
mod tracer;
#[cfg(test)]
mod trust;
#[cfg(test)]
mod videos;
#[cfg(test)]
mod waiting;
#[cfg(test)]
mod warm;
#[cfg(test)]
mod watched;
#[cfg(test)]
mod ways_round;
#[cfg(test)]
mod workflows;
