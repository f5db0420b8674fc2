//! Ccaffeine's rc scripts, and the commands of an interactive shell: one line, one command.
//!
//! * [`Script`]: a script's lines as they are in its file, comments and `!code{}` directives included;
//! * [`Command`]: one line understood, or [`RcError`]: a command is told by any unambiguous beginning of its name or of
//!   an alias; what is ambiguous, unknown or has too many arguments is passed over by the caller, as Ccaffeine does;
//! * [`Interpreter`]: carries commands out on a [`Framework`](crate::Framework), through the same calls as a TOML
//!   assembly; what is shown, started or run by the system goes through a [`Host`].
//!
//! Where Ccaffeine's own table of commands and this one differ: `pal` means `pallet`, which is also called `palette`
//! (Ccaffeine takes it for ambiguous); a script's relative paths begin at its folder; `eof` ends a script; the framework's
//! services (communicator, progress) are connected by themselves.

mod command;
mod error;
mod interpreter;
mod properties;
mod script;
mod show;

pub use command::{COMMANDS, Command, CommandHelp, find};
pub use error::RcError;
pub use interpreter::{Host, Interpreter, Step};
pub use script::{Line, Script, ScriptError};
