//! Listening: connections within bounds, with TLS or without, and an end that comes in time.
//!
//! The loop is our own because hyper's server of warp has no limit on headers, connections or the
//! time a stop takes.

mod front;
mod refusal;
mod seats;
mod stall;
mod tls;

pub use tls::TlsError;

pub(crate) use front::room;

use std::{
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::{api::Service, config::TlsFiles};

use refusal::Worded;
use seats::{Seat, Seats};
use stall::Moving;

/// Longest head that is read at all; the limit on headers is checked once they are known.
const MAX_HEAD: usize = 64 * 1024;
/// Most headers. Each request pays for the room they could take.
const MAX_HEADERS: usize = 256;

/// A socket that is bound, with the certificate it will show.
pub(crate) struct Listener {
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
}

/// The service cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Proves that the files of a certificate can be used.
pub(crate) fn check(tls: &TlsFiles) -> Result<(), TlsError> {
    tls::acceptor(tls).map(drop)
}

impl Listener {
    pub(crate) async fn bind(address: SocketAddr, tls: Option<&TlsFiles>) -> Result<Self, ListenError> {
        let tls = tls.map(tls::acceptor).transpose()?;
        let bound = TcpListener::bind(address).await;
        Ok(Self { socket: bound.map_err(|source| ListenError::Bind { address, source })?, tls })
    }

    pub(crate) fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop` turns true, then gives open connections until `within` to finish.
    pub(crate) async fn serve(
        self,
        service: Arc<Service>,
        mut stop: watch::Receiver<bool>,
        within: Duration,
    ) {
        let Self { socket, tls } = self;
        let mut connections = JoinSet::new();
        let mut seats = Seats::new(service.limits.connections);
        loop {
            let full = seats.are_full();
            tokio::select! {
                () = told(&mut stop) => break,
                Some(ended) = connections.join_next_with_id() => {
                    seats.leave(ended.map_or_else(|error| error.id(), |(id, ())| id));
                }
                () = seats.somebody_rests(), if full => {}
                accepted = socket.accept(), if !full => match accepted {
                    Ok((stream, peer)) => {
                        // Small answers should not wait for the peer's acknowledgements.
                        let _ = stream.set_nodelay(true);
                        let seat = seats.seat();
                        let (service, stop) = (service.clone(), stop.clone());
                        let open =
                            connection(stream, peer.ip(), tls.clone(), service, stop, seat.clone());
                        seats.take(connections.spawn(open), seat);
                    }
                    Err(error) => {
                        tracing::warn!(error = &error as &dyn std::error::Error, "cannot accept");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        }
        drop(socket);
        let ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(within, ended).await.is_err() {
            tracing::warn!(open = connections.len(), "connections were cut off at the end of the stop");
            connections.shutdown().await;
        }
    }
}

async fn connection(
    stream: TcpStream,
    peer: IpAddr,
    tls: Option<TlsAcceptor>,
    service: Arc<Service>,
    stop: watch::Receiver<bool>,
    seat: Arc<Seat>,
) {
    let Some(tls) = tls else { return converse(stream, peer, service, stop, seat).await };
    match tokio::time::timeout(service.limits.handshake, tls.accept(stream)).await {
        Ok(Ok(stream)) => converse(stream, peer, service, stop, seat).await,
        Ok(Err(error)) => {
            tracing::debug!(error = &error as &dyn std::error::Error, "TLS handshake failed");
        }
        Err(_) => tracing::debug!("TLS handshake took too long"),
    }
}

/// One connection's requests, until it ends or the service does.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: IpAddr,
    service: Arc<Service>,
    mut stop: watch::Receiver<bool>,
    seat: Arc<Seat>,
) {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(service.limits.header_read)
        .max_buf_size(MAX_HEAD.max(service.limits.headers))
        .max_headers(MAX_HEADERS);
    let stream = Moving::new(TokioIo::new(stream), service.limits.write_stall);
    let stream = Worded::new(stream, service.clone());
    let stopped = stop.clone();
    let answer = service_fn(move |request| {
        front::answer(service.clone(), request, peer, *stopped.borrow(), seat.clone())
    });
    let mut connection = pin!(builder.serve_connection(stream, answer));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = told(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = &error as &dyn std::error::Error, "connection ended");
    }
}

/// Completes when the service is to end.
async fn told(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
