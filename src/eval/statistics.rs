//! What may be said of a few trials, and with how much confidence.

use serde::{Deserialize, Serialize};

/// The normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// A part of a whole with the interval in which the true one lies, at 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// How many of those that were measured passed.
    pub passed: u64,
    /// How many were measured; those that were not say nothing.
    pub measured: u64,
    /// The part; none when nothing was measured.
    pub rate: Option<f64>,
    /// The lower end of Wilson's interval.
    pub low: f64,
    /// The upper end of Wilson's interval.
    pub high: f64,
}

impl Rate {
    /// So many of so many. Nothing measured is compatible with everything.
    ///
    /// ```
    /// use clawgate::internals::eval::statistics::Rate;
    ///
    /// let rate = Rate::of(3, 4);
    /// assert_eq!(rate.rate, Some(0.75));
    /// assert!(rate.low > 0.29 && rate.high < 0.96, "four trials say little: {rate:?}");
    /// assert_eq!(rate.pass_all(2), Some(0.5));
    /// assert_eq!(Rate::of(0, 0).rate, None);
    /// ```
    pub fn of(passed: u64, measured: u64) -> Self {
        if measured == 0 {
            return Self { passed, measured, rate: None, low: 0.0, high: 1.0 };
        }
        let (n, p) = (measured as f64, passed as f64 / measured as f64);
        let z2 = Z * Z;
        let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        let (low, high) = (centre - half, centre + half);
        Self {
            passed,
            measured,
            rate: Some(p),
            // At the ends the formula gives the ends, but for the last bit.
            low: if passed == 0 { 0.0 } else { low.max(0.0) },
            high: if passed == measured { 1.0 } else { high.min(1.0) },
        }
    }

    /// The chance that at least one of `k` trials passes, drawn from those measured.
    pub fn pass_at(&self, k: u64) -> Option<f64> {
        let failed = self.measured - self.passed;
        (1..=self.measured).contains(&k).then(|| 1.0 - chosen(failed, self.measured, k))
    }

    /// The chance that all of `k` trials pass, drawn from those measured.
    pub fn pass_all(&self, k: u64) -> Option<f64> {
        (1..=self.measured).contains(&k).then(|| chosen(self.passed, self.measured, k))
    }
}

/// The chance that `k` draws from `all` without putting back are all among `some`.
fn chosen(some: u64, all: u64, k: u64) -> f64 {
    if k > some {
        return 0.0;
    }
    (0..k).map(|i| (some - i) as f64 / (all - i) as f64).product()
}

/// A difference of two parts with its interval, at 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of the report in JSON")]
pub struct Difference {
    /// The first part less the second.
    pub difference: f64,
    /// The lower end of Newcombe's interval.
    pub low: f64,
    pub high: f64,
}

impl Difference {
    /// Of two parts; none when one was not measured.
    pub fn of(a: &Rate, b: &Rate) -> Option<Self> {
        let (p, q) = (a.rate?, b.rate?);
        let difference = p - q;
        let low = difference - ((p - a.low).powi(2) + (b.high - q).powi(2)).sqrt();
        let high = difference + ((a.high - p).powi(2) + (q - b.low).powi(2)).sqrt();
        Some(Self { difference, low: low.max(-1.0), high: high.min(1.0) })
    }
}

/// So many of so many, where being counted is nothing good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// How many there are of them.
    pub count: u64,
    /// How many there are in all.
    pub of: u64,
}

impl Share {
    /// The chance, by Fisher's exact test, that at least so many of those counted are in this share rather than in the
    /// other, if it made no difference.
    ///
    /// ```
    /// use clawgate::internals::eval::statistics::Share;
    ///
    /// let (with, without) = (Share { count: 5, of: 10 }, Share { count: 0, of: 10 });
    /// assert!(with.chance_against(without) < 0.02, "half of them against none is no chance");
    /// ```
    pub fn chance_against(self, other: Self) -> f64 {
        let (all, counted) = (self.of + other.of, self.count + other.count);
        let most = self.of.min(counted);
        let total = ln_choose(all, counted);
        let chance = |k: u64| (ln_choose(self.of, k) + ln_choose(other.of, counted - k) - total).exp();
        let least = self.count.max(counted.saturating_sub(other.of));
        (least..=most).map(chance).sum::<f64>().min(1.0)
    }
}

