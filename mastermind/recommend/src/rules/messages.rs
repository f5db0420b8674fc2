//! Many small messages.

use crate::facts::{Facts, MessageFacts};
use crate::order::{Kind, Recommendation};
use crate::saving::Saving;

/// One message in place of several consecutive ones to one rank.
///
/// Each message that is not sent saves the time of a send and a receive of a small one without
/// waiting.
pub(super) fn merged(facts: &Facts) -> Vec<Recommendation> {
    let messages = facts
        .parallel
        .as_ref()
        .and_then(|parallel| parallel.messages.as_ref());
    let Some(found) = messages.filter(|found| found.merged < found.messages) else {
        return Vec::new();
    };
    let MessageFacts {
        messages,
        merged,
        mean_bytes,
        saved_s: [expected_s, least_s, most_s],
    } = *found;
    let mut found = Recommendation::new(
        Kind::Messages,
        format!("send {merged} messages in place of {messages}"),
        Some(Saving::predicted(expected_s, [least_s, most_s])),
    );
    found.evidence = vec![format!(
        "{messages} messages of {mean_bytes:.0} bytes on average; those that follow each other to one rank with nothing in between could be one"
    )];
    vec![found]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ParallelFacts;
    use crate::recommend;

    #[test]
    fn messages_that_follow_each_other_are_to_be_one() {
        let with = |merged| Facts {
            elapsed_s: 1.0,
            parallel: Some(ParallelFacts {
                messages: Some(MessageFacts {
                    messages: 1000,
                    merged,
                    mean_bytes: 8.0,
                    saved_s: [0.4, 0.3, 0.5],
                }),
                ..ParallelFacts::default()
            }),
            ..Facts::default()
        };
        let saving = recommend(&with(10))[0].saving;
        assert_eq!(saving, Some(Saving::predicted(0.4, [0.3, 0.5])));
        assert!(recommend(&with(1000)).is_empty());
    }
}
