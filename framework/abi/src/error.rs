//! Errors that cross the border between libraries: a status code and a message in a buffer of the
//! caller.
//!
//! # How an error travels
//!
//! A method of a port is a C function, so it can neither panic nor return a `Result` with a
//! `String` in it; the other side may be C. The callee returns an [`ErrorCode`] as a number, 0 for
//! success, and copies its text into an [`ErrorBuffer`] on the caller's stack; the caller turns both
//! into a [`PortError`] again. The buffer has a fixed size, so no memory changes hands, and a call
//! that succeeds pays for one store.
//!
//! ```text
//! caller                                       callee
//! buffer = ErrorBuffer::empty()  ── &buffer ─▶  fails with PortError
//!                                               ErrorBuffer::write: text -> buffer
//! PortError = ErrorBuffer::read  ◀─ status 12 ─ (PortNotConnected)
//!
//! ErrorBuffer, 1024 bytes:  | length u32 | [U+001F] text in UTF-8, at most 1020 bytes |
//! ```
//!
//! The mark U+001F at the front of a text says that it already names the failing instance. It
//! travels inside the text because a component in C passes nothing else on; without it each
//! instance on the path of the error would put its own name in front.

use core::fmt;
use core::mem::MaybeUninit;

/// Type of an error: CCA's exceptions (`gov.cca.CCAExceptionType`), and one of our own, `BadParameter`.
///
/// CCA's `Nonstandard` is [`ErrorCode::Failed`], its `Unexpected` is [`ErrorCode::Panicked`]; the others keep their names.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The component could not do the requested work.
    Failed = 1,
    /// The component panicked; the message contains the panic's text.
    Panicked = 2,
    /// No port of that name is registered.
    PortNotDefined = 10,
    /// A port of that name is registered already.
    PortAlreadyDefined = 11,
    /// The uses port is not connected.
    PortNotConnected = 12,
    /// `release_port` without a matching `get_port`.
    PortNotInUse = 13,
    /// The port is still in use.
    UsesPortNotReleased = 14,
    /// The name is empty or has a character that no port name may have.
    BadPortName = 15,
    /// Another interface, version, hash or layout than expected.
    BadPortType = 16,
    /// An unknown parameter, or a value outside the allowed range.
    BadParameter = 17,
    /// A property of another type than expected.
    BadProperties = 18,
    /// A port with an invalid description.
    BadPortInfo = 19,
    /// There is no memory left.
    OutOfMemory = 20,
    /// A peer on another rank cannot be reached.
    NetworkError = 21,
}

impl ErrorCode {
    /// The code of a status returned across the border; an unknown one counts as [`ErrorCode::Failed`].
    pub fn from_status(status: i32) -> Self {
        use ErrorCode::*;
        [
            Panicked,
            PortNotDefined,
            PortAlreadyDefined,
            PortNotConnected,
            PortNotInUse,
            UsesPortNotReleased,
            BadPortName,
            BadPortType,
            BadParameter,
            BadProperties,
            BadPortInfo,
            OutOfMemory,
            NetworkError,
        ]
        .into_iter()
        .find(|code| *code as i32 == status)
        .unwrap_or(Failed)
    }
}

/// An error of a port's method: CCA's code and one line of text. The caller's side
/// of a connection puts the name of the instance that failed in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortError {
    code: ErrorCode,
    message: String,
    /// Whether the message names the failing instance.
    is_named: bool,
}

impl PortError {
    /// An error with a code of CCA's.
    pub fn new(code: ErrorCode, message: impl fmt::Display) -> Self {
        PortError {
            code,
            message: message.to_string(),
            is_named: false,
        }
    }

