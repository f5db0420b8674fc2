//! What was decided, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A decision, as the log of decisions has it: one JSON object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The application's step after which it was taken, counted from 1.
    pub step: u64,
    /// Part of the run that was done, 0 to 1, as the application reported it.
    pub fraction: f64,
    /// The instance it is about.
    pub site: String,
    /// Of a dispatcher: the calls that it is about, such as `fft.forward n=1024`, and others of about their sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<String>,
    /// What.
    pub act: Act,
    /// The class that worked there.
    pub from: String,
    /// The class that works there from now on.
    pub to: String,
    /// Why.
    pub reason: String,
    /// Seconds that trials have cost so far beyond what the classes before them would have taken, over all ranks.
    pub spent_s: f64,
    /// Seconds that they may cost.
    pub budget_s: f64,
}

impl Decision {
    /// Whether another class is to work there, for all calls.
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

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Act {
    /// Another class is put in, to be kept if it is faster.
    Try,
    /// The class that was put in stays.
    Keep,
    /// The one before comes back.
    Back,
    /// Calls of one kind go to another class from now on, which is believed to be faster.
    Send,
    /// The class takes another time than it did: what is known of it is corrected.
    Level,
    /// The class failed, and is not put in again.
    Failed,
    /// Nothing is decided any more.
    Stop,
}

impl Act {
    /// The word for it.
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
