//! Bodies in and out: one read under a limit, one that may break off.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};

const READ_TIME: Duration = Duration::from_secs(60);

/// The connection ends here: because a fault was ordered, or because the client is gone.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut")]
pub(crate) struct Cut;

/// Reads a whole body, or says with which status to refuse it.
pub(crate) async fn read(body: Incoming, limit: usize) -> Result<Bytes, Result<StatusCode, Cut>> {
    let collected = tokio::time::timeout(READ_TIME, Limited::new(body, limit).collect()).await;
    match collected {
        Err(_) => Err(Ok(StatusCode::REQUEST_TIMEOUT)),
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Ok(StatusCode::PAYLOAD_TOO_LARGE)),
        Ok(Err(_)) => Err(Err(Cut)),
    }
}

/// An answer's body: whole, or its first half and then the end of the connection.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    bytes: Option<Bytes>,
    length: u64,
    ending: Ending,
}

#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Whole,
    /// The half is to be sent; then, once it has left, the cut.
    HalfThenCut {
        left: bool,
    },
}

impl AnswerBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { length: bytes.len() as u64, bytes: Some(bytes), ending: Ending::Whole }
    }

    /// The same answer, but only half of it will arrive.
    pub(crate) fn into_broken_off(mut self) -> Self {
        self.bytes = self.bytes.map(|whole| whole.slice(..whole.len() / 2));
        self.ending = Ending::HalfThenCut { left: false };
        self
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if let Some(bytes) = self.bytes.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        match &mut self.ending {
            Ending::Whole => Poll::Ready(None),
            Ending::HalfThenCut { left } if !*left => {
                // One turn of waiting lets the connection write out what it has.
                *left = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Ending::HalfThenCut { .. } => Poll::Ready(Some(Err(Cut))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ending == Ending::Whole && self.bytes.as_ref().is_none_or(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
