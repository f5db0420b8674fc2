//! Ccaffeine's rc scripts, and the commands of an interactive shell: one line, one command.
//!
//! * [`Script`]: a script's lines as they are in its file, comments and `!code{}` directives included;
//! * [`Command`]: one line understood, or [`RcError`]: a command is told by any unambiguous beginning of its name or of
//!   an alias; what is ambiguous, unknown or has too many arguments is passed over by the caller, as Ccaffeine does;
//! * [`Interpreter`]: carries commands out on a [`Framework`](crate::Framework), through the same calls as a TOML
//!   assembly; what is shown, started or run by the system goes through a [`Host`].
//!
//! As in Ccaffeine, instances and the classes of `instantiate` may be named caselessly, by a beginning or by a part of
//! their name; a backslash at the end joins lines; `#!eof` ends a script; folders of the path that are not there are passed
//! over; `.cca` index files name libraries and classes. A line that fails is told and passed over by the caller.
//!
//! Where Ccaffeine's own table of commands and this one differ: `pal` means `pallet`, which is also called `palette`
//! (Ccaffeine takes it for ambiguous); a script's relative paths begin at its folder; the command `eof` ends a script; a
//! part of a name that fits several takes the first of them, as there, but a warning names them; the framework's
//! services (communicator, progress) are connected by themselves.

mod command;
mod error;
mod interpreter;
mod matching;
mod properties;
mod script;
mod show;

pub use command::{COMMANDS, Command, CommandHelp, find};
pub use error::RcError;
pub use interpreter::{Host, Interpreter, Step};
pub use script::{Continuation, Line, Script, ScriptError};
