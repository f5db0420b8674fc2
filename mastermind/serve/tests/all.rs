//! The server over its socket: accepted and refused requests, written files, started and ended jobs. The program that
//! answers is a script.

mod client;
mod guard;
mod jobs;
mod writing;
