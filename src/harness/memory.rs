//! How much memory this process may use, which what is kept in memory has to fit into.

use std::fs;
use std::path::Path;

/// A room takes no more than this, however much memory there is.
const MOST_BYTES: u64 = 1 << 30;
/// Nor more than this part of it.
const PART: u64 = 4;
/// Below this, a room would not hold what a target needs to start.
const LEAST_BYTES: u64 = 16 << 20;

/// How much a target may write into its room and around it, unless somebody says otherwise.
pub(crate) fn bytes_for_a_room() -> u64 {
    limit().map_or(MOST_BYTES, |limit| (limit / PART).clamp(LEAST_BYTES, MOST_BYTES))
}

/// The memory of the machine, or what the control group of this process leaves of it.
fn limit() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_group = group(&groups).into_iter().flat_map(|group| {
        // Every group above sets a limit too.
        let folder = Path::new("/sys/fs/cgroup").join(group.trim_start_matches('/'));
        let folders: Vec<_> = folder.ancestors().map(Path::to_owned).collect();
        folders.into_iter().filter_map(|folder| number(&fs::read_to_string(folder.join("memory.max")).ok()?))
    });
    let old = fs::read_to_string("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    machine.into_iter().chain(of_group).chain(old.ok().and_then(|text| number(&text))).min()
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    number(line.trim().strip_suffix("kB")?)?.checked_mul(1024)
}

/// The group of this process in the one tree of groups, where there is one.
fn group(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::"))
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_smaller_than_the_memory() {
        assert_eq!(total("MemFree: 1 kB\nMemTotal:       2048 kB\n"), Some(2 << 20));
        assert_eq!(group("1:name=x:/a\n0::/user.slice/b\n"), Some("/user.slice/b"));
        assert_eq!((number("max\n"), number("17\n")), (None, Some(17)));
        assert!((LEAST_BYTES..=MOST_BYTES).contains(&bytes_for_a_room()));
    }
}
