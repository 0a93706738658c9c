//! Words for the refusals that hyper writes by itself.
//!
//! Bytes that are no request never reach the service: hyper answers them with a bare status. Every
//! answer carries an identifier, so these are replaced on their way out by a document of ours. They
//! are told by their status together with an empty body, which no answer of the service has.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::HeaderMap;
use hyper::rt::{Read, ReadBufCursor, Write};
use verifactu_core::types::RequestId;

use crate::api::{Fault, Service};

/// A connection whose bare refusals get words.
pub(super) struct Worded<T> {
    inner: T,
    service: Arc<Service>,
    /// Our words, and how many bytes of them are written.
    words: Option<(Vec<u8>, usize)>,
}

impl<T> Worded<T> {
    pub(super) fn new(inner: T, service: Arc<Service>) -> Self {
        Self { inner, service, words: None }
    }

    fn word(&self, bare: &[u8]) -> Option<Vec<u8>> {
        let fault = match bare.get(..13)? {
            b"HTTP/1.1 400 " => Fault::NotHttp,
            b"HTTP/1.1 414 " | b"HTTP/1.1 431 " => Fault::HeadersTooLarge(self.service.limits.headers),
            _ => return None,
        };
        let empty = bare.windows(19).any(|part| part == b"content-length: 0\r\n");
        if !empty || !bare.ends_with(b"\r\n\r\n") {
            return None;
        }
        let id = RequestId(self.service.ids.next());
        let response = self.service.refuse(id, &HeaderMap::new(), fault);
        let mut words = format!("HTTP/1.1 {}\r\n", response.status()).into_bytes();
        for (name, value) in response.headers() {
            words.extend_from_slice(name.as_str().as_bytes());
            words.extend_from_slice(b": ");
            words.extend_from_slice(value.as_bytes());
            words.extend_from_slice(b"\r\n");
        }
        let length = response.body().len();
        words.extend_from_slice(format!("content-length: {length}\r\nconnection: close\r\n\r\n").as_bytes());
        words.extend_from_slice(response.body());
        Some(words)
    }
}

impl<T: Read + Unpin> Read for Worded<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for Worded<T> {
    /// Takes a bare refusal as a whole and writes our words in its place.
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.words.is_none() {
            match this.word(bytes) {
                Some(words) => this.words = Some((words, 0)),
                None => return Pin::new(&mut this.inner).poll_write(context, bytes),
            }
        }
        while let Some((words, written)) = &mut this.words {
            let rest = words.get(*written..).unwrap_or_default();
            if rest.is_empty() {
                this.words = None;
                break;
            }
            match ready!(Pin::new(&mut this.inner).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => *written += more,
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