/// The chance, by the two-sided sign test, of a result at least so uneven if both sides were as likely to win.
pub(crate) fn sign_test(one: u64, other: u64) -> f64 {
    let all = one + other;
    let chance = |k: u64| (ln_choose(all, k) - all as f64 * std::f64::consts::LN_2).exp();
    (2.0 * (0..=one.min(other)).map(chance).sum::<f64>()).min(1.0)
}

/// The logarithm of the number of ways to choose `k` of `n`.
fn ln_choose(n: u64, k: u64) -> f64 {
    (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum()
}

/// The middle of some numbers; none of none.
pub(crate) fn median(numbers: &mut [f64]) -> Option<f64> {
    if numbers.is_empty() {
        return None;
    }
    numbers.sort_unstable_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    Some(if numbers.len() % 2 == 1 {
        numbers[middle]
    } else {
        f64::midpoint(numbers[middle - 1], numbers[middle])
    })
}

/// Mean, standard deviation, least and most, as skill-creator's benchmark has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub mean: f64,
    /// The standard deviation of a sample.
    pub stddev: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// Of some numbers; zeros of none.
    pub(crate) fn of(numbers: &[f64]) -> Self {
        if numbers.is_empty() {
            return Self::default();
        }
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let rounded = |x: f64| (x * 1e4).round() / 1e4;
        Self {
            mean: rounded(mean),
            stddev: rounded(variance.sqrt()),
            min: rounded(numbers.iter().copied().fold(f64::INFINITY, f64::min)),
            max: rounded(numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-5
    }

    #[test]
    fn a_result_is_as_uneven_as_the_sign_test_says() {
        for (one, other, expected) in
            [(5, 0, 0.0625), (6, 0, 0.03125), (0, 6, 0.03125), (3, 3, 1.0), (9, 1, 0.02148), (0, 0, 1.0)]
        {
            assert!(is_near(sign_test(one, other), expected), "{one} {other}: {}", sign_test(one, other));
        }
    }

    #[test]
    fn wilsons_interval_is_as_published() {
        // Newcombe 1998, table I, method 3.
        for (passed, measured, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let rate = Rate::of(passed, measured);
            assert!(is_near(rate.low, low) && is_near(rate.high, high), "{rate:?}");
        }
        assert_eq!(Rate::of(0, 0), Rate { passed: 0, measured: 0, rate: None, low: 0.0, high: 1.0 });
        assert!(Rate::of(5, 5).low < 0.57 && is_near(Rate::of(5, 5).high, 1.0));
    }

    #[test]
    fn newcombes_interval_is_as_published() {
        // Newcombe 1998, interval estimation for the difference, method 10: 56/70 and 48/80.
        let difference = Difference::of(&Rate::of(56, 70), &Rate::of(48, 80)).unwrap();
        assert!(is_near(difference.difference, 0.2), "{difference:?}");
        assert!(is_near(difference.low, 0.0524) && is_near(difference.high, 0.3339), "{difference:?}");
        assert_eq!(Difference::of(&Rate::of(1, 2), &Rate::of(0, 0)), None);
    }

    #[test]
    fn fishers_test_is_as_published() {
        let share = |count, of| Share { count, of };
        // Fisher's tea: 3 of 4 cups right and 1 of 4 wrong; and tables whose sums are known.
        for (a, b, expected) in [
            (share(3, 4), share(1, 4), 0.2429),
            (share(4, 4), share(0, 4), 0.0143),
            (share(5, 10), share(0, 10), 0.0163),
            (share(0, 5), share(0, 5), 1.0),
            (share(0, 5), share(4, 5), 1.0),
            (share(4, 8), share(0, 8), 0.0385),
        ] {
            let found = a.chance_against(b);
            assert!(is_near(found, expected), "{a:?} {b:?}: {found}");
        }
        assert!(share(5000, 10_000).chance_against(share(0, 10_000)) < 1e-9, "large numbers are no trouble");
    }

    #[test]
    fn pass_at_k_counts_draws() {
        let rate = Rate::of(3, 5);
        assert!(is_near(rate.pass_at(1).unwrap(), 0.6) && is_near(rate.pass_at(2).unwrap(), 0.9));
        assert!(is_near(rate.pass_all(2).unwrap(), 0.3) && rate.pass_all(4) == Some(0.0));
        assert_eq!((rate.pass_at(3), rate.pass_at(6), rate.pass_at(0)), (Some(1.0), None, None));
    }

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }
}
