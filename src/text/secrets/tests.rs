use super::*;
use proptest::prelude::*;
use serde_json::json;

const VALUE: &str = "hunter2+hunter2/x";

fn whole(masker: &Masker, text: &[u8]) -> Vec<u8> {
    let (mut masker, mut out) = (masker.clone(), Vec::new());
    masker.push(text, &mut out);
    masker.finish(&mut out);
    out
}

/// What a stream becomes, whose chunks are that long.
fn in_chunks(masker: &Masker, text: &[u8], length: usize) -> (Vec<u8>, u64) {
    let (mut masker, mut out) = (masker.clone(), Vec::new());
    text.chunks(length).for_each(|chunk| masker.push(chunk, &mut out));
    masker.finish(&mut out);
    (out, masker.masked())
}

#[test]
fn every_part_of_a_beginning_at_the_end_of_a_text_is_undecided() {
    let long = format!("{VALUE}{}", "y".repeat(90));
    let masker = Masker::new([long.as_str()]);
    let beginnings = SHAPES.iter().map(|(begins, _)| *begins).chain([long.as_str()]);
    for begins in beginnings {
        for length in 1..begins.len() {
            let text = format!("; {}", &begins[..length]);
            assert_eq!(masker.known.undecided(text.as_bytes(), 0), Some(2), "{text}");
        }
    }
    assert_eq!(masker.known.undecided(b"; sk-ant.", 0), None);
}

#[test]
fn credentials_are_masked_and_nothing_else_moves() {
    let masker = Masker::new(["hunter2-hunter2", "short"]);
    let text = "key=hunter2-hunter2; sk-ant-api03-AbC_9 short sk-an";
    let masked = "key=***************; sk-ant-*********** short sk-an";
    assert_eq!(masker.mask(text), masked);
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1g";
    let aws = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    for (before, secret, after) in [
        ("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a", " x"),
        ("\"gho_", "16C7e42F292c6912E7710c838347Ae178B4a", "\""),
        ("\\nghs_", "16C7e42F292c6912E7710c838347Ae178B4a", "\\n"),
        ("\u{1b}[31mghu_", "16C7e42F292c6912E7710c838347Ae178B4a", "\u{1b}[0m"),
        ("github_pat_", "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789", "."),
        ("joinedtoghp_", "16C7e42F292c6912E7710c838347Ae178B4a", ""),
        ("sk-proj-", "abcDEF123456_abcdef-123456", "\n"),
        ("glpat-", "ABCdef123456-ghiJKLm", " "),
        ("https://x/?key=AIza", "SyA1234567890abcdefghijklmnopqrstuv", "&y"),
        ("xoxb-", "123456789012-1234567890123-abcdefghij", ""),
        ("xoxp-", "123456789012-1234567890123-abcdefghij", ""),
        ("AKIA", "IOSFODNN7EXAMPLE", ","),
        ("npm_", "abcdefghijklmnopqrstuvwxyz0123456789", ""),
        ("authorization: Bearer ", "abc.def-123/456+789=", "\r\n"),
        ("eyJ", &jwt[3..], " "),
        ("AWS_SECRET_ACCESS_KEY=", aws, "\n"),
        ("{\"SecretAccessKey\": \"", aws, "\"}"),
        ("{\\\"aws_secret_access_key\\\":\\\"", aws, "\\\"}"),
        ("[\"--secret-access-key\",\"", aws, "\"]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----",
            "\\nMIIEowIBAAKCAQEAx1y2\\nabc=\\n",
            "-----END RSA PRIVATE KEY-----",
        ),
    ] {
        let (text, masked) =
            (format!("{before}{secret}{after}"), format!("{before}{}{after}", "*".repeat(secret.len())));
        assert_eq!(masker.mask(&text), masked);
        assert_eq!(masker.mask(&masked), masked, "once is enough");
        assert_eq!(in_chunks(&masker, text.as_bytes(), 1), (masked.into_bytes(), 1), "{text}");
    }
}

#[test]
fn a_private_key_is_masked_over_its_lines() {
    let masker = Masker::default();
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASC==\n-----END PRIVATE KEY-----\nand more\n";
    let masked = "-----BEGIN PRIVATE KEY-----\n************************\n**********\n-----END PRIVATE KEY-----\nand more\n";
    for length in [1, 7, 28, 40, 200] {
        assert_eq!(in_chunks(&masker, key.as_bytes(), length).0, masked.as_bytes(), "{length}");
    }
}

