//! Listening: connections over TLS for the service, plain ones for the admin interface, and an end
//! to both.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::server::{ResolvesServerCertUsingSni, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::authority::Authority;
use super::body::AnswerBody;
use super::endpoint::{self, Client};
use super::pki::Presenter;
use super::{SandboxError, admin};

const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
const HEADER_TIME: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(5);
const HEADER_BUFFER: usize = 64 * 1024;
const CONNECTIONS: usize = 1024;

/// True once the sandbox is to end; also when its owner is gone.
pub(crate) type Stop = watch::Receiver<bool>;

pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, SandboxError> {
    let listening = TcpListener::bind(address).await;
    listening.map_err(|source| SandboxError::Listen { address, source })
}

/// The server's side of TLS: as it is, and as a fault wants it.
#[derive(Clone)]
pub(crate) struct Acceptor {
    ordinary: TlsAcceptor,
    refusing: TlsAcceptor,
}

/// Makes the server's side of TLS. A client may show no certificate, since the service answers that with
/// a page; one of another CA ends the handshake.
pub(crate) fn acceptor(authority: &Authority, hosts: &[String]) -> Result<Acceptor, SandboxError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority.pki.ca_der().clone())?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()?;
    let (chain, key) = authority.pki.server_identity(hosts)?;
    let mut config = ServerConfig::builder_with_details(provider, Arc::new(authority.clock.clone()))
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Acceptor { ordinary: TlsAcceptor::from(Arc::new(config)), refusing: refuser()? })
}

/// The side of TLS for handshakes that are to be refused: it has no certificate to show, and says so
/// with the alert `access_denied`.
fn refuser() -> Result<TlsAcceptor, SandboxError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves the service until told to stop.
pub(crate) async fn serve_tls(
    listener: TcpListener,
    acceptor: Acceptor,
    authority: Arc<Authority>,
    stop: Stop,
) {
    accept(listener, stop.clone(), move |stream| {
        let (acceptor, authority, stop) = (acceptor.clone(), authority.clone(), stop.clone());
        async move {
            let acceptor = match authority.faults.take_handshake() {
                None => acceptor.ordinary,
                Some(fault) => {
                    tokio::time::sleep(fault.delay()).await;
                    acceptor.refusing
                }
            };
            let handshake = tokio::time::timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await;
            let stream = match handshake {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => {
                    tracing::info!(error = &error as &dyn std::error::Error, "TLS handshake failed");
                    return;
                }
                Err(_) => {
                    tracing::info!("TLS handshake took too long");
                    return;
                }
            };
            let client = match stream.get_ref().1.peer_certificates() {
                None | Some([]) => Client::Unknown,
                Some([leaf, ..]) => Presenter::read(leaf).map_or(Client::Nameless, Client::Known),
            };
            let service = service_fn(move |request: Request<Incoming>| {
                let (authority, client) = (authority.clone(), client.clone());
                async move { endpoint::serve(&authority, client, request).await }
            });
            converse(stream, service, stop).await;
        }
    })
    .await;
}

/// Serves the admin interface until told to stop.
pub(crate) async fn serve_admin(listener: TcpListener, authority: Arc<Authority>, stop: Stop) {
    accept(listener, stop.clone(), move |stream| {
        let (authority, stop) = (authority.clone(), stop.clone());
        async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let authority = authority.clone();
                async move { Ok::<Response<AnswerBody>, Infallible>(admin::serve(&authority, request).await) }
            });
            converse(stream, service, stop).await;
        }
    })
    .await;
}

/// Completes when the sandbox is to end.
async fn told(stop: &mut Stop) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Accepts connections until told to stop, then gives those open a last while.
async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    mut stop: Stop,
    connection: impl Fn(TcpStream) -> F,
) {
    let mut connections = JoinSet::new();
    loop {
        let full = connections.len() >= CONNECTIONS;
        tokio::select! {
            () = told(&mut stop) => break,
            _ = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if !full => match accepted {
                Ok((stream, _)) => {
                    // Small answers should not wait for the peer's acknowledgements.
                    let _ = stream.set_nodelay(true);
                    connections.spawn(connection(stream));
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "cannot accept");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, ended).await.is_err() {
        connections.shutdown().await;
    }
}

/// One connection's requests, until it ends or the sandbox does.
async fn converse<S>(stream: impl AsyncRead + AsyncWrite + Unpin, service: S, mut stop: Stop)
where
    S: HttpService<Incoming, ResBody = AnswerBody>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(HEADER_BUFFER);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
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
