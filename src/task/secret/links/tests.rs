//! Links as they are written, and what of them may be shown.

use serde_json::json;

use super::*;

#[test]
fn of_a_signed_link_only_the_signature_goes() {
    for (signed, plain) in [
        (
            "https://b.s3.amazonaws.com/a.mp4?X-Amz-Date=20260101T000000Z&versionId=3&X-Amz-Signature=aa#t=1",
            "https://b.s3.amazonaws.com/a.mp4?versionId=3#t=1",
        ),
        (
            "https://b.s3.amazonaws.com/a?AWSAccessKeyId=A&Expires=1&Signature=x",
            "https://b.s3.amazonaws.com/a",
        ),
        (
            "HTTPS://d1.cloudfront.net/a?size=2&Expires=1&Signature=x&Key-Pair-Id=K",
            "HTTPS://d1.cloudfront.net/a?size=2",
        ),
        (
            "https://storage.googleapis.com/b/a?X-Goog-Credential=c&X-Goog-Signature=x&generation=5",
            "https://storage.googleapis.com/b/a?generation=5",
        ),
        (
            "https://x.blob.core.windows.net/c/a?sv=2024-11-04&se=2026&sr=b&sp=r&sig=x&snapshot=7",
            "https://x.blob.core.windows.net/c/a?snapshot=7",
        ),
        (
            "https://b.oss-cn-beijing.aliyuncs.com/a?x-oss-process=image/resize,w_1&x-oss-date=1&x-oss-signature=x",
            "https://b.oss-cn-beijing.aliyuncs.com/a?x-oss-process=image/resize,w_1",
        ),
    ] {
        assert_eq!(unsigned(signed), plain);
    }
}

#[test]
fn what_only_looks_like_a_part_of_a_signature_stays() {
    for text in [
        "https://crm/api?policy=123",
        "https://crm/api?expires=1&signature=2",
        "https://crm/api?token=1&auth=2&sign=3",
        "https://crm/api?sp=1&st=2&se=3",
        "https://crm/api?X-Amz-Date=1",
        "see https://b/a?X-Amz-Signature=aa",
        "ssh://alice@h",
        "?X-Amz-Signature=aa",
        "https://crm/api",
    ] {
        assert_eq!(unsigned(text), text);
    }
}

#[test]
fn what_signs_a_link_is_known_also_where_its_name_is_escaped() {
    assert_eq!(
        unsigned("https://b/a?X%2DAmz%2DSignature=aa&x-amz%2ddate=1&v=2"),
        "https://b/a?v=2"
    );
    assert_eq!(
        unsigned("https://b/a?q-sign-algorithm=sha1&q-ak=A&q-sign-time=1&q-signature=x&v=2"),
        "https://b/a?v=2"
    );
}

#[test]
fn presign_parts_are_cut_wherever_the_url_stands() {
    let cases = [
        (
            "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4&X-Amz-Credential=AKIA%2F1&X-Amz-Expires=60&x-amz-signature=ab12",
            "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=***&X-Amz-Credential=***&X-Amz-Expires=***&x-amz-signature=***",
        ),
        (
            "GET /k?sig=a%2Bb%3D&se=2030 failed",
            "GET /k?sig=***&se=2030 failed",
        ),
        (
            r#"{"u":"https://h/?token=abc","n":1}"#,
            r#"{"u":"https://h/?token=***","n":1}"#,
        ),
        (
            r"https:\/\/h\/k?a=1\u0026Signature=x\/y\u0026b=2",
            r"https:\/\/h\/k?a=1\u0026Signature=***\u0026b=2",
        ),
        (
            "<a href='https://h/?a=1&amp;Signature=xy&amp;b=2'>",
            "<a href='https://h/?a=1&amp;Signature=***&amp;b=2'>",
        ),
        (
            "https://p/?u=https%3A%2F%2Fh%2F%3Fsig%3Dabc%26x%3D1&z=2",
            "https://p/?u=https%3A%2F%2Fh%2F%3Fsig%3D***%26x%3D1&z=2",
        ),
        (
            "ftp://user:p@ss:w@host/x and https://tok@h",
            "ftp://***@host/x and https://***@h",
        ),
        ("https:///u:pw@h/x", "https:///***@h/x"),
        (
            r"HTTP:\\\\u:pw@h, https:u:pw@h",
            r"HTTP:\\\\***@h, https:***@h",
        ),
        ("https://u:1Hunter2Pw", "https://***"),
        (
            "https://h/?token=http://u:p@host/&a=1",
            "https://h/?token=***&a=1",
        ),
        (
            "https://h/?AWSAccessKeyId=AK&Signature=s",
            "https://h/?AWSAccessKeyId=***&Signature=***",
        ),
    ];
    for (text, shown) in cases {
        assert_eq!(redact_presigned(text), shown);
        assert_eq!(redact_presigned(shown), shown, "a second time");
    }
}