#[test]
fn ordinary_text_stays() {
    let text = "task-ant-hill npm_config_cache=1 highs_and_lows_2 the Bearer token authentication scheme \
        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 b405e81a-1fd2-43b8-8a3c-5e85668d2441 \
        claude-sonnet-4-5-20250929 req_011CV2HXdvpiAwBGoR98eoh4 toolu_01CCVb105S1NCmaLeTyVAxo4 msg_01XFDUDYJgAACzvnptvVoYEL \
        eyJhbGciOiJIUzI1NiJ9 iVBORw0KGgoAAAANSUhEUgAAAAEAKIAIOSFODNN7EXAMPLEcQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII= \
        sk-ant- ghp_ AKIA AIza xoxb- \"secret_access_key\": \"da39a3ee5e6b4b0d3255bfef95601890afd8070\" \
        -----BEGIN CERTIFICATE-----\\nMIIEowIBAAKCAQEAx1y2\\n-----END CERTIFICATE----- expects -----BEGIN PRIVATE KEY----- there";
    assert_eq!(Masker::default().mask(text), text);
}

/// The captures hold every kind of identifier, digest and picture that real programs print, and no key.
#[test]
fn nothing_of_the_captures_is_masked() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read(&path).unwrap();
            let masked = whole(&Masker::default(), &text);
            assert_eq!(
                String::from_utf8_lossy(&masked),
                String::from_utf8_lossy(&text),
                "{}",
                path.display()
            );
            files += 1;
        }
    }
    assert!(files > 2000, "{files}");
}

#[test]
fn a_known_value_is_found_in_every_encoding() {
    let masker = Masker::new([VALUE]);
    for (form, length) in [
        ("hunter2+hunter2/x", 17),
        ("aHVudGVyMitodW50ZXIyL3g", 23),
        // After `a:` and after `ab:`.
        ("YTpodW50ZXIyK2h1bnRlcjIveA==", 25),
        ("YWI6aHVudGVyMitodW50ZXIyL3g=", 24),
        ("68756e746572322b68756e746572322f78", 34),
        ("68756E746572322B68756E746572322F78", 34),
        ("hunter2%2Bhunter2%2fx", 21),
        ("hunter2%2Bhunter2/x", 19),
        ("hunter2\\u002bhunter2\\/x", 23),
        ("\\u0068unter2+hunter2/x", 22),
        ("hunter2\\\\u002Bhunter2\\\\\\/x", 26),
    ] {
        let text = format!("{{\"a\":\"before {form} after\"}}\n");
        let masked = masker.mask(&text);
        assert_eq!(masked.len(), text.len());
        assert_eq!(masked.bytes().filter(|byte| *byte == b'*').count(), length, "{form}: {masked}");
        assert!(masked.contains("before ") && masked.contains(" after"), "{masked}");
        for chunk in 1..text.len() {
            let (cut, count) = in_chunks(&masker, text.as_bytes(), chunk);
            assert_eq!((String::from_utf8_lossy(&cut), count), (masked.as_str().into(), 1), "{chunk}");
            // What is no JSON does not wait for the end of its line.
            let (cut, _) = in_chunks(&masker, &text.as_bytes()[1..], chunk);
            assert_eq!(String::from_utf8_lossy(&cut), &masked[1..], "{chunk}");
        }
    }
    let quoted = Masker::new(["pass\"word\"é"]);
    for text in [
        r#"{"a":"pass\"word\"é"}"#,
        r#"{"a":"pass\"word\"\u00e9"}"#,
        r#"{"a":"{\"b\":\"pass\\\"word\\\"é\"}"}"#,
    ] {
        assert!(!quoted.mask(text).contains("word"), "{}", quoted.mask(text));
    }
}

fn delta(text: &str) -> String {
    let event =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    format!(
        "{}\n",
        json!({"type": "stream_event", "event": event, "uuid": "b405e81a-1fd2-43b8-8a3c-5e85668d2441"})
    )
}

