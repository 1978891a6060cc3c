/// Whether a whole text fits a pattern in which `*` stands for any characters, `/` too, and `?` for exactly one.
/// Takes at most as many steps as the lengths of both multiplied.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    fits(pattern.chars(), text.chars(), |p| *p == '*', |p, c| *p == '?' || p == c)
}

/// Whether a relative path fits a pattern in which `*` and `?` stay within a name and `**` stands for any folders,
/// none of them too.
#[cfg(feature = "cli")]
pub(crate) fn path_glob(pattern: &str, path: &str) -> bool {
    let pattern = pattern.trim_start_matches("./");
    fits(pattern.split('/'), path.split('/'), |p| *p == "**", |p, name| glob(p, name))
}

/// Goes back to the last star alone: what an earlier one could take, the last one can take as well.
fn fits<P: Iterator + Clone, T: Iterator + Clone>(
    mut pattern: P,
    mut text: T,
    is_star: impl Fn(&P::Item) -> bool,
    is_same: impl Fn(&P::Item, &T::Item) -> bool,
) -> bool {
    // What follows the last star, and the text that it has not taken.
    let mut last_star: Option<(P, T)> = None;
    loop {
        let (mut pattern_rest, mut text_rest) = (pattern.clone(), text.clone());
        match (pattern_rest.next(), text_rest.next()) {
            (Some(wanted), _) if is_star(&wanted) => {
                pattern = pattern_rest;
                last_star = Some((pattern.clone(), text.clone()));
            }
            (Some(wanted), Some(found)) if is_same(&wanted, &found) => {
                (pattern, text) = (pattern_rest, text_rest);
            }
            (None, None) => return true,
            (_, None) => return false,
            (_, Some(_)) => {
                let Some((after, left)) = &mut last_star else { return false };
                left.next();
                (pattern, text) = (after.clone(), left.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything_and_a_question_mark_one_character() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("**", "", true),
            ("a", "", false),
            ("", "a", false),
            ("claude/*", "claude/http/429", true),
            ("*429", "claude/http/429", true),
            ("c*t?/4*9", "ctp/429", true),
            ("claude/?", "claude/http", false),
            ("http", "claude/http", false),
            ("*a*b", "xaxbxb", true),
            ("*a*b", "xaxbxc", false),
            ("r?sum?", "résumé", true),
            ("mcp__*__read", "mcp__files__read", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn hostile_patterns_are_cheap() {
        let text = "a".repeat(10_000);
        assert!(!glob("a*a*a*a*a*a*a*a*b", &text));
        assert!(!glob(&"*a".repeat(20_000), &text));
        assert!(!glob(&("*".repeat(1000) + "b"), &text));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn a_path_is_matched_name_by_name() {
        for (pattern, path, expected) in [
            ("*.md", "a.md", true),
            ("*.md", "b/a.md", false),
            ("./out/*.md", "out/a.md", true),
            ("**/*.md", "a.md", true),
            ("**/*.md", "b/c/a.md", true),
            ("out/**", "out/x/y", true),
            ("out/**", "out", true),
            ("a/**/b/**/c", "a/b/x/c", true),
            ("a/**/b/**/c", "a/x/c", false),
            ("?.md", "é.md", true),
        ] {
            assert_eq!(path_glob(pattern, path), expected, "{pattern} {path}");
        }
        assert!(!path_glob(&("**/a/".repeat(40) + "b"), &"a/".repeat(3000)));
        assert!(!path_glob("a*a*a*a*a*a*b", &"a".repeat(10_000)));
    }
}
