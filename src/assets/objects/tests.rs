//! Object stores for the tests of this room, and servers that fail.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread,
};

use super::*;
use access::{Access, Client};
use client::time_to_send;
use object_store::{
    ObjectStoreExt as _, StaticCredentialProvider, aws::AwsCredential, memory::InMemory,
};

const BUCKET: &str = "platform-bucket";

fn with(name: &str, access: Access, client: Client) -> Objects {
    let objects = Objects::of(&Storage::default());
    let bucket = Bucket::with(Service::S3, name, access, client).unwrap();
    lock(&objects.0.buckets).insert((Service::S3, name.to_owned()), Arc::new(bucket));
    objects
}

pub(in crate::assets) fn in_memory() -> Objects {
    let client = Client {
        store: Arc::new(InMemory::new()),
        parts: None,
        signer: None,
    };
    let access = Access {
        memory: Some(client.clone()),
        ..Access::default()
    };
    with(BUCKET, access, client)
}

pub(in crate::assets) fn at(endpoint: &str, keys: (&str, &str)) -> Objects {
    bucket_at(endpoint, keys, BUCKET)
}

pub(in crate::assets) fn bucket_at(endpoint: &str, keys: (&str, &str), name: &str) -> Objects {
    let keys = AwsCredential {
        key_id: keys.0.to_owned(),
        secret_key: keys.1.to_owned(),
        token: None,
    };
    let access = Access {
        endpoint: Some(endpoint.parse().unwrap()),
        region: Some("us-east-1".to_owned()),
        keys: Some(Arc::new(StaticCredentialProvider::new(keys))),
        memory: None,
    };
    let client = access
        .client(Service::S3, name, &client::Purpose::Early)
        .unwrap();
    with(name, access, client)
}

impl Objects {
    /// The same stores with other clients.
    pub(in crate::assets) fn anew(&self) -> Self {
        let objects = Self::of(&self.0.storage);
        for ((service, name), bucket) in lock(&self.0.buckets).iter() {
            let access = bucket.access.clone();
            // A connection belongs to the runtime of the bucket that opened it.
            let client = bucket.client(&client::Purpose::Early).unwrap();
            let bucket = Bucket::with(*service, name, access, client).unwrap();
            lock(&objects.0.buckets).insert((*service, name.clone()), Arc::new(bucket));
        }
        objects
    }
}

/// Puts an object as another program does.
pub(in crate::assets) fn put(objects: &Objects, uri: &Uri, content: &'static [u8]) {
    let ObjectPlace { bucket, path } = objects.must_place(uri).unwrap();
    let client = bucket.client.clone();
    bucket
        .wait(&|| true, async {
            client.store.put(&path, content.into()).await
        })
        .unwrap();
}

/// Answers each request on loopback with the next of these texts, and the last one for ever. Keeps the heads of the requests.
fn answering(answers: &[&str]) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head = lines.by_ref().map_while(Result::ok);
            let head: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
            let mut asked = lock(&count);
            let at = asked.len().min(answers.len() - 1);
            asked.push(head.join("\n"));
            drop(asked);
            let _ = stream.write_all(answers[at].as_bytes());
        }
    });
    (endpoint, asked)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

const FOUND: &str = "ETag: \"a\"\r\nLast-Modified: Mon, 23 Feb 2026 10:00:00 GMT\r\n";

fn uri() -> Uri {
    Uri::parse("s3://platform-bucket/a/key.wav").unwrap()
}

fn look_at(answers: &[&str]) -> (Result<ObjectPrint, ObjectError>, usize) {
    let (endpoint, asked) = answering(answers);
    let found = at(&endpoint, ("id-of-key", "secret-of-key")).look(&uri(), &|| true);
    (found, lock(&asked).len())
}

#[test]
fn a_burst_of_server_errors_is_waited_out_and_a_longer_one_is_told() {
    let busy = answer("503 Slow Down", "", "<Error><Code>SlowDown</Code></Error>");
    let head = answer("200 OK", FOUND, "");
    let (found, asked) = look_at(&[&busy, &busy, &head]);
    assert_eq!((found.unwrap().etag.as_deref(), asked), (Some("\"a\""), 3));
    let (found, asked) = look_at(&[&busy]);
    let error = found.unwrap_err();
    assert_eq!(error.why, Why::Unreachable("it answers 503".to_owned()));
    assert_eq!(asked, 4);
}

