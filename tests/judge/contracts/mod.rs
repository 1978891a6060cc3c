//! Contracts: those that ship, against their fixtures and the corpus, and those of users.

mod audit;
mod broken;
mod claude;
mod cli;
mod core;
mod diff;
mod documents;
mod fixtures;
mod learn;
mod statements;
mod verdicts;
