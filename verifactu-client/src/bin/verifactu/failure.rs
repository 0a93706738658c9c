//! Why the tool ends without success, and with which exit code.

use std::{error::Error as StdError, io, path::PathBuf};

use verifactu_client::{ConfigurationError, Error, IdempotencyKey};

/// Documented in `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
    0  done, and everything asked about is well
    1  done, but something is not well: invalid, broken, rejected for good, a line left out
    2  the command line is wrong
    3  the service refused
    4  the service was not reached, or asks to come back later; the same command may succeed
    5  a file, a setting or a certificate of this computer cannot be used
    6  the time to wait is over and the job is not final
  130  interrupted";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Service(#[from] Error),
    /// A sending under a key that the caller has to know to repeat it.
    #[error("{1}")]
    Sending(IdempotencyKey, #[source] Error),
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error("no {0}: give {1} or set {2}")]
    Unset(&'static str, &'static str, &'static str),
    #[error("{}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: larger than {} bytes", .0.display(), .1)]
    TooLarge(PathBuf, u64),
    #[error("{}: not UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error("{0}")]
    Unusable(&'static str, #[source] Box<dyn StdError + Send + Sync>),
    #[error("the state file belongs to {0}")]
    OtherService(String),
    #[error("another run uses the state file")]
    InUse,
    #[error("the state file has an unreadable line {0}")]
    State(usize),
    #[error("listen on a loopback address")]
    NotLoopback,
    #[error("the body has to state the whole computer system, in `sistemaInformatico`")]
    System,
    #[error("output")]
    Output(#[from] io::Error),
}

impl Failure {
    pub(crate) fn unusable(what: &'static str, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::Unusable(what, Box::new(source))
    }

    /// What the service, or the way to it, is the reason of.
    pub(crate) fn service(&self) -> Option<&Error> {
        match self {
            Self::Service(error) | Self::Sending(_, error) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn end(&self) -> End {
        match self.service() {
            None | Some(Error::Configuration(_)) => End::Unusable,
            Some(error) if error.is_retryable() => End::Unreached,
            Some(_) => End::Refused,
        }
    }

    /// What to do next, where that is more than to mend what the message names.
    pub(crate) fn advice(&self) -> Option<String> {
        match self {
            Self::Sending(key, error) if error.is_retryable() && !error.is_unsent() => {
                Some(format!("it may have arrived; repeat it with --idempotency-key {key}"))
            }
            _ if self.end() == End::Unreached => Some("`verifactu doctor` names what fails".to_owned()),
            _ => None,
        }
    }
}

/// How the tool ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Well,
    NotWell,
    Refused,
    Unreached,
    Unusable,
    NotFinal,
    Interrupted,
}

impl End {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::NotWell => 1,
            Self::Refused => 3,
            Self::Unreached => 4,
            Self::Unusable => 5,
            Self::NotFinal => 6,
            Self::Interrupted => 130,
        }
    }

    pub(crate) const fn well_if(holds: Finding) -> Self {
        match holds {
            Finding::Holds => Self::Well,
            Finding::Fails => Self::NotWell,
        }
    }
}

/// Whether what was checked holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Holds,
    Fails,
}

impl From<bool> for Finding {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

/// An error with what caused it, in one line.
pub(crate) fn told(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
