//! Ccaffeine's rc scripts, and the commands of an interactive shell: one line, one command.
//!
//! * [`Script`]: a script's lines as they are in its file, comments and `!code{}` directives included;
//! * [`Command`]: a parsed line, or [`RcError`]: any unambiguous beginning of a command's name or alias selects it; the
//!   caller skips a line that is ambiguous, unknown or has too many arguments, as Ccaffeine does;
//! * [`Interpreter`]: runs commands on a [`Framework`](crate::Framework), through the same calls as a TOML assembly;
//!   everything that is shown, started or run by the system goes through a [`Host`].
//!
//! As in Ccaffeine, instances and the classes of `instantiate` may be named ignoring case, by a beginning or by a part
//! of their name; a backslash at the end continues a line; `#!eof` ends a script; missing folders of the path are
//! skipped; `.cca` index files name libraries and classes. The caller reports and skips a line that fails.
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
