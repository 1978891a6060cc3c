//! Lists the data files that travel inside the binary, so that adding a contract, a scenario, a target or a word of an API is
//! adding a file; and chooses what the harness may use of the system (`src/harness/platform`).

#[cfg(feature = "contracts")]
#[path = "build/packed.rs"]
mod packed;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    choose_platform();
    embed("schemas", None, "contracts.rs", "include_bytes!")?;
    #[cfg(feature = "contracts")]
    pack("schemas", "contract.toml", "packed.rs")?;
    embed("scenarios", Some("toml"), "scenarios.rs", "include_str!")?;
    embed("apis", None, "apis.rs", "include_str!")?;
    embed("targets", Some("toml"), "targets.rs", "include_str!")
}

/// `clawgate_portable` where the system is not Linux, or where somebody wants to see on Linux what it is like without.
fn choose_platform() {
    println!("cargo::rustc-check-cfg=cfg(clawgate_portable)");
    println!("cargo::rerun-if-env-changed=CLAWGATE_PORTABLE");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if !is_linux || env::var_os("CLAWGATE_PORTABLE").is_some() {
        println!("cargo::rustc-cfg=clawgate_portable");
    }
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

/// Writes a list of the files of this name below a folder: the path there, and the text with its tree.
#[cfg(feature = "contracts")]
fn pack(folder: &str, name: &str, into: &str) -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join(folder);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let mut files = Vec::new();
    list(&root, &mut files)?;
    files.sort();
    let mut code = String::from("&[\n");
    for file in files.iter().filter(|file| file.file_name().is_some_and(|found| found == name)) {
        let inside = file.strip_prefix(&root).map_err(io::Error::other)?.to_string_lossy().replace('\\', "/");
        let packed = format!("{}.packed", inside.replace('/', "_"));
        fs::write(out.join(&packed), packed::pack(&fs::read_to_string(file)?).map_err(io::Error::other)?)?;
        let (path, packed) = (format!("/{folder}/{inside}"), format!("/{packed}"));
        let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))");
        let tree = format!("include_bytes!(concat!(env!(\"OUT_DIR\"), {packed:?}))");
        let _ = writeln!(code, "    ({inside:?}, Packed {{ text: {text}, bytes: {tree} }}),");
    }
    code += "]\n";
    fs::write(out.join(into), code)
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { list(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
