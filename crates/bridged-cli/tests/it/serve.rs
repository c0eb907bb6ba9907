//! `bridged serve` as its clients meet it: the real process, real connections, and clients that misbehave.

use crate::support::{Folder, blobs};
use bridged_io::{ColumnData, Table};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const ARROW: (&str, &str) = ("Content-Type", "application/vnd.apache.arrow.stream");

/// A server process, which ends with it.
struct Served {
    child: Child,
    address: SocketAddr,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Served {
    /// Starts `bridged serve` with these words in a folder, on any free port.
    fn start(folder: &Folder, words: &str) -> Self {
        let mut command = folder.command(&format!("serve {words} --port 0"));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&lines);
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).for_each(|line| theirs.lock().unwrap().push(line));
        });
        let mut served = Self { child, address: ([127, 0, 0, 1], 0).into(), lines };
        let line = served.wait_for_line("listening on http://");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(' ').next());
        served.address = address.unwrap().parse().unwrap();
        served
    }

    fn said(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    fn wait_for_line(&self, part: &str) -> String {
        let start = Instant::now();
        loop {
            let found = self.lines.lock().unwrap().iter().find(|l| l.contains(part)).cloned();
            if let Some(line) = found {
                return line;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "no {part:?} in\n{}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn connect(&self) -> Client {
        Client::new(self.address)
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.connect().ask(method, path, headers, body)
    }

    fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], b"")
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask("POST", path, &[JSON], body.to_string().as_bytes())
    }

    fn signal(&self, name: &str) {
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// What the process holds in memory, in KiB.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection.
struct Client {
    stream: BufReader<TcpStream>,
    host: String,
}

struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    #[track_caller]
    fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream: BufReader::new(stream), host: address.to_string() }
    }

    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// The head of a request with a body of that length.
    fn head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += &format!("Host: {}\r\n", self.host);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head + &format!("Content-Length: {length}\r\n\r\n")
    }

    fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.try_ask(method, path, headers, body).unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    fn try_ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Reply> {
        let mut request = self.head(method, path, headers, body.len()).into_bytes();
        request.extend_from_slice(body);
        self.send(&request)?;
        self.reply()
    }

    /// Reads one answer.
    fn reply(&mut self) -> std::io::Result<Reply> {
        let broken = || std::io::Error::other("the connection was closed without an answer");
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(broken)?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(Reply { status, headers, body })
    }

    /// Whether the server has closed the connection.
    fn is_closed_within(&mut self, time: Duration) -> bool {
        self.stream.get_mut().set_read_timeout(Some(time)).unwrap();
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).is_ok()
    }
}

/// The rows of a table and its ids.
fn rows_of(table: &Table) -> (Vec<Vec<f32>>, Vec<String>) {
    let vector = table.columns.iter().find_map(|column| match &column.data {
        ColumnData::Vector(rows) => Some(rows),
        ColumnData::OptionalVector { values, .. } => Some(values),
        _ => None,
    });
    let rows = vector.unwrap().view().iter_rows().map(<[f32]>::to_vec).collect();
    let ids = table.column("id").unwrap().to_text().unwrap().values;
    (rows, ids.into_iter().map(Option::unwrap).collect())
}

/// Some rows as a body.
fn body_of(rows: &[Vec<f32>]) -> Value {
    json!({"rows": rows})
}

/// A folder with the demo's model and its unseen rows as Arrow.
fn demo() -> Folder {
    let folder = Folder::with_demo();
    for name in ["unseen-pictures", "unseen-names"] {
        let table = bridged_io::read(&folder.path(&format!("{name}.parquet"))).unwrap();
        bridged_io::write(&folder.path(&format!("{name}.arrow")), &table).unwrap();
    }
    folder
}

