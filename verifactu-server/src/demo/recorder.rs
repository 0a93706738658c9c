//! Writes down what goes over the wire.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use verifactu_core::authority::{Authority, Exchange, Request};

/// An authority that files every message and every answer, numbered in order of sending.
pub(super) struct Recorder {
    authority: Arc<dyn Authority>,
    directory: PathBuf,
    sent: AtomicU32,
}

impl Recorder {
    pub(super) fn new(authority: Arc<dyn Authority>, directory: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        Ok(Self { authority, directory: directory.to_owned(), sent: AtomicU32::new(0) })
    }

    /// A message that cannot be filed is sent all the same.
    async fn file(&self, number: u32, kind: &str, bytes: &[u8]) {
        let path = self.directory.join(format!("{number:04}-{kind}.xml"));
        if let Err(error) = tokio::fs::write(&path, bytes).await {
            tracing::error!(%error, path = %path.display(), "a message could not be filed");
        }
    }
}

#[async_trait]
impl Authority for Recorder {
    async fn exchange(&self, request: Request) -> Exchange {
        let number = self.sent.fetch_add(1, Ordering::Relaxed) + 1;
        self.file(number, "request", &request.body).await;
        let exchange = self.authority.exchange(request).await;
        if let Exchange::Answered(answered) = &exchange {
            self.file(number, "answer", &answered.body).await;
        }
        exchange
    }
}