#[test]
fn the_code_of_a_refusal_is_told_and_nothing_else_of_it() {
    let refusal = |code: &str| {
        let body = format!(
            "<Error><Code>{code}</Code><AWSAccessKeyId>id-of-key</AWSAccessKeyId><StringToSign>s</StringToSign>\
             <SignatureProvided>f00d</SignatureProvided></Error>"
        );
        answer("403 Forbidden", "", &body)
    };
    let bare = answer("403 Forbidden", "", "");
    for (code, hint) in [
        ("RequestTimeTooSkewed", "the clock of this machine is off"),
        ("ExpiredToken", "the credentials have expired"),
        ("AccessDenied", "denies access (AccessDenied)"),
        ("NoSuchBucket", "the bucket does not exist"),
        ("PermanentRedirect", "the bucket is elsewhere"),
        ("Bad Code<", "denies access"),
    ] {
        let (found, _) = look_at(&[&bare, &refusal(code)]);
        let told = found.unwrap_err().to_string();
        assert!(told.contains(hint), "{told}");
        assert!(
            !["id-of-key", "f00d", "StringToSign", "Bad"]
                .iter()
                .any(|word| told.contains(word)),
            "{told}"
        );
    }
}

#[test]
fn the_time_to_send_grows_with_the_size() {
    // 300,000 bytes a second.
    for bytes in [7_500_000, 2 * upload::PART] {
        assert!(time_to_send(bytes).as_secs() > bytes / 300_000);
    }
    assert!(time_to_send(0).as_secs() <= 10);
}

#[test]
fn what_cannot_be_in_a_header_or_an_address_is_refused_without_its_value() {
    for region in ["eu\n", "ü", "a b"] {
        let storage = Storage {
            uri: "s3://platform-bucket".to_owned(),
            region: Some(region.to_owned()),
            ..Storage::default()
        };
        let error = Objects::of(&storage).look(&uri(), &|| true).unwrap_err();
        assert!(
            matches!(&error.why, Why::Refused(why) if why.contains("`storage.region`") && !why.contains(region)),
            "{error}"
        );
    }
}

#[test]
fn an_object_without_etag_and_version_is_unknown() {
    let bare = answer(
        "200 OK",
        "Last-Modified: Mon, 23 Feb 2026 10:00:00 GMT\r\n",
        "",
    );
    let (endpoint, _) = answering(&[&bare]);
    let objects = at(&endpoint, ("id", "secret"));
    let print = objects.print(&uri(), Fresh::Yes, &|| true).unwrap();
    assert_eq!(print.sight, Sight::Unknown);
}

#[test]
fn a_redirect_is_not_followed() {
    let (elsewhere, asked) = answering(&[&answer("200 OK", FOUND, "")]);
    let redirect = answer(
        "307 Temporary Redirect",
        &format!("Location: {elsewhere}/a\r\n"),
        "",
    );
    let (found, _) = look_at(&[&redirect]);
    let told = found.unwrap_err().to_string();
    assert!(told.contains("the bucket is elsewhere"), "{told}");
    assert_eq!(lock(&asked).len(), 0);
}

/// Stores `RIFF` on a server that answers this. Returns how often it was asked.
fn store_at(answers: &[&str]) -> (Result<ObjectPrint, ObjectError>, usize) {
    let (stored, asked) = store_while(answers, &|_| true);
    (stored, asked.len())
}

/// Stores `RIFF` on a server that answers this, `[MARK]` being the right one, as long as the requests allow it. Returns
/// the requests.
fn store_while(
    answers: &[&str],
    go_on: &dyn Fn(&[String]) -> bool,
) -> (Result<ObjectPrint, ObjectError>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let file = dir.join("file");
    std::fs::write(&file, "RIFF").unwrap();
    let nowhere = at("http://127.0.0.1:9", ("id", "secret"));
    let ObjectPlace { bucket, path } = nowhere.must_place(&uri()).unwrap();
    let mark = notes::mark(dir, &bucket, &path).unwrap();
    let answers: Vec<String> = answers
        .iter()
        .map(|answer| answer.replace("[MARK]", &mark))
        .collect();
    let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    let (endpoint, asked) = answering(&answers);
    let objects = at(&endpoint, ("id", "secret"));
    let ObjectPlace { bucket, .. } = objects.must_place(&uri()).unwrap();
    notes::keep_conditions(dir, &bucket, Conditions::Honoured);
    let about = About {
        bytes: 4,
        sha256: "a".repeat(64),
        operation: "op_1".to_owned(),
        media_type: "audio/wav",
    };
    let go_on = || go_on(&lock(&asked));
    let file = File::open(file).unwrap();
    let sending = objects.send(&uri(), &file, about, dir, &go_on).unwrap();
    let stored = objects.commit(sending, &go_on);
    let asked = lock(&asked).clone();
    (stored, asked)
}

