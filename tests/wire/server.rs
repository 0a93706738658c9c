//! A host to exchange with: real TLS over loopback, and a script of what it does with each request.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use verifactu_core::{certificate::Identity, types::SecretBytes};

/// A certificate authority that lasts for one test.
pub struct Pki {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
    pub root_pem: String,
}

impl Pki {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Roots are told apart by name, as they are in the world.
        static ROOTS: AtomicUsize = AtomicUsize::new(1);
        let name = format!("Root {} for a test", ROOTS.fetch_add(1, Ordering::SeqCst));
        params.distinguished_name.push(DnType::CommonName, name);
        let root = params.self_signed(&key).unwrap();
        Self { root: root.der().clone(), root_pem: root.pem(), issuer: Issuer::new(params, key) }
    }

    fn issue(&self, name: &str, hosts: &[&str]) -> (CertificateDer<'static>, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        (params.signed_by(&key, &self.issuer).unwrap().der().clone(), key)
    }

    pub fn identity(&self) -> Arc<Identity> {
        let (certificate, key) = self.issue("Presenter", &[]);
        let key = SecretBytes::new(key.serialize_der());
        Arc::new(Identity::new(key, vec![certificate.to_vec()]).unwrap())
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        roots.into()
    }
}

/// What the host does with a connection.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Reads a request, writes this, and waits for the next one.
    Answer(Vec<u8>),
    /// Reads a request, writes this, and closes.
    AnswerAndClose(Vec<u8>),
    /// Reads a request and does nothing more.
    Stall,
    /// Reads a request, writes this, and goes on writing bytes until the client has gone.
    Pour(Vec<u8>),
    /// Closes as soon as the handshake is done.
    Close,
}

/// How the host treats client certificates, and which TLS it speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Certificates of its own authority, TLS 1.3 or 1.2.
    Own,
    /// The same under TLS 1.2 only.
    OwnTls12,
    /// Takes every certificate for an expired one.
    Expired,
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub head: String,
    pub body: Vec<u8>,
}

pub struct Server {
    pub address: String,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    pub connections: Arc<AtomicUsize>,
    poured: Arc<Mutex<Option<usize>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start(pki: &Pki, door: Door, deed: Deed) -> Self {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(pki.roots(), Arc::clone(&provider)).build().unwrap();
        let verifier: Arc<dyn ClientCertVerifier> = match door {
            Door::Expired => Arc::new(Expired(verifier)),
            Door::Own | Door::OwnTls12 => verifier,
        };
        let versions = match door {
            Door::OwnTls12 => vec![&rustls::version::TLS12],
            Door::Own | Door::Expired => rustls::ALL_VERSIONS.to_vec(),
        };
        let (certificate, key) = pki.issue("Host", &["127.0.0.1"]);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        let (seen, connections) = (Arc::<Mutex<Vec<Seen>>>::default(), Arc::<AtomicUsize>::default());
        let poured = Arc::<Mutex<Option<usize>>>::default();
        let task = tokio::spawn({
            let (seen, connections) = (Arc::clone(&seen), Arc::clone(&connections));
            let poured = Arc::clone(&poured);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    connections.fetch_add(1, Ordering::SeqCst);
                    let serve = serve(acceptor.clone(), stream, deed.clone(), Arc::clone(&seen));
                    let poured = Arc::clone(&poured);
                    tokio::spawn(async move {
                        let sent = serve.await;
                        *poured.lock().unwrap() = Some(sent);
                    });
                }
            }
        });
        Self { address, seen, connections, poured, task }
    }

    /// How many bytes it poured, once the client has gone.
    pub async fn poured(&self) -> usize {
        loop {
            if let Some(poured) = *self.poured.lock().unwrap() {
                return poured;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Does what the script says, and returns how much it poured.
async fn serve(acceptor: TlsAcceptor, stream: TcpStream, deed: Deed, seen: Arc<Mutex<Vec<Seen>>>) -> usize {
    let mut stream = match acceptor.accept(stream).into_fallible().await {
        Ok(stream) => stream,
        Err((_, mut stream)) => {
            // The alert must arrive before the connection is reset for bytes nobody read.
            let _ = stream.shutdown().await;
            let mut rest = [0; 4096];
            while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
            return 0;
        }
    };
    if let Deed::Close = deed {
        return 0;
    }
    while let Some(request) = request(&mut stream).await {
        seen.lock().unwrap().push(request);
        match &deed {
            Deed::Answer(answer) => {
                let _ = stream.write_all(answer).await;
                let _ = stream.flush().await;
            }
            Deed::AnswerAndClose(answer) => {
                let _ = stream.write_all(answer).await;
                let _ = stream.flush().await;
                return 0;
            }
            Deed::Stall => std::future::pending().await,
            Deed::Pour(head) => {
                let _ = stream.write_all(head).await;
                let mut poured = 0;
                while stream.write_all(&[b'x'; 4096]).await.is_ok() {
                    poured += 4096;
                }
                return poured;
            }
            Deed::Close => return 0,
        }
    }
    0
}

async fn request(stream: &mut TlsStream<TcpStream>) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length: usize = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned))
            .map_or(0, |length| length.parse().unwrap());
        if bytes.len() >= end + 4 + length {
            return Some(Seen { head, body: bytes[end + 4..].to_vec() });
        }
    }
}

/// Checks signatures like the verifier it holds, and takes every certificate for an expired one.
#[derive(Debug)]
struct Expired(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for Expired {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Err(rustls::Error::InvalidCertificate(CertificateError::Expired))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
