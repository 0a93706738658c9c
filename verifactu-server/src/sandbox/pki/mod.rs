//! A public key infrastructure of the sandbox's own: a CA, the server's identity, and certificates
//! for any holder, in the shapes of the real ones.
//!
//! The only thing kept in the directory is the CA, as `ca-key.pem` (mode 0600) and `ca.pem`; give
//! the latter to the client as its extra root. The server's identity is made anew at every start.

mod holder;
mod presenter;

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use p12_keystore::{EncryptionAlgorithm, KeyStore, KeyStoreEntry, MacAlgorithm, PrivateKeyChain};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize,
    date_time_ymd,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

pub use self::holder::{DEFAULT_PASSPHRASE, Holder, HolderKind, KeyKind};
pub(crate) use self::presenter::Presenter;
use super::SandboxError;

const CA_KEY_FILE: &str = "ca-key.pem";
const CA_FILE: &str = "ca.pem";

/// The sandbox's CA. Cheap to clone; clones are the same CA.
///
/// ```
/// use verifactu_server::sandbox::{Holder, Pki};
///
/// let pki = Pki::ephemeral()?;
/// let issued = pki.issue(&Holder::seal("B12345674", "EMPRESA DE PRUEBAS SL").with_ec_key())?;
/// assert!(issued.certificate_pem().starts_with("-----BEGIN CERTIFICATE-----"));
/// # Ok::<(), verifactu_server::sandbox::SandboxError>(())
/// ```
#[derive(Clone)]
pub struct Pki(Arc<Authority>);

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    certificate_pem: String,
}

impl Pki {
    /// The CA kept in `directory`, made at the first call.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read or written, or holds a key that is none.
    pub fn open(directory: &Path) -> Result<Self, SandboxError> {
        fs::create_dir_all(directory).map_err(SandboxError::file(directory))?;
        let key = ca_key(&directory.join(CA_KEY_FILE))?;
        let path = directory.join(CA_FILE);
        let pem = match fs::read_to_string(&path) {
            Ok(pem) => pem,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let pem = ca_params().self_signed(&key)?.pem();
                write_whole(&path, pem.as_bytes(), Privacy::Public)?;
                pem
            }
            Err(error) => return Err(SandboxError::file(path)(error)),
        };
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes())
            .map_err(|error| SandboxError::file(path)(io::Error::other(error)))?;
        Ok(Self::new(key, certificate, pem))
    }

    /// A CA that lives as long as this value.
    ///
    /// # Errors
    ///
    /// When the random source fails.
    pub fn ephemeral() -> Result<Self, SandboxError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = ca_params().self_signed(&key)?;
        let pem = certificate.pem();
        Ok(Self::new(key, certificate.der().clone(), pem))
    }

    fn new(key: KeyPair, certificate: CertificateDer<'static>, certificate_pem: String) -> Self {
        Self(Arc::new(Authority { issuer: Issuer::new(ca_params(), key), certificate, certificate_pem }))
    }

    /// The CA's certificate, for the client's list of roots.
    pub fn ca_pem(&self) -> &str {
        &self.0.certificate_pem
    }

    /// The CA's certificate as DER.
    pub fn ca_der(&self) -> &CertificateDer<'static> {
        &self.0.certificate
    }

    /// Makes a key and a certificate for `holder`. An RSA key takes a noticeable part of a second
    /// of computing: off the async threads, please.
    ///
    /// # Errors
    ///
    /// When a value of the holder cannot stand in a certificate, or making the key fails.
    pub fn issue(&self, holder: &Holder) -> Result<Issued, SandboxError> {
        let key = match holder.key {
            KeyKind::Rsa2048 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?,
            KeyKind::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?,
        };
        let certificate = holder.params()?.signed_by(&key, &self.0.issuer)?;
        Ok(Issued::new(holder, &certificate, key, &self.0.certificate))
    }

    /// The server's identity for this computer and the further host names given.
    pub(crate) fn server_identity(
        &self,
        hosts: &[String],
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), SandboxError> {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(String::from).into();
        names.extend(hosts.iter().cloned());
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "VERI*FACTU sandbox authority");
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2049, 12, 31));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = params.signed_by(&key, &self.0.issuer)?;
        let chain = vec![certificate.der().clone(), self.0.certificate.clone()];
        Ok((chain, PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
    }
}

impl fmt::Debug for Pki {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pki").finish_non_exhaustive()
    }
}

