//! Starts this program once more, outside the Landlock domains of its threads: a child inherits the domain of the
//! thread that starts it, and a thread cannot leave one.

use std::{
    io,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        mpsc::{self, Sender},
    },
    thread,
};

use super::{
    environment::variable,
    spawn::{die_with_us, inherit_nothing},
};

/// What the child gets of the environment: what the loader needs to find libraries.
const PASSED: &str = "LD_LIBRARY_PATH";

/// A child of this program, and the socket to it. It leads its own process group. The caller must wait for it.
#[derive(Debug)]
pub struct Outside {
    pub child: Child,
    /// The child's end of it is its standard input. Its other standard streams are `/dev/null`.
    pub link: UnixStream,
}

struct Order {
    arguments: Vec<String>,
    reply: Sender<io::Result<Outside>>,
}

static STARTER: Mutex<Option<Sender<Order>>> = Mutex::new(None);

/// Prepares [`spawn_outside`]. Call it before a thread of this process restricts itself.
pub fn stay_outside() -> io::Result<()> {
    sender().map(drop)
}

/// Starts this program once more with these arguments and an almost empty environment. The kernel kills it when this
/// process ends, because the thread that starts it lives as long.
pub fn spawn_outside(arguments: &[&str]) -> io::Result<Outside> {
    let (reply, answer) = mpsc::channel();
    let order = Order {
        arguments: arguments.iter().map(ToString::to_string).collect(),
        reply,
    };
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    sender()?.send(order).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

fn sender() -> io::Result<Sender<Order>> {
    let mut starter = STARTER
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(sender) = &*starter {
        return Ok(sender.clone());
    }
    let (sender, orders) = mpsc::channel::<Order>();
    thread::Builder::new().spawn(move || {
        for order in orders {
            // Nobody waits for the answer of an order that was given up.
            let _ = order.reply.send(start(&order.arguments));
        }
    })?;
    *starter = Some(sender.clone());
    Ok(sender)
}

fn start(arguments: &[String]) -> io::Result<Outside> {
    let (link, theirs) = UnixStream::pair()?;
    let mut command = Command::new("/proc/self/exe");
    command
        .args(arguments)
        .env_clear()
        .envs(variable(PASSED).map(|value| (PASSED, value)))
        .process_group(0)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    die_with_us(&mut command);
    // Through a descriptor that the caller of this program left open, it could write where its domain does not let it.
    inherit_nothing(&mut command);
    Ok(Outside {
        child: command.spawn()?,
        link,
    })
}