/// The answers to the two requests of a look at what is not there.
fn absent() -> [String; 2] {
    let missing = answer("404 Not Found", "", "<Error><Code>NoSuchKey</Code></Error>");
    [answer("404 Not Found", "", ""), missing]
}

/// The answer to a look at an object with that mark and SHA-256.
fn there(mark: &str, sha256: &str) -> String {
    let sha256 = sha256.repeat(64);
    let headers =
        format!("{FOUND}x-amz-meta-oneact-sha256: {sha256}\r\nx-amz-meta-oneact-mark: {mark}\r\n");
    answer("200 OK", &headers, "RIFF").replace("\r\n\r\nRIFF", "\r\n\r\n")
}

#[test]
fn content_that_the_store_refuses_is_sent_again_with_its_hash() {
    let [head, get] = &absent();
    let bad = answer(
        "400 Bad Request",
        "",
        "<Error><Code>BadDigest</Code></Error>",
    );
    let done = answer("200 OK", "ETag: \"a\"\r\n", "");
    let answers = [head, get, &bad, head, get, &done, &there("[MARK]", "a")];
    let (stored, asked) = store_while(&answers.map(String::as_str), &|_| true);
    assert_eq!(stored.unwrap().bytes, 4);
    let puts: Vec<&String> = asked
        .iter()
        .filter(|head| head.starts_with("PUT"))
        .collect();
    assert_eq!(puts.len(), 2);
    let hash = "x-amz-checksum-sha256: pA/z1ZAPt2mLjIZQQTR8tJ7M7cj5OUX4limtEEquzOQ=";
    assert!(puts.iter().all(|head| head.contains(hash)), "{puts:?}");
    // For ever: the failure is that of a server, and nothing is stored.
    let (stored, _) = store_while(&[head, get, &bad], &|asked| asked.len() < 3);
    assert!(matches!(
        stored.unwrap_err().why,
        Why::Altered(_) | Why::Stopped
    ));
}

#[test]
fn an_object_that_only_claims_to_be_the_same_is_neither_taken_nor_replaced() {
    for sha256 in ["a", "b"] {
        let (stored, asked) = store_at(&[&there("of another root", sha256)]);
        assert_eq!((stored.unwrap_err().why, asked), (Why::Occupied, 1));
    }
    let (stored, asked) = store_at(&[&there("[MARK]", "a")]);
    assert_eq!((stored.unwrap().bytes, asked), (4, 1));
}

#[test]
fn a_write_of_unknown_end_is_told_with_the_place() {
    let [head, get] = &absent();
    let denied = answer(
        "403 Forbidden",
        "",
        "<Error><Code>AccessDenied</Code></Error>",
    );
    // The look after a lost answer is denied.
    let (stored, _) = store_at(&[head, get, "", &denied]);
    let told = stored.unwrap_err().to_string();
    assert!(
        told.contains("s3://platform-bucket/a/key.wav") && told.contains("may be stored there"),
        "{told}"
    );
    // The run ends while the write is under way.
    let (stored, _) = store_while(&[head, get, ""], &|asked| asked.len() < 4);
    let error = stored.unwrap_err();
    assert_eq!(error.why, Why::Unsure(Box::new(Why::Stopped)));
    // Before the write, nothing is stored.
    let (stored, _) = store_while(&[head, ""], &|asked| asked.len() < 2);
    assert_eq!(stored.unwrap_err().why, Why::Stopped);
}

