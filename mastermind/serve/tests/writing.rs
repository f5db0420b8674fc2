//! Written files; nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::client::{Result, Running};

/// A program that answers with the text of the file in the question.
const READS: &str = "printf '{\"text\": \"%s\", \"of\": \"%s\"}' \"$(tr -d '\"\\n' < \"$2\")\" \"$2\"; echo \"note: $2\" >&2";

#[test]
fn an_edit_is_saved_and_no_other_change_is_lost() -> Result<()> {
    let server = Running::begin("", false)?;
    let path = server.folder.path().join("a.toml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    let before = fs::read_to_string(&path)?;
    let edits = serde_json::json!([{"edit": "set-class", "instance": "x", "class": "a.Y"}]);
    let body = serde_json::json!({"text": before, "edits": edits}).to_string();
    let (status, answer) = server.ask("/api/edit", &body)?;
    let text = answer["text"].as_str().ok_or("no text")?;
    assert_eq!((status, text), (200, before.replace("a.X", "a.Y").as_str()));
    assert_eq!(answer["assembly"]["instances"]["x"], "a.Y");
    assert_eq!(
        fs::read_to_string(&path)?,
        before,
        "an edit alone writes nothing"
    );

    let save = |was: Option<&str>, text: &str| {
        let body = serde_json::json!({"file": "a.toml", "was": was, "text": text});
        server.ask("/api/save", &body.to_string())
    };
    assert_eq!(save(Some(&before), text)?.0, 200);
    assert_eq!(fs::read_to_string(&path)?, text);
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    // A second page had read the file before.
    let (status, answer) = save(Some(&before), "lost")?;
    assert_eq!(status, 409, "{answer}");
    assert_eq!(save(None, "lost")?.0, 409);
    assert_eq!(fs::read_to_string(&path)?, text);
    assert_eq!(server.names()?, ["a.toml"]);
    Ok(())
}

#[test]
fn a_draft_is_asked_about_and_leaves_nothing() -> Result<()> {
    let server = Running::begin(READS, false)?;
    let body = serde_json::json!({"file": "a.toml", "text": "draft", "question": {"ask": "check"}});
    let (status, answer) = server.ask("/api/check", &body.to_string())?;
    assert_eq!(
        (status, &answer["answer"]["text"]),
        (200, &"draft".into()),
        "{answer}"
    );
    let asked = answer["answer"]["of"].as_str().unwrap_or_default();
    assert!(asked.ends_with(".toml") && asked != "a.toml", "{answer}");
    assert_eq!(answer["command"], "mastermind check a.toml --json");
    assert_eq!(answer["notes"][0], "note: a.toml");
    assert_eq!(server.names()?, ["a.toml"]);
    Ok(())
}

#[test]
fn a_read_only_page_writes_and_starts_nothing() -> Result<()> {
    let server = Running::begin("echo '{}'", true)?;
    for (path, body) in [
        ("/api/save", r#"{"file":"b.toml","was":null,"text":""}"#),
        ("/api/start", r#"{"start":"run","file":"a.toml"}"#),
        (
            "/api/swap",
            r#"{"id":1,"instance":"flux","class":"hydro.EfmFlux"}"#,
        ),
        (
            "/api/check",
            r#"{"file":"a.toml","text":"","question":{"ask":"check"}}"#,
        ),
    ] {
        let (status, answer) = server.ask(path, body)?;
        assert_eq!(status, 403, "{path}: {answer}");
    }
    assert_eq!(
        server
            .ask("/api/ask", r#"{"ask":"check","file":"a.toml"}"#)?
            .0,
        200
    );
    assert_eq!(server.ask("/api/jobs", "")?.1, serde_json::json!([]));
    assert_eq!(server.names()?, ["a.toml"]);
    Ok(())
}

#[test]
fn a_folder_that_is_not_writable_says_so() -> Result<()> {
    let server = Running::begin("", false)?;
    // The superuser may write anywhere: a file where the folder should be stops him too.
    let body = serde_json::json!({"file": "a.toml/b.toml", "was": null, "text": ""});
    let (status, answer) = server.ask("/api/save", &body.to_string())?;
    assert!((400..500).contains(&status), "{answer}");
    assert!(
        answer["error"]
            .as_str()
            .unwrap_or_default()
            .contains("a.toml/b.toml"),
        "{answer}"
    );
    Ok(())
}

#[test]
fn a_diagram_is_changed_in_its_text_and_nothing_is_written() -> Result<()> {
    let server = Running::begin("echo '{}'", true)?;
    let body = r#"{"file":"a.puml","text":"@startuml\nstart\n:a {cost = 1}; ' x\nstop\n@enduml\n",
        "edits":[{"edit":"set-word","key":"KEY","word":"cost","text":"2"}]}"#;
    let (status, answer) = server.ask("/api/diagram", &body.replace("KEY", "0.0"))?;
    assert_eq!(status, 200, "{answer}");
    let expected = "@startuml\nstart\n:a {cost = 2}; ' x\nstop\n@enduml\n";
    assert_eq!(answer["text"], expected);
    for (from, to) in [("KEY", "0.7"), ("KEY", "../a"), ("a.puml", "a.exe")] {
        let (status, answer) = server.ask("/api/diagram", &body.replace(from, to))?;
        assert_eq!(status, 400, "{to}: {answer}");
    }
    // A swap names an instance and a class, of a job that runs; nothing of it becomes an option.
    let server = Running::begin("sleep 60", false)?;
    for body in [
        r#"{"id":1,"instance":"flux","class":"hydro.EfmFlux"}"#,
        r#"{"id":1,"instance":"--help","class":"x"}"#,
    ] {
        let (status, answer) = server.ask("/api/swap", body)?;
        assert_eq!(status, 400, "{answer}");
    }
    Ok(())
}