    /// A component's own error, [`ErrorCode::Failed`].
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(ErrorCode::Failed, message)
    }

    /// Type of the error.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The message, one line, lower case, no full stop.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same error, with the failed action in front of the message.
    pub fn context(self, doing: impl fmt::Display) -> Self {
        PortError {
            message: format!("{doing}: {}", self.message),
            ..self
        }
    }

    /// The same error with the instance that returned it in front of the message, unless it already names the instance
    /// it comes from: an instance that only passes an error on did not fail.
    pub fn from_instance(self, instance: &str) -> Self {
        if self.is_named {
            return self;
        }
        PortError {
            is_named: true,
            ..self.context(format_args!("instance \"{instance}\""))
        }
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PortError {}

/// Marks a text that already names the instance it comes from. It is part of the text, so that a
/// component in C that copies the text, even into a longer one, keeps the mark. ASCII's unit
/// separator: terminals do not show it.
const NAMED: char = '\u{1f}';

/// Where a callee leaves the text of its error; the caller's, on its stack, read only after a non-zero status.
#[repr(C)]
pub struct ErrorBuffer {
    length: u32,
    text: [u8; ErrorBuffer::CAPACITY],
}

impl ErrorBuffer {
    /// Bytes of text it holds; a longer message is cut at a character's border.
    pub const CAPACITY: usize = 1020;

    /// Space for a message, with none in it: a component in C may fail without leaving one. Only the length is written,
    /// so that a call that succeeds pays for one store.
    #[inline(always)]
    pub fn empty() -> MaybeUninit<Self> {
        let mut buffer = MaybeUninit::<Self>::uninit();
        // SAFETY: the length lies in the buffer, which is this function's own.
        unsafe { (&raw mut (*buffer.as_mut_ptr()).length).write(0) };
        buffer
    }

    /// Leaves `error` in the buffer and returns the status to return.
    ///
    /// # Safety
    /// `buffer` is null (the text is then lost) or points to space for an `ErrorBuffer`.
    #[cold]
    pub unsafe fn write(buffer: *mut ErrorBuffer, error: &PortError) -> i32 {
        if !buffer.is_null() {
            let marked = match error.is_named {
                true => &format!("{NAMED}{}", error.message),
                false => &error.message,
            };
            let mut length = marked.len().min(Self::CAPACITY);
            // The reader expects UTF-8, so a cut may not split a character.
            while !marked.is_char_boundary(length) {
                length -= 1;
            }
            // SAFETY: the caller gives space for one buffer; `length` is within its text.
            unsafe {
                (&raw mut (*buffer).length).write(length as u32);
                let text = (&raw mut (*buffer).text).cast::<u8>();
                text.copy_from_nonoverlapping(marked.as_ptr(), length);
            }
        }
        error.code as i32
    }

    /// The error that a callee left with a non-zero `status`.
    ///
    /// # Safety
    /// `buffer` points to a buffer made by [`ErrorBuffer::empty`], in which the callee left nothing, or a length and that
    /// many bytes of text.
    #[cold]
    pub unsafe fn read(buffer: *const ErrorBuffer, status: i32) -> PortError {
        // SAFETY: `empty` or the callee wrote the length, the callee that many bytes; no more is read, and never past the
        // buffer.
        let text = unsafe {
            let length = ((&raw const (*buffer).length).read() as usize).min(Self::CAPACITY);
            let text = (&raw const (*buffer).text).cast::<u8>();
            core::slice::from_raw_parts(text, length)
        };
        let text = String::from_utf8_lossy(text);
        let is_named = text.contains(NAMED);
        let message = match text.replace(NAMED, "") {
            text if text.is_empty() => format!("status {status} without a message"),
            text => text,
        };
        PortError {
            code: ErrorCode::from_status(status),
            message,
            is_named,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(error: &PortError) -> PortError {
        let mut buffer = ErrorBuffer::empty();
        // SAFETY: the buffer is this function's own, written before it is read.
        unsafe {
            let status = ErrorBuffer::write(buffer.as_mut_ptr(), error);
            ErrorBuffer::read(buffer.as_ptr(), status)
        }
    }

    #[test]
    fn an_error_crosses_the_border_unchanged() {
        let error = PortError::new(ErrorCode::PortNotConnected, "uses port \"flux\"");
        assert_eq!(there_and_back(&error), error);
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let error = PortError::failed("é".repeat(1000));
        let read = there_and_back(&error);
        assert_eq!(read.message(), "é".repeat(510));
    }

    #[test]
    fn an_error_without_a_message_is_known_by_its_status() {
        let buffer = ErrorBuffer::empty();
        // SAFETY: nothing was left in the buffer.
        let error = unsafe { ErrorBuffer::read(buffer.as_ptr(), 1) };
        assert_eq!(error.message(), "status 1 without a message");
    }

    #[test]
    fn an_error_is_from_the_first_instance_that_it_is_said_of() {
        let error = PortError::failed("vacuum").from_instance("flux");
        let passed_on = there_and_back(&error.context("step 1"));
        let error = passed_on.from_instance("driver");
        assert_eq!(error.message(), "step 1: instance \"flux\": vacuum");
    }

    #[test]
    fn an_unknown_status_is_a_failure() {
        assert_eq!(ErrorCode::from_status(-7), ErrorCode::Failed);
        assert_eq!(ErrorCode::from_status(12), ErrorCode::PortNotConnected);
    }
}
