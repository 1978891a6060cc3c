//! The overviews: which commands hold on which target, and which clauses were broken where.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::super::context::Context;
use super::super::numbers::counted;
use super::super::problem::{Weight, problems, promise};
use super::super::run_report::RunReport;
use super::shown;
use crate::run::Status;

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Groups of cases against targets.
pub(super) fn groups(run: &RunReport) -> Markup {
    let mut rows: BTreeMap<&str, BTreeMap<&str, Tally>> = BTreeMap::new();
    for case in &run.cases {
        let group = case.case.rsplit_once('/').map_or(case.case.as_str(), |(group, _)| group);
        let tally = rows.entry(group).or_default().entry(&case.target).or_default();
        match case.status {
            Status::Pass | Status::Flaky => tally.passed += 1,
            Status::Fail => tally.failed += 1,
            Status::Skipped => tally.skipped += 1,
        }
    }
    if let [only] = run.started.targets.as_slice() {
        // One column of a table would push the cases off the screen.
        return html! {
            section aria-labelledby="overview" {
                h2 #overview { "Scenarios" }
                ul.groups {
                    @for (group, tallies) in &rows {
                        @if let Some(tally) = tallies.get(only.target.as_str()) {
                            li { (link(group)) (words_of(*tally)) }
                        }
                    }
                }
            }
        };
    }
    html! {
        section aria-labelledby="overview" {
            h2 #overview { "Scenarios" }
            div.scroll tabindex="0" role="region" aria-labelledby="overview" {
                table.matrix {
                    thead { tr { th scope="col" { "scenario" }
                        @for info in &run.started.targets { th scope="col" { (shown(&info.target)) small { (shown(&info.version)) } } }
                    } }
                    tbody {
                        @for (group, tallies) in &rows {
                            tr {
                                th scope="row" { (link(group)) }
                                @for info in &run.started.targets {
                                    @match tallies.get(info.target.as_str()) {
                                        None => td.void { span aria-label="not promised" { "·" } },
                                        Some(tally) => (cell(*tally)),
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Leads to the cases; the script shows those of the group alone.
fn link(group: &str) -> Markup {
    html! { a href="#cases" data-group=(shown(group)) { (shown(group)) } }
}

fn cell(tally: Tally) -> Markup {
    html! { td class=(tally.class()) { (words_of(tally)) } }
}

fn words_of(tally: Tally) -> Markup {
    let ran = tally.passed + tally.failed;
    html! {
        span class={ "tally " (tally.class()) } {
            @if tally.failed > 0 {
                "✗ " (tally.failed) " of " (ran)
            } @else if ran > 0 {
                "✓ " (ran) @if tally.skipped > 0 { small { " +" (tally.skipped) " skipped" } }
            } @else {
                (tally.skipped) " skipped"
            }
        }
    }
}

impl Tally {
    fn class(self) -> &'static str {
        match self {
            Self { failed: 1.., .. } => "fail",
            Self { passed: 1.., .. } => "pass",
            _ => "skipped",
        }
    }
}

/// Clauses against targets: those that were broken anywhere.
pub(super) fn clauses(run: &RunReport, context: &Context) -> Markup {
    let problems = problems(run);
    let mut rows = ClauseRows::new();
    let gravity =
        |rule: &str| match problems.iter().filter(|p| p.rule == rule).map(|p| (p.fails(), p.weight)).max() {
            Some((true, _)) => 0,
            Some((_, Weight::Error)) => 1,
            Some((_, Weight::Warning)) => 2,
            _ => 3,
        };
    let mut gravities: BTreeMap<&str, u8> = BTreeMap::new();
    for problem in &problems {
        let rank = *gravities.entry(&problem.rule).or_insert_with(|| gravity(&problem.rule));
        let counts = rows.entry((rank, &problem.rule)).or_default().entry(&problem.case.target).or_default();
        counts[if problem.fails() {
            0
        } else if problem.accepted.is_some() {
            1
        } else {
            2
        }] += 1;
    }
    html! {
        section aria-labelledby="clauses" {
            h2 #clauses { "Clauses" }
            @if rows.is_empty() {
                p.quiet { "Every clause that applied held, on every target." }
            } @else if rows.keys().all(|(rank, _)| *rank > 0) {
                // Nothing that counts: one line, so that it is not taken for a failure.
                details.lesser {
                    summary { "No clause was broken that fails the gate; "
                        (counted(rows.len() as u64, "other is", "others are")) " expected, known or noticed only" }
                    (clause_table(run, &rows, context))
                }
            } @else {
                (clause_table(run, &rows, context))
            }
        }
    }
}

/// Failing, accepted, and others that are only noticed, for each clause by gravity and each target.
type ClauseRows<'r> = BTreeMap<(u8, &'r str), BTreeMap<&'r str, [usize; 3]>>;

fn clause_table(run: &RunReport, rows: &ClauseRows<'_>, context: &Context) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="clauses" {
            table.matrix.clauses {
                thead { tr { th scope="col" { "clause" }
                    @for info in &run.started.targets { th scope="col" { (shown(&info.target)) } }
                } }
                tbody {
                    @for ((_, rule), targets) in rows {
                        tr {
                            th scope="row" {
                                code { (rule) }
                                span.words { (promise(rule, context)) }
                            }
                            @for info in &run.started.targets { (clause_cell(targets.get(info.target.as_str()))) }
                        }
                    }
                }
            }
        }
        p.legend { span.fail { "✗" } " fails the gate · " span.flaky { "○" } " expected by the scenario or known · "
            span.quiet { "△" } " noticed only · " span.quiet { "·" } " not broken" }
    }
}

fn clause_cell(counts: Option<&[usize; 3]>) -> Markup {
    match counts {
        Some([failing, ..]) if *failing > 0 => html! { td.fail { "✗ " (failing) } },
        Some([_, accepted, _]) if *accepted > 0 => html! { td.flaky { "○ " (accepted) } },
        Some([_, _, noticed]) if *noticed > 0 => html! { td.quiet { "△ " (noticed) } },
        _ => html! { td.void { span aria-label="not broken" { "·" } } },
    }
}
