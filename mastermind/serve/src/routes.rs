//! The addresses of the server.
//!
//! | address | effect |
//! |---|---|
//! | `GET /`, `GET /FILE` | the files of the page; they contain nothing of the user's and need no token |
//! | `GET /api/folder` | the folder's name and entries, where to begin, whether it is read-only |
//! | `POST /api/ask` | answers a [`Question`] |
//! | `GET /api/text?file=F` | the text of a file |
//! | `POST /api/edit` | the text of an assembly after changes; writes nothing |
//! | `POST /api/diagram` | the elements of a diagram's text after changes, and that text; writes nothing |
//! | `POST /api/check` | the problems of the text of an assembly that is being edited |
//! | `POST /api/save` | writes a file, if it is unchanged since the page read it |
//! | `POST /api/start` | starts a [`Job`] |
//! | `POST /api/stop` | stops one |
//! | `POST /api/swap` | replaces an instance's class in a running assembly |
//! | `GET /api/jobs` | all of them |
//! | `GET /api/news` | events, as server-sent events |

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use mastermind_diagrams::edit as diagrams;
use rust_embed::RustEmbed;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, broadcast, watch};

use crate::edit::{Edit, edited};
use crate::folder::Listing;
use crate::guard::{self, Token};
use crate::jobs::{Jobs, News};
use crate::questions::{self, Job, Question};
use crate::{Error, Folder, Options, answers};

/// Maximum number of questions at a time; each is a process.
const AT_A_TIME: usize = 2;

/// Bodies of requests beyond this are refused, in bytes.
const MAX_BODY: usize = 8 * 1024 * 1024;

/// Minimum time between two scans of the folder while a page is open.
const LOOK: Duration = Duration::from_secs(1);

/// A pause in multiples of a scan's time: scans take at most one part in a hundred of a processor.
const PAUSE: u32 = 100;

/// The files of the page.
#[derive(RustEmbed)]
#[folder = "assets"]
struct Assets;

/// State that all requests share.
pub struct Shared {
    options: Options,
    folder: Folder,
    token: Token,
    port: u16,
    jobs: Arc<Jobs>,
    turns: Semaphore,
    over: watch::Sender<bool>,
}

impl Shared {
    pub fn new(options: Options, folder: Folder, token: Token, port: u16) -> Shared {
        Shared {
            options,
            folder,
            token,
            port,
            jobs: Jobs::new(),
            turns: Semaphore::new(AT_A_TIME),
            over: watch::channel(false).0,
        }
    }

    pub fn token(&self) -> &Token {
        &self.token
    }

    /// Ends jobs, and the streams of events that pages wait for.
    pub async fn end(&self) {
        self.jobs.end().await;
        self.over.send_replace(true);
    }

    fn writable(&self, act: &'static str) -> Result<(), Error> {
        if self.options.read_only {
            return Err(Error::ReadOnly(act));
        }
        Ok(())
    }
}

type Share = State<Arc<Shared>>;

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = match &self {
            Error::Outside { .. } | Error::ReadOnly(_) => StatusCode::FORBIDDEN,
            Error::Changed { .. } => StatusCode::CONFLICT,
            Error::File { reason, .. } if reason.kind() == std::io::ErrorKind::NotFound => {
                StatusCode::NOT_FOUND
            }
            Error::File { .. } | Error::Edit(_) | Error::Diagram(_) | Error::Question { .. } => {
                StatusCode::BAD_REQUEST
            }
            Error::Program { .. }
            | Error::Listen { .. }
            | Error::Serve { .. }
            | Error::Random(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        refused(status, &format!("error: {self}"))
    }
}

fn refused(status: StatusCode, sentence: &str) -> Response {
    (status, Json(serde_json::json!({ "error": sentence }))).into_response()
}

/// A valid body, or a refusal with the reason.
fn body<T>(given: Result<Json<T>, JsonRejection>) -> Result<T, Box<Response>> {
    match given {
        Ok(Json(body)) => Ok(body),
        Err(rejection) => Err(Box::new(refused(
            rejection.status(),
            &format!("error: cannot read request: {}", rejection.body_text()),
        ))),
    }
}

