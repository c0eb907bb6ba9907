//! Bytes as a file: the readers of tables go by the ending of a name.

use std::path::{Path, PathBuf};

/// Removes the file also where a target panics.
struct Gone(PathBuf);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs `then` on a file that holds these bytes, in memory where the system has such a folder.
pub fn with_file<T>(bytes: &[u8], ending: &str, then: impl FnOnce(&Path) -> T) -> T {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    let name = format!("bridged-fuzz-{}-{thread}.{ending}", std::process::id());
    let file = Gone(folder.join(name));
    std::fs::write(&file.0, bytes).expect("a small file can be written");
    then(&file.0)
}