#[test]
fn links_are_cut_in_names_too_and_no_member_is_lost() {
    let mut value = json!({
        "https://u:PW@h/x?X-Amz-Signature=A": 1,
        "a": [{"https://h/?sig=B": {"https://h/?sig=C": 2}, "https://h/?sig=D": 3}],
        "b": 4,
    });
    let shown = json!({
        "https://***@h/x?X-Amz-Signature=***": 1,
        "a": [{"https://h/?sig=***": {"https://h/?sig=***": 2}, "https://h/?sig=*** (2)": 3}],
        "b": 4,
    });
    redact_value(&mut value);
    assert_eq!(value, shown);
    redact_value(&mut value);
    assert_eq!(value, shown, "a second time");
}

#[test]
fn a_text_without_secrets_is_borrowed_as_it_is() {
    for text in [
        "",
        "a@b.c",
        "https://h/?max_token=3&design=x",
        "died with sig=9",
        "file:///a=b",
        "://",
        "see https://h:8080, or https:h",
        "?sig=",
        "é?ü=ß",
    ] {
        assert!(
            matches!(redact_presigned(text), Cow::Borrowed(same) if same == text),
            "{text}"
        );
    }
}

#[test]
fn a_text_made_of_secret_names_is_cut_in_one_pass() {
    // Quadratic work would take minutes for this.
    let text = "?sig=".repeat(200_000);
    assert_eq!(redact_presigned(&text), "?sig=***");
    let text = "&sig=".repeat(200_000);
    assert_eq!(redact_presigned(&text), text);
    let text = format!("{}=x", "a".repeat(1_000_000)).repeat(2);
    assert_eq!(redact_presigned(&text), text);
}

#[test]
fn a_link_is_found_raw_and_with_one_level_of_escapes() {
    let cases = [
        (r"https:\/\/user:pw@h", r"https:\/\/***@h"),
        ("https:///u:pw@h", "https:///***@h"),
        ("https%3A%2F%2Fu%3Apw%40h%2F", "https%3A%2F%2F***%40h%2F"),
        (
            r"\u0068ttps\u003a\u002f\u002fu:pw\u0040h",
            r"\u0068ttps\u003a\u002f\u002f***\u0040h",
        ),
        ("postgres://u:PW", "postgres://***"),
        ("postgres://u:PW/db", "postgres://***/db"),
        ("redis://:PW", "redis://***"),
        ("postgres://u:p/w@h/db", "postgres://***/w@h/db"),
        ("postgres://u:p%40w@h/db", "postgres://***@h/db"),
        ("postgres://u:pa'ssREST@h/db", "postgres://***@h/db"),
        (
            r"https://h/?a=1\u0026token\u003dabc\u0026b=2",
            r"https://h/?a=1\u0026token\u003d***\u0026b=2",
        ),
        (
            r#"{\"u\":\"https://h/?sig=ab\\/c\",\"n\":1}"#,
            r#"{\"u\":\"https://h/?sig=***\",\"n\":1}"#,
        ),
        (
            "https://h/?X%2DAmz-Signature=ab",
            "https://h/?X%2DAmz-Signature=***",
        ),
        (
            "/?key=a&code=b&private_token=c&auth_key=d",
            "/?key=***&code=***&private_token=***&auth_key=***",
        ),
        (
            "/?refresh_token=a&x-api-key=b&q-signature=c",
            "/?refresh_token=***&x-api-key=***&q-signature=***",
        ),
        (
            "/?user[password]=a&user%5Bpassword%5D=b&token[0]=c&db.pwd=d",
            "/?user[password]=***&user%5Bpassword%5D=***&token[0]=***&db.pwd=***",
        ),
        (
            "/?$token=a&x:token=b&~token=c&connect.sid=e&SAMLResponse=f",
            "/?$token=***&x:token=***&~token=***&connect.sid=***&SAMLResponse=***",
        ),
        ("https://h/?token=ab'cREST&n=1", "https://h/?token=***&n=1"),
        // A quotation mark in front of a link ends it.
        (
            "['postgres://u:p', `redis://:p`, <https://h/?sig=a>] me@h",
            "['postgres://***', `redis://***`, <https://h/?sig=***>] me@h",
        ),
        (
            r#"{"u":"postgres://u:pa'ss@h","m":"x@y"}"#,
            r#"{"u":"postgres://***@h","m":"x@y"}"#,
        ),
        (
            "<b>https://h/?token=a</b> <https://u:p@h>, x@y",
            "<b>https://h/?token=***</b> <https://***@h>, x@y",
        ),
    ];
    for (text, shown) in cases {
        assert_eq!(redact_presigned(text), shown, "{text}");
        assert_eq!(redact_presigned(shown), shown, "a second time");
    }
}

