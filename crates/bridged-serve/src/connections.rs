//! Connections: how many, how long one may be slow, and how they end.

use crate::Log;
use crate::app::App;
use crate::limits::Limits;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Headers of a request take at most so many bytes.
const HEADERS: usize = 32 << 10;
/// After an error of the system, such as too many open files, it is asked again.
const AGAIN: Duration = Duration::from_millis(50);

/// Accepts connections until `stop`, and then ends them: those that wait at once, those that are answered when they are.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    app: &Arc<App>,
    stop: impl Future<Output = ()>,
) {
    let limits = app.limits();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_buf_size(HEADERS)
        .pipeline_flush(true);
    let room = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let (stream, permit) = tokio::select! {
            biased;
            () = &mut stop => break,
            next = accept(&listener, &room, app.log()) => next,
        };
        let open = Open::new(Arc::clone(app), permit);
        let io = TokioIo::new(Patient::new(stream, limits.write));
        let service = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(builder.serve_connection(io, service));
        tokio::spawn(async move {
            let _open = open;
            let _ = connection.await; // whatever a client does to its connection is its own affair
        });
    }
    drop(listener);
    let Limits { stop, .. } = limits;
    if tokio::time::timeout(*stop, graceful.shutdown()).await.is_err() {
        (app.log())(&format!(
            "requests that were not finished within {} seconds are cut off",
            stop.as_secs()
        ));
    }
}

/// The next connection, when there is room for it.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    log: &Log,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    let permit = Arc::clone(room).acquire_owned().await.ok(); // it is never closed
    let mut said = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true); // without it answers are only slower
                return (stream, permit);
            }
            Err(error) => {
                if !std::mem::replace(&mut said, true) {
                    log(&format!("connections cannot be accepted for now: {error}"));
                }
                sleep(AGAIN).await;
            }
        }
    }
}

/// A connection that is counted.
struct Open {
    app: Arc<App>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Open {
    fn new(app: Arc<App>, permit: Option<OwnedSemaphorePermit>) -> Self {
        app.metrics().connections.fetch_add(1, Ordering::Relaxed);
        app.metrics().accepted.fetch_add(1, Ordering::Relaxed);
        Self { app, _permit: permit }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.app.metrics().connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection whose client must take some of what is sent to it within a time.
struct Patient {
    stream: TcpStream,
    patience: Duration,
    /// Runs while the client takes nothing.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream, patience, waiting: None }
    }

    /// What a write came to, or an error if none went on for too long.
    fn heard<T>(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.waiting = None;
            return wrote;
        }
        let until = Instant::now() + self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.heard(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.heard(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
