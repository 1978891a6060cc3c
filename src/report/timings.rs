//! Where the time of a run went: `clawgate run --timings`.
//!
//! ```text
//! time in ms                start  answers     end  judging    total
//! claude/tools/read           612       41     118        3      774
//! claude/answers/stream       598       12     109        2      721
//! 2 cases                    1210       53     227        5     1495
//! ```

use std::fmt;

use super::style::FAINT;
use crate::run::CaseFinished;
use crate::text::printable;

/// So many cases are listed, those that took longest.
const MOST: usize = 30;

/// What the time of each case went to.
#[derive(Debug, Default)]
pub(crate) struct Timings {
    cases: Vec<(String, Parts)>,
}

/// Milliseconds until the first request, until the last answer, until the exit, and until the verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Parts([f64; 4]);

impl Parts {
    fn of(case: &CaseFinished) -> Self {
        let whole = case.duration_ms;
        let (first, last) = case.first_request_ms.zip(case.answered_ms).unwrap_or((whole, whole));
        Self([first, last - first, whole - last, case.verdict_ms])
    }

    fn total(self) -> f64 {
        self.0.iter().sum()
    }

    fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [start, answers, end, judging] = self.0;
        write!(f, "{start:>8.0} {answers:>8.0} {end:>8.0} {judging:>8.0} {:>9.0}", self.total())
    }
}

impl Timings {
    /// Takes note of a case; one that was not run took no time.
    pub(crate) fn add(&mut self, case: &CaseFinished) {
        let parts = Parts::of(case);
        if parts.total() > 0.0 {
            self.cases.push((format!("{} {}", case.title(), case.target), parts));
        }
    }
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cases: Vec<_> = self.cases.iter().collect();
        cases.sort_by(|(_, one), (_, other)| other.total().total_cmp(&one.total()));
        let more = cases.len().saturating_sub(MOST);
        cases.truncate(MOST);
        let width = cases.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().max(20);
        let (start, answers, end, judging, total) = ("start", "answers", "end", "judging", "total");
        write!(
            f,
            "{FAINT}{:<width$} {start:>8} {answers:>8} {end:>8} {judging:>8} {total:>9}{FAINT:#}",
            "time in ms"
        )?;
        for (name, parts) in cases {
            write!(f, "\n{:<width$} ", printable(name))?;
            parts.write(f)?;
        }
        if more > 0 {
            write!(f, "\n{FAINT}and {more} that took less{FAINT:#}")?;
        }
        let sum = self.cases.iter().fold([0.0; 4], |mut sum, (_, parts)| {
            sum.iter_mut().zip(parts.0).for_each(|(sum, part)| *sum += part);
            sum
        });
        let count = self.cases.len();
        let count = format!("{count} {}", if count == 1 { "case" } else { "cases" });
        write!(f, "\n{count:<width$} ")?;
        Parts(sum).write(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, duration_ms: f64, asked: Option<(f64, f64)>) -> CaseFinished {
        let (first_request_ms, answered_ms) = asked.unzip();
        let (case, verdict_ms) = (name.to_owned(), 2.0);
        CaseFinished {
            case,
            duration_ms,
            first_request_ms,
            answered_ms,
            verdict_ms,
            ..CaseFinished::default()
        }
    }

    #[test]
    fn the_parts_of_a_case_are_its_time_and_those_of_all_are_theirs() {
        let mut timings = Timings::default();
        timings.add(&case("quick", 10.0, None));
        timings.add(&case("slow", 700.0, Some((600.0, 650.0))));
        timings.add(&CaseFinished::default());
        let told = anstream::adapter::strip_str(&timings.to_string()).to_string();
        let lines: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["slow", "600", "50", "50", "2", "702"]);
        assert_eq!(lines[2], ["quick", "10", "0", "0", "2", "12"]);
        assert_eq!(lines[3], ["2", "cases", "610", "50", "50", "4", "714"]);
        assert_eq!(lines.len(), 4);
    }
}
