//! Lines as generators write them, one blank between words and operations numbered: most there are.

use super::super::schedule::{Kind, Op};
use super::{GREATEST, Reader};

/// The text and how far it is read.
struct Plain<'a> {
    text: &'a [u8],
    at: usize,
}

impl Plain<'_> {
    /// A number of at most 18 digits.
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let begin = self.at;
        let mut value = 0_u64;
        while let Some(digit) = self
            .text
            .get(self.at)
            .map(|byte| byte.wrapping_sub(b'0'))
            .filter(|d| *d < 10)
        {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        (1..=18).contains(&(self.at - begin)).then_some(value)
    }

    #[inline]
    fn is(&mut self, word: &[u8]) -> bool {
        let found = self.text.get(self.at..self.at + word.len()) == Some(word);
        if found {
            self.at += word.len();
        }
        found
    }
}

impl Reader {
    /// Reads lines of that form from the beginning of a text, and gives how many bytes; `None` for none.
    #[inline]
    pub(super) fn plain_lines(&mut self, text: &[u8]) -> Option<usize> {
        if self.in_comment || self.rank.is_none() {
            return None;
        }
        let mut plain = Plain { text, at: 0 };
        let mut end = None;
        while let Some(()) = self.plain_line(&mut plain) {
            self.number += 1;
            end = Some(plain.at);
        }
        end
    }

    /// One line; `None`, and nothing changed, for any other form.
    #[inline]
    fn plain_line(&mut self, plain: &mut Plain<'_>) -> Option<()> {
        let (letter, shift, next) = self.labels.plain()?;
        if plain.text.get(plain.at) != Some(&letter) {
            return None;
        }
        plain.at += 1;
        let number = plain.number()?.checked_sub(u64::from(shift))?;
        match plain.text.get(plain.at)? {
            b':' if number == u64::from(next) => {
                plain.at += 1;
                let op = self.plain_operation(plain)?;
                self.schedule.ops.push(&op);
                self.labels.count();
                Some(())
            }
            b' ' => {
                if !plain.is(b" requires ") || plain.text.get(plain.at) != Some(&letter) {
                    return None;
                }
                plain.at += 1;
                let on = plain.number()?.checked_sub(u64::from(shift))?;
                if !plain.is(b"\n") || number >= u64::from(next) || on >= u64::from(next) {
                    return None;
                }
                self.depend(number as u32, on as u32, false).ok()
            }
            _ => None,
        }
    }

    #[inline]
    fn plain_operation(&self, plain: &mut Plain<'_>) -> Option<Op> {
        let kind = match plain.text.get(plain.at..plain.at + 6)? {
            b" calc " => Kind::Calc,
            b" send " => Kind::Send,
            b" recv " => Kind::Receive,
            _ => return None,
        };
        plain.at += 6;
        let size = plain.number().filter(|size| *size <= GREATEST)?;
        let mut op = Op {
            size,
            peer: 0,
            tag: 0,
            waits: 0,
            kind,
            cpu: 0,
            nic: 0,
        };
        if kind != Kind::Calc {
            let word = if kind == Kind::Send {
                &b"b to "[..]
            } else {
                b"b from "
            };
            if !plain.is(word) {
                return None;
            }
            op.peer = plain
                .number()
                .filter(|peer| *peer < self.ranks.unwrap_or(0))? as u32;
            if plain.is(b" tag ") {
                op.tag = plain.number().filter(|tag| *tag < u64::from(u32::MAX))? as u32;
            }
        }
        plain.is(b"\n").then_some(op)
    }
}
