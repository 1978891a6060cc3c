//! What a contract says of the outcome of a run, for `explain` and `contract show`.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::outcome::{Row, Table};
use crate::report::style::{FAINT, NAME};
use crate::schema::Contract;
use crate::text::printable;

/// Writes where what is, and the rows in the order in which they are asked.
pub(super) fn write_table(out: &mut impl Write, table: &Table) -> io::Result<()> {
    writeln!(out, "{NAME}outcome{NAME:#}  where the end, the answer and the price of a run are")?;
    for (name, place) in &table.places {
        writeln!(out, "{name:<9} {FAINT}{}{FAINT:#}", printable(&place.to_string()))?;
    }
    writeln!(
        out,
        "\n{NAME}verdicts{NAME:#}  the first that holds decides; words and the exit code say the rest"
    )?;
    for row in &table.rows {
        write_row(out, row)?;
    }
    Ok(())
}

/// Writes what a row means and what it asks for.
pub(super) fn write_row(out: &mut impl Write, row: &Row) -> io::Result<()> {
    let detail = row.detail.as_deref().map(|detail| format!(" ({detail})")).unwrap_or_default();
    writeln!(out, "{:<9} {NAME}{}{NAME:#}  {}", row.class.clone() + &detail, row.id, printable(&row.text))?;
    writeln!(out, "          {FAINT}{}{FAINT:#}", printable(&row.condition.to_string()))
}

/// The table as JSON.
pub(super) fn table_json(table: &Table) -> Value {
    let places: serde_json::Map<String, Value> = table.places.iter().cloned().collect();
    json!({"places": places, "rows": table.rows.iter().map(row_json).collect::<Vec<_>>()})
}

fn row_json(row: &Row) -> Value {
    json!({"id": row.id, "class": row.class, "detail": row.detail, "text": row.text, "when": row.condition})
}

/// A row with the name by which `explain` knows it.
pub(super) fn named_row_json(contract: &Contract, row: &Row) -> Value {
    let mut object = row_json(row);
    object["outcome"] = format!("{}/outcome/{}", contract.name(), row.id).into();
    object
}
