//! The encoding of messages: golden bytes, and that nothing else passes for a message.

use plimsoll_route::{DecodeError, ENCODED_BYTES, Message, TargetId, WriteId};
use proptest::prelude::*;

/// One of each kind, in the order of the kinds.
fn all() -> Vec<Message> {
    let write = WriteId { writer: 0x0102_0304, sequence: 0x0506_0708, part: 0x090a_0b0c };
    let (target, taker, source) = (TargetId(0x0d0e), TargetId(0x0d0e), TargetId(0x0d0e));
    let (request, length_bytes) = (0x0f10_1112, 0x1314_1516_1718_191a);
    let (writer, count, next) = (write.writer, write.sequence, write.sequence);
    let (allowance_bytes, queued_bytes) = (length_bytes, length_bytes);
    vec![
        Message::WriteSubmission { write, length_bytes },
        Message::WriterClose { writer, count },
        Message::SubmissionAck { writer, next },
        Message::DoWrite { write, target, request, length_bytes },
        Message::WriteComplete { write, target, request, length_bytes },
        Message::WriteFailed { write, target, request, length_bytes },
        Message::WriteCommitted { write, target, request, length_bytes },
        Message::CommitAck { write },
        Message::WriteIdle { target, request, allowance_bytes },
        Message::WriteBusy { target, request },
        Message::RerouteReq { taker, request },
        Message::RerouteAck { taker, request, write, length_bytes },
        Message::RerouteReject { taker, request },
        Message::WriteMore { source, request, write, length_bytes },
        Message::WriteAdopt { source, request, write, length_bytes },
        Message::TargetLost { target, request },
        Message::StatusInq { request },
        Message::StatusReply { target, request, queued_bytes },
        Message::GroupClose { target },
        Message::GroupCloseAck,
        Message::GiveUp { writer },
        Message::TargetBack { target, request },
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn golden_bytes_of_version_1() {
    let golden: Vec<&str> = include_str!("golden/messages-v1.txt").lines().collect();
    let written: Vec<String> = all().iter().map(|message| hex(&message.encode())).collect();
    assert_eq!(written, golden, "the encoding changed: that needs a new version");
    for (message, kind) in all().into_iter().zip(1u8..) {
        let bytes = message.encode();
        assert_eq!(usize::from(bytes[1]), message.kind() + 1, "{}", message.name());
        assert_eq!((bytes[0], bytes[1]), (1, kind));
        assert_eq!(Message::decode(&bytes), Ok(message));
    }
    assert!(size_of::<Message>() <= 32);
}

/// The table that others implement the protocol from.
#[test]
fn the_documentation_lists_every_kind_by_its_number() {
    let text = include_str!("../../../docs/routing.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")).filter_map(|line| {
        let (number, rest) = line.split_once(" | ")?;
        let (name, _) = rest.split_once(" | ")?;
        let is_name = name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
        Some((number.parse::<usize>().ok().filter(|_| is_name)?, name))
    });
    let expected: Vec<(usize, &str)> = (1..).zip(Message::NAMES.iter().copied()).collect();
    assert_eq!(rows.collect::<Vec<_>>(), expected);
}

fn resealed(mut bytes: [u8; ENCODED_BYTES]) -> [u8; ENCODED_BYTES] {
    let sum = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn what_is_not_a_message_is_refused() {
    let good = Message::GroupCloseAck.encode();
    assert_eq!(Message::decode(&good[..31]), Err(DecodeError::Length(31)));
    assert_eq!(Message::decode(&[]), Err(DecodeError::Length(0)));
    let mut other = good;
    other[0] = 2;
    assert_eq!(Message::decode(&resealed(other)), Err(DecodeError::Version(2)));
    for kind in [0, 23, 255] {
        let mut other = good;
        other[1] = kind;
        assert_eq!(Message::decode(&resealed(other)), Err(DecodeError::Kind(kind)));
    }
    let mut other = good;
    other[9] = 1;
    assert_eq!(Message::decode(&resealed(other)), Err(DecodeError::Stray(20)));
}

proptest! {
    #[test]
    fn one_flipped_bit_is_noticed(kind in 0..Message::NAMES.len(), bit in 0usize..ENCODED_BYTES * 8) {
        let mut bytes = all()[kind].encode();
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Message::decode(&bytes).is_err());
    }

    #[test]
    fn bytes_decode_to_themselves_or_not_at_all(bytes in any::<[u8; 32]>(), kind in 0u8..25) {
        let mut bytes = bytes;
        (bytes[0], bytes[1]) = (1, kind);
        let bytes = resealed(bytes);
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(message.encode(), bytes);
        }
    }
}
