//! Jobs started from the page, and their end.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use super::client::{Result, Running};

/// The events of a server, as they come.
struct News(BufReader<std::net::TcpStream>);

impl News {
    fn of(server: &Running) -> Result<News> {
        let head = server.head().join("\r\n");
        let stream = server.send(&format!("GET /api/news HTTP/1.1\r\n{head}\r\n\r\n"))?;
        let mut news = News(BufReader::new(stream));
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if news.0.read_line(&mut line)? == 0 {
                return Err("no events".into());
            }
        }
        Ok(news)
    }

    /// The next event of this name; `None` when the server has ended.
    fn next(&mut self, name: &str) -> Result<Option<Value>> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            if let Some(data) = line.strip_prefix("data:") {
                let event: Value = serde_json::from_str(data)?;
                if event["news"] == name {
                    return Ok(Some(event));
                }
            }
        }
    }
}

const RUN: &str = r#"{"start":"run","file":"a.toml","set":["x.n=-1"],"records":"r"}"#;

#[test]
fn a_job_is_followed_by_every_page() -> Result<()> {
    let server = Running::begin("echo \"$*\"; echo second >&2; exit 3", false)?;
    let mut pages = [News::of(&server)?, News::of(&server)?];
    let (status, started) = server.ask("/api/start", RUN)?;
    assert_eq!((status, &started["id"]), (200, &1.into()));
    for page in &mut pages {
        let command = page.next("started")?.ok_or("ended")?;
        let expected = "mastermind run a.toml --set=x.n=-1 --records r";
        assert_eq!(command["command"], expected);
        let ended = page.next("ended")?.ok_or("ended")?;
        assert_eq!(ended["code"], 3);
    }
    let (_, jobs) = server.ask("/api/jobs", "")?;
    let lines = jobs[0]["lines"].as_array().ok_or("no lines")?;
    assert_eq!(jobs[0]["running"], false);
    assert!(lines.contains(&"second".into()), "{jobs}");
    assert!(
        lines.contains(&"run a.toml --set=x.n=-1 --records r".into()),
        "{jobs}"
    );
    Ok(())
}

#[test]
fn a_job_is_stopped_with_all_of_its_processes() -> Result<()> {
    // Its child would run for an hour.
    let server = Running::begin("echo begun; sleep 3600 & wait", false)?;
    let mut page = News::of(&server)?;
    server.ask("/api/start", RUN)?;
    page.next("line")?.ok_or("ended")?;
    let (_, stopped) = server.ask("/api/stop", r#"{"id":1}"#)?;
    assert_eq!(stopped["stopped"], true);
    let ended = page.next("ended")?.ok_or("ended")?;
    assert_eq!(ended["code"], Value::Null);
    let (_, again) = server.ask("/api/stop", r#"{"id":1}"#)?;
    assert_eq!(again["stopped"], false);
    Ok(())
}

#[test]
fn the_end_of_the_server_ends_its_jobs_and_pages() -> Result<()> {
    let mut server = Running::begin(
        "trap 'touch ended; exit 0' TERM; echo begun; sleep 3600 & wait",
        false,
    )?;
    let mut page = News::of(&server)?;
    server.ask("/api/start", RUN)?;
    page.next("line")?.ok_or("ended")?;
    server.end();
    assert_eq!(page.next("none")?, None);
    assert!(server.names()?.contains(&"ended".to_owned()));
    Ok(())
}
