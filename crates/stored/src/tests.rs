use super::*;
use proptest::prelude::*;

const MEMORY: usize = 2 << 30;

fn bytes_of(value: &impl Stored) -> Vec<u8> {
    let mut out = Vec::new();
    value.put(&mut out);
    out
}

fn read<T: Stored>(bytes: &[u8]) -> Result<T, Malformed> {
    let mut reader = Reader::new(bytes, MEMORY);
    let value = T::get(&mut reader)?;
    if reader.left() == 0 { Ok(value) } else { Err(Malformed) }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        numbers: Vec<(u64, i64)>, share: Option<f64>, texts: BTreeSet<String>, truth: bool,
    ) {
        let value = ((numbers, texts), (share.map(f64::to_bits), truth));
        prop_assert_eq!(read(&bytes_of(&value)), Ok(value));
    }

    #[test]
    fn sparse_lists_are_read_with_their_length(values in proptest::collection::vec(0u64..3, 0..50)) {
        let mut out = Vec::new();
        put_sparse(&values, &mut out);
        prop_assert_eq!(get_sparse(&mut Reader::new(&out, MEMORY), values.len()), Ok(values.clone()));
        let last = values.iter().rposition(|value| *value > 0);
        if let Some(last) = last {
            let too_short: Result<Vec<u64>, _> = get_sparse(&mut Reader::new(&out, MEMORY), last);
            prop_assert_eq!(too_short, Err(Malformed));
        }
    }
}

#[test]
fn numbers_take_few_bytes() {
    for (value, bytes) in [(0u64, 1), (127, 1), (128, 2), (u64::MAX, 10)] {
        assert_eq!(bytes_of(&value).len(), bytes, "{value}");
        assert_eq!(read(&bytes_of(&value)), Ok(value));
    }
    let mut zeros = Vec::new();
    put_sparse(&[0u64; 100_000], &mut zeros);
    assert_eq!(zeros, [0]);
    let mut same = Vec::new();
    put_sparse(&[7u64; 100_000], &mut same);
    assert_eq!(same.len(), 6, "a call that fills many bins takes few bytes");
}

#[test]
fn nonsense_is_refused_without_taking_memory() {
    assert_eq!(read::<u64>(&[0x80]), Err(Malformed), "cut off");
    assert_eq!(read::<u64>(&[0xff; 11]), Err(Malformed), "more than 64 bits");
    assert_eq!(
        read::<u64>(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]),
        Err(Malformed)
    );
    assert_eq!(read::<u8>(&bytes_of(&256u64)), Err(Malformed));
    assert_eq!(read::<bool>(&[2]), Err(Malformed));
    assert_eq!(read::<String>(&[1, 0xff]), Err(Malformed), "not UTF-8");
    assert_eq!(read::<Vec<u64>>(&bytes_of(&u64::MAX)), Err(Malformed), "a list that is not there");
}

#[test]
fn lists_take_from_one_budget_of_memory_before_they_are_read() {
    // As many empty texts as there are bytes, each of which is 24 bytes and more in memory.
    let texts = [bytes_of(&1_000_000usize), vec![0; 1_000_000]].concat();
    let read_with = |memory| {
        let mut reader = Reader { memory, ..Reader::new(&texts, MEMORY) };
        let read = Vec::<String>::get(&mut reader);
        (read.map(|texts| texts.len()), reader.is_too_much(), reader.memory)
    };
    let needed = 1_000_000 * (size_of::<String>() + OF_TEXT);
    assert_eq!(read_with(needed), (Ok(1_000_000), false, 0));
    assert_eq!(read_with(needed - 1), (Err(Malformed), true, OF_TEXT - 1));
    // Refused as a whole, before the first of them.
    assert_eq!(read_with(1 << 20), (Err(Malformed), true, 1 << 20));
    let too_long: Result<Vec<u64>, _> = get_sparse(&mut Reader::new(&[0], MEMORY), usize::MAX / 8);
    assert_eq!(too_long, Err(Malformed));
    for (memory, is_read) in [(800, true), (799, false)] {
        let boxed = bytes_of(&Box::new([7u64; 100]));
        let mut reader = Reader { memory, ..Reader::new(&boxed, MEMORY) };
        assert_eq!(Box::<[u64; 100]>::get(&mut reader).is_ok(), is_read);
    }
}

#[test]
fn a_list_has_no_more_values_than_it_may_have() {
    let bytes = bytes_of(&vec![1u64, 2, 3]);
    let mut reader = Reader::new(&bytes, MEMORY);
    assert_eq!(get_at_most(&mut reader, 3), Ok(vec![1u64, 2, 3]));
    let mut reader = Reader::new(&bytes, MEMORY);
    let too_many: Result<Vec<u64>, _> = get_at_most(&mut reader, 2);
    assert_eq!((too_many, reader.is_too_much()), (Err(Malformed), true));
}