#[test]
fn json_rows_get_the_numbers_and_reasons_of_predict() {
    let folder = demo();
    let served = Served::start(&folder, "m.bridged");
    for (file, direction, reverse) in
        [("unseen-pictures", "x_to_y", ""), ("unseen-names", "y_to_x", " --reverse")]
    {
        let level = "--level 0.8 --min-confidence 0.5 --nearest 2";
        folder
            .ok(&format!("predict m.bridged {file}.parquet{reverse} {level} -o out.arrow --force"));
        let table = bridged_io::read(&folder.path("out.arrow")).unwrap();
        let (rows, ids) =
            rows_of(&bridged_io::read(&folder.path(&format!("{file}.arrow"))).unwrap());
        let path = format!(
            "/v1/models/m/predict?direction={direction}&level=0.8&min_confidence=0.5&nearest=2"
        );
        let all = served.post(&path, &json!({"rows": rows, "ids": ids})).ok();
        assert_eq!(all["rows"].as_array().unwrap().len(), rows.len());
        assert_eq!((&all["model"], &all["direction"]), (&json!("m"), &json!(direction)));
        let number = |name: &str, i: usize| match &table.column(name).unwrap().data {
            ColumnData::Number(v) => json!(v[i]), // NaN is null, as in JSON
            ColumnData::Integer(v) => json!(v[i]),
            other => panic!("{name}: {other:?}"),
        };
        let text =
            |name: &str, i: usize| json!(table.column(name).unwrap().to_text().unwrap().values[i]);
        let (values, valid) = match &table.column("value").unwrap().data {
            ColumnData::OptionalVector { values, valid } => (values, valid.clone()),
            ColumnData::Vector(values) => (values, vec![true; rows.len()]),
            other => panic!("{other:?}"),
        };
        for (i, row) in rows.iter().enumerate() {
            // Alone and together, a row gets the same answer.
            let one = served.post(&path, &json!({"row": row, "ids": [ids[i]]})).ok();
            assert_eq!(one["rows"][0], all["rows"][i]);
            let (row, why) = (&all["rows"][i], &all["rows"][i]["why"]);
            assert_eq!(row["id"], json!(ids[i]));
            match valid[i] {
                true => {
                    let value = row["value"].as_array().unwrap().iter();
                    let value: Vec<f32> = value.map(|v| v.as_f64().unwrap() as f32).collect();
                    assert_eq!(value, values.row(i));
                }
                false => assert_eq!(row["value"], Value::Null),
            }
            for name in [
                "cluster",
                "linked",
                "probability",
                "expected_error",
                "novelty",
                "weight",
                "support",
                "radius",
            ] {
                assert_eq!(why[name], number(name, i), "{name}");
            }
            for name in ["status", "answer"] {
                assert_eq!(why[name], text(name, i), "{name}");
            }
            for rank in 0..2 {
                let near = &row["nearest"][rank];
                if valid[i] {
                    assert_eq!(near["id"], text(&format!("nearest_{}_id", rank + 1), i));
                    assert_eq!(
                        near["distance"],
                        number(&format!("nearest_{}_distance", rank + 1), i)
                    );
                    assert!(near["carried"].as_object().is_some_and(|c| !c.is_empty()));
                }
            }
        }
        let explained = served
            .post(&format!("/v1/models/m/explain?direction={direction}"), &body_of(&rows))
            .ok();
        let nearest = served
            .post(&format!("/v1/models/m/nearest?direction={direction}&n=2"), &body_of(&rows))
            .ok();
        for (i, row) in all["rows"].as_array().unwrap().iter().enumerate() {
            let (why, near) = (&explained["rows"][i], &nearest["rows"][i]);
            assert_eq!(why["why"]["cluster"], row["why"]["cluster"]);
            assert!(why.get("value").is_none() && why.get("nearest").is_none());
            assert!(near.get("value").is_none() && near.get("why").is_none());
            if valid[i] {
                assert_eq!(near["nearest"], row["nearest"]);
            }
        }
    }
}

