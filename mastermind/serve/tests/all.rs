//! The server over its socket: who is answered, what is written, what is started and ended. The program that answers is a script.

mod client;
mod guard;
mod jobs;
mod writing;
