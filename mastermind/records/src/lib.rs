//! The record log: layout, writer, reader, exports.
