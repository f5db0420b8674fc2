//! The page: a server for this machine alone that shows the answers of the verbs of `mastermind` in a
//! browser.
//!
//! The server computes nothing. Each view of the page is a [`Question`], which is a verb with its arguments; the server
//! runs the program with them, with `--json`, and returns its output, so that a number on the page is the number on the
//! terminal, and every view can show the command line that gives the same. Writing or running something is a [`Job`]
//! and needs a click.
//!
//! | module | contents |
//! |---|---|
//! | `guard` | access control: only this machine's own page, with the token of the printed address |
//! | `folder` | the one folder that is shown; no path leads out of it |
//! | `questions` | the questions of the page, and the command line of each |
//! | `answers` | runs a question and returns the document, the notes and the error |
//! | `edit` | changes of an assembly file that keep every other byte |
//! | `jobs` | jobs started from the page: their output as it comes, their end |
//! | `routes` | the addresses of the server |
//!
//! ```no_run
//! # async fn example() -> Result<(), mastermind_serve::Error> {
//! use mastermind_serve::{Options, Server};
//! let options = Options { program: "mastermind".into(), folder: "study".into(), start: None, read_only: false, port: 0 };
//! let server = Server::bind(options).await?;
//! println!("{}", server.url());
//! server.run(std::future::pending()).await
//! # }
//! ```

mod answers;
mod edit;
mod error;
mod folder;
mod guard;
mod jobs;
mod questions;
mod routes;

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;

pub use edit::{Edit, edited};
pub use error::Error;
pub use folder::{Folder, Kind};
pub use questions::{Job, Question};

/// Settings of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program whose verbs answer: the `mastermind` binary.
    pub program: PathBuf,
    /// The folder that is shown, and the only one that is written to.
    pub folder: PathBuf,
    /// The file or record directory that the page opens first, from the folder.
    pub start: Option<PathBuf>,
    /// Whether the page may neither write nor run anything.
    pub read_only: bool,
    /// The port; 0 for any free one.
    pub port: u16,
}

/// A server that listens, and has not begun to answer.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<routes::Shared>,
}

impl Server {
    /// Listens on this machine's own address, `127.0.0.1`.
    ///
    /// # Errors
    /// The folder cannot be read, the port is taken, or the system returns no random bytes.
    pub async fn bind(options: Options) -> Result<Server, Error> {
        let folder = Folder::open(&options.folder)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))
            .await
            .map_err(|reason| Error::Listen {
                port: options.port,
                reason,
            })?;
        let address = listener.local_addr().map_err(|reason| Error::Listen {
            port: options.port,
            reason,
        })?;
        let token = guard::Token::random()?;
        let shared = routes::Shared::new(options, folder, token, address.port());
        Ok(Server {
            listener,
            address,
            shared: Arc::new(shared),
        })
    }

    /// The address to open in a browser, with the token that the page sends with each request. The token is behind `#`,
    /// so a browser never sends it by itself.
    #[must_use]
    pub fn url(&self) -> String {
        let token = self.shared.token();
        format!("http://127.0.0.1:{}/#token={token}", self.address.port())
    }

    /// Answers until `until` is over; then ends the jobs started from the page.
    ///
    /// # Errors
    /// The system refuses further connections.
    pub async fn run(self, until: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let router = routes::router(Arc::clone(&shared));
        let ended = {
            let shared = Arc::clone(&shared);
            async move {
                until.await;
                shared.end().await;
            }
        };
        axum::serve(self.listener, router)
            .with_graceful_shutdown(ended)
            .await
            .map_err(|reason| Error::Serve { reason })
    }
}
