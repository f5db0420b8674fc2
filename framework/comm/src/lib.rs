//! Communicators: the serial back end and the launcher's view of the ranks.
