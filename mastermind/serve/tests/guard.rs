//! Accepted and refused requests.

use super::client::{Result, Running};

/// A program that answers anything.
const ANSWERS: &str = "echo '{\"arguments\": \"'\"$*\"'\"}'";

const QUESTION: &str = r#"{"ask":"check","file":"a.toml"}"#;

#[test]
fn the_page_is_answered() -> Result<()> {
    let server = Running::begin(ANSWERS, false)?;
    let (status, answer) = server.ask("/api/ask", QUESTION)?;
    assert_eq!(status, 200);
    assert_eq!(answer["command"], "mastermind check a.toml --json");
    assert_eq!(answer["answer"]["arguments"], "check a.toml --json");
    let (status, folder) = server.ask("/api/folder", "")?;
    assert_eq!(
        (status, &folder["entries"][0]["kind"]),
        (200, &"assembly".into())
    );
    Ok(())
}

#[test]
fn nobody_else_is_answered() -> Result<()> {
    let server = Running::begin("touch ran", false)?;
    let port = server.port;
    let token = format!("x-mastermind-token: {}", server.token);
    let own = format!("host: 127.0.0.1:{port}");
    let cases: [(&str, Vec<String>, u16); 8] = [
        ("no token", vec![own.clone()], 401),
        (
            "another token",
            vec![
                own.clone(),
                format!("x-mastermind-token: {}", "0".repeat(32)),
            ],
            401,
        ),
        (
            "a rebound name",
            vec![format!("host: evil.example:{port}"), token.clone()],
            403,
        ),
        (
            "another port",
            vec!["host: 127.0.0.1:1".into(), token.clone()],
            403,
        ),
        ("no host", vec![token.clone()], 403),
        (
            "a page of another site",
            vec![
                own.clone(),
                token.clone(),
                "origin: http://evil.example".into(),
            ],
            403,
        ),
        (
            "a file that was opened",
            vec![own.clone(), token.clone(), "origin: null".into()],
            403,
        ),
        (
            "a form of another site",
            vec![
                own.clone(),
                token.clone(),
                "sec-fetch-site: cross-site".into(),
            ],
            403,
        ),
    ];
    for (who, head, expected) in cases {
        for (method, path, body) in [
            ("POST", "/api/ask", QUESTION),
            ("POST", "/api/start", r#"{"start":"run","file":"a.toml"}"#),
            (
                "POST",
                "/api/swap",
                r#"{"id":1,"instance":"a","class":"b"}"#,
            ),
            (
                "POST",
                "/api/diagram",
                r#"{"file":"a.puml","text":"@startuml\n@enduml\n","edits":[]}"#,
            ),
            ("POST", "/api/save", r#"{"file":"b","was":null,"text":""}"#),
            ("GET", "/api/text?file=a.toml", ""),
            ("GET", "/api/folder", ""),
            ("GET", "/api/news", ""),
        ] {
            let (status, _) = server.raw(method, path, &head, body)?;
            // HTTP itself requires a host.
            let accepted = status == expected || (who == "no host" && status == 400);
            assert!(accepted, "{who}: {method} {path}: {status}");
        }
    }
    assert_eq!(server.names()?, ["a.toml"]);
    Ok(())
}

#[test]
fn the_files_of_the_page_may_do_nothing_else() -> Result<()> {
    let server = Running::begin(ANSWERS, false)?;
    let own = [format!("host: localhost:{}", server.port)];
    for path in ["/", "/main.js", "/page.css"] {
        let (status, response) = server.raw("GET", path, &own, "")?;
        assert_eq!(status, 200, "{path}");
        let response = response.to_ascii_lowercase();
        for line in [
            "content-security-policy: default-src 'self'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
        ] {
            assert!(response.contains(line), "{path}: {line}");
        }
        assert!(!response.contains("access-control-allow"), "{path}");
        assert!(!response.contains(&server.token), "{path}");
    }
    for path in ["/../Cargo.toml", "/%2e%2e/Cargo.toml", "/no.js", "/api/no"] {
        let (status, _) = server.raw("GET", path, &server.head(), "")?;
        assert_eq!(status, 404, "{path}");
    }
    Ok(())
}

#[test]
fn what_is_no_request_is_refused() -> Result<()> {
    let server = Running::begin(ANSWERS, false)?;
    for body in [
        "{",
        "[]",
        r#"{"ask":"run","file":"a.toml"}"#,
        r#"{"ask":"check"}"#,
        r#"{"ask":"check","file":"a.toml","--set":"x"}"#,
        r#"{"ask":"check","file":7}"#,
    ] {
        let (status, answer) = server.ask("/api/ask", body)?;
        assert!((400..500).contains(&status), "{body}: {status}");
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.starts_with("error: cannot"), "{body}: {answer}");
    }
    let (status, _) = server.ask("/api/ask", r#"{"ask":"check","file":"../a"}"#)?;
    assert_eq!(status, 403);
    let long = format!(r#"{{"text":"{}","edits":[]}}"#, "x".repeat(9 << 20));
    // The server may end the connection before it has read all of it.
    if let Ok((status, _)) = server.ask("/api/edit", &long) {
        assert_eq!(status, 413);
    }
    assert_eq!(server.ask("/api/ask", QUESTION)?.0, 200);
    Ok(())
}
