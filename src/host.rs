//! The machine around the run: clock, randomness, environment, signals, files, locks and child processes. Only
//! this room reads the first four.
//!
//! `--clock` and `--seed` replace the clock and the randomness, so that every byte of output can be reproduced.

mod before_main;
mod children;
mod clock;
mod environment;
mod inherited;
mod interrupts;
mod outside;
mod plain;
mod range_lock;
mod spawn;
mod users;
mod zone;

pub use before_main::stdout_is_unusable;
pub use children::{
    adopt_orphans, children, had_children, has_children, is_being_written, look_for_children,
    signal_descendants,
};
pub use clock::{Clock, Host, Moment, file_time};
pub use environment::{
    input_is_a_terminal, name, own_path, own_program, path_variable, temporary_directory_of,
    user_behind_sudo, user_id, variable, working_directory,
};
pub use inherited::inherited;
pub use interrupts::{Interrupt, Interrupts, ignore_file_size_signal, is_interrupted};
pub use outside::{Outside, spawn_outside, stay_outside};
pub use plain::{
    each_block, is_full, is_out_of_files, is_plain_or_free, keep_own_files, make_state_dir, new_at,
    open_named, open_plain, persist_new, place, place_new, place_unsynced, read_named, read_plain,
    resolved, sync_placed,
};
pub use range_lock::{Locked, RangeLock};
pub use spawn::{
    Program, Running, Said, Spawned, at_our_terminal, die_with_us, end_of, plain_environment,
    spawn, spawn_apart, spawn_self, tell,
};
pub use users::{is_in_group, is_named, is_own_group, name_of};
