//! The standard ports and what a component author needs.
