//! What tokens cost, by the model: prices change, so they have a day.
//!
//! ```toml
//! [prices]
//! date = "2026-11-18"
//! [prices.models]
//! "claude-haiku-4-5" = { input = 1.0, output = 5.0, cache_read = 0.1, cache_creation = 1.25 }
//! ```

use serde_json::{Map, Value, json};

use crate::document::{FileError, Item};

/// Prices in dollars for a million tokens, and the day on which they held.
#[derive(Debug, Clone)]
pub(crate) struct Prices {
    date: String,
    models: Map<String, Value>,
}

impl Prices {
    pub(super) fn read(item: Item<'_>) -> Result<Self, FileError> {
        let mut table = item.into_table()?;
        let date = table.require("date", "the day on which the prices held")?.day()?;
        let mut models = Map::new();
        for (model, item) in table.require("models", "the prices of each model")?.into_table()?.into_entries()
        {
            let mut parts = item.into_table()?;
            let mut prices = Map::new();
            for part in ["input", "output", "cache_read", "cache_creation"] {
                if let Some(price) = parts.number(part)? {
                    prices.insert(part.into(), price.into());
                }
            }
            parts.finish()?;
            models.insert(model, prices.into());
        }
        table.finish()?;
        Ok(Self { date, models })
    }

    /// The prices as a recording has them.
    pub(crate) fn to_value(&self) -> Value {
        json!({"date": self.date, "models": self.models})
    }
}

#[cfg(test)]
mod tests {
    use super::super::Target;

    #[test]
    fn prices_have_a_day_and_known_parts() {
        let read = |prices: &str| {
            let head =
                "target = { name = \"x\", program = \"x\" }\nspeaks = [{ contract = \"claude-json\" }]\n";
            Target::parse("t.toml", &format!("{head}[prices]\n{prices}"))
        };
        let prices =
            read("date = \"2026-11-18\"\nmodels = { m = { input = 1, output = 2.5 } }").unwrap().prices;
        let value = prices.unwrap().to_value();
        assert_eq!(value["models"]["m"]["output"], 2.5);
        let complaint = |prices: &str| read(prices).unwrap_err().headline();
        assert!(complaint("models = {}").contains("missing key `date`"));
        assert!(complaint("date = \"2026-11-18\"\nmodels = { m = { in = 1 } }").contains("unknown key `in`"));
    }
}
