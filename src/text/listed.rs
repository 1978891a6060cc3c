//! Lists in one text, as flags take them.

/// The names in a list with commas or spaces between them; what stands in brackets belongs to its name, as in
/// `Read,Bash(git log:*)`.
pub(crate) fn split_names(text: &str) -> Vec<String> {
    let (mut names, mut name, mut depth) = (Vec::new(), String::new(), 0_usize);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' if depth == 0 => {
                names.push(std::mem::take(&mut name));
                continue;
            }
            _ => {}
        }
        name.push(c);
    }
    names.push(name);
    names.retain(|name| !name.trim().is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_brackets_belongs_to_its_name() {
        assert_eq!(
            split_names("Read, Bash(git log:*),Edit Write"),
            ["Read", "Bash(git log:*)", "Edit", "Write"]
        );
        assert_eq!(split_names("Bash(a, b:*)"), ["Bash(a, b:*)"]);
        assert!(split_names(" , ").is_empty());
    }
}
