//! Whether the addresses in a text answer. Asking them is done elsewhere, when somebody wants it; here it is decided.

use super::format::URL;
use super::pattern::{Pattern, Undecided};
use super::{Found, clip};
use crate::eval::urls::{Reach, Reached};

/// More addresses of a text than this are not asked.
const MOST: usize = 20;

/// That so many addresses answer.
#[derive(Debug, Clone)]
pub(crate) struct ReachCheck {
    least: u64,
    url: Pattern,
}

impl ReachCheck {
    pub(super) fn new(least: u64) -> Result<Self, String> {
        Ok(Self { least, url: Pattern::parse(URL)? })
    }

    pub(super) fn demands_nothing(&self) -> bool {
        self.least == 0
    }

    /// The addresses to be asked, each once.
    pub(super) fn addresses(&self, text: &str) -> Result<Vec<String>, Undecided> {
        let mut addresses = self.all(text)?;
        addresses.truncate(MOST);
        Ok(addresses)
    }

    fn all(&self, text: &str) -> Result<Vec<String>, Undecided> {
        let mut addresses: Vec<String> = Vec::new();
        self.url.count(text, &mut |found| {
            // What ends a sentence, or a word in bold, is not part of the address in it.
            let found = found.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '`', ']', '}']);
            if !addresses.iter().any(|known| known == found) {
                addresses.push(found.to_owned());
            }
        })?;
        Ok(addresses)
    }

    /// Decides it by what was heard from the addresses; what is not known could be either.
    pub(super) fn find(&self, text: &str, reached: Option<&[Reached]>) -> Found {
        let Ok(addresses) = self.all(text) else { return Found::unchecked(Undecided.to_string()) };
        let total = addresses.len() as u64;
        if total < self.least || self.least == 0 {
            return Found::when(total >= self.least, format!("{total} URLs"));
        }
        let Some(reached) = reached else {
            return Found::unchecked(format!("{total} URLs were not asked; --check-urls asks them"));
        };
        let state = |address: &String| reached.iter().find(|known| known.url == *address);
        let count = |wanted: Reach| {
            addresses.iter().filter_map(state).filter(|known| known.reach == wanted).count() as u64
        };
        let (there, gone) = (count(Reach::Reachable), count(Reach::Unreachable));
        let other = addresses.iter().filter_map(state).find(|known| known.reach != Reach::Reachable);
        let other = other.map_or(String::new(), |other| format!("; {} {}", clip(&other.url), other.because));
        let message = format!("{there} of {total} URLs answer{other}");
        if there >= self.least {
            Found::when(true, message)
        } else if total - gone < self.least {
            Found::when(false, message)
        } else {
            Found::unchecked(message)
        }
    }

    pub(super) fn describe(&self) -> String {
        format!("at least {} URLs that answer", self.least)
    }
}

#[cfg(test)]
mod tests {
    use Reach::{Reachable, Unknown, Unreachable};

    use super::*;
    use crate::eval::assertion::Answer;

    fn reached(states: &[(&str, Reach)]) -> Vec<Reached> {
        states
            .iter()
            .map(|(url, reach)| Reached {
                url: (*url).to_owned(),
                reach: *reach,
                because: "said so".to_owned(),
            })
            .collect()
    }

    #[test]
    fn what_is_not_known_is_neither_a_pass_nor_a_failure() {
        let text = "See https://a.example/, https://b.example/x. **https://c.example** and https://a.example/ again.";
        let (a, b, c) = ("https://a.example/", "https://b.example/x", "https://c.example");
        for (least, states, expected) in [
            (2, vec![(a, Reachable), (b, Reachable), (c, Unreachable)], Answer::Pass),
            (2, vec![(a, Reachable), (b, Unreachable), (c, Unreachable)], Answer::Fail),
            (2, vec![(a, Reachable), (b, Unreachable), (c, Unknown)], Answer::Unchecked),
            (2, vec![(a, Unreachable), (b, Unreachable), (c, Unknown)], Answer::Fail),
            (2, vec![(a, Reachable)], Answer::Unchecked),
            (4, vec![(a, Reachable), (b, Reachable), (c, Reachable)], Answer::Fail),
            (0, vec![], Answer::Pass),
        ] {
            let check = ReachCheck::new(least).unwrap();
            assert_eq!(check.addresses(text).unwrap(), [a, b, c]);
            assert_eq!(check.find(text, Some(&reached(&states))).status, expected, "{least} {states:?}");
        }
        assert_eq!(ReachCheck::new(1).unwrap().find(text, None).status, Answer::Unchecked);
        assert_eq!(ReachCheck::new(1).unwrap().find("none", None).status, Answer::Fail);
    }
}
