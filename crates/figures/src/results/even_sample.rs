//! Some of many, so that a figure can be read.

/// So many of the items, evenly over all of them, the first and the last included.
pub(crate) fn even_sample<T>(items: Vec<T>, most: usize) -> Vec<T> {
    let all = items.len();
    if all <= most {
        return items;
    }
    let chosen = |step: usize| step * (all - 1) / (most.max(2) - 1);
    let mut next = 0;
    let mut take = |index: usize| {
        let is_chosen = next < most && index == chosen(next);
        next += usize::from(is_chosen);
        is_chosen
    };
    items.into_iter().enumerate().filter(|(index, _)| take(*index)).map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::even_sample;

    #[test]
    fn samples_are_even_and_keep_the_ends() {
        assert_eq!(even_sample((0..5).collect(), 9), [0, 1, 2, 3, 4]);
        assert_eq!(even_sample((0..101).collect(), 3), [0, 50, 100]);
        assert_eq!(even_sample((0..10_000).collect::<Vec<_>>(), 40).len(), 40);
        assert_eq!(even_sample((0..3).collect(), 1), [0]);
        assert!(even_sample(Vec::<u8>::new(), 1).is_empty());
    }
}
