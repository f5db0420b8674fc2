//! Places in code that call a function, or take its address, without the dynamic linker.

use std::collections::BTreeMap;

use memchr::memchr3_iter;

/// Machine code at its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code<'a> {
    pub(crate) address: u64,
    pub(crate) bytes: &'a [u8],
}

/// `call` and `jmp` with a distance of 32 bits.
const CALL: u8 = 0xE8;
const JUMP: u8 = 0xE9;
/// The first byte of `jcc` with such a distance; the second is 0x80 to 0x8F.
const LONG: u8 = 0x0F;
/// `lea` of an address relative to the instruction: this, and a second byte with these bits.
const LEA: u8 = 0x8D;
const RELATIVE_MASK: u8 = 0xC7;
const RELATIVE: u8 = 0x05;

impl Code<'_> {
    /// Counts the places that lead to each of the addresses.
    ///
    /// Instructions are not decoded: four bytes at the end of another instruction that give one of a few addresses exactly do not
    /// happen by chance more often than once in some 10⁹ bytes of code for each address.
    pub(crate) fn count_sites(&self, sites: &mut BTreeMap<u64, u64>) {
        if sites.is_empty() {
            return;
        }
        let mut count = |end_of_opcode: usize| {
            let Some(target) = self.target(end_of_opcode) else {
                return;
            };
            if let Some(n) = sites.get_mut(&target) {
                *n += 1;
            }
        };
        for at in memchr3_iter(CALL, JUMP, LONG, self.bytes) {
            let second = self.bytes.get(at + 1).copied().unwrap_or_default();
            match self.bytes[at] {
                LONG if second & 0xF0 == 0x80 => count(at + 2),
                LONG => {}
                _ => count(at + 1),
            }
        }
        for at in memchr::memchr_iter(LEA, self.bytes) {
            let second = self.bytes.get(at + 1).copied().unwrap_or_default();
            if second & RELATIVE_MASK == RELATIVE {
                count(at + 2);
            }
        }
    }

    /// Target of an instruction whose distance begins at a place.
    fn target(&self, at: usize) -> Option<u64> {
        let distance = self.bytes.get(at..at + 4)?;
        let distance = i32::from_le_bytes(distance.try_into().ok()?);
        let next = self.address.wrapping_add(at as u64 + 4);
        Some(next.wrapping_add_signed(i64::from(distance)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_jumps_and_taken_addresses_are_counted_and_nothing_else() {
        // At 0x1000: call 0x1100; jmp 0x1100; je 0x1100; lea rax,[rip → 0x1100]; mov eax,[rip → 0x1100]; call 0x1101.
        let mut bytes = Vec::new();
        for opcode in [
            &[0xE8][..],
            &[0xE9],
            &[0x0F, 0x84],
            &[0x48, 0x8D, 0x05],
            &[0x8B, 0x05],
        ] {
            bytes.extend_from_slice(opcode);
            let distance = 0x100 - (bytes.len() as i32 + 4);
            bytes.extend_from_slice(&distance.to_le_bytes());
        }
        bytes.push(0xE8);
        let distance = 0x101 - (bytes.len() as i32 + 4);
        bytes.extend_from_slice(&distance.to_le_bytes());
        // The end cuts an instruction.
        bytes.extend_from_slice(&[0xE8, 1]);
        let mut sites = BTreeMap::from([(0x1100, 0), (0x1102, 0)]);
        Code {
            address: 0x1000,
            bytes: &bytes,
        }
        .count_sites(&mut sites);
        assert_eq!(sites, BTreeMap::from([(0x1100, 4), (0x1102, 0)]));
    }
}
