//! Sessions on disk: `.claw/sessions/<id>.jsonl` in the working directory.

use std::fs;
use std::io;
use std::path::PathBuf;

/// The folder of the sessions, below the working directory.
pub(super) const FOLDER: &str = ".claw/sessions";

pub(super) fn path(folder: &str, id: &str) -> PathBuf {
    PathBuf::from(folder).join(format!("{id}.jsonl"))
}

/// The ids of the stored sessions.
pub(super) fn list(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut ids: Vec<String> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    ids.sort();
    ids
}

/// Writes a session; answers with the path of its file.
pub(super) fn save(folder: &str, id: &str, text: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = path(folder, id);
    fs::write(&path, text)?;
    Ok(path)
}
