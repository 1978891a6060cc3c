//! Values that files of several forms hold: ids, counts, parts of a whole.

use std::path::{Component, Path};

use crate::document::{FileError, Item, Place, Table};
use crate::eval::assertion::Assertion;

/// Ids are unique among assertions, fields and criteria.
#[derive(Default)]
pub(super) struct Ids(Vec<String>);

impl Ids {
    pub(super) fn add(&mut self, id: &str) -> Result<(), String> {
        if id.is_empty() {
            return Err("`id` is empty".into());
        }
        if self.0.iter().any(|known| known == id) {
            return Err(format!("duplicate id `{id}`"));
        }
        self.0.push(id.to_owned());
        Ok(())
    }

    pub(super) fn of(&mut self, table: &mut Table<'_>) -> Result<String, FileError> {
        let item = table.require("id", "what identifies it")?;
        let place = item.place();
        let id = item.into_string()?;
        self.add(&id).map_err(|why| place.complain(why))?;
        Ok(id)
    }
}

/// Refuses an assertion that holds whatever a target does.
pub(super) fn assert_can_fail(assertion: &Assertion, place: &Place<'_>) -> Result<(), FileError> {
    match assertion.cannot_fail() {
        Some(why) => Err(place.complain(format!("`{}` cannot fail: {why}", assertion.id))),
        None => Ok(()),
    }
}

/// A count, of trials for instance, which is at least one.
pub(super) fn count(table: &mut Table<'_>, key: &'static str) -> Result<Option<u32>, FileError> {
    let Some(item) = table.take(key) else { return Ok(None) };
    let place = item.place();
    match item.unsigned()? {
        number @ 1..=1_000_000 => Ok(Some(number as u32)),
        _ => Err(place.complain("expected a number from 1 to 1000000")),
    }
}

/// A part of a whole.
pub(super) fn part(table: &mut Table<'_>, key: &'static str) -> Result<Option<f64>, FileError> {
    let Some(item) = table.take(key) else { return Ok(None) };
    let place = item.place();
    let number = item.number()?;
    if (0.0..=1.0).contains(&number) {
        Ok(Some(number))
    } else {
        Err(place.complain("expected a number from 0 to 1"))
    }
}

/// A text that is not empty.
pub(super) fn said(item: Item<'_>) -> Result<String, FileError> {
    let place = item.place();
    let text = item.into_string()?;
    if text.trim().is_empty() { Err(place.complain("expected a text, found none")) } else { Ok(text) }
}

/// A number above zero.
pub(super) fn positive(table: &mut Table<'_>, key: &'static str) -> Result<Option<f64>, FileError> {
    let Some(item) = table.take(key) else { return Ok(None) };
    let place = item.place();
    let number = item.number()?;
    if number > 0.0 { Ok(Some(number)) } else { Err(place.complain("expected a number above 0")) }
}

/// Whether a path stays below the directory that it starts from.
pub(crate) fn is_inside(path: &str) -> bool {
    let parts = || Path::new(path).components();
    parts().any(|part| matches!(part, Component::Normal(_)))
        && parts().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
