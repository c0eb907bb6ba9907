//! Rows on servers: a web server that misbehaves, and an S3 server.
//!
//! The S3 server is moto's, which `test.sh` installs and names in `BRIDGED_MOTO_SERVER`; without it that test says
//! that it is skipped.

use crate::support::{Folder, Outcome, blobs};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How the server answers for a path.
#[derive(Clone)]
enum Answer {
    /// With the file, or the range of it that was asked for.
    File(Vec<u8>),
    /// As often with 503, then with the file.
    Busy(usize, Vec<u8>),
    /// Always with that status.
    Status(u16),
    /// With a beginning, and then nothing for this long.
    Slow(Vec<u8>, Duration),
    /// With half of what it promises.
    Half(Vec<u8>),
    /// With all of it, whatever was asked for.
    Whole(Vec<u8>),
}

/// A web server of this process, which ends with it.
struct Server {
    port: u16,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn new(answers: &[(&str, Answer)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers: HashMap<String, Answer> =
            answers.iter().map(|(path, answer)| (path.to_string(), answer.clone())).collect();
        let answers = Arc::new(Mutex::new(answers));
        let asked = Arc::new(AtomicUsize::new(0));
        let (theirs, counter) = (Arc::clone(&answers), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, counter) = (Arc::clone(&theirs), Arc::clone(&counter));
                std::thread::spawn(move || serve(stream, &answers, &counter));
            }
        });
        Self { port, answers, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn set(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }
}

/// Answers one request after the other.
fn serve(stream: TcpStream, answers: &Mutex<HashMap<String, Answer>>, asked: &AtomicUsize) {
    let Ok(clone) = stream.try_clone() else { return };
    let (mut reader, mut stream) = (BufReader::new(clone), stream);
    loop {
        let (mut first, mut range) = (String::new(), None);
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("range: bytes=") {
                let (start, end) = value.trim().split_once('-').unwrap();
                range = Some((start.parse().unwrap(), end.parse::<usize>().unwrap_or(usize::MAX)));
            }
        }
        asked.fetch_add(1, Ordering::SeqCst);
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let answer = {
            let mut answers = answers.lock().unwrap();
            let answer = answers.get(&path).cloned().unwrap_or(Answer::Status(404));
            if let Answer::Busy(left, file) = &answer {
                let next = match left {
                    0 => Answer::File(file.clone()),
                    left => Answer::Busy(left - 1, file.clone()),
                };
                answers.insert(path, next.clone());
                if matches!(next, Answer::File(_)) { next } else { Answer::Status(503) }
            } else {
                answer
            }
        };
        if answered(&mut stream, answer, range).is_err() {
            return;
        }
    }
}

fn answered(
    stream: &mut TcpStream,
    answer: Answer,
    range: Option<(usize, usize)>,
) -> std::io::Result<()> {
    let stop = || std::io::Error::other("the connection ends here");
    let part = |file: &[u8]| match range {
        Some((start, end)) => {
            let end = end.saturating_add(1).min(file.len());
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{}/{}\r\n",
                end - 1,
                file.len()
            );
            (head, file[start..end].to_vec())
        }
        None => ("HTTP/1.1 200 OK\r\n".to_owned(), file.to_vec()),
    };
    let tail = |len: usize| {
        format!(
            "Content-Length: {len}\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\nAccept-Ranges: bytes\r\n\r\n"
        )
    };
    match answer {
        Answer::File(file) | Answer::Busy(_, file) => {
            let (head, body) = part(&file);
            stream.write_all((head + &tail(body.len())).as_bytes())?;
            stream.write_all(&body)
        }
        Answer::Whole(file) => {
            stream.write_all(("HTTP/1.1 200 OK\r\n".to_owned() + &tail(file.len())).as_bytes())?;
            stream.write_all(&file)
        }
        Answer::Status(status) => stream
            .write_all(format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n").as_bytes()),
        Answer::Slow(file, pause) => {
            let (head, body) = part(&file);
            stream.write_all((head + &tail(body.len())).as_bytes())?;
            if body.len() < 2 {
                return stream.write_all(&body); // the question how long it is
            }
            stream.write_all(&body[..body.len() / 2])?;
            stream.flush()?;
            std::thread::sleep(pause);
            Err(stop())
        }
        Answer::Half(file) => {
            let (head, body) = part(&file);
            stream.write_all((head + &tail(body.len())).as_bytes())?;
            if body.len() < 2 {
                return stream.write_all(&body);
            }
            stream.write_all(&body[..body.len() / 2])?;
            Err(stop())
        }
    }
}

