//! What `oneact warm` and `oneact doctor` show of the warm servers, and their end.

use std::{io, time::Duration};

use camino::Utf8Path;

use super::{
    packet::Line,
    place::SocketDirectory,
    start::{About, Ask, Told},
};

/// How long the end of a server is waited for: its grace, and the time after SIGTERM. A call goes on for longer.
const END: Duration = Duration::from_secs(5);

/// A server that was told to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stopping {
    Ended(About),
    /// It ends after the call for which a run has it.
    AfterItsCall(About),
    /// It takes long.
    Ending(About),
}

/// The warm servers of the state directory.
pub(crate) fn list(state_dir: &Utf8Path) -> io::Result<Vec<About>> {
    let asked = each(state_dir, &Ask::About)?;
    Ok(asked.into_iter().map(|(about, _)| about).collect())
}

/// Tells the servers with this name to end, or all of them.
pub(crate) fn stop(state_dir: &Utf8Path, name: Option<&str>) -> io::Result<Vec<Stopping>> {
    let told = each(state_dir, &Ask::Stop(name.map(str::to_owned)))?;
    let mut stopping = Vec::new();
    for (about, line) in told {
        if about.idle.is_none() {
            stopping.push(Stopping::AfterItsCall(about));
            continue;
        }
        line.waits(END)?;
        // The holder says nothing more: its end closes the connection.
        stopping.push(match line.receive::<Told>() {
            Ok(_) => Stopping::Ended(about),
            Err(_) => Stopping::Ending(about),
        });
    }
    Ok(stopping)
}

/// Asks the holders. Those that are gone are passed over, and those that do not answer are logged.
fn each(state_dir: &Utf8Path, ask: &Ask) -> io::Result<Vec<(About, Line)>> {
    let place = match SocketDirectory::open(state_dir) {
        Ok(place) => place,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let sockets = place.names()?.into_iter();
    Ok(sockets
        .filter_map(|socket| answer(&place, &socket, ask))
        .collect())
}

fn answer(place: &SocketDirectory, socket: &str, ask: &Ask) -> Option<(About, Line)> {
    let line = place.connect(socket).ok()??;
    let told = line.send(ask, &[]).and_then(|()| line.receive());
    match told {
        Ok(Some((Told::About(about), _))) => Some((about, line)),
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(socket, %error, "the holder of a warm server does not answer");
            None
        }
    }
}
