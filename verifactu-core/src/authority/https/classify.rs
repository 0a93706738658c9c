//! What a failure says about where the message is.
//!
//! A connection that never stood carried nothing. After that everything is in doubt, with one
//! exception: under TLS 1.3 the client has finished its handshake, and may have sent the message,
//! before the host has judged its certificate. The host's refusal then arrives as an alert at the
//! first read; it comes before the host reads any message, so nothing was processed.

use std::{error::Error, io};

use rustls::AlertDescription;

use super::Failure;
use crate::authority::{NoAnswer, NotReached};

pub(super) fn failure(error: &reqwest::Error) -> Failure {
    let tls = causes(error).find_map(rustls_error);
    if error.is_connect() || error.is_builder() {
        return Failure::NotReached(match tls {
            Some(rustls::Error::AlertReceived(alert)) => refused(*alert),
            Some(other) => NotReached::Tls { detail: other.to_string() },
            None if error.is_dns() => NotReached::Dns,
            None => NotReached::Connect,
        });
    }
    match tls {
        Some(rustls::Error::AlertReceived(alert)) if judges_certificate(*alert) => {
            Failure::NotReached(refused(*alert))
        }
        _ => Failure::NoAnswer(NoAnswer::Broken),
    }
}

fn refused(alert: AlertDescription) -> NotReached {
    NotReached::TlsAlert { alert: format!("{alert:?}") }
}

/// The alerts with which a handshake is refused. None of them belongs to a later stage (RFC 8446, 6.2).
fn judges_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::CertificateRequired
            | AlertDescription::NoCertificate
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::DecryptError
            | AlertDescription::HandshakeFailure
    )
}

fn causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// The TLS error in a cause. An I/O error hides what it wraps from `source`, so it is opened.
fn rustls_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut cause = cause;
    loop {
        if let Some(found) = cause.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        cause = cause.downcast_ref::<io::Error>()?.get_ref()?;
    }
}
