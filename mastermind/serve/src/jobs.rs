//! Jobs started from the page: their output as it comes, their end, and how they are stopped. All
//! open pages see the
//!
//! A question has an answer; a job has a life: it prints for minutes, is stopped, outlives the page
//! that started it. `Jobs` keeps every job with its last lines of output, and sends news of all of
//! them to every open page by a broadcast channel, so two windows show the same. A page that falls
//! behind is not waited for: it asks for the whole list again.
//!
//! ```text
//! start ─▶ process group of its own ─ stdout, stderr ─▶ Line, Line, … ─▶ every page
//! stop  ─▶ SIGTERM to the group, 5 s, SIGKILL           Ended { code }, Files
//! ```
//!
//! A job is a process group, so that a signal also reaches the programs that the verb has started,
//! such as launchers and ranks.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::{broadcast, watch};

use crate::Error;
use crate::answers::command_of;
use crate::questions::shown;

/// Lines of output that are kept of a job; the first ones go.
const MAX_LINES: usize = 5000;

/// A longer line is cut, in bytes.
const MAX_LINE: u64 = 16 * 1024;

/// Ended jobs that are kept.
const MAX_JOBS: usize = 50;

/// Number of events that a page may fall behind by; then it requests everything again.
const MAX_BEHIND: usize = 1024;

/// Time for a job to end after a request to end.
const GRACE: Duration = Duration::from_secs(5);

/// A job as the page sees it.
#[derive(Clone, Debug, Serialize)]
pub struct JobView {
    /// Its number, from 1.
    pub id: u64,
    /// Its command line.
    pub command: String,
    /// Whether it runs.
    pub running: bool,
    /// Its exit code; `None` while it runs, and where a signal ended it.
    pub code: Option<i32>,
    /// Lines that were dropped before the first one of `lines`.
    pub dropped: usize,
    /// Its output, both streams as they came.
    pub lines: VecDeque<String>,
}

/// An event that every open page receives, so that all of them show the same.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "news", rename_all = "kebab-case")]
pub enum News {
    /// A job was started.
    Started {
        /// The job.
        id: u64,
        /// Its command line.
        command: String,
    },
    /// A job printed a line.
    Line {
        /// The job.
        id: u64,
        /// The line.
        line: String,
    },
    /// A job is over.
    Ended {
        /// The job.
        id: u64,
        /// Its exit code.
        code: Option<i32>,
    },
    /// Files of the folder have changed.
    Files,
}

struct Job {
    seen: JobView,
    stop: watch::Sender<bool>,
    process: Option<u32>,
}

/// All jobs of a server, those that run and the latest that have ended, and the channel of news to
/// the open pages.
pub struct Jobs {
    jobs: Mutex<Vec<Job>>,
    news: broadcast::Sender<News>,
}

impl Jobs {
    pub fn new() -> Arc<Jobs> {
        Arc::new(Jobs {
            jobs: Mutex::new(Vec::new()),
            news: broadcast::channel(MAX_BEHIND).0,
        })
    }

    /// No code with this lock can panic; the data is consistent.
    fn jobs(&self) -> MutexGuard<'_, Vec<Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn listen(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    /// How many pages listen.
    pub fn listeners(&self) -> usize {
        self.news.receiver_count()
    }

    pub fn publish(&self, news: News) {
        // Without open pages the event is dropped.
        let _ = self.news.send(news);
    }

    /// The process of a job that runs.
    pub fn process(&self, id: u64) -> Option<u32> {
        let jobs = self.jobs();
        let job = jobs
            .iter()
            .find(|job| job.seen.id == id && job.seen.running);
        job.and_then(|job| job.process)
    }

    pub fn list(&self) -> Vec<JobView> {
        self.jobs().iter().map(|job| job.seen.clone()).collect()
    }

