//! The store, as a reader and writer of foreign files.

mod store;