#[test]
fn arrow_answers_are_the_bytes_that_predict_writes() {
    let folder = demo();
    let served = Served::start(&folder, "m.bridged");
    for (file, query, words) in [
        ("unseen-pictures", "", ""),
        ("unseen-pictures", "nearest=3", "--nearest 3"),
        ("unseen-pictures", "level=0.8&min_confidence=0.7", "--level 0.8 --min-confidence 0.7"),
        ("unseen-names", "direction=y_to_x&unfamiliar=0.2", "--reverse --unfamiliar 0.2"),
        ("unseen-names", "direction=y_to_x&values=false", "--reverse --no-values"),
    ] {
        let words = format!("predict m.bridged {file}.arrow -o - --format arrow {words}");
        let expected =
            folder.command(words.trim_end()).stderr(Stdio::null()).output().unwrap().stdout;
        assert!(expected.len() > 1000);
        let body = folder.read(&format!("{file}.arrow"));
        let path = format!("/v1/models/m/predict?{query}");
        let reply = served.ask("POST", &path, &[ARROW], &body);
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.header("content-type"), Some(ARROW.1));
        assert!(reply.body == expected, "{query}: other bytes");
        // A stream is read as well as a file, and JSON is answered by Arrow if that is asked for.
        if query.is_empty() {
            let (rows, ids) =
                rows_of(&bridged_io::read(&folder.path(&format!("{file}.arrow"))).unwrap());
            let accept = [JSON, ("Accept", ARROW.1)];
            let rows = json!({"rows": rows, "ids": ids}).to_string();
            let reply = served.ask("POST", &path, &accept, rows.as_bytes());
            folder.write("json.arrow", &reply.body);
            let again = served.ask(
                "POST",
                "/v1/models/m/predict",
                &[ARROW, ("Accept", "application/json")],
                &body,
            );
            assert_eq!(again.ok()["rows"].as_array().unwrap().len(), ids.len());
            let (a, b) = (bridged_io::read(&folder.path("json.arrow")).unwrap(), {
                folder.write("command.arrow", &expected);
                bridged_io::read(&folder.path("command.arrow")).unwrap()
            });
            let value = |t: &Table| format!("{:?}", t.column("value").unwrap().data);
            assert_eq!(value(&a), value(&b));
        }
    }
}

