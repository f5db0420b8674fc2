//! Encodes columns of numbers as bytes, without loss.
//!
//! A column is stored in the shortest of five forms. Times vary in their lower bits, which general compression cannot
//! shorten, so they are packed bit by bit. Sizes, peers and call paths repeat, and LZ4 finds repetitions of whole
//! bytes.
//!
//! ```text
//! form 0   one value                                     all the same
//!      1   least, numbers of bits                        value - least
//!      2   first, numbers of bits                        differences, signs in the lowest bit
//!      3   least, bytes of a value, length, LZ4 block    value - least
//!      4   n, n values, column of places                 few values
//! ```
//!
//! Bits are packed for 64 values at a time: the number of bits, how many values have more bits, the positions and upper
//! parts of these values, then the lower bits of all (as in PFOR, M. Zukowski et al., ICDE 2006).

use std::collections::HashMap;

/// Number of values that are packed together.
const GROUP: usize = 64;
/// Maximum number of distinct values in a column of indices. Arbitrary: an index takes a byte.
const MAX_DISTINCT: usize = 256;
/// Minimum length of a column in which repetitions are searched; shorter ones gain nothing. Arbitrary.
const MIN_REPEATED: usize = 16;

/// Number of values at the start of a longer column that are tested for repetitions. Arbitrary.
const PROBED: usize = 1024;

const ONE_VALUE: u8 = 0;
const BITS: u8 = 1;
const DIFFERENCES: u8 = 2;
const BYTES: u8 = 3;
const PLACES: u8 = 4;

/// Appends a number, seven bits per byte.
pub(super) fn put_number(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Reads bytes one after the other; returns `None` if too few are left.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// Decompresses bytes of [`put_compressed`].
    pub(super) fn compressed(&mut self, n_bytes: usize) -> Option<Vec<u8>> {
        let n_packed = self.size()?;
        let packed = self.take(n_packed)?;
        if n_packed == n_bytes {
            return Some(packed.to_vec());
        }
        // One byte expands to at most 255.
        if n_bytes / 256 > n_packed {
            return None;
        }
        let unpacked = lz4_flex::block::decompress(packed, n_bytes).ok()?;
        (unpacked.len() == n_bytes).then_some(unpacked)
    }
}

/// Appends the bytes compressed, or unchanged if that is not longer. The reader must know their number.
pub(super) fn put_compressed(bytes: &[u8], into: &mut Vec<u8>) {
    let packed = lz4_flex::block::compress(bytes);
    let shorter = if packed.len() < bytes.len() {
        &packed
    } else {
        bytes
    };
    put_number(shorter.len() as u64, into);
    into.extend_from_slice(shorter);
}

/// Encodes a difference with its sign in the lowest bit.
pub(super) fn folded(difference: u64) -> u64 {
    (difference << 1) ^ ((difference.cast_signed() >> 63).cast_unsigned())
}

/// Decodes a difference of [`folded`].
pub(super) fn unfolded(folded: u64) -> u64 {
    (folded >> 1) ^ (folded & 1).wrapping_neg()
}

