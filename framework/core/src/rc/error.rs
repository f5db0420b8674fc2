//! Errors in a line of a script.

use std::error::Error;

use cca_loader::LoadError;

use crate::FrameworkError;

/// An error in a line of a script.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RcError {
    /// The word begins the names of several commands.
    #[error("cannot run command \"{word}\": ambiguous, expected one of {candidates}")]
    Ambiguous {
        /// The word.
        word: String,
        /// The commands that it may mean.
        candidates: String,
    },
    /// The word begins no command's name.
    #[error("cannot run command \"{word}\": undefined, expected a command; help lists them")]
    Undefined {
        /// The word.
        word: String,
    },
    /// There are more arguments than the command takes.
    #[error("cannot run command \"{command}\": too many arguments, expected {usage}")]
    TooManyArguments {
        /// The command.
        command: &'static str,
        /// How it is written.
        usage: &'static str,
    },
    /// There are fewer arguments than the command needs.
    #[error("cannot run command \"{command}\": missing arguments, expected {usage}")]
    MissingArguments {
        /// The command.
        command: &'static str,
        /// How it is written.
        usage: &'static str,
    },
    /// An argument has the wrong form.
    #[error("cannot run command \"{command}\": \"{found}\", expected {expected}")]
    BadArgument {
        /// The command.
        command: &'static str,
        /// The argument.
        found: String,
        /// The expected argument.
        expected: String,
    },
    /// The class is not in the pallet.
    #[error(
        "cannot create instance \"{instance}\": class \"{class}\" not loaded, expected {known}; load it by repository get-global {class}"
    )]
    NotLoaded {
        /// Name of the instance; of the class if it has none.
        instance: String,
        /// The class.
        class: String,
        /// The classes loaded.
        known: String,
    },
    /// No library of the path has the class.
    #[error("cannot load class \"{class}\": in no library of the path, expected {known}")]
    UnknownClass {
        /// The class.
        class: String,
        /// The classes there are.
        known: String,
    },
    /// `shell` is off.
    #[error("cannot run command \"shell\": disabled, expected --enable-shell")]
    ShellDisabled,
    /// The framework refused.
    #[error(transparent)]
    Framework(#[from] FrameworkError),
    /// A library cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// An action of the host failed.
    #[error("cannot {act}")]
    Host {
        /// The failed action.
        act: String,
        /// Why not.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl RcError {
    /// Whether the line was not understood, or its command is switched off: nothing was to be done then, and a warning
    /// is enough. Any other failed line has left its work undone.
    pub fn is_harmless(&self) -> bool {
        matches!(
            self,
            RcError::Ambiguous { .. }
                | RcError::Undefined { .. }
                | RcError::TooManyArguments { .. }
                | RcError::MissingArguments { .. }
                | RcError::ShellDisabled
        )
    }
}
