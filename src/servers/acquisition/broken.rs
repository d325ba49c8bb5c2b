//! Connections that break. The client takes the end of a broken connection for the end of an answer that states no
//! length. Here such a connection is an error, so that no part of a file is taken for the whole.

use std::io;

use ureq::{
    Error,
    unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport},
};

/// Makes the connections of another connector, which tell that they were broken.
#[derive(Debug)]
pub(super) struct TellsBreaks<C>(pub(super) C);

impl<C: Connector> Connector for TellsBreaks<C> {
    type Out = Breakable<C::Out>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        Ok(self.0.connect(details, chained)?.map(Breakable))
    }
}

#[derive(Debug)]
pub(super) struct Breakable<T>(T);

impl<T: Transport> Transport for Breakable<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.0.transmit_output(amount, timeout)
    }

    fn maybe_await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.0.maybe_await_input(timeout).map_err(told)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.0.await_input(timeout).map_err(told)
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}

/// The client passes on an error of this kind.
fn told(error: Error) -> Error {
    match error {
        Error::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::UnexpectedEof
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::ConnectionReset
            ) =>
        {
            let text = format!("the connection broke: {error}");
            Error::Io(io::Error::new(io::ErrorKind::BrokenPipe, text))
        }
        error => error,
    }
}