#[test]
fn a_write_whose_answer_is_lost_or_that_meets_another_is_decided_by_a_look() {
    let absent = absent();
    let there = |sha256| there("[MARK]", sha256);
    let done = answer("200 OK", "ETag: \"a\"\r\n", "");
    let conflict = answer(
        "409 Conflict",
        "",
        "<Error><Code>ConditionalRequestConflict</Code></Error>",
    );
    let exists = answer(
        "412 Precondition Failed",
        "",
        "<Error><Code>PreconditionFailed</Code></Error>",
    );
    let [head, get] = &absent;
    // Lost: the connection ends without an answer.
    let (stored, _) = store_at(&[head, get, "", &there("a")]);
    assert_eq!(stored.unwrap().bytes, 4);
    // Lost, sent again by the library after a 503, and then refused because it is there.
    let busy = answer("503 Slow Down", "", "");
    let (stored, _) = store_at(&[head, get, &busy, &exists, &there("a")]);
    assert_eq!(stored.unwrap().bytes, 4);
    // A conflict says nothing about what is there.
    let (stored, asked) = store_at(&[head, get, &conflict, head, get, &done, &there("a")]);
    assert_eq!((stored.unwrap().bytes, asked), (4, 7));
    // Another run of this session has replaced it meanwhile.
    let (stored, _) = store_at(&[head, get, &done, &there("b")]);
    assert_eq!(stored.unwrap_err().why, Why::Changed);
    // The bucket is gone.
    let gone = answer(
        "404 Not Found",
        "",
        "<Error><Code>NoSuchBucket</Code></Error>",
    );
    let (stored, _) = store_at(&[head, get, &gone]);
    assert_eq!(stored.unwrap_err().why, Why::NoBucket);
}

#[test]
fn what_does_not_arrive_whole_or_as_it_was_stored_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let copied = |to: &str, headers: &str, body: &str, rest: usize| {
        let headers = format!("{FOUND}{headers}");
        let whole = "x".repeat(body.len() + rest);
        let head = answer("200 OK", &headers, &whole).replace(&whole, "");
        let cut = answer("200 OK", &headers, &whole).replace(&whole, body);
        let (endpoint, _) = answering(&[&head, &cut]);
        let objects = at(&endpoint, ("id", "secret"));
        objects.look(&uri(), &|| true).unwrap();
        objects.copy(&uri(), &dir.join(to), &|| true)
    };
    assert_eq!(copied("whole", "", "RIFF", 0).unwrap(), 4);
    // The library asks for the rest, and gets everything again.
    assert!(copied("cut", "", "RIFF", 10).is_err());
    let other = format!("x-amz-meta-oneact-sha256: {}\r\n", "0".repeat(64));
    let error = copied("other", &other, "RIFF", 0).unwrap_err().to_string();
    assert!(error.contains("does not have the SHA-256"), "{error}");
}

#[test]
fn the_parts_of_a_large_object_belong_to_the_object_that_was_seen() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let (part, size) = (8 << 20, 32 << 20);
    let of = |number: usize, status: &str, etag: &str| {
        let begin = number * part;
        let headers = FOUND.replace("\"a\"", etag);
        let range = format!(
            "Content-Range: bytes {begin}-{}/{size}\r\n",
            begin + part - 1
        );
        answer(
            status,
            &format!("{headers}{range}"),
            &number.to_string().repeat(part),
        )
    };
    let whole = answer("200 OK", FOUND, &"w".repeat(size));
    let head = whole.trim_end_matches('w');
    let copied = |to: &str, answers: &[&str]| {
        let (endpoint, asked) = answering(&[&[head], answers].concat());
        let objects = at(&endpoint, ("id", "secret"));
        objects.look(&uri(), &|| true).unwrap();
        let copied = objects.copy(&uri(), &dir.join(to), &|| true);
        (
            copied.map_err(|error| error.to_string()),
            lock(&asked).clone(),
        )
    };
    let partial = |number| of(number, "206 Partial Content", "\"a\"");
    let (first, other) = (partial(0), of(1, "206 Partial Content", "\"b\""));
    let (error, asked) = copied("changed", &[&first, &other]);
    assert!(error.unwrap_err().contains("changed"));
    assert!(
        asked
            .iter()
            .skip(1)
            .all(|head| head.contains("if-match: \"a\"")),
        "{asked:?}"
    );
    // A server that answers a range with everything, or with another range, is asked for everything.
    let (bytes, _) = copied("ignored", &[&whole, &whole]);
    assert_eq!(bytes, Ok(size as u64));
    let (bytes, asked) = copied("wrong", &[&partial(1), &whole]);
    assert_eq!(bytes, Ok(size as u64));
    assert!(!asked[2].contains("range:"), "{asked:?}");
}

#[test]
fn a_silent_server_holds_nobody_up_for_longer_than_the_run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let asked = std::cell::Cell::new(0);
    let go_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 5
    };
    let error = at(&endpoint, ("id", "secret"))
        .look(&uri(), &go_on)
        .unwrap_err();
    assert_eq!(error.why, Why::Stopped);
}
