//! Opens component libraries and checks them.
