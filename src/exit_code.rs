//! The exit codes of the `clawgate` command. They are part of the API: scripts and CI jobs branch on them.
//!
//! When several apply, [`worst`] picks the one to report: usage, then interrupted, environment, nothing selected,
//! findings.

/// Everything was judged and nothing is wrong.
pub const OK: u8 = 0;
/// A contract, a golden snapshot, a verdict or an evaluation failed, or a change is breaking.
pub const FINDINGS: u8 = 100;
/// The command line is wrong, or an input file cannot be read or understood.
pub const USAGE: u8 = 2;
/// The environment failed: a target is missing, a port or the disk is not available, too little was measured.
pub const ENVIRONMENT: u8 = 3;
/// The filters selected nothing, so nothing was checked.
pub const NOTHING_SELECTED: u8 = 4;
/// Interrupted by the user.
pub const INTERRUPTED: u8 = 130;

/// The code to exit with when both `a` and `b` apply.
pub fn worst(a: u8, b: u8) -> u8 {
    const BY_WEIGHT: [u8; 6] = [OK, FINDINGS, NOTHING_SELECTED, ENVIRONMENT, INTERRUPTED, USAGE];
    let weight = |code: u8| BY_WEIGHT.iter().position(|known| *known == code).unwrap_or(BY_WEIGHT.len());
    if weight(a) >= weight(b) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_order_decides() {
        let order = [USAGE, INTERRUPTED, ENVIRONMENT, NOTHING_SELECTED, FINDINGS, OK];
        for (i, &heavier) in order.iter().enumerate() {
            for &lighter in &order[i..] {
                assert_eq!(worst(heavier, lighter), heavier);
                assert_eq!(worst(lighter, heavier), heavier);
            }
        }
    }
}
