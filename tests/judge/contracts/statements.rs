//! What claw's three documents say, statement by statement, and the clauses that hold it: `schemas/claw-statements.md` is
//! made of `tests/data/claw-statements` and the contracts. After a change `INSTA_UPDATE=always` writes it again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use clawgate::internals::schema::{Fixtures, bundle};
use clawgate::schema::{Clause, Contract, Level, built_in};
use serde::Deserialize;

use crate::command::ROOT;

const PAGE: &str = "schemas/claw-statements.md";
/// The documents, in the order of the page.
const DOCUMENTS: [&str; 3] = ["claw-schemas", "claw-api-reference", "claw-error-handling"];
/// The columns of the counts; the last one, without a clause, comes after them.
const LEVELS: [Level; 4] = [Level::Must, Level::Should, Level::Ambiguous, Level::Note];
/// How many statements may go without a clause.
const UNHELD: usize = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    document: String,
    section: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    statements: Vec<Statement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    id: String,
    says: String,
    /// The clauses that hold it, and of each the bad runs that break it.
    #[serde(default)]
    held: BTreeMap<String, Vec<String>>,
    /// What contradicts it.
    against: Option<String>,
    /// Why no clause holds it.
    none: Option<String>,
}

/// Every contract of claw, with its fixtures.
struct Contracts(BTreeMap<&'static str, (Contract, Fixtures)>);

impl Contracts {
    fn load() -> Self {
        let load = |name| {
            let files = bundle(name).unwrap();
            (name, (Contract::load(&files).unwrap(), Fixtures::load(&files).unwrap()))
        };
        Self(built_in().filter(|name| name.starts_with("claw-")).map(load).collect())
    }

    fn clause(&self, id: &str) -> Option<(&Clause, &Fixtures)> {
        let (contract, clause) = id.split_once('/')?;
        let (contract, fixtures) = self.0.get(contract)?;
        Some((contract.clauses().iter().find(|known| known.id == clause)?, fixtures))
    }

    /// Whether the contract of a clause is about a document, by its own word.
    fn is_about(&self, id: &str, document: &str) -> bool {
        let (contract, _) = id.split_once('/').unwrap();
        self.0[contract].0.sources().iter().any(|source| source.contains(document))
    }
}

/// The contract in whose folder the fixtures of a clause are: its own, or the one that it includes.
fn home(contract: &str, clause: &str) -> String {
    let folder = Path::new(ROOT).join("schemas").join(contract);
    if folder.join(format!("fixtures/{clause}.toml")).exists() {
        return contract.to_string();
    }
    let file: toml::Table = fs::read_to_string(folder.join("contract.toml")).unwrap().parse().unwrap();
    file["include"]["contract"].as_str().unwrap().to_string()
}

fn documents() -> Vec<Document> {
    let read = |name: &&str| {
        let path = Path::new(ROOT).join(format!("tests/data/claw-statements/{name}.toml"));
        toml::from_str(&fs::read_to_string(path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    DOCUMENTS.iter().map(read).collect()
}

/// What is wrong with a statement, one sentence each.
fn complaints(document: &str, statement: &Statement, contracts: &Contracts) -> Vec<String> {
    let mut wrong = Vec::new();
    if statement.held.is_empty() != statement.none.is_some() {
        wrong.push("needs either a clause that holds it or a reason why there is none".to_string());
    }
    let mut contradicted = false;
    for (id, runs) in &statement.held {
        let Some((clause, fixtures)) = contracts.clause(id) else {
            wrong.push(format!("there is no clause {id}"));
            continue;
        };
        contradicted |= clause.level == Level::Ambiguous;
        if !contracts.is_about(id, document) {
            wrong.push(format!("the contract of {id} is not about {document}"));
        }
        if runs.is_empty() {
            wrong.push(format!("no run of {id} is named that breaks it"));
        }
        // That each bad run triggers its clause is proven with the other fixtures.
        let bad = fixtures.clauses.get(&clause.id).map_or(&[][..], |found| &found.bad);
        for run in runs.iter().filter(|run| bad.iter().all(|known| known.name != **run)) {
            wrong.push(format!("{id} has no bad run `{run}`"));
        }
    }
    if contradicted != statement.against.is_some() {
        wrong.push("`against` belongs to what an ambiguous clause holds, and to nothing else".to_string());
    }
    wrong.into_iter().map(|reason| format!("{}: {reason}", statement.id)).collect()
}

#[test]
fn every_statement_is_held_by_a_clause_that_a_run_proves() {
    let contracts = Contracts::load();
    let (mut wrong, mut unheld) = (Vec::new(), Vec::new());
    for document in documents() {
        let letter = document.document["claw-".len()..][..1].to_uppercase();
        let mut number = 0;
        for section in &document.section {
            let mut broken_by = BTreeSet::new();
            for statement in &section.statements {
                number += 1;
                if statement.id != format!("{letter}{number}") {
                    wrong.push(format!("{} stands where {letter}{number} belongs", statement.id));
                }
                wrong.extend(complaints(&document.document, statement, &contracts));
                unheld.extend(statement.none.is_some().then(|| statement.id.clone()));
                for run in statement.held.iter().flat_map(|(id, runs)| runs.iter().map(move |run| (id, run)))
                {
                    if !broken_by.insert(run) {
                        wrong.push(format!("{}: another statement is broken by {run:?} too", statement.id));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} complaints:\n{}", wrong.len(), wrong.join("\n"));
    assert!(unheld.len() <= UNHELD, "without a clause: {unheld:?}");
}

#[test]
fn every_must_of_the_documents_is_a_statement_of_theirs() {
    let documents = documents();
    let sections = documents.iter().flat_map(|document| &document.section);
    let statements = sections.flat_map(|section| &section.statements);
    let named: BTreeSet<_> = statements.flat_map(|statement| statement.held.keys().cloned()).collect();
    let of_the_documents =
        |clause: &&Clause| documents.iter().any(|known| clause.source.contains(&known.document));
    let mut unnamed = Vec::new();
    for (name, (contract, _)) in Contracts::load().0 {
        let musts = contract.clauses().iter().filter(|clause| clause.level == Level::Must);
        // What a contract takes over from another one is named there.
        let ids =
            musts.filter(of_the_documents).map(|clause| format!("{}/{}", home(name, &clause.id), clause.id));
        unnamed.extend(ids.filter(|id| !named.contains(id)));
    }
    assert!(unnamed.is_empty(), "nobody asked for:\n{}", unnamed.join("\n"));
}

#[test]
fn the_page_of_the_statements_is_current() {
    let fresh = page(&documents(), &Contracts::load());
    let path = Path::new(ROOT).join(PAGE);
    if std::env::var("INSTA_UPDATE").is_ok_and(|wish| wish == "always") {
        fs::write(&path, &fresh).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == fresh, "{PAGE} is out of date: INSTA_UPDATE=always cargo test --test judge statements");
}

/// A clause by its id, and the runs that break it.
type Held<'a> = (&'a String, &'a Clause, &'a Vec<String>);

/// The page: how much is held how firmly, and a table for each document.
fn page(documents: &[Document], contracts: &Contracts) -> String {
    let mut tables = String::new();
    let mut counts: Vec<(&str, [usize; 5])> = Vec::new();
    for document in documents {
        let mut count = [0; 5];
        let _ = write!(
            tables,
            "\n## {}\n\n| id | section | statement | clause | level | broken by |\n|---|---|---|---|---|---|\n",
            document.document
        );
        for (section, statement) in document
            .section
            .iter()
            .flat_map(|section| section.statements.iter().map(move |one| (section, one)))
        {
            let clauses: Vec<_> =
                statement.held.iter().map(|(id, runs)| (id, contracts.clause(id).unwrap().0, runs)).collect();
            let strongest = clauses.iter().map(|(_, clause, _)| clause.level).max();
            let column = LEVELS.iter().position(|level| Some(*level) == strongest);
            count[column.unwrap_or(LEVELS.len())] += 1;
            let cells =
                |cell: &dyn Fn(&Held) -> String| clauses.iter().map(cell).collect::<Vec<_>>().join("<br>");
            let mut held = cells(&|(id, ..)| format!("`{id}`"));
            if let Some(reason) = &statement.none {
                held = format!("none: {reason}");
            }
            let mut level = cells(&|(_, clause, _)| clause.level.name().to_string());
            if let Some(against) = &statement.against {
                let _ = write!(level, ": {against}");
            }
            let runs = cells(&|(id, clause, runs)| {
                let (contract, _) = id.split_once('/').unwrap();
                let home = home(contract, &clause.id);
                format!("[{}]({home}/fixtures/{}.toml)", runs.join(", "), clause.id)
            });
            let _ = writeln!(
                tables,
                "| {} | {} | {} | {held} | {level} | {runs} |",
                statement.id, section.title, statement.says
            );
        }
        counts.push((&document.document, count));
    }
    let mut page = String::from(HEAD);
    let total = counts.iter().fold([0; 5], |sum, (_, count)| std::array::from_fn(|n| sum[n] + count[n]));
    for (name, count) in counts.into_iter().chain([("together", total)]) {
        let [must, should, ambiguous, note, none] = count;
        let all: usize = count.iter().sum();
        let _ = writeln!(page, "| {name} | {all} | {must} | {should} | {ambiguous} | {note} | {none} |");
    }
    page + &tables
}

const HEAD: &str = "\
# What claw's documents say, and what holds it

Every statement of the three documents that a run can break, in our own words: the clauses that hold it, how much each
weighs, and the runs in its fixtures that break it. Each run is proven to trigger its clause. Made by a test of
`tests/data/claw-statements` and the contracts; do not edit: `INSTA_UPDATE=always cargo test --test judge statements`.

A field of a table or an example is one statement: that it is there, and of its type. Where several clauses hold a
statement, the strictest counts.

| document | statements | must | should | ambiguous | note | no clause |
|---|--:|--:|--:|--:|--:|--:|
";
