//! A whole answer of an API that came as events: a secret may lie over the seams of the pieces of any text in it, in
//! whatever words that API says them.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::json::{Kind, Node, Scanner};
use crate::text::Masker;

/// The members that say to which of several texts at the same place a piece belongs.
const WHICH: [&str; 4] = ["index", "output_index", "content_index", "item_id"];

/// Where the pieces of each text are, by the place that they have in their events.
type Texts = BTreeMap<String, Vec<Range<usize>>>;

/// The answer without its secrets, also those that lie over the seams of several events.
pub(super) fn masked(masker: &Masker, body: &[u8]) -> Vec<u8> {
    let mut body = masker.mask_bytes(body.to_vec());
    for pieces in texts(&body).into_values().filter(|pieces| pieces.len() > 1) {
        masker.mask_pieces(&mut body, &pieces);
    }
    body
}

fn texts(body: &[u8]) -> Texts {
    let (mut texts, mut scanner) = (Texts::new(), Scanner::default());
    // Gemini streams one list where nobody asks for events; one that was cut is read as far as it went.
    if body.trim_ascii_start().starts_with(b"[") {
        let Ok(text) = std::str::from_utf8(body) else { return texts };
        let ends = [text.len(), text.rfind('}').map_or(0, |end| end + 1)];
        for whole in [text.to_owned(), format!("{text}]"), format!("{}]", &text[..ends[1]])] {
            if let Ok(list) = scanner.scan(&whole) {
                list.root().items().for_each(|event| collect(event, 0, "", &mut texts));
                break;
            }
        }
        return texts;
    }
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        if let Some(data) = line.strip_prefix(b"data:")
            && let Ok(data) = std::str::from_utf8(data)
            && let Ok(event) = scanner.scan(data)
        {
            collect(event.root(), at + b"data:".len(), "", &mut texts);
        }
        at += line.len();
    }
    texts
}

/// Notes every string below a value; the text that it was read from begins at `base`.
fn collect(node: Node<'_>, base: usize, place: &str, texts: &mut Texts) {
    match node.kind() {
        Kind::String => {
            let start = base + node.offset() + 1;
            texts
                .entry(place.to_owned())
                .or_default()
                .push(start..start + node.raw().len().saturating_sub(2));
        }
        Kind::Array => {
            for (at, item) in node.items().enumerate() {
                collect(item, base, &format!("{place}/{at}"), texts);
            }
        }
        Kind::Object => {
            let which: String =
                WHICH.iter().filter_map(|name| Some(format!("#{}", node.get(name)?.raw()))).collect();
            for (name, value) in node.members() {
                let name = name.text().unwrap_or_default();
                collect(value, base, &format!("{place}{which}/{name}"), texts);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::masked;
    use crate::text::Masker;

    #[test]
    fn a_secret_over_the_seams_of_a_stream_is_masked_whoever_says_it() {
        let secret = "sk-live-secret-4711-of-somebody";
        let masker = Masker::new([secret]);
        let (one, rest) = secret.split_at(9);
        let (two, three) = rest.split_at(7);
        let said: [&dyn Fn(&str) -> String; 6] = [
            &|piece| {
                format!(
                    "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":1,\
                 \"delta\":{{\"type\":\"text_delta\",\"text\":\"{piece}\"}}}}\n\n"
                )
            },
            &|piece| {
                format!(
                    "event: x\r\ndata: {{\"type\":\"response.output_text.delta\",\"delta\":\"{piece}\"}}\r\n\r\n"
                )
            },
            &|piece| {
                format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n: ping\n\n")
            },
            &|piece| {
                format!(
                    "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\"{piece}\"}}}}]}}}}]}}\n\n\
                 data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":1,\"function\":{{\"arguments\":\"other\"}}}}]}}}}]}}\n\n"
                )
            },
            &|piece| {
                format!(
                    "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{piece}\"}}]}}}}]}}\r\n\r\n"
                )
            },
            &|piece| {
                format!(
                    "{}{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{piece}\"}}]}}}}]}}",
                    if piece == one { "[" } else { ",\r\n" }
                )
            },
        ];
        for say in said {
            let body = [one, two, three].map(say).concat();
            let masked = masked(&masker, body.as_bytes());
            assert_eq!(masked.len(), body.len());
            let masked = String::from_utf8(masked).unwrap();
            assert!([one, two, three].iter().all(|piece| !masked.contains(piece)), "{masked}");
            assert_eq!(masked.matches('*').count(), secret.len(), "{masked}");
        }
        let harmless = "data: {\"text\":\"sk-live\"}\n\ndata: {\"text\":\"-on\"}\n\nnot json\ndata: {\n";
        assert_eq!(masked(&masker, harmless.as_bytes()), harmless.as_bytes());
    }
}
