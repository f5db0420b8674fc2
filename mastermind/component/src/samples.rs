//! stub
pub fn samples() {}
