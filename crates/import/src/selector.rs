//! What series a text selects that names a metric and, in curly brackets, labels.

use std::collections::BTreeMap;

/// A metric and labels that a series must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: BTreeMap<String, String>,
}

impl Selector {
    /// Reads `name` or `name{label="value", …}`; nothing for any other query, as only Prometheus knows what that selects.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (name, rest) = match text.split_once('{') {
            Some((name, rest)) => (name, rest.trim_end().strip_suffix('}')?),
            None => (text, ""),
        };
        let is_name = |it: &str| {
            !it.is_empty()
                && it.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b':'))
        };
        let name = name.trim();
        if !is_name(name) {
            return None;
        }
        let mut labels = BTreeMap::from([("__name__".to_owned(), name.to_owned())]);
        for part in rest.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let (label, value) = part.split_once('=')?;
            let value = value.trim();
            let quote = value.chars().next().filter(|it| matches!(it, '"' | '\''))?;
            let value = value.strip_prefix(quote)?.strip_suffix(quote)?;
            if !is_name(label.trim()) || value.contains(['\\', '"', '\'']) {
                return None;
            }
            labels.insert(label.trim().to_owned(), value.to_owned());
        }
        Some(Selector { labels })
    }

    /// Returns whether a series with these labels is one of them.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels.iter().all(|(name, value)| labels.get(name) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_select_by_metric_and_labels() {
        let labels = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let series = labels(&[("__name__", "stats"), ("operation", "open"), ("target", "a")]);
        let selects = |text| Selector::parse(text).map(|it| it.selects(&series));
        assert_eq!(selects("stats"), Some(true));
        assert_eq!(selects("stats{}"), Some(true));
        assert_eq!(selects(" stats { operation = 'open', target=\"a\" } "), Some(true));
        assert_eq!(selects("stats{operation='close'}"), Some(false));
        assert_eq!(selects("other"), Some(false));
        for query in
            ["rate(stats[1m])", "stats{operation=~'o.*'}", "stats{a!='b'}", "", "{a='b'}", "a{b"]
        {
            assert_eq!(selects(query), None, "{query}");
        }
    }
}
