//! What an evaluation would take: trials, time and money, by what earlier ones took.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::Format;
use crate::eval::spec::Spec;
use crate::eval::{Series, Stamp, Store};
use crate::report::style::NAME;
use crate::text::printable;

/// What one trial took in an earlier evaluation.
struct PerTrial {
    iteration: u64,
    cost_usd: f64,
    seconds: f64,
    /// Whether it was the same evaluation but for the skill.
    is_same: bool,
}

/// The newest evaluation that is like this one, else the newest on the same target.
fn history(store: &Store, stamp: &Stamp) -> Option<PerTrial> {
    let entries = store.history();
    let like = |same: bool| {
        entries.iter().rev().find_map(|entry| {
            let earlier: Stamp = serde_json::from_value(entry["stamp"].clone()).ok()?;
            let fits = if same { stamp.differs(&earlier).is_none() } else { earlier.target == stamp.target };
            let trials = entry["trials"].as_u64().filter(|trials| fits && *trials > 0)? as f64;
            Some(PerTrial {
                iteration: entry["iteration"].as_u64()?,
                cost_usd: entry["cost_usd"].as_f64()? / trials,
                seconds: entry["seconds"].as_f64()? / trials,
                is_same: same,
            })
        })
    };
    like(true).or_else(|| like(false))
}

/// Says what an evaluation would take. Nothing is run and nothing is written.
pub(super) fn tell(
    out: &mut dyn Write,
    format: Format,
    spec: &Spec,
    plan: &[Series<'_>],
    stamp: &Stamp,
    store: &Store,
    jobs: usize,
) -> io::Result<()> {
    let trials: u64 = plan.iter().map(|series| u64::from(series.trials)).sum();
    let judged: u64 = plan
        .iter()
        .filter(|series| {
            let case = series.case;
            case.kind.is_blind() || !case.expectations.is_empty() || !case.sections.is_empty()
        })
        .map(|series| u64::from(series.trials))
        .sum();
    let most_cost = (trials + judged) as f64 * spec.run.max_cost_usd;
    let earlier = history(store, stamp);
    let seconds = earlier.as_ref().map(|per| per.seconds * trials as f64 / jobs.max(1) as f64);
    let cost = earlier.as_ref().map(|per| per.cost_usd * trials as f64);
    if format == Format::Json {
        let series: Vec<Value> = plan
            .iter()
            .map(|series| json!({"case": series.case.id, "kind": series.case.kind, "arm": series.arm.name, "trials": series.trials}))
            .collect();
        let value = json!({
            "type": "eval-planned", "schema_version": 1, "skill": spec.skill, "trials": trials, "judged": judged, "jobs": jobs,
            "plan": series, "seconds": seconds, "cost_usd": cost, "most_cost_usd": most_cost,
            "from_iteration": earlier.as_ref().map(|per| per.iteration),
        });
        return writeln!(out, "{value}");
    }
    let model = stamp.model.as_deref().unwrap_or("the target's model");
    writeln!(
        out,
        "{NAME}{}{NAME:#}: {trials} trials on {} {} with {}, {jobs} at a time; nothing is run",
        printable(&spec.skill),
        printable(&stamp.target),
        printable(&stamp.version),
        printable(model)
    )?;
    for series in plan {
        writeln!(
            out,
            "  {:>4} × {} · {}",
            series.trials,
            printable(&series.case.id),
            printable(&series.arm.name)
        )?;
    }
    if judged > 0 {
        writeln!(out, "  {judged} of them are judged by a model as well")?;
    }
    match (earlier, seconds, cost) {
        (Some(per), Some(seconds), Some(cost)) => {
            let like = if per.is_same { "" } else { ", which was not the same evaluation" };
            writeln!(out, "about {} and ${cost:.4}, by iteration {}{like}", words(seconds), per.iteration)?;
        }
        _ => writeln!(out, "nothing like it was run before, so time and cost are not known")?,
    }
    writeln!(out, "at most ${most_cost:.2} by max_cost_usd; --max-total-cost-usd sets a limit for all")
}

/// A time in words.
pub(super) fn words(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.max(0.0)).map_or(u64::MAX, |time| time.as_secs());
    match whole {
        0..=89 => format!("{:.0} s", seconds.max(0.0).ceil()),
        90..=5399 => format!("{} min", whole.div_ceil(60)),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn times_are_told_as_people_tell_them() {
        for (seconds, expected) in
            [(0.2, "1 s"), (89.0, "89 s"), (120.0, "2 min"), (121.0, "3 min"), (7200.0, "2.0 h")]
        {
            assert_eq!(words(seconds), expected);
        }
    }
}
