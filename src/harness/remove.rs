//! Removes directories whatever a target has made of them.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::platform;

/// Removes a directory with everything in it, however deep, however much, and whatever its permissions. What cannot be
/// removed stays.
///
/// Directories are brought up to the top one by one under a number each: a path may not be as long as a tree is deep, and no
/// list of them is kept, since nobody knows how many a target has made.
pub(crate) fn tree(top: &Path) {
    let Ok(found) = fs::symlink_metadata(top) else { return };
    if !found.is_dir() {
        _ = fs::remove_file(top);
        return;
    }
    open_up(top);
    // What a target has made has another name, so that nothing is in the way.
    let make = || tempfile::Builder::new().prefix(".clawgate-removes-").tempdir_in(top);
    // Where there is no space for one directory more, some has to go first.
    let Ok(risen) = make().or_else(|_| fs::remove_dir_all(top).and_then(|()| make()).or_else(|_| make()))
    else {
        return;
    };
    let risen = risen.keep();
    let place = |number: u64| risen.join(number.to_string());
    let mut count = 0;
    empty(top, &risen, &mut || next(&mut count, place));
    let mut done = 0;
    while done < count {
        let folder = place(done);
        empty(&folder, &risen, &mut || next(&mut count, place));
        _ = removed(&folder, |folder| fs::remove_dir(folder));
        done += 1;
    }
    _ = fs::remove_dir(&risen);
    _ = fs::remove_dir(top);
}

fn next(count: &mut u64, place: impl Fn(u64) -> PathBuf) -> PathBuf {
    *count += 1;
    place(*count - 1)
}

/// Removes what is in a directory but for the directories, which are moved to a place each.
fn empty(folder: &Path, risen: &Path, place: &mut dyn FnMut() -> PathBuf) {
    open_up(folder);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        if !is_folder {
            _ = removed(&path, |path| fs::remove_file(path));
        } else if path != risen {
            // Moving it means writing into it: its entry for what is above changes.
            let to = place();
            _ = removed(&path, |path| {
                open_up(path);
                fs::rename(path, &to)
            });
        }
    }
}

/// Lets its owner do everything in a directory.
fn open_up(folder: &Path) {
    let is_open = |found: fs::Metadata| found.permissions().mode() & 0o700 == 0o700;
    if !fs::symlink_metadata(folder).is_ok_and(is_open) {
        _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
}

/// Removes something, and tries again without what forbids even its owner to change it or what it stands in.
fn removed(path: &Path, remove: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    remove(path).or_else(|_| {
        path.parent().into_iter().chain([path]).for_each(platform::make_mutable);
        remove(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_is_deeper_than_a_path_may_be_long_goes() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        fs::create_dir(&top).unwrap();
        // Made from the inside out, as no path reaches its end.
        for level in 0..6000 {
            let (above, name) = (folder.path().join("above"), format!("level-{level}"));
            fs::create_dir(&above).unwrap();
            fs::rename(&top, above.join(&name)).unwrap();
            fs::rename(&above, &top).unwrap();
        }
        fs::create_dir(top.join("locked")).unwrap();
        fs::write(top.join("locked/file"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", top.join("locked/link")).unwrap();
        fs::set_permissions(top.join("locked"), fs::Permissions::from_mode(0o000)).unwrap();
        tree(&top);
        assert!(!top.exists());
        assert!(Path::new("/etc/passwd").exists());
    }

    #[test]
    fn a_link_goes_and_what_it_leads_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("kept")).unwrap();
        fs::write(folder.path().join("kept/file"), "x").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("kept"), &link).unwrap();
        tree(&link);
        assert!(fs::symlink_metadata(&link).is_err() && folder.path().join("kept/file").exists());
    }
}
