//! stub
pub fn workload() {}
