//! One file a verb.

pub mod calibrate;
pub mod check;
pub mod choose;
pub mod compare;
pub mod correct;
pub mod describe;
pub mod doctor;
pub mod export;
pub mod fit;
pub mod graph;
pub mod info;
pub mod list;
pub mod new;
pub mod plan;
pub mod plot;
pub mod predict;
pub mod profile;
pub mod proxy;
pub mod run;
pub mod shell;
pub mod simulate;
pub mod suggest;
pub mod transform;
pub mod use_library;
pub mod wishes;
pub mod wrap;