/// The addresses, with their guards.
pub fn router(shared: Arc<Shared>) -> Router {
    let api = Router::new()
        .route("/folder", get(folder))
        .route("/ask", post(ask))
        .route("/text", get(text))
        .route("/edit", post(edit))
        .route("/diagram", post(diagram))
        .route("/check", post(check))
        .route("/save", post(save))
        .route("/start", post(start))
        .route("/stop", post(stop))
        .route("/swap", post(swap))
        .route("/jobs", get(jobs))
        .route("/news", get(news))
        .fallback(|| async { refused(StatusCode::NOT_FOUND, "error: no such request") })
        .layer(middleware::from_fn_with_state(
            Arc::clone(&shared),
            with_token,
        ))
        .layer(DefaultBodyLimit::max(MAX_BODY));
    tokio::spawn(look(Arc::clone(&shared)));
    Router::new()
        .nest("/api", api)
        .route("/", get(|| async { asset("index.html") }))
        .route(
            "/{*path}",
            get(|Path(path): Path<String>| async move { asset(&path) }),
        )
        .layer(middleware::from_fn_with_state(
            Arc::clone(&shared),
            own_page,
        ))
        .with_state(shared)
}

/// Refuses requests from elsewhere, and adds the security policy to each answer.
async fn own_page(State(shared): Share, request: Request, next: Next) -> Response {
    let mut response = match guard::check_origin(request.headers(), shared.port) {
        Ok(()) => next.run(request).await,
        Err((status, sentence)) => refused(status, sentence),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, guard::POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            header::HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn with_token(State(shared): Share, request: Request, next: Next) -> Response {
    match guard::check_token(request.headers(), &shared.token) {
        Ok(()) => next.run(request).await,
        Err((status, sentence)) => refused(status, sentence),
    }
}

fn asset(path: &str) -> Response {
    let Some(file) = Assets::get(path) else {
        return refused(StatusCode::NOT_FOUND, "error: no such file of the page");
    };
    let kind = match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    };
    ([(header::CONTENT_TYPE, kind)], file.data).into_response()
}

#[derive(Serialize)]
struct Served {
    name: String,
    version: &'static str,
    start: Option<String>,
    read_only: bool,
    #[serde(flatten)]
    listing: Listing,
}

async fn folder(State(shared): Share) -> Response {
    let name = shared.folder.root().file_name();
    let start = shared.options.start.as_ref();
    Json(Served {
        name: name.unwrap_or_default().to_string_lossy().into_owned(),
        version: env!("CARGO_PKG_VERSION"),
        start: start.map(|start| start.to_string_lossy().into_owned()),
        read_only: shared.options.read_only,
        listing: listed(&shared).await,
    })
    .into_response()
}

/// The folder's entries, read where files may be waited for.
async fn listed(shared: &Arc<Shared>) -> Listing {
    let folder = shared.folder.clone();
    let listing = tokio::task::spawn_blocking(move || folder.list()).await;
    listing.unwrap_or_default()
}

async fn ask(State(shared): Share, question: Result<Json<Question>, JsonRejection>) -> Response {
    let question = match body(question) {
        Ok(question) => question,
        Err(response) => return *response,
    };
    match question.arguments(&shared.folder) {
        Ok(arguments) => answered(&shared, &arguments).await,
        Err(error) => error.into_response(),
    }
}

async fn answered(shared: &Shared, arguments: &[std::ffi::OsString]) -> Response {
    let _turn = shared.turns.acquire().await;
    let root = shared.folder.root();
    match answers::ask(&shared.options.program, root, arguments).await {
        Ok(answer) => Json(answer).into_response(),
        Err(error) => error.into_response(),
    }
}

#[derive(Deserialize)]
struct Named {
    file: String,
}

async fn text(State(shared): Share, named: Result<Query<Named>, QueryRejection>) -> Response {
    let Ok(Query(named)) = named else {
        return refused(StatusCode::BAD_REQUEST, "error: no file named");
    };
    match shared.folder.text(&named.file) {
        Ok(text) => Json(serde_json::json!({ "text": text })).into_response(),
        Err(error) => error.into_response(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Editing {
    text: String,
    edits: Vec<Edit>,
}

async fn edit(editing: Result<Json<Editing>, JsonRejection>) -> Response {
    let editing = match body(editing) {
        Ok(editing) => editing,
        Err(response) => return *response,
    };
    match edited(&editing.text, &editing.edits) {
        Ok(text) => {
            let assembly = text.parse::<toml::Table>().ok();
            Json(serde_json::json!({ "text": text, "assembly": assembly })).into_response()
        }
        Err(error) => error.into_response(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditingDiagram {
    /// Name from which the form is detected.
    file: String,
    text: String,
    edits: Vec<diagrams::Edit>,
}

async fn diagram(editing: Result<Json<EditingDiagram>, JsonRejection>) -> Response {
    let editing = match body(editing) {
        Ok(editing) => editing,
        Err(response) => return *response,
    };
    let Some(form) = diagrams::Form::of(&editing.file, &editing.text) else {
        let sentence = "error: cannot edit diagram by its elements: expected TOML, PlantUML or XMI";
        return refused(StatusCode::BAD_REQUEST, sentence);
    };
    // Long texts take their time; others are answered meanwhile.
    let edited = tokio::task::spawn_blocking(move || {
        let text = diagrams::edited(&editing.text, form, &editing.edits)?;
        let outline = diagrams::outline(&text, form)?;
        Ok::<_, diagrams::EditError>((text, outline))
    });
    match edited.await {
        Ok(Ok((text, outline))) => {
            let kinds = diagrams::kinds();
            Json(serde_json::json!({ "text": text, "outline": outline, "kinds": kinds }))
                .into_response()
        }
        Ok(Err(error)) => Error::Diagram(error).into_response(),
        Err(_) => refused(
            StatusCode::INTERNAL_SERVER_ERROR,
            "error: cannot edit diagram",
        ),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    /// The file that is edited; its folder is where relative paths of the text begin.
    file: String,
    text: String,
    /// The question about the draft, without its `file`.
    question: serde_json::Map<String, serde_json::Value>,
}

/// Runs a question about an unsaved text: it is written next to its file under a hidden name while the question runs.
async fn check(State(shared): Share, draft: Result<Json<Draft>, JsonRejection>) -> Response {
    let draft = match body(draft) {
        Ok(draft) => draft,
        Err(response) => return *response,
    };
    match answered_draft(&shared, draft).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

async fn answered_draft(shared: &Shared, mut draft: Draft) -> Result<Response, Error> {
    shared.writable("check what is not saved")?;
    let file = shared.folder.new_file(&draft.file)?;
    let below = file.parent().unwrap_or(std::path::Path::new(""));
    let failed = |reason| Error::File {
        act: "write a draft of",
        path: file.clone(),
        reason,
    };
    // Verbs detect the type of a file by its ending.
    let ending = file.extension().map(std::ffi::OsStr::to_string_lossy);
    let suffix = ending.map_or_else(String::new, |ending| format!(".{ending}"));
    let mut hidden = tempfile::Builder::new()
        .prefix(".draft-")
        .suffix(&suffix)
        .tempfile_in(shared.folder.root().join(below))
        .map_err(failed)?;
    std::io::Write::write_all(&mut hidden, draft.text.as_bytes()).map_err(failed)?;
    let name = hidden.path().file_name().unwrap_or_default();
    let path = below.join(name).to_string_lossy().into_owned();
    draft
        .question
        .insert("file".to_owned(), path.clone().into());
    let question = serde_json::Value::Object(draft.question);
    let question: Question = serde_json::from_value(question).map_err(|error| Error::Question {
        what: "an answer",
        found: error.to_string(),
    })?;
    let arguments = question.arguments(&shared.folder)?;
    let _turn = shared.turns.acquire().await;
    let root = shared.folder.root();
    let mut answer = answers::ask(&shared.options.program, root, &arguments).await?;
    // The answer names the file that is edited.
    answer.rename(&path, &file.to_string_lossy());
    Ok(Json(answer).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Saving {
    file: String,
    was: Option<String>,
    text: String,
}

async fn save(State(shared): Share, saving: Result<Json<Saving>, JsonRejection>) -> Response {
    let saving = match body(saving) {
        Ok(saving) => saving,
        Err(response) => return *response,
    };
    let written = shared.writable("save").and_then(|()| {
        let was = saving.was.as_deref();
        shared.folder.write(&saving.file, was, &saving.text)
    });
    match written {
        Ok(()) => {
            shared.jobs.publish(News::Files);
            Json(serde_json::json!({ "saved": saving.file })).into_response()
        }
        Err(error) => error.into_response(),
    }
}

async fn start(State(shared): Share, job: Result<Json<Job>, JsonRejection>) -> Response {
    let job = match body(job) {
        Ok(job) => job,
        Err(response) => return *response,
    };
    let started = shared.writable("start anything").and_then(|()| {
        let arguments = job.arguments(&shared.folder)?;
        let root = shared.folder.root();
        shared.jobs.start(&shared.options.program, root, &arguments)
    });
    match started {
        Ok(id) => Json(serde_json::json!({ "id": id })).into_response(),
        Err(error) => error.into_response(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stopping {
    id: u64,
}

async fn stop(State(shared): Share, stopping: Result<Json<Stopping>, JsonRejection>) -> Response {
    let stopping = match body(stopping) {
        Ok(stopping) => stopping,
        Err(response) => return *response,
    };
    let stopped = shared.jobs.stop(stopping.id);
    Json(serde_json::json!({ "stopped": stopped })).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Swapping {
    /// The job that runs the assembly.
    id: u64,
    instance: String,
    class: String,
}

async fn swap(State(shared): Share, swapping: Result<Json<Swapping>, JsonRejection>) -> Response {
    let swapping = match body(swapping) {
        Ok(swapping) => swapping,
        Err(response) => return *response,
    };
    let started = shared.writable("swap").and_then(|()| {
        let process = shared.jobs.process(swapping.id);
        let process = process.ok_or_else(|| Error::Question {
            what: "a swap",
            found: format!("job {} does not run", swapping.id),
        })?;
        let arguments = questions::swap(process, &swapping.instance, &swapping.class)?;
        let root = shared.folder.root();
        shared.jobs.start(&shared.options.program, root, &arguments)
    });
    match started {
        Ok(id) => Json(serde_json::json!({ "id": id })).into_response(),
        Err(error) => error.into_response(),
    }
}

async fn jobs(State(shared): Share) -> Response {
    Json(shared.jobs.list()).into_response()
}

/// Events from now on; ends with the server, and when a page has fallen behind, so that it requests everything again.
async fn news(State(shared): Share) -> Response {
    let listening = shared.jobs.listen();
    let over = shared.over.subscribe();
    let events = events(listening, over);
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}

fn events(
    listening: broadcast::Receiver<News>,
    over: watch::Receiver<bool>,
) -> impl futures_util::Stream<Item = Result<Event, Infallible>> {
    let state = (listening, over);
    futures_util::stream::unfold(state, |(mut listening, mut over)| async move {
        let news = tokio::select! {
            news = listening.recv() => news.ok()?,
            _ = over.wait_for(|over| *over) => return None,
        };
        let event = Event::default().json_data(&news).ok()?;
        Some((Ok(event), (listening, over)))
    })
}

/// Scans the folder while a page is open, and reports changes.
async fn look(shared: Arc<Shared>) {
    let mut over = shared.over.subscribe();
    let mut before = None;
    let mut pause = LOOK;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = over.wait_for(|over| *over) => return,
        }
        if shared.jobs.listeners() == 0 {
            before = None;
            continue;
        }
        let begin = Instant::now();
        let now = listed(&shared).await;
        pause = LOOK.max(PAUSE * begin.elapsed());
        if before.as_ref().is_some_and(|before| *before != now) {
            shared.jobs.publish(News::Files);
        }
        before = Some(now);
    }
}
