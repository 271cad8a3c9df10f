//! CRC-32C of a few hundred bytes, for which the instruction that processors have for it keeps waiting for itself: three thirds go
//! through it side by side, and are joined by a carry-less multiplication.

/// Of fewer bytes, joining takes longer than waiting.
const BYTES_LEAST: usize = 160;

/// Of so many bytes there are other ways.
pub const BYTES_END: usize = 512;

/// Goes on with a CRC-32C; `None` if there are too few or too many bytes, or the processor cannot.
pub fn append(sum: u32, bytes: &[u8]) -> Option<u32> {
    if !(BYTES_LEAST..BYTES_END).contains(&bytes.len()) {
        return None;
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("pclmulqdq") {
        // SAFETY: the processor has what the function needs.
        return Some(unsafe { x86::append_in_thirds(sum, bytes) });
    }
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_clmulepi64_si128, _mm_crc32_u8, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
        _mm_xor_si128,
    };

    use super::BYTES_END;

    /// The polynomial of CRC-32C, the lowest power in the highest bit.
    const POLYNOMIAL: u32 = 0x82F6_3B78;

    /// By what a sum is multiplied to go on behind so many words of zeros: the instruction itself adds 32 to the power, and the
    /// product of two turned numbers is one place off.
    const BEHIND_WORDS: [u32; 2 * BYTES_END / 24 + 1] = {
        let mut factors = [0; 2 * BYTES_END / 24 + 1];
        let (mut power, mut at): (u32, usize) = (1 << 31, 0);
        while at < 64 * (factors.len() - 1) - 33 {
            power = (power >> 1) ^ if power & 1 == 1 { POLYNOMIAL } else { 0 };
            at += 1;
            if (at + 33) % 64 == 0 {
                factors[(at + 33) / 64] = power;
            }
        }
        factors
    };

    #[target_feature(enable = "sse4.2,pclmulqdq")]
    pub fn append_in_thirds(sum: u32, bytes: &[u8]) -> u32 {
        let (words, odd) = bytes.as_chunks::<8>();
        let third = words.len() / 3;
        let (first, rest) = words.split_at(third);
        let (second, rest) = rest.split_at(third);
        let (last, rest) = rest.split_at(third);
        let (mut one, mut two, mut three) = (u64::from(!sum), 0, 0);
        for ((a, b), c) in first.iter().zip(second).zip(last) {
            one = _mm_crc32_u64(one, u64::from_le_bytes(*a));
            two = _mm_crc32_u64(two, u64::from_le_bytes(*b));
            three = _mm_crc32_u64(three, u64::from_le_bytes(*c));
        }
        let behind = |sum: u64, words: usize| {
            let factor = i64::from(BEHIND_WORDS[words]);
            _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(sum as i64), _mm_cvtsi64_si128(factor))
        };
        let joined = _mm_xor_si128(behind(one, 2 * third), behind(two, third));
        let mut all = three ^ _mm_crc32_u64(0, _mm_cvtsi128_si64(joined) as u64);
        for word in rest {
            all = _mm_crc32_u64(all, u64::from_le_bytes(*word));
        }
        let all = odd.iter().fold(all as u32, |all, byte| _mm_crc32_u8(all, *byte));
        !all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn thirds_give_the_same_sum(
            bytes in prop::collection::vec(any::<u8>(), 0..BYTES_END + 40), sum: u32
        ) {
            if let Some(found) = append(sum, &bytes) {
                prop_assert_eq!(found, crc32c::crc32c_append(sum, &bytes));
            }
        }
    }

    #[test]
    fn every_length_is_right() {
        let bytes: Vec<u8> = (0..=BYTES_END).map(|it| (it * 7) as u8).collect();
        for length in 0..=BYTES_END {
            if let Some(found) = append(7, &bytes[..length]) {
                assert_eq!(found, crc32c::crc32c_append(7, &bytes[..length]), "{length}");
            }
        }
    }
}
