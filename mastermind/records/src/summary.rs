//! The summary of a run: the sums of its profile in one file, so that reading the profile of thousands of ranks does
//! not require reading every log.

use std::path::{Path, PathBuf};

use crate::error::RecordsError;
use crate::own_file::write_whole;
use crate::profile::ProfileSums;

/// Name of the summary file in the directory of the logs.
pub const SUMMARY_FILE: &str = "mastermind-summary.json";

impl ProfileSums {
    /// Writes the summary of a run.
    ///
    /// # Errors
    /// [`RecordsError::Io`], [`RecordsError::Encode`].
    pub fn write(&self, directory: &Path) -> Result<PathBuf, RecordsError> {
        let path = directory.join(SUMMARY_FILE);
        write_whole(&path, &self.to_bytes()?).map_err(RecordsError::io("write summary", &path))?;
        Ok(path)
    }

    /// Reads the summary of a run.
    ///
    /// # Errors
    /// [`RecordsError::Io`] if there is none, for example because the run did not end; [`RecordsError::Decode`].
    pub fn read(directory: &Path) -> Result<Self, RecordsError> {
        let path = directory.join(SUMMARY_FILE);
        let bytes = std::fs::read(&path).map_err(RecordsError::io("read summary", &path))?;
        Self::from_bytes(&bytes, &path)
    }

    /// Encodes the sums as text, to send them to another rank.
    ///
    /// # Errors
    /// [`RecordsError::Encode`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordsError> {
        serde_json::to_vec(self).map_err(|source| RecordsError::Encode {
            path: SUMMARY_FILE.into(),
            source,
        })
    }

    /// Decodes the sums from [`ProfileSums::to_bytes`].
    ///
    /// # Arguments
    /// * `origin` - source of the bytes, for the error
    ///
    /// # Errors
    /// [`RecordsError::Decode`].
    pub fn from_bytes(bytes: &[u8], origin: &Path) -> Result<Self, RecordsError> {
        serde_json::from_slice(bytes).map_err(|source| RecordsError::Decode {
            path: origin.into(),
            source,
        })
    }
}
