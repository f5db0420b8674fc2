//! Shares of the bytes that a program moves by MPI, separately for messages, for reading and writing files, and for
//! one-sided transfers.

use mastermind_records::{MpiCalls, one_sided, sends};
use serde::Serialize;

/// Bytes of all calls, by how they move them.
#[derive(Clone, Copy, Debug, Default)]
pub struct MovedBytes {
    sent: u64,
    io: u64,
    rma: u64,
}

/// Share of a function or call site in the bytes that are moved by the same mechanism, percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MovedShare {
    /// Of all that is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_percent: Option<f64>,
    /// Of all that is read from files and written to them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_percent: Option<f64>,
    /// Of all that is moved one-sided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rma_percent: Option<f64>,
}

/// How a function moves bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Sent,
    Io,
    Rma,
}

fn way(function: &str) -> Option<Way> {
    let name = function.strip_prefix("MPI_").unwrap_or(function);
    if name.starts_with("File_") {
        Some(Way::Io)
    } else if one_sided(function).is_some() {
        Some(Way::Rma)
    } else {
        sends(function).then_some(Way::Sent)
    }
}

impl MovedBytes {
    /// Sums over all calls.
    pub fn of(calls: &[MpiCalls]) -> Self {
        let mut all = Self::default();
        for call in calls {
            let sum = match way(&call.function) {
                Some(Way::Sent) => &mut all.sent,
                Some(Way::Io) => &mut all.io,
                Some(Way::Rma) => &mut all.rma,
                None => continue,
            };
            *sum = sum.saturating_add(call.sizes.bytes);
        }
        all
    }

    /// The share of so many bytes of a function.
    pub fn share(&self, function: &str, bytes: u64) -> MovedShare {
        let percent = |all: u64| Some(100.0 * bytes as f64 / all.max(1) as f64);
        let mut share = MovedShare::default();
        match way(function) {
            Some(Way::Sent) => share.sent_percent = percent(self.sent),
            Some(Way::Io) => share.io_percent = percent(self.io),
            Some(Way::Rma) => share.rma_percent = percent(self.rma),
            None => {}
        }
        share
    }
}

impl MovedShare {
    /// The one that there is.
    pub fn percent(&self) -> Option<f64> {
        self.sent_percent.or(self.io_percent).or(self.rma_percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_its_own_sum() {
        let call = |function: &str, bytes: u64| {
            let mut call = MpiCalls {
                function: function.into(),
                ..MpiCalls::default()
            };
            call.sizes.bytes = bytes;
            call
        };
        let all = MovedBytes::of(&[
            call("MPI_Send", 30),
            call("MPI_Bcast", 10),
            call("MPI_Recv", 1000),
            call("MPI_File_write_all", 50),
            call("MPI_File_read", 150),
            call("MPI_Put", 6),
            call("MPI_Get_accumulate", 2),
        ]);
        assert_eq!(all.share("MPI_Send", 30).sent_percent, Some(75.0));
        assert_eq!(all.share("MPI_File_read", 150).io_percent, Some(75.0));
        assert_eq!(all.share("MPI_Put", 6).rma_percent, Some(75.0));
        assert_eq!(all.share("MPI_Get_count", 6).percent(), None);
        assert_eq!(all.share("MPI_Recv", 6), MovedShare::default());
    }
}