    /// Starts a program in a process group of its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        self: &Arc<Self>,
        program: &Path,
        folder: &Path,
        arguments: &[OsString],
    ) -> Result<u64, Error> {
        let command = shown(arguments);
        let mut child = command_of(program, folder, arguments)
            .process_group(0)
            .spawn()
            .map_err(|error| Error::Program {
                command: command.clone(),
                found: error.to_string(),
            })?;
        let (stop, mut stopped) = watch::channel(false);
        let id = {
            let mut jobs = self.jobs();
            // Running jobs are never dropped, whatever their number.
            while jobs.len() >= MAX_JOBS
                && let Some(ended) = jobs.iter().position(|job| !job.seen.running)
            {
                jobs.remove(ended);
            }
            let id = jobs.last().map_or(0, |job| job.seen.id) + 1;
            jobs.push(Job {
                seen: JobView {
                    id,
                    command: command.clone(),
                    running: true,
                    code: None,
                    dropped: 0,
                    lines: VecDeque::new(),
                },
                stop,
                process: child.id(),
            });
            id
        };
        self.publish(News::Started { id, command });
        let readers = [
            child
                .stdout
                .take()
                .map(|out| tokio::spawn(Arc::clone(self).read(id, BufReader::new(out)))),
            child
                .stderr
                .take()
                .map(|err| tokio::spawn(Arc::clone(self).read(id, BufReader::new(err)))),
        ];
        let jobs = Arc::clone(self);
        tokio::spawn(async move {
            let group = child.id();
            let ended = tokio::select! {
                ended = child.wait() => ended,
                () = asked(&mut stopped) => {
                    signal(group, libc::SIGTERM);
                    match tokio::time::timeout(GRACE, child.wait()).await {
                        Ok(ended) => ended,
                        Err(_) => {
                            signal(group, libc::SIGKILL);
                            child.wait().await
                        }
                    }
                }
            };
            // Its remaining output comes before its end; a process that it left behind may keep its output open for
            // ever.
            for reader in readers.into_iter().flatten() {
                let _ = tokio::time::timeout(GRACE, reader).await;
            }
            let code = ended.ok().and_then(|status| status.code());
            if let Some(job) = jobs.jobs().iter_mut().find(|job| job.seen.id == id) {
                job.seen.running = false;
                job.seen.code = code;
            }
            jobs.publish(News::Ended { id, code });
            jobs.publish(News::Files);
        });
        Ok(id)
    }

    async fn read(self: Arc<Self>, id: u64, mut from: impl AsyncRead + AsyncBufReadExt + Unpin) {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut from)
                // A program may print without ever ending a line.
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)
                .await;
            if !matches!(read, Ok(1..)) {
                return;
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\n', '\r']).to_owned();
            if let Some(job) = self.jobs().iter_mut().find(|job| job.seen.id == id) {
                if job.seen.lines.len() >= MAX_LINES {
                    job.seen.lines.pop_front();
                    job.seen.dropped += 1;
                }
                job.seen.lines.push_back(text.clone());
            }
            self.publish(News::Line { id, line: text });
        }
    }

    /// Requests a job to end; returns whether it ran.
    pub fn stop(&self, id: u64) -> bool {
        let jobs = self.jobs();
        let job = jobs
            .iter()
            .find(|job| job.seen.id == id && job.seen.running);
        job.is_some_and(|job| job.stop.send(true).is_ok())
    }

    /// Ends all that run, and waits until they have ended.
    pub async fn end(&self) {
        let mut news = self.listen();
        let running: Vec<u64> = {
            let jobs = self.jobs();
            let running = jobs.iter().filter(|job| job.seen.running);
            running.map(|job| job.seen.id).collect()
        };
        for id in &running {
            self.stop(*id);
        }
        while self.list().iter().any(|job| job.running) {
            if let Err(broadcast::error::RecvError::Closed) = news.recv().await {
                return;
            }
        }
    }
}

/// Until the job shall stop.
async fn asked(stopped: &mut watch::Receiver<bool>) {
    if stopped.wait_for(|stopped| *stopped).await.is_err() {
        // No request can come any more.
        std::future::pending::<()>().await;
    }
}

/// Sends a signal to the processes of a job.
fn signal(group: Option<u32>, signal: libc::c_int) {
    if let Some(group) = group.and_then(|group| libc::pid_t::try_from(group).ok()) {
        // SAFETY: kill takes numbers; the group belongs to a child that was not waited for, so its number is not
        // another's.
        unsafe { libc::kill(-group, signal) };
    }
}