/// Runs the binary with nothing of the services in its environment but `variables`.
fn run(folder: &Folder, arguments: &str, variables: &[(&str, &str)]) -> Outcome {
    let mut command = folder.command(arguments);
    for (name, _) in std::env::vars() {
        let lower = name.to_lowercase();
        if ["aws_", "google_", "azure_"].iter().any(|s| lower.starts_with(s))
            || lower.ends_with("_proxy")
        {
            command.env_remove(name);
        }
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn cluster(folder: &Folder, url: &str, variables: &[(&str, &str)]) -> Outcome {
    run(folder, &format!("cluster {url} -k 3 -o labels.csv"), variables)
}

#[test]
fn a_file_of_a_web_server_is_read_as_one_of_this_machine() {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 300, 3, 4));
    folder.write("y.csv", blobs("y", 30, 3, 4));
    folder.write("pairs.csv", "x_id,y_id\nx0,y0\nx1,y1\nx2,y2\n");
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
    folder.ok("predict m.bridged x.csv -o x.parquet");
    folder.ok("cluster x.csv -k 3 -o one.csv");
    let csv = folder.read("x.csv");
    let server = Server::new(&[
        ("/x.csv", Answer::File(csv.clone())),
        ("/signed.csv?X-Amz-Signature=secret", Answer::File(csv.clone())),
        ("/busy.csv", Answer::Busy(3, csv.clone())),
        ("/whole.csv", Answer::Whole(csv)),
        ("/x.parquet", Answer::File(folder.read("x.parquet"))),
    ]);
    for path in ["/x.csv", "/signed.csv?X-Amz-Signature=secret", "/busy.csv", "/whole.csv"] {
        let outcome = cluster(&folder, &server.url(path), &[]);
        assert_eq!(outcome.code, 0, "{path}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("secret"));
        assert_eq!(folder.text("labels.csv"), folder.text("one.csv"), "{path}");
    }
    folder.ok("cluster x.parquet --vector value -k 3 -o one.csv");
    let outcome = run(
        &folder,
        &format!("cluster {} --vector value -k 3 -o labels.csv", server.url("/x.parquet")),
        &[],
    );
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(folder.text("labels.csv"), folder.text("one.csv"));
}

#[test]
fn what_a_server_refuses_or_does_not_finish_is_told_with_its_url() {
    let folder = Folder::new();
    let csv = blobs("x", 300, 3, 4).into_bytes();
    let server = Server::new(&[
        ("/secret.csv", Answer::Status(403)),
        ("/sign-in.csv", Answer::Status(401)),
        ("/busy.csv", Answer::Status(503)),
        ("/slow.csv", Answer::Slow(csv.clone(), Duration::from_secs(60))),
        ("/half.csv", Answer::Half(csv.clone())),
        ("/cut.parquet", Answer::File(b"PAR1 and no end of it".to_vec())),
    ]);
    let fails = |path: &str, parts: &[&str]| {
        let started = Instant::now();
        let outcome = cluster(&folder, &server.url(path), &[("BRIDGED_TIMEOUT", "1")]);
        let shown = format!("{path}: {} {}", outcome.code, outcome.stderr);
        assert_eq!(outcome.code, 1, "{shown}");
        for part in parts.iter().chain([&path.split('?').next().unwrap()]) {
            assert!(outcome.stderr.contains(part), "expected {part:?} in {shown}");
        }
        assert_eq!(outcome.stderr.trim().lines().count(), 1, "{shown}");
        assert!(folder.files().is_empty());
        assert!(started.elapsed() < Duration::from_secs(40), "{shown}");
    };
    fails("/missing.csv", &["it is not there (404)"]);
    fails("/secret.csv", &["access is denied (403)"]);
    fails("/sign-in.csv", &["the server wants to know who asks (401)"]);
    let before = server.asked.load(Ordering::SeqCst);
    fails("/busy.csv", &["503"]);
    assert!(server.asked.load(Ordering::SeqCst) >= before + 6, "it was asked again");
    fails("/slow.csv", &["the server sent nothing for 1 seconds", "BRIDGED_TIMEOUT"]);
    fails("/half.csv", &["127.0.0.1"]);
    fails("/cut.parquet", &["its end is missing"]);
    fails("/folder/*.csv", &["a web server cannot be asked which files it has"]);
    fails("/notes.txt", &["has no extension that is known"]);
    server.set("/x.csv", Answer::File(csv));
    assert_eq!(cluster(&folder, &server.url("/x.csv"), &[]).code, 0);
}

/// A server that the test has started, ended with it.
struct Moto(Child);

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A request to the S3 server without a signature.
fn put(port: u16, path: &str, body: &[u8]) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_bucket_is_read_as_a_folder() {
    let Some(program) = std::env::var_os("BRIDGED_MOTO_SERVER") else {
        eprintln!(
            "skipped: BRIDGED_MOTO_SERVER does not name moto's S3 server; ./test.sh installs it"
        );
        return;
    };
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(program);
    command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
    let _moto = Moto(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(started.elapsed() < Duration::from_secs(60), "moto does not start");
        std::thread::sleep(Duration::from_millis(100));
    }
    let folder = Folder::new();
    let text = blobs("x", 400, 3, 4);
    folder.write("x.csv", &text);
    folder.ok("cluster x.csv -k 3 -o one.csv");
    let lines: Vec<&str> = text.lines().collect();
    put(port, "/rows", b"");
    for (i, rows) in lines[1..].chunks(150).enumerate() {
        let part = format!("{}\n{}\n", lines[0], rows.join("\n"));
        put(port, &format!("/rows/x/part-{i}.csv"), part.as_bytes());
    }
    put(port, "/rows/x/_SUCCESS", b"");
    put(port, "/rows/x/notes.md", b"notes");
    let endpoint = format!("http://127.0.0.1:{port}");
    let keys = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "k"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
    ];
    for url in ["s3://rows/x", "s3://rows/x/", "s3://rows/x/part-*.csv", "s3://rows/**/*.csv"] {
        let outcome = cluster(&folder, url, &keys);
        assert_eq!(outcome.code, 0, "{url}: {}", outcome.stderr);
        assert_eq!(folder.text("labels.csv"), folder.text("one.csv"), "{url}");
    }
    // Parquet parts, of which only ranges are fetched.
    folder.write("y.csv", blobs("y", 30, 3, 4));
    folder.write("pairs.csv", "x_id,y_id\nx0,y0\nx1,y1\nx2,y2\n");
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 3 -o m.bridged");
    folder.ok("predict m.bridged x.csv -o x.parquet");
    put(port, "/rows/day=1/p.parquet", &folder.read("x.parquet"));
    let outcome = run(&folder, "cluster s3://rows/day=1/ --vector value -k 3 -o labels.csv", &keys);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    folder.ok("cluster x.parquet --vector value -k 3 -o one.csv");
    assert_eq!(folder.text("labels.csv"), folder.text("one.csv"));
    let said = |url: &str, variables: &[(&str, &str)]| cluster(&folder, url, variables).stderr;
    let error = said("s3://rows/x/none.csv", &keys);
    assert!(error.contains("`s3://rows/x/none.csv`: it is not there (404)"), "{error}");
    let error = said("s3://rows/x/*.parquet", &keys);
    assert!(error.contains("`s3://rows/x/*.parquet` matches no file"), "{error}");
    let error = said("s3://nobody/x/", &keys);
    assert!(error.contains("s3://nobody/x"), "{error}");
    // Nobody has keys: the metadata server of a virtual machine, here one that is not there, has none either.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let metadata = format!("http://127.0.0.1:{closed}");
    let none =
        [("AWS_ENDPOINT_URL", endpoint.as_str()), ("AWS_METADATA_ENDPOINT", metadata.as_str())];
    let error = said("s3://rows/x/", &none);
    assert!(error.contains("no credentials were found; set AWS_ACCESS_KEY_ID"), "{error}");
}
