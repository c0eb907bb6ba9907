//! A folder with files, and the binary run in it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a run of the binary gave.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A temporary folder to run in.
pub struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    /// An empty folder.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A folder with the files of the demo: pools, pairs, unseen rows, and the model `m.bridged`.
    pub fn with_demo() -> Self {
        let folder = Self::new();
        folder.ok("demo --save .");
        folder.ok("fit --x pictures.parquet --y names.parquet --pairs pairs.csv -k 7 -o m.bridged");
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("a writable folder");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("a text file")
    }

    /// The names of all files, to see that nothing was left behind.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a readable folder");
        let name = |e: std::io::Result<std::fs::DirEntry>| {
            e.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Runs the binary in the folder; arguments are split at spaces.
    pub fn run(&self, arguments: &str) -> Outcome {
        run(&mut self.command(arguments), self.folder.path())
    }

    /// As [`Self::run`], with variables in its environment.
    #[cfg(all(target_os = "linux", feature = "encode", feature = "lab"))]
    pub fn run_with(&self, arguments: &str, environment: &[(&str, &Path)]) -> Outcome {
        run(self.command(arguments).envs(environment.iter().copied()), self.folder.path())
    }

    /// The binary, to be run in the folder; arguments are split at spaces.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridged"));
        command.args(arguments.split(' ')).current_dir(self.folder.path()).env("NO_COLOR", "1");
        command
    }

    /// Runs a shell line in the folder with the binary as `$BRIDGED`.
    pub fn shell(&self, line: &str) -> Outcome {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("BRIDGED", env!("CARGO_BIN_EXE_bridged"));
        run(&mut command, self.folder.path())
    }

    /// Runs it and expects success; gives stdout.
    pub fn ok(&self, arguments: &str) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 0, "bridged {arguments}\n{}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    /// Runs it and expects a failure with this code, one sentence with each of `parts` on stderr,
    /// no panic, and no new file.
    pub fn fails(&self, code: i32, arguments: &str, parts: &[&str]) {
        let before = self.files();
        let Outcome { code: got, stdout, stderr } = self.run(arguments);
        let shown = format!("bridged {arguments}\ncode {got}\n{stdout}{stderr}");
        assert_eq!(got, code, "{shown}");
        assert!(!stderr.contains("panicked"), "{shown}");
        for part in parts {
            assert!(stderr.contains(part), "expected {part:?} in\n{shown}");
        }
        assert_eq!(self.files(), before, "a failed run leaves no file behind\n{shown}");
    }

    /// Runs it with --json and gives what it printed.
    pub fn json(&self, arguments: &str) -> serde_json::Value {
        let text = self.ok(&format!("{arguments} --json"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }
}

fn run(command: &mut Command, folder: &Path) -> Outcome {
    let output = command.current_dir(folder).env("NO_COLOR", "1").output().expect("it starts");
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A CSV of `n` rows around `groups` centres, ids `prefix0`, `prefix1`, …; row i is in group
/// i % groups.
pub fn blobs(prefix: &str, n: usize, groups: usize, columns: usize) -> String {
    let mut csv = String::from("id,name");
    (0..columns).for_each(|c| csv += &format!(",v{c}"));
    csv.push('\n');
    for i in 0..n {
        let group = i % groups;
        csv += &format!("{prefix}{i},{prefix} of group {group}");
        for c in 0..columns {
            let centre = if c % groups == group { 10.0 } else { 0.0 };
            let noise = ((i * 37 + c * 101) % 17) as f64 / 17.0 - 0.5;
            csv += &format!(",{}", centre + noise);
        }
        csv.push('\n');
    }
    csv
}
