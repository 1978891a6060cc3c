//! The frame of every page: one head, one stylesheet, one way to make text safe.

use hmac_sha256::Hash as Sha256;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::text::printable;

const STYLE: &str = include_str!("style.css");

const LIST: &str = include_str!("list.js");

/// A page about a list of things (`data-item`): search, keys and the switch between light and dark as in the report of a
/// run. `what` are the things.
pub(in crate::report) fn listed(title: &str, what: &str, head: &Markup, list: &Markup) -> String {
    let body = html! {
        header.top {
            div.brand { span.logo aria-hidden="true" { "◆" } " clawgate" }
            button.theme type="button" hidden aria-label="Switch between light and dark" { "◐" }
        }
        main {
            (head)
            form.filters {
                label.script.search hidden { span.hidden { "Search" }
                    input type="search" name="text" placeholder={ "Search: " (what) "  /" } autocomplete="off";
                }
                output.script hidden aria-live="polite" {}
            }
            (list)
            p.none hidden { "Nothing is like that." }
        }
        footer {
            p { "Made by clawgate " (env!("CARGO_PKG_VERSION")) ". Keys: " kbd { "/" } " search, " kbd { "j" } " "
                kbd { "k" } " next and previous, " kbd { "Enter" } " open, " kbd { "n" } " next failure." }
        }
    };
    page(title, Some(LIST), &body)
}

/// A page whose middle is written piece by piece, since it may be long: what stands before it and what after.
pub(in crate::report) fn around(
    title: &str,
    script: &str,
    before: &Markup,
    after: &Markup,
) -> (String, String) {
    const MIDDLE: &str = "<!--middle-->";
    let body = html! { (before) (PreEscaped(MIDDLE)) (after) };
    let page = page(title, Some(script), &body);
    // What is from outside cannot hold the mark: it is escaped.
    let (head, tail) = page.split_once(MIDDLE).unwrap_or((&page, ""));
    (head.to_owned(), tail.to_owned())
}

/// A page that loads nothing. The policy lets only this script run, so that even markup that slipped through is dead.
pub(in crate::report) fn page(title: &str, script: Option<&str>, body: &Markup) -> String {
    let scripts = script.map_or(String::new(), |script| {
        format!(" script-src 'sha256-{}';", base64(&Sha256::hash(script.as_bytes())))
    });
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline';{scripts} base-uri 'none'; form-action 'none'"
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · clawgate" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                @if let Some(script) = script { script { (PreEscaped(script)) } }
            }
        }
    };
    page.into_string()
}

/// Text from outside with everything that is hidden made visible; escaping is the page's business.
pub(in crate::report) fn shown(text: &(impl ToString + ?Sized)) -> String {
    printable(&text.to_string()).into_owned()
}

/// Base64, for the digest of the script.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().chain([&0, &0]).take(3).fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        for position in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * position) & 63) as usize];
            text.push(if position > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_padded() {
        let texts = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, encoded) in texts {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