#[test]
fn what_is_no_secret_is_shown() {
    for text in [
        "http://localhost:8080, http://[::1]:80/ and (http://h:1).",
        "see https://h/@user/a and mailto:u@h",
        "http://localhost:8080/@vite/client and https://h:443/a?mail=a@b",
        "http://localhost:8080 or me@corp, \"http://h:80\",\"a@b\"",
        r"C:\\Users\\me@corp",
        "12:30:45 a::b file:///C:/a",
        r#"{"a":"b@c","d":1}"#,
        "git@host:path and scp host:/srv",
        "https://h/?page_token=3&se=2030&keyword=a",
        "a=b&amp;c=d%20e",
    ] {
        assert!(matches!(redact_presigned(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn a_text_made_of_beginnings_is_read_in_one_pass() {
    // Quadratic work would take minutes for these.
    for part in [
        "://",
        "a:/b",
        "http://u:p/",
        "http://u:1!",
        "'http://u:p",
        "\"a://u:p",
        r#"\"a://u:p\"#,
        "?sig='",
        r"?sig=\\\\",
        "&a=",
        r"\u003d",
        "%3Dsig",
        "http://u:p ",
        "http://u:p\u{3000}",
    ] {
        let text = part.repeat(200_000);
        let _ = redact_presigned(&text);
    }
}

fn shown(url: &str) -> String {
    presentable(&Url::parse(url).unwrap())
}

#[test]
fn parameters_that_grant_access_go_and_the_others_stay_as_they_were() {
    assert_eq!(
        shown(
            "https://b.example/k.mp4?v=1&X-Amz-Signature=abc&x%2Damz-date=2&part=a%20b&Expires=9&sig=z"
        ),
        "https://b.example/k.mp4?v=1&part=a%20b"
    );
}

#[test]
fn a_query_of_secrets_alone_disappears() {
    assert_eq!(
        shown("https://b.example/k?token=t&AWSAccessKeyId=k&Signature=s"),
        "https://b.example/k"
    );
}

#[test]
fn user_name_password_and_fragment_are_cut() {
    assert_eq!(
        shown("http://me:word@b.example:8080/k?a=1#access_token=t"),
        "http://b.example:8080/k?a=1"
    );
}

#[test]
fn an_id_with_a_signature_is_kept_without_it_and_stays_another_one() {
    assert_eq!(recorded_id("task_5"), "task_5");
    let one = recorded_id("https://u:PW@h/?sig=ONE");
    let other = recorded_id("https://u:PW@h/?sig=TWO");
    assert!(one.starts_with("https://***@h/?sig=*** sha256:"), "{one}");
    assert_ne!(one, other);
    assert!(!one.contains("ONE") && !one.contains("PW"));
}
