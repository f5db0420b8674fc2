//! LoPC: one round of requests and replies between threads, where messages are handled by the processors that also compute.

/// A program of a thread on each processor that computes, requests something from another one at random, and waits for the reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lopc {
    /// W, computation between a reply and the next request, seconds, ≥ 0.
    pub work_s: f64,
    /// L, latency of a message, seconds, ≥ 0.
    pub latency_s: f64,
    /// o, processor time of handling a message, at either end, seconds, > 0.
    pub handler_s: f64,
    /// C², the squared coefficient of variation of the handling times: 0 if they are constant, 1 if exponential.
    pub variation: f64,
}

/// Times of a round, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LopcTimes {
    /// R, the whole round.
    pub round_s: f64,
    /// R_w, the computation with the handlers that interrupt it.
    pub work_s: f64,
    /// R_q, the request at the other processor, queueing included.
    pub request_s: f64,
    /// R_y, the reply at the own processor, queueing included.
    pub reply_s: f64,
}

/// Rounds after which the fixed point is taken as it is: each halves the distance.
const MAX_ROUNDS: usize = 500;

/// Solves LoPC's equations by a damped fixed point; `None` where a time is no time, or C² is below 0.
///
/// ```text
/// R = R_w + 2 L + R_q + R_y        U = o / R    Q_q = R_q / R    Q_y = R_y / R
/// R_w = (W + o Q_q) / (1 - U)
/// R_q = o (1 + Q_q + Q_y + (C² - 1) U)
/// R_y = o (1 + Q_q + (C² - 1) U / 2)
/// ```
///
/// # Source
/// M. I. Frank, A. Agarwal, M. K. Vernon, "LoPC: Modeling Contention in Parallel Algorithms", PPoPP 1997, the homogeneous
/// all-to-all case; the equations are those of a study, checked by an event simulation in `tests/lopc.rs`, not against the paper's text.
pub fn lopc(it: &Lopc) -> Option<LopcTimes> {
    let Lopc {
        work_s,
        latency_s,
        handler_s,
        variation,
    } = *it;
    let is_time = |time_s: f64| time_s.is_finite() && time_s >= 0.0;
    if !(is_time(work_s) && is_time(latency_s) && is_time(handler_s) && is_time(variation)) {
        return None;
    }
    let contended = |round_s: f64, request_s: f64, reply_s: f64| {
        let (u, q, y) = (handler_s / round_s, request_s / round_s, reply_s / round_s);
        let work_s = (work_s + handler_s * q) / (1.0 - u);
        let request_s = handler_s * (1.0 + q + y + (variation - 1.0) * u);
        let reply_s = handler_s * (1.0 + q + (variation - 1.0) * u / 2.0);
        LopcTimes {
            round_s: work_s + 2.0 * latency_s + request_s + reply_s,
            work_s,
            request_s,
            reply_s,
        }
    };
    let bare_s = work_s + 2.0 * (latency_s + handler_s);
    if bare_s <= 0.0 {
        return None;
    }
    let mut times = LopcTimes {
        round_s: bare_s,
        work_s,
        request_s: handler_s,
        reply_s: handler_s,
    };
    for _ in 0..MAX_ROUNDS {
        let next = contended(times.round_s, times.request_s, times.reply_s);
        let mean = |a: f64, b: f64| (a + b) / 2.0;
        times = LopcTimes {
            round_s: mean(times.round_s, next.round_s),
            work_s: next.work_s,
            request_s: mean(times.request_s, next.request_s),
            reply_s: mean(times.reply_s, next.reply_s),
        };
    }
    Some(times)
}
