/// A TOML string: as it is between the first marks that do not stand in it, or with escapes.
pub(crate) fn quoted(text: &str) -> String {
    let break_first = if text.contains('\n') { "\n" } else { "" };
    let marks: &[_] = if break_first.is_empty() { &["\"", "'"] } else { &["\"\"\"", "'''"] };
    let is_plain = !text.contains(|c: char| c.is_ascii_control() && c != '\t' && c != '\n');
    let fits =
        |mark: &&&str| is_plain && !text.contains(**mark) && !(mark.starts_with('"') && text.contains('\\'));
    if let Some(mark) = marks.iter().find(fits) {
        return format!("{mark}{break_first}{text}{mark}");
    }
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' if !break_first.is_empty() => "\n".to_owned(),
        c if c.is_ascii_control() => format!("\\u{:04X}", c as u32),
        c => c.to_string(),
    };
    format!("{0}{break_first}{1}{0}", marks[0], text.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn texts_stay_readable() {
        for (text, written) in [
            ("", r#""""#),
            ("it's", r#""it's""#),
            (r#"{"a":"b\n"}"#, r#"'{"a":"b\n"}'"#),
            (r#"it's "x""#, r#""it's \"x\"""#),
            ("a\u{1b}", r#""a\u001B""#),
            ("a \"b\"\n", "\"\"\"\na \"b\"\n\"\"\""),
            ("a\\\n", "'''\na\\\n'''"),
            ("a\r\n", "\"\"\"\na\\u000D\n\"\"\""),
        ] {
            assert_eq!(quoted(text), written);
        }
    }

    proptest::proptest! {
        #[test]
        fn every_text_is_read_back(text in "(['\"\\\\\n\r\t \u{0}\u{7f}\u{85}éa]|\"\"\"|'''){0,9}") {
            let read: toml::Table = toml::from_str(&format!("a = {}\n", quoted(&text))).unwrap();
            assert_eq!(read["a"].as_str(), Some(text.as_str()));
        }
    }
}