#[test]
fn a_request_that_cannot_be_answered_is_told_why_and_harms_nobody() {
    let folder = demo();
    let served = Served::start(&folder, "m.bridged --max-body 100KB");
    let (rows, _) = rows_of(&bridged_io::read(&folder.path("unseen-pictures.arrow")).unwrap());
    let good = json!({"row": rows[0]}).to_string();
    let predict = "/v1/models/m/predict";
    let expected = served.post(predict, &json!({"row": rows[0]})).ok();
    let wide = json!({"row": [1, 2, 3]}).to_string();
    let huge = json!({"row": vec![1e39; rows[0].len()]}).to_string();
    let nan = good.replacen('[', "[NaN, ", 1);
    let arrow = folder.read("unseen-pictures.arrow");
    let flipped: Vec<u8> =
        arrow.iter().enumerate().map(|(i, b)| if i % 97 == 50 { !b } else { *b }).collect();
    let text = ("Content-Type", "text/plain");
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [u8], u16, &'a str);
    let cases: &[Case<'_>] = &[
        ("POST", predict, &[JSON], b"{\"row\": [1, 2", 400, "EOF"),
        ("POST", predict, &[JSON], b"", 400, "EOF"),
        ("POST", predict, &[JSON], b"\xff\xfe{}", 400, "not the JSON"),
        ("POST", predict, &[JSON], nan.as_bytes(), 400, "not the JSON"),
        ("POST", predict, &[JSON], b"{\"rows\": []}", 422, "no rows"),
        (
            "POST",
            predict,
            &[JSON],
            wide.as_bytes(),
            422,
            "has 3 numbers, but the model's x side has",
        ),
        ("POST", predict, &[JSON], huge.as_bytes(), 422, "too large"),
        ("POST", predict, &[JSON], &[b' '; 200_000], 413, "more than"),
        ("POST", predict, &[text], good.as_bytes(), 415, "application/json"),
        ("POST", predict, &[], good.as_bytes(), 415, "application/json"),
        (
            "POST",
            predict,
            &[JSON, ("Accept", "image/png")],
            good.as_bytes(),
            406,
            "there are answers in",
        ),
        ("POST", predict, &[ARROW], b"ARROW1 or not", 400, "the body"),
        ("POST", predict, &[ARROW], &arrow[..arrow.len() / 2], 400, "the body"),
        ("POST", predict, &[ARROW], &flipped, 400, "the body"),
        ("POST", predict, &[ARROW], b"", 400, "the body"),
        (
            "POST",
            "/v1/models/m/predict?level=0.99999",
            &[JSON],
            good.as_bytes(),
            422,
            "the highest level is",
        ),
        ("POST", "/v1/models/m/predict?level=2", &[JSON], good.as_bytes(), 400, "from 0 to 1"),
        (
            "POST",
            "/v1/models/m/predict?nearst=2",
            &[JSON],
            good.as_bytes(),
            400,
            "did you mean `nearest`",
        ),
        ("POST", "/v1/models/other/predict", &[JSON], good.as_bytes(), 404, "there is m"),
        ("GET", "/v1/models/%00%ff", &[], b"", 404, "no model"),
        ("GET", "/v2", &[], b"", 404, "nothing at this path"),
        ("GET", predict, &[], b"", 405, "no such method"),
        ("DELETE", "/v1/models/m", &[], b"", 405, "no such method"),
        ("GET", "/health", &[("Host", "evil.example")], b"", 421, "Host"),
        ("GET", "/health", &[("Origin", "https://evil.example")], b"", 403, "origin"),
    ];
    for (method, path, headers, body, status, part) in cases {
        let reply = served.ask(method, path, headers, body);
        assert_eq!(reply.status, *status, "{method} {path}: {}", reply.text());
        let error = &reply.json()["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(part), "{method} {path}: {message}");
        assert!(error["kind"].is_string() && !message.contains("panicked"));
        assert_eq!(reply.header("allow").is_some(), *status == 405);
        assert!(reply.header("access-control-allow-origin").is_none());
    }
    assert_eq!(served.post(predict, &json!({"row": rows[0]})).ok(), expected);
    assert!(!served.said().contains("panicked"), "{}", served.said());
}

#[test]
fn half_bodies_and_slow_clients_are_let_go() {
    let folder = demo();
    let served =
        Served::start(&folder, "m.bridged --timeout 1 --header-timeout 1 --max-requests 2");
    let predict = "/v1/models/m/predict";
    // A body of which only half comes, from a client that goes away.
    let mut half = served.connect();
    let head = half.head("POST", predict, &[JSON], 1000);
    half.send(format!("{head}{{\"row\": [").as_bytes()).unwrap();
    drop(half);
    // From one that stays.
    let mut waits = served.connect();
    waits.send(format!("{head}{{\"row\": [").as_bytes()).unwrap();
    let reply = waits.reply().unwrap();
    assert_eq!(reply.status, 408, "{}", reply.text());
    // A header that drips, no header at all, and a connection that is kept for nothing.
    let mut drips = served.connect();
    let mut silent = served.connect();
    let mut kept = served.connect();
    assert_eq!(kept.ask("GET", "/health", &[], b"").status, 200);
    let start = Instant::now();
    while drips.send(b"G").is_ok() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(start.elapsed() < Duration::from_secs(5), "a header may not drip for ever");
    assert!(silent.is_closed_within(Duration::from_secs(5)));
    assert!(kept.is_closed_within(Duration::from_secs(5)));
    // Chunks without an end.
    let mut chunks = served.connect();
    let head = head.replace("Content-Length: 1000", "Transfer-Encoding: chunked");
    chunks.send(head.as_bytes()).unwrap();
    chunks.send(b"5\r\n{\"row\r\n").unwrap();
    assert_eq!(chunks.reply().unwrap().status, 408);
    // While two requests are under way, a third is told to come back.
    let mut busy: Vec<Client> = (0..2).map(|_| served.connect()).collect();
    let head = busy[0].head("POST", predict, &[JSON], 1000);
    busy.iter_mut().for_each(|client| client.send(head.as_bytes()).unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let reply = served.get("/health");
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    busy.iter_mut().for_each(|client| assert_eq!(client.reply().unwrap().status, 408));
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn several_models_are_called_by_their_names() {
    let folder = demo();
    folder.ok("fit --x names.parquet --y pictures.parquet --pairs pairs.csv --pairs-x name_id --pairs-y picture_id -k 5 -o other.bridged");
    let served = Served::start(&folder, "m.bridged second=other.bridged");
    let models = served.get("/v1/models").ok();
    let names: Vec<&Value> =
        models["models"].as_array().unwrap().iter().map(|m| &m["name"]).collect();
    assert_eq!(names, ["m", "second"]);
    assert_eq!(models["models"][1]["x"]["columns"], models["models"][0]["y"]["columns"]);
    assert_eq!(served.get("/v1/models/second").ok(), folder.json("inspect other.bridged"));
    let described = served.get("/v1/models/m").ok();
    let links = served.get("/v1/models/m/links?direction=y_to_x").ok();
    let links = links["clusters"].as_array().unwrap();
    assert_eq!(links.len() as u64, described["y"]["clusters"].as_u64().unwrap());
    for (link, row) in described["bridge"]["y_to_x"]["links"].as_array().unwrap().iter().zip(links)
    {
        assert_eq!(row["pairs"], link["pairs"]);
    }
    for bad in ["m.bridged m=other.bridged", "a,b=m.bridged", "no.bridged", "pairs.csv"] {
        let outcome = folder.run(&format!("serve {bad} --port 0"));
        assert!((1..=2).contains(&outcome.code), "{bad}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.trim_end().lines().count(), 1, "{}", outcome.stderr);
    }
}

#[cfg(unix)]
#[test]
fn other_machines_need_a_token_that_is_a_secret() {
    use std::os::unix::fs::PermissionsExt;
    let folder = demo();
    folder.fails(2, "serve m.bridged --host 0.0.0.0 --port 0", &["--token-file", "other machines"]);
    folder.fails(1, "serve m.bridged --host no.such.host.invalid", &["has no address"]);
    folder.fails(2, "serve m.bridged --allow-origin *", &["is no origin"]);
    folder.write("token", "a-secret-of-many-letters\n");
    std::fs::set_permissions(folder.path("token"), PermissionsExt::from_mode(0o644)).unwrap();
    folder.fails(1, "serve m.bridged --token-file token", &["other users may read", "chmod 600"]);
    std::fs::set_permissions(folder.path("token"), PermissionsExt::from_mode(0o600)).unwrap();
    folder.fails(1, "serve m.bridged --token-file none", &["`none`"]);

    let mut served = Served::start(
        &folder,
        "m.bridged --host 0.0.0.0 --token-file token --allow-origin https://example.org",
    );
    served.address.set_ip([127, 0, 0, 1].into());
    let document = {
        let token = ("Authorization", "Bearer a-secret-of-many-letters");
        served.ask("GET", "/openapi.json", &[token], b"").ok()
    };
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    for path in paths.iter().map(|p| p.as_str()).chain(["/v2", "/v1/models/m"]) {
        for token in ["", "Bearer a-secret-of-many-lettert", "Bearer "] {
            let reply = served.ask("GET", path, &[("Authorization", token)], b"");
            assert_eq!(reply.status, 401, "{path}");
            assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer"));
        }
        assert_eq!(served.get(path).status, 401);
    }
    // A page of the origin that was named may ask, also whether it may ask.
    let origin = ("Origin", "https://example.org");
    let preflight = served.ask(
        "OPTIONS",
        "/v1/models/m/predict",
        &[origin, ("Access-Control-Request-Method", "POST")],
        b"",
    );
    assert_eq!(
        (preflight.status, preflight.header("access-control-allow-origin")),
        (204, Some("https://example.org"))
    );
    assert_eq!(served.ask("GET", "/health", &[origin], b"").status, 401);
    // The port is taken.
    let port = served.address.port();
    folder.fails(1, &format!("serve m.bridged --port {port}"), &["in use by another program"]);
    assert!(!served.said().contains("a-secret"), "{}", served.said());
}

/// Two models of the same rows that answer differently, and what each says of a row.
fn two_models() -> Folder {
    let folder = demo();
    folder.ok("fit --x pictures.parquet --y names.parquet --pairs pairs.csv -k 3 --members one -o b.bridged");
    std::fs::copy(folder.path("m.bridged"), folder.path("a.bridged")).unwrap();
    folder
}

/// Puts a copy of a model in the place of another, whole or not at all.
fn replace(folder: &Folder, from: &str, to: &str) {
    std::fs::copy(folder.path(from), folder.path("next")).unwrap();
    std::fs::rename(folder.path("next"), folder.path(to)).unwrap();
}

#[test]
fn a_model_that_is_replaced_under_load_loses_no_request() {
    let folder = two_models();
    let served = Served::start(&folder, "m.bridged");
    let (rows, _) = rows_of(&bridged_io::read(&folder.path("unseen-pictures.arrow")).unwrap());
    let body = json!({"row": rows[0]}).to_string();
    let many = body_of(&vec![rows[1].clone(); 300]).to_string();
    let answer = |name: &str| {
        let served = Served::start(&folder, name);
        let stem = name.trim_end_matches(".bridged");
        let one = served
            .ask("POST", &format!("/v1/models/{stem}/predict"), &[JSON], body.as_bytes())
            .ok();
        let all = served
            .ask("POST", &format!("/v1/models/{stem}/predict"), &[JSON], many.as_bytes())
            .ok();
        (one["rows"].clone(), all["rows"].clone())
    };
    let (a, b) = (answer("a.bridged"), answer("b.bridged"));
    assert_ne!(a, b);
    let (over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (served, over, asked, body, many, a, b) =
                (&served, &over, &asked, &body, &many, &a, &b);
            scope.spawn(move || {
                let mut client = served.connect();
                while !over.load(Ordering::Relaxed) {
                    let large = thread == 3;
                    let text = if large { many } else { body };
                    let rows = client
                        .ask("POST", "/v1/models/m/predict", &[JSON], text.as_bytes())
                        .ok()["rows"]
                        .clone();
                    let known = if large { [&a.1, &b.1] } else { [&a.0, &b.0] };
                    assert!(known.contains(&&rows), "an answer of neither model: {rows}");
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..4 {
            replace(&folder, if round % 2 == 0 { "b.bridged" } else { "a.bridged" }, "m.bridged");
            let start = Instant::now();
            let loads = |health: Value| health["models"][0]["loads"].as_u64().unwrap();
            while loads(served.get("/health").ok()) < round + 2 {
                assert!(start.elapsed() < Duration::from_secs(20), "it is not read again");
                std::thread::sleep(Duration::from_millis(50));
            }
            let now = served.ask("POST", "/v1/models/m/predict", &[JSON], body.as_bytes()).ok();
            assert_eq!(now["rows"], if round % 2 == 0 { b.0.clone() } else { a.0.clone() });
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(asked.load(Ordering::Relaxed) > 50, "{asked:?} requests");
    assert_eq!(served.said().matches("read again in").count(), 4, "{}", served.said());
}

#[test]
fn a_broken_model_leaves_the_one_before_it_and_is_said() {
    let folder = two_models();
    let served = Served::start(&folder, "m.bridged");
    let (rows, _) = rows_of(&bridged_io::read(&folder.path("unseen-pictures.arrow")).unwrap());
    let ask = || served.post("/v1/models/m/predict?nearest=1", &json!({"row": rows[0]})).ok();
    let before = ask();
    let wait = |status: &str, part: &str| {
        let start = Instant::now();
        loop {
            let health = served.get("/health").ok();
            let problem = health["models"][0]["problem"].as_str().unwrap_or_default().to_owned();
            if health["status"] == status && problem.contains(part) {
                return health;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{health}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait("ok", "");
    // Half of it, written in its place; a flipped bit in the rows; and no file at all.
    let whole = folder.read("m.bridged");
    folder.write("m.bridged", &whole[..whole.len() / 2]);
    wait("stale", "damaged");
    assert_eq!(ask(), before);
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    folder.write("next", &flipped);
    std::fs::rename(folder.path("next"), folder.path("m.bridged")).unwrap();
    wait("stale", "checksum");
    assert_eq!(ask(), before);
    std::fs::remove_file(folder.path("m.bridged")).unwrap();
    wait("stale", "No such file");
    assert_eq!(ask(), before);
    replace(&folder, "b.bridged", "m.bridged");
    let health = wait("ok", "");
    assert_eq!(health["models"][0]["failures"], 2);
    assert_ne!(ask(), before);
    assert!(served.said().contains("the model before it is served on"), "{}", served.said());
    let metrics = served.get("/metrics").text();
    assert!(
        metrics.contains("bridged_model_loads_total{model=\"m\",outcome=\"failed\"} 2"),
        "{metrics}"
    );
}

#[cfg(unix)]
#[test]
fn a_server_that_is_killed_while_it_reads_a_model_harms_no_file() {
    let folder = two_models();
    let (a, b) = (folder.read("a.bridged"), folder.read("b.bridged"));
    let mut before = folder.files();
    for round in 0..6u64 {
        let mut served = Served::start(&folder, "m.bridged");
        let next = if round % 2 == 0 { "b.bridged" } else { "a.bridged" };
        replace(&folder, next, "m.bridged");
        std::thread::sleep(Duration::from_millis(700 + 100 * round)); // about when it looks
        served.signal("-KILL");
        served.wait();
        assert_eq!(folder.read("m.bridged"), if round % 2 == 0 { b.clone() } else { a.clone() });
        assert_eq!(folder.files(), std::mem::take(&mut before));
        before = folder.files();
    }
    assert_eq!(Served::start(&folder, "m.bridged").get("/health").ok()["status"], "ok");
}

#[cfg(unix)]
#[test]
fn requests_under_way_are_finished_when_the_server_is_told_to_stop() {
    let folder = demo();
    let (rows, _) = rows_of(&bridged_io::read(&folder.path("unseen-pictures.arrow")).unwrap());
    let body = json!({"row": rows[0]}).to_string();
    for signal in ["-TERM", "-INT"] {
        let mut served = Served::start(&folder, "m.bridged");
        let mut slow = served.connect();
        let head = slow.head("POST", "/v1/models/m/predict", &[JSON], body.len());
        slow.send(head.as_bytes()).unwrap();
        slow.send(&body.as_bytes()[..20]).unwrap();
        let mut kept = served.connect();
        assert_eq!(kept.ask("GET", "/health", &[], b"").status, 200);
        std::thread::sleep(Duration::from_millis(100));
        served.signal(signal);
        served.wait_for_line("stopping when the requests under way are finished");
        assert!(kept.is_closed_within(Duration::from_secs(5)), "an idle connection is closed");
        assert!(TcpStream::connect(served.address).is_err(), "nobody new is let in");
        slow.send(&body.as_bytes()[20..]).unwrap();
        let reply = slow.reply().unwrap();
        assert!(reply.ok()["rows"][0]["value"].is_array());
        assert_eq!(served.wait().code(), Some(0), "{}", served.said());
        served.wait_for_line("stopped");
    }
    // One that is never finished is cut off.
    let mut served = Served::start(&folder, "m.bridged --grace 1");
    let mut slow = served.connect();
    let head = slow.head("POST", "/v1/models/m/predict", &[JSON], 1000);
    slow.send(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    served.signal("-TERM");
    assert_eq!(served.wait().code(), Some(0));
    served.wait_for_line("cut off");
}

#[test]
fn the_document_names_every_route_and_the_page_shows_it_without_a_network() {
    let folder = demo();
    let served = Served::start(&folder, "m.bridged");
    let document = served.get("/openapi.json").ok();
    let paths = document["paths"].as_object().unwrap();
    let page = served.get("/");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("script"));
    let html = page.text();
    assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("<script"));
    let mut operations = 0;
    for (path, methods) in paths {
        assert!(html.contains(&format!(" {path}</code>")), "{path}");
        let real = path.replace("{model}", "m");
        for method in ["GET", "POST"] {
            let reply = served.ask(method, &real, &[], b"");
            let described = &methods[method.to_lowercase()];
            assert_eq!(reply.status == 405, described.is_null(), "{method} {path}");
            if !described.is_null() {
                operations += 1;
                let status = reply.status.to_string();
                assert!(described["responses"].get(&status).is_some(), "{method} {path}: {status}");
            }
        }
    }
    assert_eq!(operations, 10);
    // Every reference of the document leads somewhere.
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

#[test]
fn what_was_done_is_counted() {
    let folder = demo();
    let served = Served::start(&folder, "m.bridged");
    let (rows, _) = rows_of(&bridged_io::read(&folder.path("unseen-pictures.arrow")).unwrap());
    served.post("/v1/models/m/predict", &body_of(&rows[..3])).ok();
    served.ask("POST", "/v1/models/m/predict", &[ARROW], &folder.read("unseen-pictures.arrow"));
    served.get("/nowhere");
    let reply = served.get("/metrics");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = reply.text();
    for line in [
        "bridged_requests_total{route=\"/v1/models/{model}/predict\",status=\"200\"} 2".to_owned(),
        "bridged_requests_total{route=\"other\",status=\"404\"} 1".to_owned(),
        format!(
            "bridged_rows_predicted_total{{model=\"m\",direction=\"x_to_y\"}} {}",
            3 + rows.len()
        ),
        "bridged_model_current{model=\"m\"} 1".to_owned(),
        "bridged_requests_running 1".to_owned(),
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    // Every line is a comment or a name with labels and a number; buckets rise.
    let mut last = ("", 0.0);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap();
        if let Some((series, _)) = name.split_once(",le=") {
            assert!(series != last.0 || value >= last.1, "{line}");
            last = (series, value);
        }
    }
}

#[test]
#[ignore = "slow: 10,000 connections at once, and some minutes of requests"]
fn many_connections_and_many_requests_take_no_more_memory() {
    let folder = Folder::new();
    folder.write("x.csv", blobs("x", 2000, 10, 64));
    folder.write("y.csv", blobs("y", 2000, 10, 64));
    let pairs: String = (0..60).map(|i| format!("x{i},y{i}\n")).collect();
    folder.write("pairs.csv", format!("x,y\n{pairs}"));
    folder.ok("fit --x x.csv --y y.csv --pairs pairs.csv -k 20 -o m.bridged");
    let served = Served::start(&folder, "m.bridged --header-timeout 120 --max-connections 12000");
    let row: Vec<f32> = (0..64).map(|c| if c % 10 == 3 { 10.1 } else { 0.2 }).collect();
    let body = json!({"row": row}).to_string();
    let expected = served.ask("POST", "/v1/models/m/predict", &[JSON], body.as_bytes()).body;

    // 10,000 that stay, each from an address of its own where one has no more ports.
    let before = served.resident();
    let mut open = Vec::new();
    for i in 0..10_000 {
        match TcpStream::connect(served.address) {
            Ok(stream) => open.push(stream),
            Err(e) => panic!("connection {i}: {e}; see `ulimit -n`"),
        }
        if i % 1000 == 999 {
            let mut client = served.connect();
            let reply = client.ask("POST", "/v1/models/m/predict", &[JSON], body.as_bytes());
            assert!(reply.body == expected);
        }
    }
    let text = served.get("/metrics").text();
    let count = text.lines().find_map(|l| l.strip_prefix("bridged_connections ")).unwrap();
    assert!(count.parse::<f64>().unwrap() >= 10_000.0, "{count}");
    let each = (served.resident() - before) / 10;
    println!("{each} bytes × 1.024 a connection");
    assert!(each < 40_000, "{each} bytes a connection");
    drop(open);

    // Requests of every kind from four clients: memory settles, and stays.
    let seconds =
        std::env::var("BRIDGED_SOAK_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(180);
    let asked = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (served, over, asked, body, expected) = (&served, &over, &asked, &body, &expected);
            scope.spawn(move || {
                let mut round = 0usize;
                while !over.load(Ordering::Relaxed) {
                    let mut client = served.connect();
                    for _ in 0..200 {
                        round += 1;
                        let reply = match (thread, round % 50) {
                            (0, 1) => client.ask(
                                "POST",
                                "/v1/models/m/nearest?n=5",
                                &[JSON],
                                body.as_bytes(),
                            ),
                            (0, 2) => client.ask(
                                "POST",
                                "/v1/models/m/predict",
                                &[JSON],
                                b"{\"row\": [1]}",
                            ),
                            (0, 3) => client.ask("GET", "/metrics", &[], b""),
                            (1, 1) => client.ask("GET", "/v1/models/m/links", &[], b""),
                            _ => {
                                client.ask("POST", "/v1/models/m/predict", &[JSON], body.as_bytes())
                            }
                        };
                        assert!(matches!(reply.status, 200 | 422));
                        if round % 50 > 3 {
                            assert!(reply.body == *expected);
                        }
                        asked.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for _ in 0..10 {
            std::thread::sleep(Duration::from_secs(seconds) / 10);
            seen.push((asked.load(Ordering::Relaxed), served.resident()));
        }
        over.store(true, Ordering::Relaxed);
    });
    println!("requests, KiB: {seen:?}");
    let (middle, last) = (seen[4].1, seen[9].1);
    assert!(last <= middle + middle / 50 + 2048, "memory grows: {seen:?}");
}
