//! Threads of our own, one set for each number asked for.
//!
//! A fork copies the memory of a process and only one of its threads: a pool that was built before
//! waits for ever for threads that are not there. So pools belong to a process, and the first call
//! in a child builds new ones. The lock is only ever taken with the GIL held, and Python forks with
//! the GIL held: no child finds it locked.

use bridged_math::chunks::most_threads;
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

struct Pools {
    process: u32,
    /// By the number of threads; 0 stands for all cores.
    by_threads: HashMap<usize, Arc<ThreadPool>>,
}

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// The pool of this many threads, or of the most that make sense; without a number, of as many as there are cores
/// (`RAYON_NUM_THREADS` is heeded). Called with the GIL held.
pub fn of(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    if threads == Some(0) {
        return Err(PyValueError::new_err("`threads` must be at least 1, or None for all cores"));
    }
    let threads = threads.unwrap_or(0).min(most_threads());
    let mut guard = POOLS.lock().expect("nothing panics while it holds the lock");
    let process = std::process::id();
    if guard.as_ref().is_some_and(|pools| pools.process != process) {
        // The parent's threads are not here to be ended.
        std::mem::forget(guard.take());
    }
    let pools = guard.get_or_insert_with(|| Pools { process, by_threads: HashMap::new() });
    if let Some(pool) = pools.by_threads.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("bridged-{i}"))
        .build()
        .map_err(|e| PyValueError::new_err(format!("cannot use {threads} threads: {e}")))?;
    let pool = Arc::new(pool);
    pools.by_threads.insert(threads, Arc::clone(&pool));
    Ok(pool)
}
