//! Work on several processors, with its results in the order of what was worked on.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Results that wait for an earlier one, for each processor; nobody works further ahead.
const AHEAD: usize = 8;

/// What is under way.
struct State<R> {
    next: usize,
    shown: usize,
    done: BTreeMap<usize, R>,
    /// Nothing more is wanted: a result could not be shown, or work was given up.
    is_over: bool,
}

/// Does `work` on every item, on all processors, and shows each result on this thread, in the order of the items. The first
/// error of `show` ends it.
pub(super) fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut show: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    if workers < 2 {
        return items.iter().enumerate().try_for_each(|(index, item)| show(index, work(item)));
    }
    let state = Mutex::new(State { next: 0, shown: 0, done: BTreeMap::new(), is_over: false });
    let changed = Condvar::new();
    thread::scope(|scope| {
        let end = End(&state, &changed);
        for _ in 0..workers {
            scope.spawn(|| {
                let end = End(&state, &changed);
                while let Some(index) = next(&state, &changed, items.len(), AHEAD * workers) {
                    let result = work(&items[index]);
                    locked(&state).done.insert(index, result);
                    changed.notify_all();
                }
                std::mem::forget(end);
            });
        }
        for index in 0..items.len() {
            let is_missing = |state: &mut State<R>| !state.done.contains_key(&index) && !state.is_over;
            let mut ready =
                changed.wait_while(locked(&state), is_missing).unwrap_or_else(PoisonError::into_inner);
            // A worker that panicked ends the scope with its panic.
            let Some(result) = ready.done.remove(&index) else { break };
            ready.shown = index + 1;
            drop(ready);
            changed.notify_all();
            show(index, result)?;
        }
        drop(end);
        Ok(())
    })
}

/// The next item to work on, as soon as there is room for its result.
fn next<R>(state: &Mutex<State<R>>, changed: &Condvar, items: usize, ahead: usize) -> Option<usize> {
    let is_ahead =
        |state: &mut State<R>| !state.is_over && state.next < items && state.next >= state.shown + ahead;
    let mut state = changed.wait_while(locked(state), is_ahead).unwrap_or_else(PoisonError::into_inner);
    let index = state.next;
    state.next += 1;
    (index < items && !state.is_over).then_some(index)
}

fn locked<R>(state: &Mutex<State<R>>) -> MutexGuard<'_, State<R>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that it is over when it is dropped, also by an error or a panic, so that nobody waits for ever.
struct End<'s, R>(&'s Mutex<State<R>>, &'s Condvar);

impl<R> Drop for End<'_, R> {
    fn drop(&mut self) {
        locked(self.0).is_over = true;
        self.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..500).collect();
        // Early ones take longest.
        let work = |item: &u64| {
            (0..(500 - item) * 50).fold(*item, |sum, more| std::hint::black_box(sum ^ more ^ more))
        };
        let mut seen = Vec::new();
        let shown = in_order(&items, work, |index, result| {
            seen.push((index as u64, result));
            Ok::<(), ()>(())
        });
        assert_eq!(shown, Ok(()));
        assert_eq!(seen, items.iter().map(|item| (*item, *item)).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_it() {
        let items: Vec<usize> = (0..1000).collect();
        let shown = in_order(&items, |item| *item, |index, _| if index == 3 { Err(index) } else { Ok(()) });
        assert_eq!(shown, Err(3));
        assert_eq!(in_order(&[] as &[u8], |_| (), |_, ()| Err(())), Ok(()));
    }
}
