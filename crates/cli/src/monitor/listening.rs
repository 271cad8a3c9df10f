//! Listens for those who ask for metrics, beside the sampling, which never waits for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Error, Result};
use plimsoll_monitor::{Format, Server};

use crate::output::message;

/// How often an address is tried again that somebody else has.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// What to do about an address that cannot be had, as somebody else listens there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// Fail: without metrics there is nothing to do.
    Fail,
    /// Say so, and try again until it can be had: a store is kept meanwhile.
    TryAgain,
}

/// Answers those who ask at an address, from a thread of its own.
///
/// Fails if it cannot listen there and is to fail, or if there can be no thread.
pub fn listen(
    address: SocketAddr,
    otherwise: Otherwise,
    page: impl Fn(Format) -> Arc<str> + Send + Sync + 'static,
) -> Result<()> {
    let first = match bind(address) {
        Err(error) if otherwise == Otherwise::Fail => {
            return Err(
                error.context(format!("{}; hint: choose another with --listen", cannot(address)))
            );
        }
        first => first,
    };
    if let Err(error) = &first {
        let (cannot, seconds) = (cannot(address), TRY_AGAIN.as_secs());
        message(&format!(
            "warning: {cannot}: {error}; samples are stored, and it is tried again every {seconds} s"
        ));
    }
    thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        let mut bound = first;
        loop {
            match bound {
                Ok(server) => return server.serve(page),
                Err(_) => thread::sleep(TRY_AGAIN),
            }
            bound = bind(address);
        }
    })?;
    Ok(())
}

/// Listens at an address, and says so.
fn bind(address: SocketAddr) -> Result<Server> {
    let server = Server::bind(address).map_err(Error::new)?;
    message(&format!("monitor: metrics are at http://{}/metrics", server.address()?));
    Ok(server)
}

fn cannot(address: SocketAddr) -> String {
    format!("cannot listen at {address}")
}
