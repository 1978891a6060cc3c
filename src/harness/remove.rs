//! Removes directories whatever a target has made of them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Removes a directory with everything in it, however deep and whatever its permissions. What cannot be removed stays.
///
/// A tree that is deeper than a path may be long, or than there are descriptors, is brought up to the top piece by piece.
pub(crate) fn tree(top: &Path) {
    let mut waiting = vec![OsString::new()];
    let mut number = 0_u64;
    let mut emptied = Vec::new();
    while let Some(name) = waiting.pop() {
        let folder = top.join(&name);
        for inner in empty(&folder) {
            let risen = OsString::from(format!(".clawgate-removes-{number}"));
            number += 1;
            // Whoever may not move a directory may not remove it either.
            if fs::rename(folder.join(&inner), top.join(&risen)).is_ok() {
                waiting.push(risen);
            }
        }
        emptied.push(name);
    }
    for name in emptied.iter().rev() {
        _ = if name.is_empty() { fs::remove_dir(top) } else { fs::remove_dir(top.join(name)) };
    }
}

/// Removes what is in a directory but for the directories, whose names are given back.
fn empty(folder: &Path) -> Vec<OsString> {
    let open = |folder: &Path| -> io::Result<fs::ReadDir> {
        if fs::symlink_metadata(folder)?.permissions().mode() & 0o700 != 0o700 {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
        fs::read_dir(folder)
    };
    let Ok(entries) = open(folder) else { return Vec::new() };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // Moving it means writing into it: its entry for what is above changes.
            _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700));
            folders.push(entry.file_name());
        } else {
            _ = fs::remove_file(entry.path());
        }
    }
    folders
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
}
