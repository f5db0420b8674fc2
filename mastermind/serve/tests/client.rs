//! A server in a folder of its own, and requests as bytes: no client library comes between the test and the server.

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread::JoinHandle;

use mastermind_serve::{Options, Server};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A server that runs.
pub struct Running {
    pub folder: TempDir,
    pub port: u16,
    pub token: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    // The program is elsewhere, so that the folder contains only served files.
    _program: TempDir,
}

impl Running {
    /// Serves a folder with an assembly, `a.toml`; `script` is the program that answers.
    pub fn begin(script: &str, read_only: bool) -> Result<Running> {
        let folder = tempfile::tempdir()?;
        fs::write(
            folder.path().join("a.toml"),
            "[assembly]\nname = \"a\"\n\n[instances]\nx = \"a.X\" # first\n",
        )?;
        let elsewhere = tempfile::tempdir()?;
        let program = elsewhere.path().join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        let options = Options {
            program,
            folder: PathBuf::from(folder.path()),
            start: None,
            read_only,
            port: 0,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let server = runtime.block_on(Server::bind(options))?;
        let url = server.url();
        let (address, token) = url.split_once("/#token=").ok_or("no token")?;
        let port = address.rsplit(':').next().unwrap_or_default().parse()?;
        let token = token.to_owned();
        let (end, ended) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let until = async {
                let _ = ended.await;
            };
            // A server that cannot continue closes its socket, at which the test fails.
            let _ = runtime.block_on(server.run(until));
        });
        Ok(Running {
            folder,
            port,
            token,
            end: Some(end),
            thread: Some(thread),
            _program: elsewhere,
        })
    }

    /// Ends the server and waits for it.
    pub fn end(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Opens a connection and sends bytes.
    pub fn send(&self, bytes: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.write_all(bytes.as_bytes())?;
        Ok(stream)
    }

    /// The status and the whole response to a request with these lines of head.
    pub fn raw(
        &self,
        method: &str,
        path: &str,
        head: &[String],
        body: &str,
    ) -> Result<(u16, String)> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for line in head {
            text += &format!("{line}\r\n");
        }
        if !body.is_empty() {
            text += &format!(
                "content-type: application/json\r\ncontent-length: {}\r\n",
                body.len()
            );
        }
        let mut stream = self.send(&format!("{text}\r\n{body}"))?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let status = response.split(' ').nth(1).ok_or("no status")?.parse()?;
        Ok((status, response))
    }

    /// The lines of head of this page's own requests.
    pub fn head(&self) -> Vec<String> {
        vec![
            format!("host: 127.0.0.1:{}", self.port),
            format!("x-mastermind-token: {}", self.token),
        ]
    }

    /// A request as the page sends it: status and document.
    pub fn ask(&self, path: &str, body: &str) -> Result<(u16, Value)> {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let (status, response) = self.raw(method, path, &self.head(), body)?;
        let (_, body) = response.split_once("\r\n\r\n").ok_or("no body")?;
        Ok((status, serde_json::from_str(body)?))
    }

    /// The names in the folder.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.folder.path())? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
