//! Decisions of the adapter and their reasons.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A decision, as written to the log of decisions: one JSON object per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The application's step after which it was taken, counted from 1.
    pub step: u64,
    /// Part of the run that was done, 0 to 1, as the application reported it.
    pub fraction: f64,
    /// The instance concerned.
    pub site: String,
    /// At a dispatcher: the calls concerned, such as `fft.forward n=1024`, and others of about their sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<String>,
    /// The action.
    pub act: Act,
    /// The previous class.
    pub from: String,
    /// The class from now on.
    pub to: String,
    /// The reason.
    pub reason: String,
    /// Seconds, summed over all ranks, that other classes have cost so far in excess of the given ones; at least 0.
    pub spent_s: f64,
    /// Seconds that trials may cost.
    pub budget_s: f64,
}

impl Decision {
    /// Whether another class must be put in for all calls.
    pub fn is_swap(&self) -> bool {
        self.from != self.to && self.calls.is_none()
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (step, act, reason) = (self.step, self.act.name(), &self.reason);
        if self.act == Act::Stop {
            return write!(f, "step {step}: {act}: {reason}");
        }
        write!(f, "step {step}: {}: ", self.site)?;
        if let Some(calls) = &self.calls {
            write!(f, "{calls}: ")?;
        }
        let (from, to) = (&self.from, &self.to);
        match from == to {
            true => write!(f, "{act} {to}: {reason}"),
            false => write!(f, "{act} {from} to {to}: {reason}"),
        }
    }
}

/// Action of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Act {
    /// Another class is explored, and kept if it is faster.
    Try,
    /// The explored class stays.
    Keep,
    /// The previous class comes back.
    Back,
    /// Calls of one kind go to another class from now on because it is believed to be faster.
    Send,
    /// The class's time has changed, and its estimate is corrected.
    Level,
    /// The class failed and is not tried again.
    Failed,
    /// Adaptation ends.
    Stop,
}

impl Act {
    /// Name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Act::Try => "try",
            Act::Keep => "keep",
            Act::Back => "back",
            Act::Send => "send",
            Act::Level => "level",
            Act::Failed => "failed",
            Act::Stop => "stop",
        }
    }
}
