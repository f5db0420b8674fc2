//! End-to-end tests over real dynamic libraries.
