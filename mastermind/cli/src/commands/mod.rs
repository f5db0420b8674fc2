//! One file a verb.

pub mod check;
pub mod choose;
pub mod describe;
pub mod doctor;
pub mod export;
pub mod fit;
pub mod list;
pub mod profile;
pub mod run;
pub mod simulate;