/// A certificate with its key: as PKCS#12 for products that upload one, as PEM for every other
/// tool, as DER for a TLS library.
pub struct Issued {
    chain: Vec<CertificateDer<'static>>,
    certificate_pem: String,
    key_pem: Zeroizing<String>,
    key: Zeroizing<Vec<u8>>,
    name: String,
    passphrase: Zeroizing<String>,
}

impl Issued {
    fn new(holder: &Holder, certificate: &Certificate, key: KeyPair, ca: &CertificateDer<'static>) -> Self {
        Self {
            chain: vec![certificate.der().clone(), ca.clone()],
            certificate_pem: certificate.pem(),
            key_pem: Zeroizing::new(key.serialize_pem()),
            key: Zeroizing::new(key.serialize_der()),
            name: holder.common_name(),
            passphrase: holder.passphrase.clone(),
        }
    }

    /// A PKCS#12 file (AES-256, HMAC-SHA-256) under the holder's passphrase, with the CA in its
    /// chain. Encrypted anew at every call, slowly as the format wants it.
    ///
    /// # Errors
    ///
    /// When the key derivation or the encoding fails.
    pub fn pkcs12(&self) -> Result<Zeroizing<Vec<u8>>, SandboxError> {
        let certificates = self
            .chain
            .iter()
            .map(|der| p12_keystore::Certificate::from_der(der))
            .collect::<Result<Vec<_>, _>>()?;
        let key = p12_keystore::PrivateKey::from_der(&self.key)?;
        let entry = PrivateKeyChain::new(vec![1], key, certificates);
        let mut store = KeyStore::new();
        store.add_entry(&self.name, KeyStoreEntry::PrivateKeyChain(entry));
        let file = store
            .writer(&self.passphrase)
            .encryption_algorithm(EncryptionAlgorithm::PbeWithHmacSha256AndAes256)
            .mac_algorithm(MacAlgorithm::HmacSha256)
            .write()?;
        Ok(Zeroizing::new(file))
    }

    /// The holder's certificate alone.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The private key as PKCS#8, not encrypted.
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// The holder's certificate, then the CA's.
    pub fn chain_der(&self) -> Vec<CertificateDer<'static>> {
        self.chain.clone()
    }

    /// The private key as PKCS#8.
    pub fn key_der(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.to_vec()).into()
    }
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").finish_non_exhaustive()
    }
}

/// Always the same values: an issuer is found by its name, so the CA that is opened again must
/// bear the name of the one first made.
fn ca_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let name = &mut params.distinguished_name;
    name.push(DnType::CountryName, "ES");
    name.push(DnType::OrganizationName, "VERI*FACTU sandbox");
    name.push(DnType::CommonName, "VERI*FACTU sandbox CA, not a qualified issuer");
    (params.not_before, params.not_after) = (date_time_ymd(2015, 1, 1), date_time_ymd(2049, 12, 31));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// The key in the file, made if there is none. Of two processes that make it at once, one writes
/// the file and both use what it holds.
fn ca_key(path: &Path) -> Result<KeyPair, SandboxError> {
    let read = || fs::read_to_string(path).map(Zeroizing::new);
    let pem = match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            let pem = Zeroizing::new(key.serialize_pem());
            written_beside(path, pem.as_bytes(), Privacy::Private)
                .and_then(|file| match file.persist_noclobber(path) {
                    Err(lost) if lost.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    outcome => Ok(outcome.map(drop)?),
                })
                .and_then(|()| read())
        }
        outcome => outcome,
    };
    Ok(KeyPair::from_pem(&pem.map_err(SandboxError::file(path))?)?)
}

/// Who may read a file of the sandbox.
#[derive(Clone, Copy)]
pub(crate) enum Privacy {
    /// Its owner alone.
    Private,
    /// Whoever the umask allows.
    Public,
}

/// Writes beside the file and renames, so that a reader sees the whole content or none.
pub(crate) fn write_whole(path: &Path, content: &[u8], privacy: Privacy) -> Result<(), SandboxError> {
    let written = written_beside(path, content, privacy);
    let replaced = written.and_then(|file| Ok(file.persist(path).map(drop)?));
    replaced.map_err(SandboxError::file(path))
}

/// A file in the same directory, with its content on the disk.
fn written_beside(path: &Path, content: &[u8], privacy: Privacy) -> io::Result<NamedTempFile> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt;
        fs::Permissions::from_mode(match privacy {
            Privacy::Private => 0o600,
            Privacy::Public => 0o644,
        })
    };
    #[cfg(unix)]
    builder.permissions(permissions);
    #[cfg(not(unix))]
    let _ = privacy;
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}
