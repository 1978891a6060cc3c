//! Named formats, such as `email`, that an assertion may ask for.

use super::pattern::Pattern;
use crate::text::did_you_mean;

/// Name, pattern and an example of each format. The patterns are those that clauditor's specification gives the names.
const FORMATS: [(&str, &str, &str); 20] = [
    ("phone_us", r"\(?\d{3}\)?[\s.-]?\d{3}[\s.-]?\d{4}", "(408) 298-5437"),
    ("phone_intl", r"\+\d{1,3}[\s.-]?\d{4,14}", "+44 7911123456"),
    ("email", r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}", "user@example.com"),
    ("url", URL, "https://example.com/page"),
    (
        "domain",
        r"(?i)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\.[a-z]{2,}",
        "sub.example.co.uk",
    ),
    ("date_iso", r"\d{4}-\d{2}-\d{2}", "2026-04-10"),
    ("date_us", r"\d{1,2}/\d{1,2}/\d{2,4}", "4/10/2026"),
    ("time_24h", r"\d{1,2}:\d{2}(?::\d{2})?", "14:30:00"),
    ("time_12h", r"\d{1,2}:\d{2}\s?[AaPp][Mm]", "2:30 PM"),
    ("currency_usd", r"\$(?=[\d,]*\d)[\d,]+(?:\.\d{2})?", "$1,234.56"),
    ("currency_eur", r"€(?=[\d.,]*\d)[\d.,]+", "€1.234,56"),
    ("zip_us", r"\d{5}(?:-\d{4})?", "95110-1234"),
    ("zip_uk", r"[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}", "SW1A 1AA"),
    ("percentage", r"\d+(?:\.\d+)?%", "99.9%"),
    ("ipv4", r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}", "192.168.1.1"),
    (
        "uuid",
        r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
        "550e8400-e29b-41d4-a716-446655440000",
    ),
    ("hex_color", r"#[0-9a-fA-F]{6}", "#FF5733"),
    ("latitude", r"-?\d{1,2}\.\d+", "37.3382"),
    ("longitude", r"-?\d{1,3}\.\d+", "-121.8863"),
    ("star_rating", r"\d(?:\.\d)?\s?(?:stars?|★|⭐)", "4.5 stars"),
];

/// A web address in running text.
pub(super) const URL: &str = r#"https?://[^\s\)\"'>]+"#;

/// A format by its name.
#[derive(Debug, Clone)]
pub struct Format {
    pub name: &'static str,
    pub(super) pattern: Pattern,
}

impl Format {
    /// The format of that name; the error suggests one.
    pub fn named(name: &str) -> Result<Self, String> {
        let Some((name, pattern, _)) = FORMATS.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<&str> = FORMATS.iter().map(|(known, ..)| *known).collect();
            let hint = did_you_mean(name, &known);
            return Err(format!("unknown format `{name}`{hint}; for a pattern of your own use type `regex`"));
        };
        Ok(Self { name, pattern: Pattern::parse(pattern)? })
    }

    /// Whether the whole text has the format.
    pub fn holds(&self, text: &str) -> bool {
        self.pattern.is_whole(text).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_holds_for_its_example_and_not_for_another_text() {
        for (name, _, example) in FORMATS {
            let format = Format::named(name).unwrap();
            assert!(format.holds(example), "{name}");
            assert!(!format.holds("none of it") && !format.holds(""), "{name}");
        }
        assert!(Format::named("emial").unwrap_err().contains("did you mean `email`?"));
    }
}
