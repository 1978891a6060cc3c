//! Sections: entries with named fields that an output has to hold. A model finds them in the text; code checks them.

use super::Ids;
use crate::document::{Document, FileError, Item};
use crate::eval::assertion::Format;

/// A part of an output that holds entries, such as a list of venues.
#[derive(Debug, Clone)]
pub struct Section {
    /// What it is called.
    pub name: String,
    /// The groups of its entries.
    pub tiers: Vec<Tier>,
}

/// Entries of one kind within a section.
#[derive(Debug, Clone)]
pub struct Tier {
    /// What it is called.
    pub label: String,
    /// Which entries belong to it, for the model that finds them.
    pub description: String,
    /// The least number of entries.
    pub min_entries: u64,
    /// The most, if there is a limit.
    pub max_entries: Option<u64>,
    /// What each entry has.
    pub fields: Vec<Field>,
}

/// What an entry has.
#[derive(Debug, Clone)]
pub struct Field {
    /// What identifies it within its evaluation.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Whether each entry has to have it.
    pub required: bool,
    /// The form of its value, where it has one.
    pub format: Option<Format>,
}

/// Reads the sections of clauditor's form, or those of a case of our own, which has the same.
pub(super) fn read(items: Vec<Item<'_>>, ids: &mut Ids) -> Result<Vec<Section>, FileError> {
    let mut sections: Vec<Section> = Vec::new();
    for item in items {
        let place = item.place();
        let section = section(item, ids)?;
        // What is found goes by these names, so the second would be checked against the entries of the first.
        if sections.iter().any(|known| known.name == section.name) {
            return Err(place.complain(format!("a second section `{}`", section.name)));
        }
        sections.push(section);
    }
    Ok(sections)
}

fn section(item: Item<'_>, ids: &mut Ids) -> Result<Section, FileError> {
    let mut table = item.into_table()?;
    let name = table.require("name", "what the section is called")?.into_string()?;
    if let Some(item) = table.take("fields") {
        return Err(item.complain("wrap `fields` inside an entry of `tiers`"));
    }
    let mut tiers: Vec<Tier> = Vec::new();
    let listed = table.require("tiers", "the groups of fields")?;
    let nothing = listed.complain("a section without tiers cannot fail");
    for item in listed.into_list()? {
        let place = item.place();
        let tier = tier(item, ids)?;
        if tiers.iter().any(|known| known.label == tier.label) {
            return Err(place.complain(format!("a second tier `{}`", tier.label)));
        }
        tiers.push(tier);
    }
    table.finish()?;
    if tiers.is_empty() { Err(nothing) } else { Ok(Section { name, tiers }) }
}

fn tier(item: Item<'_>, ids: &mut Ids) -> Result<Tier, FileError> {
    let mut table = item.into_table()?;
    let label = table.require("label", "what the tier is called")?.into_string()?;
    let description = table.string("description")?.unwrap_or_default();
    let min_entries = table.unsigned("min_entries")?.unwrap_or_default();
    let max = table.take("max_entries");
    let place = max.as_ref().map(Item::place);
    let max_entries = max.map(|item| item.unsigned()).transpose()?;
    if let (Some(place), Some(most)) = (place, max_entries)
        && most < min_entries
    {
        return Err(place.complain(format!("expected {min_entries} or more, which is `min_entries`")));
    }
    let mut fields: Vec<Field> = Vec::new();
    for item in table.list("fields")? {
        let place = item.place();
        let field = field(item, ids)?;
        if fields.iter().any(|known| known.name == field.name) {
            return Err(place.complain(format!("a second field `{}`", field.name)));
        }
        fields.push(field);
    }
    table.finish()?;
    Ok(Tier { label, description, min_entries, max_entries, fields })
}

fn field(item: Item<'_>, ids: &mut Ids) -> Result<Field, FileError> {
    let mut table = item.into_table()?;
    let id = ids.of(&mut table)?;
    let name = table.require("name", "what the field is called")?.into_string()?;
    let required = table.boolean("required")?.unwrap_or(true);
    if let Some(item) = table.take("pattern") {
        return Err(item.complain("unknown key `pattern`, did you mean `format`?"));
    }
    let format = match table.take("format") {
        None => None,
        Some(item) => {
            let place = item.place();
            Some(Format::named(&item.into_string()?).map_err(|why| place.complain(why))?)
        }
    };
    table.finish()?;
    Ok(Field { id, name, required, format })
}

impl Section {
    /// Reads a JSON array of sections in clauditor's form; `file` names it in errors.
    ///
    /// ```
    /// use clawgate::internals::eval::spec::Section;
    ///
    /// let text = r#"[{"name": "Venues", "tiers": [{"label": "default", "min_entries": 2,
    ///                 "fields": [{"id": "phone", "name": "phone", "format": "phone_us"}]}]}]"#;
    /// let sections = Section::parse("venues.json", text)?;
    /// assert_eq!(sections[0].tiers[0].min_entries, 2);
    /// # Ok::<(), clawgate::internals::document::FileError>(())
    /// ```
    pub fn parse(file: &str, text: &str) -> Result<Vec<Self>, FileError> {
        let text = format!("{{\"sections\": {text}}}");
        let mut root = Document::parse_json(file, &text, &["max_entries", "format"])?;
        let items = root.list("sections")?;
        read(items, &mut Ids::default())
    }
}
