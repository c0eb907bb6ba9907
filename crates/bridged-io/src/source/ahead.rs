//! Reading ahead: one thread decodes while another computes.

use super::error::SourceError;
use crate::error::TableError;
use bridged_math::cancel::{Context, TICK, checkpoint};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

/// Finished pieces that wait; one more is in the hands of the reader.
const WAITING: usize = 1;

/// Calls `consume` with what `produce` hands over, in order; `produce` is at most two pieces ahead, on a thread of
/// its own. That thread ends at its next piece when `consume` fails or unwinds, and at its next checkpoint when the
/// work is stopped.
pub(crate) fn read_ahead<T: Send, E: From<TableError>>(
    produce: impl FnOnce(&mut dyn FnMut(T) -> Result<(), TableError>) -> Result<(), TableError> + Send,
    mut consume: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let context = Context::current();
    thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel(WAITING);
        let read = move || {
            let mut hand_over = |piece: T| send.send(piece).map_err(|_| SourceError::Ended.into());
            context.enter(|| catch_unwind(AssertUnwindSafe(|| produce(&mut hand_over))))
        };
        let reader = thread::Builder::new().name("bridged-read".into()).spawn_scoped(scope, read);
        let reader = reader.map_err(|e| TableError::from(SourceError::NoThread(e)))?;
        loop {
            match receive.recv_timeout(TICK) {
                // Dropping `receive` on the way out ends the reader.
                Ok(piece) => consume(piece)?,
                Err(RecvTimeoutError::Timeout) => checkpoint(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        match reader.join() {
            Ok(Ok(read)) => Ok(read?),
            Ok(Err(panic)) | Err(panic) => resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged_math::cancel::cancellable;
    use bridged_math::watch::{Cancelled, Event, Watch};
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    #[test]
    fn pieces_come_in_order_and_never_more_than_two_ahead() {
        let (made, mut used) = (AtomicUsize::new(0), 0);
        let produce = |each: &mut dyn FnMut(usize) -> Result<(), TableError>| {
            (0..50).try_for_each(|i| {
                made.fetch_add(1, Ordering::SeqCst);
                each(i)
            })
        };
        let done: Result<(), TableError> = read_ahead(produce, |i| {
            assert_eq!(i, used);
            used += 1;
            assert!(made.load(Ordering::SeqCst) <= used + 2);
            Ok(())
        });
        done.unwrap();
        assert_eq!(used, 50);
    }

    #[test]
    fn an_error_of_either_side_ends_both() {
        let endless = |each: &mut dyn FnMut(u8) -> Result<(), TableError>| loop {
            each(0)?;
        };
        let gone = || TableError::from(SourceError::Gone { path: "p".into() });
        let consumer: Result<(), TableError> = read_ahead(endless, |_| Err(gone()));
        assert!(consumer.unwrap_err().to_string().starts_with("`p` was there"));
        let fails = |each: &mut dyn FnMut(u8) -> Result<(), TableError>| {
            each(0)?;
            Err(gone())
        };
        let mut seen = 0;
        let producer: Result<(), TableError> = read_ahead(fails, |_| {
            seen += 1;
            Ok(())
        });
        assert!(producer.is_err());
        assert_eq!(seen, 1);
    }

    #[test]
    fn a_panic_of_either_side_is_the_callers() {
        let endless = |each: &mut dyn FnMut(u8) -> Result<(), TableError>| loop {
            each(0)?;
        };
        let consumer = || read_ahead::<_, TableError>(endless, |_| panic!("consumer"));
        let payload = catch_unwind(AssertUnwindSafe(consumer)).unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"consumer"));
        let fails = |_: &mut dyn FnMut(u8) -> Result<(), TableError>| panic!("producer");
        let producer = || read_ahead::<u8, TableError>(fails, |_| Ok(()));
        let payload = catch_unwind(AssertUnwindSafe(producer)).unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"producer"));
    }

    #[test]
    fn work_that_is_stopped_ends_a_reader_that_waits_and_one_that_works() {
        struct Soon(Instant);
        impl Watch for Soon {
            fn on(&self, _: Event<'_>) -> ControlFlow<()> {
                if self.0.elapsed().as_millis() > 100 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            }
        }
        let silent = |_: &mut dyn FnMut(u8) -> Result<(), TableError>| -> Result<(), TableError> {
            loop {
                checkpoint();
                thread::sleep(TICK / 10);
            }
        };
        let work = || read_ahead::<u8, TableError>(silent, |_| Ok(()));
        assert!(matches!(cancellable(&Soon(Instant::now()), work), Err(Cancelled)));
        let endless = |each: &mut dyn FnMut(u8) -> Result<(), TableError>| loop {
            each(0)?;
        };
        let work = || {
            read_ahead::<u8, TableError>(endless, |_| {
                checkpoint();
                Ok(())
            })
        };
        assert!(matches!(cancellable(&Soon(Instant::now()), work), Err(Cancelled)));
    }
}
