//! What the event protocol's document says, statement by statement, and the clauses that hold it:
//! `schemas/claws-statements.md` is made of `tests/data/event-statements.txt` and the contract. After a change
//! `INSTA_UPDATE=always` writes it again.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clawgate::internals::schema::bundle;
use clawgate::schema::{Clause, Contract};

use crate::command::ROOT;

const PAGE: &str = "schemas/claws-statements.md";
/// How many statements may go without a clause.
const UNHELD: usize = 8;

/// How a clause is looked at: by its level in a log, or otherwise.
fn weight(clause: &Clause) -> String {
    let check = clause.check();
    if check["live"].is_string() {
        format!("{}, live", clause.level)
    } else if check["unjudged"].is_string() {
        "not judged".to_owned()
    } else {
        clause.level.to_string()
    }
}

fn page(contract: &Contract, statements: &str) -> String {
    let mut rows = String::new();
    let (mut count, mut unheld) = (0, 0);
    for line in statements.lines() {
        let [section, text, held] = line.splitn(3, " | ").collect::<Vec<_>>()[..] else {
            panic!("no statement: {line}")
        };
        count += 1;
        let (clauses, weights) = if let Some(reason) = held.strip_prefix("- ") {
            unheld += 1;
            (format!("none: {reason}"), String::new())
        } else {
            let clauses: Vec<_> = held
                .split(", ")
                .map(|id| {
                    let found = contract.clauses().iter().find(|clause| clause.id == id);
                    found.unwrap_or_else(|| panic!("no clause {id}: {line}"))
                })
                .collect();
            let names: Vec<_> = clauses.iter().map(|clause| format!("`{}`", clause.id)).collect();
            let weights: Vec<_> = clauses.iter().map(|clause| weight(clause)).collect();
            (names.join("<br>"), weights.join("<br>"))
        };
        writeln!(rows, "| P{count} | §{section} | {text} | {clauses} | {weights} |").unwrap();
    }
    assert!(unheld <= UNHELD, "{unheld} statements have no clause");
    format!(
        "# What the event protocol says, and what holds it\n\nEvery statement of the document that a worker, an \
         orchestrator or a server can keep or break, in our own words, with the clauses\nof `claws-events` that hold it \
         and how much each weighs under `strict`. The runs that break a clause stand in its fixture,\n\
         `claws-events/fixtures/<clause>.toml`. Made by a test of `tests/data/event-statements.txt` and the contract; do \
         not edit:\n`INSTA_UPDATE=always cargo test --test judge events_statements`.\n\n{count} statements, {unheld} \
         without a clause.\n\n| id | section | statement | clause | level |\n|---|---|---|---|---|\n{rows}"
    )
}

#[test]
fn the_page_of_statements_is_made_of_the_contract() {
    let contract = Contract::load(&bundle("claws-events").unwrap()).unwrap();
    let statements = fs::read_to_string(Path::new(ROOT).join("tests/data/event-statements.txt")).unwrap();
    let made = page(&contract, &statements);
    let path = Path::new(ROOT).join(PAGE);
    if std::env::var("INSTA_UPDATE").is_ok_and(|wish| wish == "always") {
        fs::write(&path, &made).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == made, "{PAGE} is not what the contract says; see its head");
}

#[test]
fn every_clause_holds_a_statement_or_says_what_was_observed() {
    let contract = Contract::load(&bundle("claws-events").unwrap()).unwrap();
    let statements = fs::read_to_string(Path::new(ROOT).join("tests/data/event-statements.txt")).unwrap();
    let held: Vec<_> = statements
        .lines()
        .filter_map(|line| line.splitn(3, " | ").nth(2))
        .flat_map(|held| held.split(", "))
        .collect();
    let idle: Vec<_> =
        contract.clauses().iter().map(|clause| clause.id.as_str()).filter(|id| !held.contains(id)).collect();
    // The acknowledgement of a delivery and the answer to a line that is no JSON are the published server's own, what can
    // be followed is ours, and how soon messages arrive stands in the document's preamble.
    assert_eq!(idle, ["lg-08", "cd-20", "lv-15", "lv-21"]);
}
