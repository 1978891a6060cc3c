//! What a target documents to do with what the API served, before it prints it.
//!
//! ```toml
//! [[transform]]
//! block = "text"          # or "thinking"
//! matches = '\s+$'
//! to = ""
//! why = "the manual: white space at the end of an answer is left out"
//! ```

use regex::Regex;
use serde_json::{Value, json};

use crate::document::{FileError, Item};

/// Every match in the texts of such blocks becomes something else; the reason is for the reader of the file.
#[derive(Debug, Clone)]
pub(crate) struct Transform {
    block: String,
    matches: String,
    to: String,
}

impl Transform {
    pub(super) fn read(item: Item<'_>) -> Result<Self, FileError> {
        let mut table = item.into_table()?;
        let block = table.require("block", "`text` or `thinking`")?;
        let place = block.place();
        let block = block.into_string()?;
        if !matches!(block.as_str(), "text" | "thinking") {
            return Err(place.complain(format!("`{block}` is neither `text` nor `thinking`")));
        }
        let matches = table.require("matches", "a regular expression")?;
        let place = matches.place();
        let matches = matches.into_string()?;
        if let Err(error) = Regex::new(&matches) {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            return Err(place.complain(format!("the regular expression does not compile: {reason}")));
        }
        let to = table.string("to")?.unwrap_or_default();
        table.require("why", "where the target documents it")?.into_string()?;
        table.finish()?;
        Ok(Self { block, matches, to })
    }

    /// The transformation as a recording has it.
    pub(crate) fn to_value(&self) -> Value {
        json!({"block": self.block, "matches": self.matches, "to": self.to})
    }
}

#[cfg(test)]
mod tests {
    use super::super::Target;

    #[test]
    fn a_transformation_says_what_becomes_what_and_why() {
        let read = |transform: &str| {
            let head =
                "target = { name = \"x\", program = \"x\" }\nspeaks = [{ contract = \"claude-json\" }]\n";
            Target::parse("t.toml", &format!("{head}[[transform]]\n{transform}"))
        };
        assert_eq!(read("block = \"text\"\nmatches = 'a+'\nwhy = \"w\"").unwrap().transforms.len(), 1);
        let complaint = |text: &str| read(text).unwrap_err().headline();
        assert!(complaint("block = \"text\"\nmatches = 'a+'").contains("missing key `why`"));
        assert!(complaint("block = \"tool\"\nmatches = 'a'\nwhy = \"w\"").contains("neither `text` nor"));
        assert!(complaint("block = \"text\"\nmatches = '('\nwhy = \"w\"").contains("does not compile"));
    }
}
