//! The #[port] and #[component] macros.