/// Appends a column in its shortest form.
pub(super) fn put_column(values: &[u64], into: &mut Vec<u8>) {
    let Some((&first, rest)) = values.split_first() else {
        return;
    };
    if rest.iter().all(|value| *value == first) {
        into.push(ONE_VALUE);
        put_number(first, into);
        return;
    }
    let least = values.iter().copied().min().unwrap_or_default();
    let most = values.iter().copied().max().unwrap_or_default();
    let above: Vec<u64> = values.iter().map(|value| value - least).collect();
    let pairs = values.windows(2);
    let differences: Vec<u64> = pairs
        .map(|pair| folded(pair[1].wrapping_sub(pair[0])))
        .collect();
    // Only the shorter of the two is written.
    let (bits_above, bits_of_differences) = (GroupBits::of(&above), GroupBits::of(&differences));
    let n_above = n_bytes_of_number(least) + bits_above.n_bytes;
    let n_differences = n_bytes_of_number(first) + bits_of_differences.n_bytes;
    let mut shortest = Vec::with_capacity(1 + n_above.min(n_differences));
    if n_differences < n_above {
        shortest.push(DIFFERENCES);
        put_number(first, &mut shortest);
        bits_of_differences.put(&differences, &mut shortest);
    } else {
        shortest.push(BITS);
        put_number(least, &mut shortest);
        bits_above.put(&above, &mut shortest);
    }
    let mut keep = |form: Vec<u8>| {
        if form.len() < shortest.len() {
            shortest = form;
        }
    };
    if values.len() >= MIN_REPEATED {
        if may_repeat(&above) {
            keep(bytes_form(&above, least, most - least));
        }
        if let Some(form) = places_form(values) {
            keep(form);
        }
    }
    into.append(&mut shortest);
}

/// Sum of the bits of all values without their leading zeros.
pub(super) fn n_bits_of(values: &[u64]) -> usize {
    values.iter().map(|value| n_bits(*value)).sum()
}

/// Whether values may contain repetitions, judged by the first ones.
fn may_repeat(above: &[u64]) -> bool {
    let first = &above[..above.len().min(PROBED)];
    let bytes: Vec<u8> = first
        .iter()
        .flat_map(|value| (*value as u16).to_le_bytes())
        .collect();
    // LZ4 makes noise longer.
    above.len() <= PROBED || lz4_flex::block::compress(&bytes).len() < bytes.len()
}

fn bytes_form(above: &[u64], least: u64, most_above: u64) -> Vec<u8> {
    let n_bytes = (64 - most_above.leading_zeros())
        .div_ceil(8)
        .next_power_of_two() as usize;
    let bytes: Vec<u8> = match n_bytes {
        1 => above.iter().map(|value| *value as u8).collect(),
        2 => above
            .iter()
            .flat_map(|value| (*value as u16).to_le_bytes())
            .collect(),
        4 => above
            .iter()
            .flat_map(|value| (*value as u32).to_le_bytes())
            .collect(),
        _ => above.iter().flat_map(|value| value.to_le_bytes()).collect(),
    };
    let mut form = vec![BYTES];
    put_number(least, &mut form);
    form.push(n_bytes as u8);
    put_compressed(&bytes, &mut form);
    form
}

/// `None` if there are too many distinct values, or if this form is not shorter.
fn places_form(values: &[u64]) -> Option<Vec<u8>> {
    let most = MAX_DISTINCT.min(values.len() / 4);
    let mut places = HashMap::with_hasher(foldhash::fast::FixedState::default());
    let mut distinct = Vec::new();
    let mut column = Vec::with_capacity(values.len());
    for value in values {
        let place = *places.entry(*value).or_insert_with(|| {
            distinct.push(*value);
            distinct.len() as u64 - 1
        });
        if distinct.len() > most {
            return None;
        }
        column.push(place);
    }
    let mut form = vec![PLACES];
    put_number(distinct.len() as u64, &mut form);
    distinct
        .iter()
        .for_each(|value| put_number(*value, &mut form));
    let mut bits = vec![BITS];
    put_number(0, &mut bits);
    put_bits(&column, &mut bits);
    let bytes = bytes_form(&column, 0, distinct.len() as u64 - 1);
    form.extend_from_slice(if bytes.len() < bits.len() {
        &bytes
    } else {
        &bits
    });
    Some(form)
}

/// Reads a column of `values.len()` values.
pub(super) fn read_column(bytes: &mut Bytes<'_>, values: &mut [u64]) -> Option<()> {
    if values.is_empty() {
        return Some(());
    }
    match bytes.byte()? {
        PLACES => {
            let n_distinct = bytes.size()?;
            if n_distinct > MAX_DISTINCT {
                return None;
            }
            let distinct = (0..n_distinct).map(|_| bytes.number());
            let distinct: Vec<u64> = distinct.collect::<Option<_>>()?;
            let form = bytes.byte()?;
            read_simple(form, bytes, values)?;
            for value in values {
                *value = *distinct.get(usize::try_from(*value).ok()?)?;
            }
            Some(())
        }
        form => read_simple(form, bytes, values),
    }
}

