//! Who presents a message: the NIFs read from the client's certificate.

use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::X509Name;

const ORGANIZATION_IDENTIFIER: &str = "2.5.4.97";
const SERIAL_NUMBER: &str = "2.5.4.5";

/// The holder of a client certificate. At least one of the NIFs is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Presenter {
    entity: Option<String>,
    person: Option<String>,
}

impl Presenter {
    /// Reads the subject of a certificate that the TLS layer has verified; `None` when it bears no
    /// NIF.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let subject = certificate.subject();
        let entity = attribute(subject, ORGANIZATION_IDENTIFIER);
        let person = attribute(subject, SERIAL_NUMBER).filter(|nif| Some(nif) != entity.as_ref());
        (entity.is_some() || person.is_some()).then_some(Self { entity, person })
    }

    /// The NIF that AEAT shows as `NIFPresentador`: the entity's, else the person's.
    pub(crate) fn nif(&self) -> &str {
        self.entity.as_deref().or(self.person.as_deref()).unwrap_or_default()
    }

    /// Whether `nif` is one of the holder's own.
    pub(crate) fn is(&self, nif: &str) -> bool {
        [&self.entity, &self.person].into_iter().flatten().any(|own| own == nif)
    }
}

/// The value without its `IDCES-`, `VATES-` or like prefix.
fn attribute(subject: &X509Name<'_>, oid: &str) -> Option<String> {
    let value = subject
        .iter_attributes()
        .find(|attribute| attribute.attr_type().to_id_string() == oid)?
        .as_str()
        .ok()?;
    let nif = value.rsplit('-').next().unwrap_or(value).trim();
    (nif.len() == 9 && nif.bytes().all(|byte| byte.is_ascii_alphanumeric())).then(|| nif.to_owned())
}
