//! Folders with files in them, written and read.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use tempfile::TempDir;

/// Writes a file, and makes the folders that it stands in.
pub(crate) fn write(folder: &Path, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// The JSON document in a file.
pub(crate) fn read_json<T: DeserializeOwned>(path: impl AsRef<Path>) -> T {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A folder with these files, gone with the value.
pub(crate) fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    folder
}
