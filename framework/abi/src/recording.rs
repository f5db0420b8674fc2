//! placeholder until merge
#![allow(missing_docs)]
use crate::RStr;
use core::ffi::c_void;
use std::sync::atomic::AtomicU32;
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    Integer,
    Real,
    Enumeration,
}
#[repr(C)]
pub struct Recorder {
    pub object: *const c_void,
}
#[repr(C)]
pub struct ProxyMethod {
    pub id: u32,
    pub enabled: AtomicU32,
}
impl ProxyMethod {
    pub fn new(id: u32) -> Self {
        Self {
            id,
            enabled: AtomicU32::new(1),
        }
    }
}
pub trait PerfValue: Copy {
    const KIND: ParameterKind;
    const LABELS: &'static [RStr<'static>];
    fn to_word(self) -> u64;
}
impl PerfValue for u32 {
    const KIND: ParameterKind = ParameterKind::Integer;
    const LABELS: &'static [RStr<'static>] = &[];
    fn to_word(self) -> u64 {
        self as u64
    }
}
impl PerfValue for usize {
    const KIND: ParameterKind = ParameterKind::Integer;
    const LABELS: &'static [RStr<'static>] = &[];
    fn to_word(self) -> u64 {
        self as u64
    }
}
pub struct Recording<const N: usize>;
impl<const N: usize> Recording<N> {
    pub unsafe fn begin(
        _r: *const Recorder,
        _m: &ProxyMethod,
        _p: impl FnOnce() -> [u64; N],
    ) -> Option<Self> {
        None
    }
    pub unsafe fn end(self, _failed: bool) {}
}
