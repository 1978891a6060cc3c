//! Why a file of the user's cannot be used, in a sentence with what to do next.

use std::io;
use std::path::{Path, PathBuf};

use super::nearest::nearest;

/// What the operating system said of a path that the user named, in words: what is wrong and what to do next. It looks
/// into the folder for the name that was probably meant.
pub(crate) fn trouble(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => missing(path),
        io::ErrorKind::IsADirectory => "is a directory, and a file is expected".to_owned(),
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists if path.is_file() => {
            "is a file, and a directory is expected".to_owned()
        }
        io::ErrorKind::NotADirectory => {
            // Without a slash at its end, behind which there is no file.
            let file = path.components().as_path().ancestors().find(|above| above.is_file());
            let file = file.map_or_else(String::new, |file| format!("`{}`", file.display()));
            format!("{file} is a file and holds no others")
        }
        io::ErrorKind::PermissionDenied => {
            "permission denied: `ls -ld` shows who may read and write it".to_owned()
        }
        io::ErrorKind::InvalidData => "is not UTF-8 text".to_owned(),
        io::ErrorKind::StorageFull => "there is no space left on its disk".to_owned(),
        // What is no word of the operating system is a sentence of ours.
        _ if error.raw_os_error().is_none() => error.to_string(),
        // The number behind the words helps nobody.
        _ => error.to_string().split(" (os error ").next().unwrap_or_default().to_lowercase(),
    }
}

fn missing(path: &Path) -> String {
    let in_folder = |path: &Path| match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        folder => folder.unwrap_or(path).to_owned(),
    };
    let folder = in_folder(path);
    if !folder.is_dir() {
        let is_gone = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
        let gone = folder.ancestors().take_while(is_gone).last().unwrap_or(&folder);
        return format!("there is no folder `{}`{}", gone.display(), meant(gone, &in_folder(gone)));
    }
    let meant = meant(path, &folder);
    if meant.is_empty() {
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        return format!("there is no such file or directory (looked in {})", folder.display());
    }
    format!("there is no such file or directory{meant}")
}

/// `; did you mean …?` when a name in the folder is near.
fn meant(path: &Path, folder: &Path) -> String {
    let Some(typed) = path.file_name().and_then(|name| name.to_str()) else { return String::new() };
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    // A case of letters is no difference to most people, and an ending is forgotten easily.
    let same = |name: &&String| {
        name.eq_ignore_ascii_case(typed) || name.rsplit_once('.').is_some_and(|(stem, _)| stem == typed)
    };
    let name = names.iter().find(same).map(String::as_str);
    name.or_else(|| nearest(typed, names.iter().map(String::as_str))).map_or_else(String::new, |name| {
        let shown = path.with_file_name(name);
        format!("; did you mean `{}`?", shown.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = root.join(path);
        let told = trouble(&path, &std::fs::read(&path).unwrap_err());
        told.replace(&root.display().to_string(), "ROOT")
    }

    #[test]
    fn what_is_wrong_and_what_was_meant_is_said() {
        let none = "there is no such file or directory";
        assert_eq!(of("src/lbi.rs"), format!("{none}; did you mean `ROOT/src/lib.rs`?"));
        assert_eq!(of("readme.md"), format!("{none}; did you mean `ROOT/README.md`?"));
        assert_eq!(of("CHANGELOG"), format!("{none}; did you mean `ROOT/CHANGELOG.md`?"));
        assert_eq!(of("src/nothing-like-it"), format!("{none} (looked in ROOT/src)"));
        assert_eq!(of("scr/lib.rs"), "there is no folder `ROOT/scr`; did you mean `ROOT/src`?");
        assert_eq!(of("no/where/at-all"), "there is no folder `ROOT/no`");
        assert_eq!(of("src"), "is a directory, and a file is expected");
        assert_eq!(of("src/lib.rs/x"), "`ROOT/src/lib.rs` is a file and holds no others");
        assert_eq!(of("src/lib.rs/"), "`ROOT/src/lib.rs` is a file and holds no others");
    }

    #[test]
    fn numbers_of_the_operating_system_are_left_out() {
        let told = trouble(Path::new("x"), &io::Error::from_raw_os_error(40));
        assert!(!told.contains("os error"), "{told}");
    }
}
