//! An end for connections whose peer does not read its answers.
//!
//! What is written waits in the system's buffers until the peer has read it, and nothing obliges a peer
//! to. So writing has to get on: a connection on which not one byte moved for the limit is closed.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::Sleep;

/// A connection on which writing may stand still for so long.
pub(super) struct Moving<T> {
    inner: T,
    limit: Duration,
    /// Runs while writing stands still.
    end: Option<Pin<Box<Sleep>>>,
}

impl<T> Moving<T> {
    pub(super) fn new(inner: T, limit: Duration) -> Self {
        Self { inner, limit, end: None }
    }

    fn in_time<R>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.end = None;
            return written;
        }
        let end = self.end.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.limit)));
        end.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: Read + Unpin> Read for Moving<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for Moving<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.in_time(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.in_time(context, shut)
    }
}
