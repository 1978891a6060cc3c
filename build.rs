//! Lists the data files that travel inside the binary, so that adding a contract, a scenario or a target is adding a
//! file.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    embed("schemas", None, "contracts.rs", "include_bytes!")?;
    embed("scenarios", Some("toml"), "scenarios.rs", "include_str!")?;
    embed("targets", Some("toml"), "targets.rs", "include_str!")
}

/// Writes a list of the files below a folder: path without the extension that all of them have, and content.
fn embed(folder: &str, extension: Option<&str>, into: &str, include: &str) -> io::Result<()> {
    println!("cargo:rerun-if-changed={folder}");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join(folder);
    let mut files = Vec::new();
    list(&root, &mut files)?;
    files.sort();
    let mut code = String::from("&[\n");
    for file in files {
        // What is written for people stays outside.
        let found = file.extension().and_then(|found| found.to_str());
        if found == Some("md") || (extension.is_some() && found != extension) {
            continue;
        }
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        // From the package's folder, so that a build folder that was copied elsewhere does not read the old one's files.
        let path = format!("/{folder}/{}", name.to_string_lossy());
        let name = if extension.is_some() { name.with_extension("") } else { name.to_owned() };
        let name = name.to_string_lossy().replace('\\', "/");
        let _ = writeln!(code, "    ({name:?}, {include}(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))),");
    }
    code += "]\n";
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    fs::write(out.join(into), code)
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { list(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