#[test]
fn a_secret_in_pieces_is_masked_in_each_of_them() {
    let masker = Masker::new([VALUE]);
    let ping = "{\"type\":\"stream_event\",\"event\":{\"type\":\"ping\"}}\n".to_owned();
    let stop = "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_stop\"}}\n".to_owned();
    for (pieces, masked, count) in [
        (vec!["say hun", "ter2+hunter2/x now"], vec!["say ***", "************** now"], 1),
        (vec!["say h", "u", "nter2+", "hunter2/", "x"], vec!["say *", "*", "******", "********", "*"], 1),
        (vec!["a sk-", "ant-api03", "-xyz", " end"], vec!["a sk-", "ant-*****", "****", " end"], 1),
        (vec!["ghp_16C7e42F29", "2c6912E771"], vec!["ghp_**********", "**********"], 1),
        (
            vec!["hunter", "s are", " no secret", ", nor is h"],
            vec!["hunter", "s are", " no secret", ", nor is h"],
            0,
        ),
        (vec!["hunter2+hunter2/x", "hunter2+hunter2/x"], vec!["*****************", "*****************"], 2),
    ] {
        let lines = |pieces: &[&str], between: &str| {
            let lines: Vec<_> = pieces.iter().map(|piece| delta(piece)).collect();
            format!("{}{stop}", lines.join(between))
        };
        for between in ["", &ping] {
            let (text, wanted) = (lines(&pieces, between), lines(&masked, between));
            for chunk in [1, 50, 300, 10_000] {
                let (cut, counted) = in_chunks(&masker, text.as_bytes(), chunk);
                assert_eq!(String::from_utf8_lossy(&cut), wanted, "{chunk}");
                assert_eq!(counted, count, "{text}");
            }
        }
    }
}

#[test]
fn a_secret_in_pieces_that_come_by_turns_with_others_is_masked() {
    let masker = Masker::new([VALUE]);
    let of = |line: String, index: u32, agent: &str| {
        let line = line.replace("\"index\":0", &format!("\"index\":{index}"));
        line.replace("\"uuid\"", &format!("\"parent_tool_use_id\":{agent},\"uuid\""))
    };
    let status = "{\"type\":\"system\",\"subtype\":\"status\"}\n";
    for between in [
        of(delta("hun is no secret"), 1, "null"),
        of(delta("hun is no secret"), 0, "\"toolu_1\""),
        format!("{status}\n \nno JSON\n"),
    ] {
        let lines = |first: &str, second: &str| {
            of(delta(first), 0, "null") + &between + &of(delta(second), 0, "null")
        };
        let (text, wanted) = (lines("say hunter2", "+hunter2/x now"), lines("say *******", "********** now"));
        for chunk in [1, 50, 10_000] {
            let (cut, counted) = in_chunks(&masker, text.as_bytes(), chunk);
            assert_eq!(String::from_utf8_lossy(&cut), wanted, "{chunk}");
            assert_eq!(counted, 1, "{text}");
        }
    }
}

/// As long as keys are.
const LONG: &str = "hunter2+s3cret/Value-that-is-as-long-as-keys-are-0123456789abcdefghijklmnopqrstuvwxyzABC";

#[test]
fn a_long_value_is_masked_where_base64_or_hex_is_broken_into_lines() {
    let hex = |bytes: &[u8], between: &str| {
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.join(between)
    };
    // What `base64`, `base64 -w 64`, `xxd -p` and `od -An -tx1` print of it.
    let base64 = "aHVudGVyMitzM2NyZXQvVmFsdWUtdGhhdC1pcy1hcy1sb25nLWFzLWtleXMtYXJlLTAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ekFCQwo=";
    let lines = |letters: &str, most: usize| -> Vec<String> {
        letters.as_bytes().chunks(most).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    };
    for (printed, after) in [
        (lines(base64, 76), ""),
        (lines(base64, 64), "\r"),
        (lines(&hex(LONG.as_bytes(), ""), 60), ""),
        (LONG.as_bytes().chunks(16).map(|bytes| hex(bytes, " ").to_uppercase()).collect(), ""),
    ] {
        let text = format!("begin\n{}{after}\nend of it\n", printed.join(&format!("{after}\n")));
        for chunk in [1, 7, 10_000] {
            let (cut, _) = in_chunks(&Masker::new([LONG]), text.as_bytes(), chunk);
            let cut = String::from_utf8_lossy(&cut);
            assert_eq!(cut.len(), text.len());
            assert!(cut.starts_with("begin\n*") && cut.ends_with("\nend of it\n"), "{cut}");
            let clear =
                cut.lines().filter(|line| !line.contains(' ')).map(|line| line.trim_matches('*').len());
            assert!(clear.max() < Some(20), "{chunk}: {cut}");
        }
    }
}

