//! What all attempts together may cost. Those under way are reckoned with before they say what they cost.
//!
//! An attempt begins only when everything that was spent, the attempts under way and this one fit into the budget, each
//! taken to cost as much as the dearest so far. Until one was seen, an attempt is taken to cost what a trial may cost at
//! most, and to use all tokens: then one runs alone. So the budget is exceeded only by attempts that cost more than all
//! before them, and never by more than the limit of one trial for each that runs at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::observed::Usage;

/// What all attempts together may cost, and what they did.
pub(super) struct Budget {
    most_cost: Option<f64>,
    most_tokens: Option<u64>,
    /// What one trial may cost at most.
    usual_cost: f64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    spent: Usage,
    under_way: u32,
    reserved: Estimate,
    dearest: Option<Estimate>,
}

/// What an attempt is taken to cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Estimate {
    cost: f64,
    tokens: u64,
}

/// The part of a budget that an attempt under way holds.
pub(super) struct Reserved<'b> {
    budget: &'b Budget,
    estimate: Estimate,
}

/// Why an attempt may not begin.
#[derive(Debug, PartialEq)]
pub(super) enum Refused {
    /// Somebody gave up meanwhile.
    GivenUp,
    /// There is nothing left, in words.
    UsedUp(String),
}

impl Budget {
    pub(super) fn new(most_cost: Option<f64>, most_tokens: Option<u64>, usual_cost: f64) -> Self {
        Self { most_cost, most_tokens, usual_cost, state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what was spent before.
    pub(super) fn add(&self, usage: &Usage) {
        self.state().spent.add(usage);
    }

    /// Takes note of what an attempt cost.
    pub(super) fn learn(&self, usage: &Usage) {
        let mut state = self.state();
        let known = state.dearest.unwrap_or_default();
        state.dearest =
            Some(Estimate { cost: known.cost.max(usage.cost_usd), tokens: known.tokens.max(usage.tokens()) });
    }

    /// Waits until an attempt fits in beside those under way.
    pub(super) fn reserve(&self, give_up: &dyn Fn() -> bool) -> Result<Reserved<'_>, Refused> {
        let mut state = self.state();
        loop {
            if give_up() {
                return Err(Refused::GivenUp);
            }
            let unseen = Estimate { cost: self.usual_cost, tokens: u64::MAX };
            let estimate = state.dearest.unwrap_or(unseen);
            // Somebody has to be the first.
            let is_first = state.dearest.is_none() && state.under_way == 0;
            let used_up = self.used_up(&state, if is_first { Estimate::default() } else { estimate });
            match used_up {
                None => {
                    state.under_way += 1;
                    state.reserved.cost += estimate.cost;
                    state.reserved.tokens = state.reserved.tokens.saturating_add(estimate.tokens);
                    return Ok(Reserved { budget: self, estimate });
                }
                Some(why) if state.under_way == 0 => return Err(Refused::UsedUp(why)),
                Some(_) => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Why an attempt of this cost does not fit in.
    fn used_up(&self, state: &State, next: Estimate) -> Option<String> {
        let spent = &state.spent;
        if let Some(most) = self.most_cost
            && (spent.cost_usd >= most || spent.cost_usd + state.reserved.cost + next.cost > most)
        {
            let next = if next.cost > 0.0 {
                format!(", and another may cost ${:.4}", next.cost)
            } else {
                String::new()
            };
            return Some(format!("${:.4} of ${most} are spent{next}", spent.cost_usd));
        }
        let tokens = spent.tokens();
        let with_next = tokens.saturating_add(state.reserved.tokens).saturating_add(next.tokens);
        if let Some(most) = self.most_tokens
            && (tokens >= most || with_next > most)
        {
            let next = if next.tokens > 0 {
                format!(", and another may use {}", next.tokens)
            } else {
                String::new()
            };
            return Some(format!("{tokens} of {most} tokens are used{next}"));
        }
        None
    }
}

impl Reserved<'_> {
    /// The attempt is over and used this.
    pub(super) fn spend(self, usage: &Usage) {
        self.budget.add(usage);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.under_way -= 1;
        state.reserved.cost -= self.estimate.cost;
        state.reserved.tokens = state.reserved.tokens.saturating_sub(self.estimate.tokens);
        if state.under_way == 0 {
            state.reserved = Estimate::default();
        }
        self.budget.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(cost_usd: f64, input_tokens: u64) -> Usage {
        Usage { cost_usd, input_tokens, ..Usage::default() }
    }

    fn never() -> bool {
        false
    }

    fn attempt(budget: &Budget, used: &Usage) {
        finish(budget.reserve(&never).unwrap(), used);
    }

    fn finish(reserved: Reserved<'_>, used: &Usage) {
        reserved.budget.learn(used);
        reserved.spend(used);
    }

    /// Whether another attempt would begin at once.
    fn fits(budget: &Budget) -> bool {
        let state = budget.state();
        let unseen = Estimate { cost: budget.usual_cost, tokens: u64::MAX };
        budget.used_up(&state, state.dearest.unwrap_or(unseen)).is_none()
    }

    #[test]
    fn what_is_under_way_is_reckoned_with() {
        let budget = Budget::new(Some(1.0), None, 0.4);
        let first = budget.reserve(&never).unwrap();
        let second = budget.reserve(&never).unwrap();
        assert!(!fits(&budget), "a third of $0.4 would be too much");
        // The first was cheap, so there is room for more.
        finish(first, &usage(0.1, 0));
        assert!(fits(&budget));
        finish(second, &usage(0.1, 0));
        let eight: Vec<_> = (0..8).map(|_| budget.reserve(&never).unwrap()).collect();
        assert!(!fits(&budget));
        for reserved in eight {
            finish(reserved, &usage(0.1, 0));
        }
        let refused = budget.reserve(&never).err().unwrap();
        assert!(
            matches!(&refused, Refused::UsedUp(why) if why.starts_with("$1.0000 of $1 are spent")),
            "{refused:?}"
        );
    }

    #[test]
    fn nothing_begins_that_is_likely_to_be_too_much() {
        let budget = Budget::new(Some(1.0), None, 5.0);
        // Dearer than the budget, and yet somebody has to be the first.
        attempt(&budget, &usage(0.6, 0));
        let refused = budget.reserve(&never).err().unwrap();
        let why = "$0.6000 of $1 are spent, and another may cost $0.6000";
        assert_eq!(refused, Refused::UsedUp(why.into()));
    }

    #[test]
    fn tokens_are_reckoned_too_and_the_first_runs_alone() {
        let budget = Budget::new(None, Some(100), 1.0);
        let first = budget.reserve(&never).unwrap();
        assert!(!fits(&budget));
        finish(first, &usage(0.0, 40));
        let second = budget.reserve(&never).unwrap();
        assert!(!fits(&budget));
        drop(second);
        assert!(fits(&budget), "what was never run holds nothing");
        assert_eq!(budget.reserve(&|| true).err(), Some(Refused::GivenUp));
    }

    #[test]
    fn what_is_not_learnt_from_does_not_say_what_a_trial_costs() {
        let budget = Budget::new(Some(1.0), None, 0.6);
        budget.reserve(&never).unwrap().spend(&usage(0.01, 0));
        let _under_way = budget.reserve(&never).unwrap();
        assert!(!fits(&budget));
    }

    #[test]
    fn without_a_limit_everything_fits() {
        let budget = Budget::new(None, None, 1.0);
        let _many: Vec<_> = (0..100).map(|_| budget.reserve(&never).unwrap()).collect();
        assert!(fits(&budget));
    }
}