fn read_simple(form: u8, bytes: &mut Bytes<'_>, values: &mut [u64]) -> Option<()> {
    let least = bytes.number()?;
    match form {
        ONE_VALUE => values.fill(least),
        BITS => {
            read_bits(bytes, values)?;
            for value in values {
                *value = value.wrapping_add(least);
            }
        }
        DIFFERENCES => {
            let (first, rest) = values.split_first_mut()?;
            read_bits(bytes, rest)?;
            *first = least;
            let mut value = least;
            for difference in rest {
                value = value.wrapping_add(unfolded(*difference));
                *difference = value;
            }
        }
        BYTES => {
            let n_bytes = usize::from(bytes.byte()?);
            let unpacked = bytes.compressed(n_bytes.checked_mul(values.len())?)?;
            match n_bytes {
                1 => spread(&unpacked, values, least, |[byte]: [u8; 1]| byte.into()),
                2 => spread(&unpacked, values, least, |bytes| {
                    u16::from_le_bytes(bytes).into()
                }),
                4 => spread(&unpacked, values, least, |bytes| {
                    u32::from_le_bytes(bytes).into()
                }),
                8 => spread(&unpacked, values, least, u64::from_le_bytes),
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(())
}

fn spread<const N: usize>(
    bytes: &[u8],
    values: &mut [u64],
    least: u64,
    number: impl Fn([u8; N]) -> u64,
) {
    let (chunks, _) = bytes.as_chunks::<N>();
    for (value, chunk) in values.iter_mut().zip(chunks) {
        *value = number(*chunk).wrapping_add(least);
    }
}

fn n_bits(value: u64) -> usize {
    (64 - value.leading_zeros()) as usize
}

/// Number of bytes that [`put_number`] appends.
fn n_bytes_of_number(number: u64) -> usize {
    n_bits(number).div_ceil(7).max(1)
}

/// The numbers of bits at which the values of a column take the fewest bytes, with larger values stored separately.
struct GroupBits {
    /// Number of bits for each 64 values.
    bits: Vec<u8>,
    /// Number of bytes of the column.
    n_bytes: usize,
}

impl GroupBits {
    fn of(values: &[u64]) -> Self {
        let mut bits = Vec::with_capacity(values.len().div_ceil(GROUP));
        let mut n_bytes = 0;
        for group in values.chunks(GROUP) {
            let mut with_bits = [0_u8; 65];
            let mut all = 0;
            for value in group {
                with_bits[n_bits(*value)] += 1;
                all |= value;
            }
            let most = n_bits(all);
            let best = best_bits(&with_bits, most);
            bits.push(best as u8);
            // The number of bits, the number of larger values, the position and upper part of each, the words.
            n_bytes += 2 + 8 * (group.len() * best).div_ceil(64);
            for (more, n_values) in with_bits[best..=most].iter().enumerate().skip(1) {
                n_bytes += usize::from(*n_values) * (1 + more.div_ceil(7));
            }
        }
        Self { bits, n_bytes }
    }

    fn put(&self, values: &[u64], into: &mut Vec<u8>) {
        for (group, bits) in values.chunks(GROUP).zip(&self.bits) {
            let bits = usize::from(*bits);
            into.push(bits as u8);
            let at = into.len();
            into.push(0);
            let limit = u64::MAX.checked_shr(64 - bits as u32).unwrap_or(0);
            for (place, value) in group.iter().enumerate() {
                if *value > limit {
                    into[at] += 1;
                    into.push(place as u8);
                    put_number(value >> bits, into);
                }
            }
            put_lower_bits(group, bits, into);
        }
    }
}

/// The number of bits at which 64 values take the fewest bytes.
///
/// # Arguments
/// * `with_bits` - how many of the values have each number of bits
/// * `most` - the greatest number of bits of a value
fn best_bits(with_bits: &[u8; 65], most: usize) -> usize {
    let (mut best, mut fewest) = (most, usize::MAX);
    let (mut n_more, mut upper_bits) = (0, 0);
    for bits in (0..=most).rev() {
        // An upper part takes a byte for 7 bits, and its position one more.
        let bytes = 8 * bits + n_more + (upper_bits / 7) + n_more;
        if bytes < fewest {
            (best, fewest) = (bits, bytes);
        }
        n_more += usize::from(with_bits[bits]);
        upper_bits += n_more;
    }
    best
}

/// Appends the lowest `bits` of at most 64 values, the first one in the lowest bits of the first word.
fn put_lower_bits(group: &[u64], bits: usize, into: &mut Vec<u8>) {
    if bits == 0 {
        return;
    }
    let mask = u64::MAX >> (64 - bits);
    // The word that is not full yet is in a register: memory that was just written is slow to read.
    let (mut word, mut n_filled) = (0_u64, 0);
    let (mut words, mut n_words) = ([0_u64; GROUP + 1], 0);
    for value in group {
        let value = value & mask;
        word |= value << n_filled;
        n_filled += bits;
        if n_filled >= 64 {
            words[n_words] = word;
            n_words += 1;
            n_filled -= 64;
            // The bits that did not fit; none if the word is exactly full.
            word = (value >> 1) >> (bits - n_filled - 1);
        }
    }
    words[n_words] = word;
    for word in &words[..(group.len() * bits).div_ceil(64)] {
        into.extend_from_slice(&word.to_le_bytes());
    }
}

fn put_bits(values: &[u64], into: &mut Vec<u8>) {
    GroupBits::of(values).put(values, into);
}

/// Skips a column of `n` values.
pub(super) fn skip_column(bytes: &mut Bytes<'_>, n: usize) -> Option<()> {
    if n == 0 {
        return Some(());
    }
    let mut form = bytes.byte()?;
    if form == PLACES {
        for _ in 0..bytes.size()? {
            bytes.number()?;
        }
        form = bytes.byte()?;
    }
    bytes.number()?;
    match form {
        ONE_VALUE => Some(()),
        BITS => skip_bits(bytes, n),
        DIFFERENCES => skip_bits(bytes, n - 1),
        BYTES => {
            bytes.byte()?;
            let n_packed = bytes.size()?;
            bytes.take(n_packed).map(drop)
        }
        _ => None,
    }
}

fn skip_bits(bytes: &mut Bytes<'_>, mut n: usize) -> Option<()> {
    while n > 0 {
        let of_group = n.min(GROUP);
        let bits = usize::from(bytes.byte()?);
        let n_more = bytes.byte()?;
        for _ in 0..n_more {
            bytes.byte()?;
            bytes.number()?;
        }
        bytes.take(8 * (of_group * bits).div_ceil(64))?;
        n -= of_group;
    }
    Some(())
}

/// Maximum number of bits of a value that lies within eight bytes from its first byte on.
const MAX_BITS_IN_WORD: usize = 57;

/// Unpacks values of `bits` bits, 1 to [`MAX_BITS_IN_WORD`].
///
/// # Arguments
/// * `packed` - followed by at least eight further bytes
#[inline(always)]
fn unpack_bits(packed: &[u8; 8 * GROUP + 8], bits: usize, group: &mut [u64]) {
    let mask = u64::MAX >> (64 - bits);
    let mut at = 0;
    for value in group {
        // The last one of 64 values of 57 bits begins at byte 448.
        let eight = packed[at / 8..].first_chunk::<8>();
        let word = eight.map_or(0, |eight| u64::from_le_bytes(*eight));
        *value = word >> (at % 8) & mask;
        at += bits;
    }
}

fn read_bits(bytes: &mut Bytes<'_>, values: &mut [u64]) -> Option<()> {
    let mut more = [(0, 0); GROUP];
    let mut padded = [0; 8 * GROUP + 8];
    for group in values.chunks_mut(GROUP) {
        let bits = usize::from(bytes.byte()?);
        let n_more = usize::from(bytes.byte()?);
        if bits > 64 || n_more > group.len() {
            return None;
        }
        for slot in &mut more[..n_more] {
            let place = usize::from(bytes.byte()?);
            let upper = bytes.number()?;
            if place >= group.len() || bits == 64 {
                return None;
            }
            *slot = (place, upper << bits);
        }
        if bits == 0 {
            group.fill(0);
        } else {
            let n_words = (group.len() * bits).div_ceil(64);
            let packed = bytes.take(8 * n_words)?;
            if bits <= MAX_BITS_IN_WORD {
                padded[..packed.len()].copy_from_slice(packed);
                unpack_bits(&padded, bits, group);
                add_upper(group, &more[..n_more]);
                continue;
            }
            let (packed, _) = packed.as_chunks::<8>();
            let mut words = [0_u64; GROUP + 1];
            for (word, packed) in words.iter_mut().zip(packed) {
                *word = u64::from_le_bytes(*packed);
            }
            let mask = u64::MAX >> (64 - bits);
            let mut at = 0;
            for value in group.iter_mut() {
                let (word, shift) = (at / 64, at % 64);
                let next = (words[(word + 1) % (GROUP + 1)] << 1) << (63 - shift);
                *value = (words[word % (GROUP + 1)] >> shift | next) & mask;
                at += bits;
            }
        }
        add_upper(group, &more[..n_more]);
    }
    Some(())
}

fn add_upper(group: &mut [u64], more: &[(usize, u64)]) {
    for (place, upper) in more {
        group[*place] |= upper;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(values: &[u64]) -> usize {
        let mut bytes = Vec::new();
        put_column(values, &mut bytes);
        let mut read = vec![7; values.len()];
        let mut rest = Bytes(&bytes);
        read_column(&mut rest, &mut read).unwrap();
        assert_eq!((read.as_slice(), rest.0.len()), (values, 0));
        bytes.len()
    }

    fn numbers() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), 0..9_u64, 1000..1100_u64, Just(u64::MAX)]
    }

    proptest! {
        #[test]
        fn any_column_is_read_as_it_was_written(values in prop::collection::vec(numbers(), 0..300)) {
            round_trip(&values);
        }

        #[test]
        fn the_length_of_packed_bits_is_known_before(values in prop::collection::vec(numbers(), 0..300)) {
            let mut bytes = Vec::new();
            let bits = GroupBits::of(&values);
            bits.put(&values, &mut bytes);
            prop_assert_eq!(bits.n_bytes, bytes.len());
        }

        #[test]
        fn any_bytes_are_a_column_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300), n in 0..300_usize) {
            let _ = read_column(&mut Bytes(&bytes), &mut vec![0; n]);
        }
    }

    #[test]
    fn times_take_the_bits_in_which_they_scatter() {
        let mut random = 1_u64;
        let mut times = Vec::new();
        for _ in 0..6400 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            times.push(1_000_000 + (random >> 54));
        }
        times[77] = 1 << 40;
        assert!(round_trip(&times) < 6400 * 11 / 8);
    }

    #[test]
    fn repetitions_take_next_to_nothing() {
        let sizes: Vec<u64> = (0..6400).map(|i| [8, 1 << 20, 64, 3][i % 4]).collect();
        assert!(round_trip(&sizes) < 200);
        let periods: Vec<u64> = (0..6400).map(|i| i * i % 977).collect();
        assert!(round_trip(&periods) < 6400 / 2);
        assert!(round_trip(&[5; 6400]) < 4);
    }
}