#[test]
fn a_value_that_was_cut_short_is_masked_as_far_as_it_is_there() {
    let masker = Masker::new([VALUE]);
    for (text, masked) in [
        ("sleep hunter2+hun…", "sleep ***********…"),
        (
            "because \"a hunter2+hunter2/…\" is not \"hun…\"",
            "because \"a ****************…\" is not \"hun…\"",
        ),
        ("hunter2+hunter2/x…", "*****************…"),
        ("hunters…", "hunters…"),
    ] {
        assert_eq!(masker.mask(text), masked);
    }
}

#[test]
fn pieces_are_given_out_when_something_else_comes() {
    let (mut masker, mut out) = (Masker::new([VALUE]), Vec::new());
    masker.push(delta("it is s").as_bytes(), &mut out);
    assert!(out.is_empty(), "it may be the beginning of a key");
    let other = "{\"type\":\"control_request\"}\n";
    masker.push(other.as_bytes(), &mut out);
    assert_eq!(String::from_utf8_lossy(&out), delta("it is s") + other);
}

#[test]
fn what_cannot_be_a_secret_is_not_held_back() {
    let (mut masker, mut out) = (Masker::default(), Vec::new());
    masker.push(b"{\"type\":\"result\"}\n", &mut out);
    assert_eq!(out, b"{\"type\":\"result\"}\n");
    masker.push(b"as", &mut out);
    assert_eq!(out, b"{\"type\":\"result\"}\na");
    masker.push(b"k", &mut out);
    masker.push(b"ed", &mut out);
    assert_eq!(out, b"{\"type\":\"result\"}\nasked");
}

#[test]
fn a_value_is_masked_as_its_text_is() {
    let masker = Masker::new(["hunter2-hunter2"]);
    let mut value = json!({
        "hunter2-hunter2": ["say sk-ant-api03-x\nend", 7, null, "é hunter2-hunter2"],
        "aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    });
    let text = masker.mask(&value.to_string());
    masker.mask_value(&mut value);
    assert_eq!(value.to_string(), text);
    assert!(!text.contains("api03") && !text.contains("hunter2") && !text.contains("wJalr"), "{text}");
}

#[test]
fn a_secret_of_any_length_is_masked_to_its_end() {
    for masker in [Masker::default(), Masker::new([VALUE])] {
        let token = format!("sk-ant-{}", "aB3".repeat(100_000));
        let text = format!("{{\"a\":\"{token}\"}}\n{token} end\n");
        let (masked, count) = in_chunks(&masker, text.as_bytes(), 5000);
        assert_eq!(masked.len(), text.len());
        assert!(!String::from_utf8_lossy(&masked).contains("aB3"));
        assert!(masked.ends_with(b"* end\n"));
        assert_eq!(count, 2);
        assert_eq!(masker.mask_bytes(text.into_bytes()), masked);
    }
}

proptest! {
    #[test]
    fn the_cut_of_the_stream_does_not_matter(
        parts in prop::collection::vec(
            "(sk-ant-[a-z]{0,9}|hunter2-hunter2|hunter2|[ a-z\"{-]{0,6}|AKIA|\n|\\\\u0068unter2-hunter2|%68unter2-hunter2|\\\\n|eyJ)", 0..9),
        cuts in prop::collection::vec(0_usize..80, 0..5),
    ) {
        let text = parts.concat().into_bytes();
        let masker = Masker::new(["hunter2-hunter2"]);
        let (mut split, mut out) = (masker.clone(), Vec::new());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts.into_iter().chain([text.len()]) {
            split.push(&text[from..cut], &mut out);
            from = cut;
        }
        split.finish(&mut out);
        prop_assert_eq!(out.len(), text.len());
        let wanted = whole(&masker, &text);
        prop_assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&wanted));
    }
}
