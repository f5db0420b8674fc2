//! Names of a rank's operations.
//!
//! Generators number them, `l1`, `l2`, …: as long as they do, a name is its number and nothing is kept.

use std::collections::HashMap;

/// Names of one rank's operations.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// The letters before the number, and the number of an operation less its index.
    numbered: Option<(Vec<u8>, u32)>,
    /// The first operation that is numbered, and the one behind the last.
    from: u32,
    to: u32,
    named: HashMap<Vec<u8>, u32>,
}

/// A name as letters and a number of at most nine digits without zeros before it.
fn split(name: &[u8]) -> Option<(&[u8], u32)> {
    let digits = name
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (letters, digits) = name.split_at(name.len() - digits);
    let is_plain = (1..=9).contains(&digits.len()) && (digits[0] != b'0' || digits.len() == 1);
    is_plain.then(|| {
        let number = digits
            .iter()
            .fold(0, |n, digit| n * 10 + u32::from(digit - b'0'));
        (letters, number)
    })
}

impl Labels {
    /// Forgets all names.
    pub(crate) fn clear(&mut self) {
        self.numbered = None;
        (self.from, self.to) = (0, 0);
        self.named.clear();
    }

    /// Where all names are one letter and a number: the letter, the number of an operation less its
    /// index, and the index of the next one.
    #[inline]
    pub(crate) fn plain(&self) -> Option<(u8, u32, u32)> {
        match &self.numbered {
            Some((letters, shift))
                if letters.len() == 1 && self.from == 0 && self.named.is_empty() =>
            {
                Some((letters[0], *shift, self.to))
            }
            _ => None,
        }
    }

    /// Gives the next operation the next number.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.to += 1;
    }

    /// Gives an operation its name; `false` where another one has it.
    #[inline]
    pub(crate) fn insert(&mut self, name: &[u8], op: u32) -> bool {
        if let Some((letters, number)) = split(name) {
            if self.numbered.is_none()
                && self.named.is_empty()
                && let Some(shift) = number.checked_sub(op)
            {
                self.numbered = Some((letters.to_vec(), shift));
                (self.from, self.to) = (op, op);
            }
            if let Some((known, shift)) = &self.numbered
                && known == letters
                && op == self.to
                && number.checked_sub(*shift) == Some(op)
            {
                self.to = op + 1;
                return true;
            }
        }
        self.get(name).is_none() && self.named.insert(name.to_vec(), op).is_none()
    }

    /// The operation of that name.
    #[inline]
    pub(crate) fn get(&self, name: &[u8]) -> Option<u32> {
        if let (Some((letters, number)), Some((known, shift))) = (split(name), &self.numbered)
            && known == letters
            && let Some(op) = number.checked_sub(*shift)
            && (self.from..self.to).contains(&op)
        {
            return Some(op);
        }
        if self.named.is_empty() {
            return None;
        }
        self.named.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_and_named_operations_are_found() {
        let mut labels = Labels::default();
        for (op, name) in ["l1", "l2", "l3", "x", "l7", "m4"]
            .iter()
            .zip(0..)
            .map(|(n, i)| (i, n))
        {
            assert!(labels.insert(name.as_bytes(), op), "{name}");
        }
        for (op, name) in ["l1", "l2", "l3", "x", "l7", "m4"]
            .iter()
            .zip(0..)
            .map(|(n, i)| (i, n))
        {
            assert_eq!(labels.get(name.as_bytes()), Some(op), "{name}");
        }
        for name in ["l4", "l0", "l01", "y", "l"] {
            assert_eq!(labels.get(name.as_bytes()), None, "{name}");
        }
        assert!(!labels.insert(b"l2", 9) && !labels.insert(b"x", 9));
        labels.clear();
        assert_eq!(labels.get(b"l1"), None);
        // The first operation has no name.
        assert!(labels.insert(b"l5", 1) && labels.insert(b"l6", 2));
        assert_eq!(
            (labels.get(b"l5"), labels.get(b"l4"), labels.get(b"l6")),
            (Some(1), None, Some(2))
        );
    }
}
