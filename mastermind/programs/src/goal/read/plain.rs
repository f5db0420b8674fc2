//! Lines as generators write them, one blank between words and operations numbered: most there are.
//!
//! Eight bytes are compared together, and the next name is predicted before it is read.

use crate::goal::read::{GREATEST, Reader};
use crate::goal::schedule::{Kind, Op};

/// The text and how far it is read.
struct Plain<'a> {
    text: &'a [u8],
    at: usize,
}

/// The number whose digits are the bytes, the first digit in the lowest one; 0 is no digit in front.
#[inline]
fn of_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(1 + (10 << 8)) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(1 + (100 << 16)) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(1 + (10_000 << 32)) >> 32
}

impl Plain<'_> {
    /// The next eight bytes, the first one in the lowest bits; `None` if there are fewer.
    #[inline]
    fn eight(&self) -> Option<u64> {
        let bytes = self.text.get(self.at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// A number of at most 18 digits.
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let bytes = self.eight()? ^ 0x3030_3030_3030_3030;
        // Up to the first byte that is no digit there is no carry.
        let others = (bytes.wrapping_add(0x7676_7676_7676_7676) | bytes) & 0x8080_8080_8080_8080;
        let bits = others.trailing_zeros() & !7;
        if bits == 0 || bits == u64::BITS {
            return self.long_number();
        }
        self.at += bits as usize / 8;
        Some(of_digits(bytes << (u64::BITS - bits)))
    }

    #[cold]
    #[inline(never)]
    fn long_number(&mut self) -> Option<u64> {
        let rest = self.text.get(self.at..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = rest[..digits].iter().take(19).fold(0_u64, |value, digit| {
            value.wrapping_mul(10) + u64::from(digit - b'0')
        });
        self.at += digits;
        (1..=18).contains(&digits).then_some(value)
    }

    /// The number of a name that begins with a letter; a name with leading zeros is another name.
    #[inline]
    fn named(&mut self, letter: u8) -> Option<u64> {
        if self.text.get(self.at) != Some(&letter) || self.text.get(self.at + 1) == Some(&b'0') {
            return None;
        }
        self.at += 1;
        self.number()
    }

    /// Passes over a word of at most eight bytes, if it comes next.
    #[inline]
    fn is(&mut self, word: &[u8]) -> bool {
        let found = self.eight().is_some_and(|bytes| is_word(bytes, word));
        if found {
            self.at += word.len();
        }
        found
    }
}

/// Whether eight bytes begin with a word.
#[inline]
fn is_word(bytes: u64, word: &[u8]) -> bool {
    let wanted = word
        .iter()
        .rev()
        .fold(0, |wanted, byte| wanted << 8 | u64::from(*byte));
    (bytes ^ wanted) << (u64::BITS - 8 * word.len() as u32) == 0
}

/// A letter and a number.
#[derive(Clone, Copy, Default)]
struct Name {
    letter: u8,
    number: u64,
    /// Both as text.
    text: u64,
    /// Bits of the text; 0 if the number has more than six digits, or if there is no name.
    bits: u32,
}

impl Name {
    fn of(letter: u8, number: u64) -> Self {
        let (mut rest, mut text, mut bits) = (number, 0, 0);
        while bits == 0 || rest > 0 {
            text = text << 8 | (u64::from(b'0') + rest % 10);
            (rest, bits) = (rest / 10, bits + 8);
        }
        if bits > 48 {
            (text, bits) = (0, 0);
        } else {
            (text, bits) = (text << 8 | u64::from(letter), bits + 8);
        }
        Self {
            letter,
            number,
            text,
            bits,
        }
    }

    /// The name with the next number.
    #[inline]
    fn next(self) -> Self {
        let (number, last) = (self.number + 1, self.bits.wrapping_sub(8));
        if self.bits > 0 && self.text >> last < u64::from(b'9') {
            let text = self.text + (1 << last);
            return Self {
                number,
                text,
                ..self
            };
        }
        Self::of(self.letter, number)
    }

    /// Passes over the name and a sign, if they come next.
    #[inline]
    fn is_before(self, sign: u8, plain: &mut Plain<'_>) -> bool {
        if self.bits == 0 {
            return self.is_long_before(sign, plain);
        }
        let wanted = self.text | u64::from(sign) << self.bits;
        let found = plain
            .eight()
            .is_some_and(|bytes| (bytes ^ wanted) << (u64::BITS - 8 - self.bits) == 0);
        if found {
            plain.at += self.bits as usize / 8 + 1;
        }
        found
    }

    #[cold]
    #[inline(never)]
    fn is_long_before(self, sign: u8, plain: &mut Plain<'_>) -> bool {
        let begin = plain.at;
        let found = plain.named(self.letter) == Some(self.number)
            && plain.text.get(plain.at) == Some(&sign);
        plain.at = if found { plain.at + 1 } else { begin };
        found
    }
}

/// Names of the next operation and of the one before it.
struct Names {
    next: Name,
    before: Name,
}

impl Names {
    fn of(letter: u8, shift: u32, next: u32) -> Self {
        let number = u64::from(shift) + u64::from(next);
        let before = match next {
            // A number that is never read.
            0 => Name {
                number: u64::MAX,
                ..Name::default()
            },
            _ => Name::of(letter, number - 1),
        };
        Self {
            next: Name::of(letter, number),
            before,
        }
    }

    #[inline]
    fn count(&mut self) {
        self.before = self.next;
        self.next = self.next.next();
    }
}

impl Reader {
    /// Reads lines of that form from the beginning of a text, and gives how many bytes; `None` for none.
    #[inline]
    pub(super) fn plain_lines(&mut self, text: &[u8]) -> Option<usize> {
        if self.in_comment || self.rank.is_none() {
            return None;
        }
        let (letter, shift, next) = self.labels.plain()?;
        let mut names = Names::of(letter, shift, next);
        let mut plain = Plain { text, at: 0 };
        let mut end = 0;
        while let Some(lines) = self.plain_step(&mut plain, &mut names) {
            self.number += lines;
            end = plain.at;
        }
        (end > 0).then_some(end)
    }

    /// One operation and the line behind it that has it wait for the one before, or another line; the number of
    /// lines, or `None`, and nothing changed, for any other form.
    #[inline]
    fn plain_step(&mut self, plain: &mut Plain<'_>, names: &mut Names) -> Option<u64> {
        if !names.next.is_before(b':', plain) {
            return self.plain_wait(plain);
        }
        let op = self.plain_operation(plain)?;
        let end = plain.at;
        let is_behind = names.next.is_before(b' ', plain)
            && plain.is(b"requires")
            && plain.is(b" ")
            && names.before.is_before(b'\n', plain);
        if !is_behind {
            plain.at = end;
        }
        self.schedule.ops.push(&op, is_behind);
        self.labels.count();
        names.count();
        Some(1 + u64::from(is_behind))
    }

    /// A line that has any operation wait for any other.
    fn plain_wait(&mut self, plain: &mut Plain<'_>) -> Option<u64> {
        let (letter, shift, next) = self.labels.plain()?;
        let named = |plain: &mut Plain<'_>| {
            let op = plain.named(letter)?.checked_sub(u64::from(shift))?;
            (op < u64::from(next)).then_some(op as u32)
        };
        let op = named(plain)?;
        if !plain.is(b" require") || !plain.is(b"s ") {
            return None;
        }
        let on = named(plain)?;
        if plain.text.get(plain.at) != Some(&b'\n') {
            return None;
        }
        plain.at += 1;
        self.depend(op, on, false).ok().map(|()| 1)
    }

    #[inline]
    fn plain_operation(&self, plain: &mut Plain<'_>) -> Option<Op> {
        let word = plain.eight()?;
        let kind = if is_word(word, b" calc ") {
            Kind::Calc
        } else if is_word(word, b" send ") {
            Kind::Send
        } else if is_word(word, b" recv ") {
            Kind::Receive
        } else {
            return None;
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
            let word = match kind {
                Kind::Send => &b"b to "[..],
                _ => b"b from ",
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
        (plain.text.get(plain.at) == Some(&b'\n')).then(|| {
            plain.at += 1;
            op
        })
    }
}
