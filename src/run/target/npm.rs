//! Versions of a target that npm publishes, as its file says it, and how one is installed.
//!
//! ```toml
//! [npm]
//! package = "@acme/agent"               # whose versions count
//!
//! [[npm.program]]                       # where the program is; the first whose versions hold counts
//! versions = "<2.0.0"
//! path = "cli.js"                       # in the package; a script is run by Node.js
//!
//! [[npm.program]]
//! versions = ">=2.0.0"
//! package = "@acme/agent-{platform}"    # {platform} is this machine's: linux-x64, linux-arm64-musl, darwin-arm64, …
//! path = "agent"
//!
//! [[npm.program]]
//! package = "@acme/other"
//! version = "{version}-{os}-{cpu}"      # of that package, where it is not the target's: linux-x64, darwin-arm64, …
//! path = "vendor/*/bin/agent"           # `*` is any one folder
//! ```
//!
//! A version is installed as it was published and nothing of it is executed: exactly that version, no scripts, no
//! optional packages. It is put together beside its place and moved there when it is whole.

#[cfg(feature = "cli")]
use std::ffi::OsString;
#[cfg(feature = "cli")]
use std::fs;
#[cfg(feature = "cli")]
use std::io;
#[cfg(feature = "cli")]
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
#[cfg(feature = "cli")]
use std::path::PathBuf;
#[cfg(feature = "cli")]
use std::process::{Command, Stdio};

use super::Target;
#[cfg(feature = "cli")]
use super::locate::{installed, on_path};
use crate::document::{FileError, Item, Table};
#[cfg(feature = "cli")]
use crate::harness::scratch::Scratch;
#[cfg(feature = "cli")]
use crate::harness::{platform, remove};
#[cfg(feature = "cli")]
use crate::text::trouble;
use crate::version::VersionRange;
#[cfg(feature = "cli")]
use crate::version::{self};

/// Where npm has a target.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line alone reads some fields"))]
pub(crate) struct Npm {
    /// The package whose versions are those of the target.
    pub package: String,
    programs: Vec<Packed>,
}

/// Where the program is in some of the versions.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line alone reads some fields"))]
struct Packed {
    versions: Option<VersionRange>,
    package: Option<String>,
    /// The version of the package, where it is not the target's.
    version: Option<String>,
    path: String,
}

/// How the folder begins in which a version is put together.
#[cfg(feature = "cli")]
pub(crate) const INSTALLING: &str = ".installing-";

/// Why a version cannot be had.
#[cfg(feature = "cli")]
#[derive(Debug, thiserror::Error)]
pub(crate) enum NpmError {
    /// The target's file does not say where npm has it.
    #[error("`{0}` is not published on npm, as far as its target file says: name a program with {0}=PATH")]
    Unpublished(String),
    /// A version is not one.
    #[error("`{0}` is no whole version, such as 2.1.197")]
    NoVersion(String),
    /// There is no place for it.
    #[error("there is no cache to install into: set HOME or CLAWGATE_CACHE")]
    NoCache,
    /// No part of the target's file covers the version.
    #[error("{name}@{version}: [[npm.program]] in the target's file covers no such version")]
    NotCovered { name: String, version: String },
    /// Its programs are not made for machines like this.
    #[error("{0} has no package for this kind of machine")]
    OtherMachine(String),
    #[error("npm does not start ({0}): install Node.js, or name a program with --target NAME=PATH")]
    NoNpm(io::Error),
    #[error(
        "{package}@{version} is a script for Node.js, and `node` is not on the PATH: install Node.js 18 or newer"
    )]
    NoNode { package: String, version: String },
    /// There is no such version.
    #[error("npm has no {package}@{version}; which versions there are: npm view {package} versions")]
    NoSuchVersion { package: String, version: String },
    /// The package is not what the target's file says.
    #[error("{package}@{version} holds no {path}")]
    NoProgram {
        package: String,
        version: String,
        /// What was looked for.
        path: String,
    },
    #[error("npm failed for {what}: {said}")]
    Failed {
        /// What it was asked for.
        what: String,
        said: String,
    },
    /// A file cannot be written.
    #[error("{}: {}", path.display(), trouble(path, source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Npm {
    pub(super) fn read(item: Item<'_>) -> Result<Self, FileError> {
        let mut table = item.into_table()?;
        let package = table.require("package", "the package whose versions count")?.into_string()?;
        let none = table.complain("[npm] needs at least one [[npm.program]] with the path of the program");
        let programs = table
            .list("program")?
            .into_iter()
            .map(|item| packed(item.into_table()?))
            .collect::<Result<Vec<_>, _>>()?;
        table.finish()?;
        if programs.is_empty() { Err(none) } else { Ok(Self { package, programs }) }
    }

    /// The package, the version of it and the path in it that hold the program of a version.
    #[cfg(feature = "cli")]
    fn program<'n>(&'n self, version: &'n str) -> Option<(&'n str, &'n str, &'n str)> {
        let holds =
            |packed: &&Packed| packed.versions.as_ref().is_none_or(|range| range.holds(Some(version)));
        let packed = self.programs.iter().find(holds)?;
        let package = packed.package.as_deref().unwrap_or(&self.package);
        Some((package, packed.version.as_deref().unwrap_or(VERSION), &packed.path))
    }
}

fn packed(mut table: Table<'_>) -> Result<Packed, FileError> {
    let versions = match table.take("versions") {
        Some(item) => {
            let place = item.place();
            Some(VersionRange::parse(&item.into_string()?).map_err(|reason| place.complain(reason))?)
        }
        None => None,
    };
    let package = table.string("package")?;
    let version = table.string("version")?;
    let path = table.require("path", "where the program is in the package")?;
    let place = path.place();
    let path = path.into_string()?;
    if Path::new(&path).is_absolute() || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(place.complain("expected a path inside the package, such as \"bin/agent\""));
    }
    table.finish()?;
    Ok(Packed { versions, package, version, path })
}

impl Target {
    /// The versions that npm has, in their order.
    #[cfg(feature = "cli")]
    pub(crate) fn published(&self) -> Result<Vec<String>, NpmError> {
        let npm = self.npm.as_ref().ok_or_else(|| NpmError::Unpublished(self.name.clone()))?;
        let said = ask(&["view", &npm.package, "versions", "--json"], &npm.package)?;
        // A package with a single version has no list of them.
        let versions = serde_json::from_slice(&said)
            .or_else(|_| serde_json::from_slice(&said).map(|one: String| vec![one]));
        let mut versions: Vec<String> = versions.map_err(|error| NpmError::Failed {
            what: npm.package.clone(),
            said: format!("what it says are no versions: {error}"),
        })?;
        // Builds before a release, and those for one kind of machine, are asked for by their name.
        versions.retain(|version| !version.contains('-'));
        versions.sort_by(|a, b| version::compare(a, b));
        Ok(versions)
    }

    /// Installs a version into the cache, unless it is there, and says where its program is. `begin` hears what is
    /// fetched before that takes its time.
    #[cfg(feature = "cli")]
    pub(crate) fn install(
        &self,
        version: &str,
        cache: Option<&Path>,
        begin: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, NpmError> {
        let npm = self.npm.as_ref().ok_or_else(|| NpmError::Unpublished(self.name.clone()))?;
        if !version::is_whole(version) {
            return Err(NpmError::NoVersion(version.to_owned()));
        }
        let folder = installed(cache.ok_or(NpmError::NoCache)?, &self.name, version);
        let program = folder.join(&self.name);
        if program.exists() {
            return Ok(program);
        }
        let (package, packed, path) = npm
            .program(version)
            .ok_or_else(|| NpmError::NotCovered { name: self.name.clone(), version: version.to_owned() })?;
        let filled = |text| filled(text).ok_or_else(|| NpmError::OtherMachine(npm.package.clone()));
        let (package, version) = (filled(package)?, filled(packed)?.replace(VERSION, version));
        let version = version.as_str();
        let node = is_script(path).then(|| node(&package, version)).transpose()?;
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| NpmError::Io { path, source }
        };
        let shelf = folder.parent().unwrap_or(cache.unwrap_or(&folder));
        fs::create_dir_all(shelf).map_err(at(shelf))?;
        begin(&format!("{package}@{version}"));
        Scratch::sweep(shelf, BUILDING);
        let building = Building(Scratch::new(shelf, BUILDING).map_err(at(shelf))?);
        fetch(&package, version, building.path())?;
        let inside = Path::new("node_modules").join(&package);
        let Some(inside) = file_at(building.path(), &inside, path) else {
            return Err(NpmError::NoProgram { package, version: version.to_owned(), path: path.to_owned() });
        };
        let start = building.path().join(&self.name);
        if let Some(node) = node {
            write_start(&start, &node, &folder.join(&inside)).map_err(at(&start))?;
        } else {
            // npm makes what `bin` names executable, and this may be something else.
            open_to_all(&building.path().join(&inside)).map_err(at(&inside))?;
            symlink(&inside, &start).map_err(at(&start))?;
        }
        // A temporary folder is for its owner alone, and a target may run as another user.
        open_to_all(building.path()).map_err(at(building.path()))?;
        match fs::rename(building.path(), &folder) {
            Ok(()) => Ok(program),
            // Somebody else was faster, and theirs is as good.
            Err(_) if program.exists() => Ok(program),
            Err(error) => Err(at(&folder)(error)),
        }
    }
}

/// What the folder begins with in which a version is put together.
#[cfg(feature = "cli")]
const BUILDING: &str = INSTALLING;

/// A folder in which a version is put together. One that is whole has another name by the end.
#[cfg(feature = "cli")]
struct Building(Scratch);

#[cfg(feature = "cli")]
impl Building {
    fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(feature = "cli")]
impl Drop for Building {
    fn drop(&mut self) {
        remove::tree(self.path());
    }
}

/// Has npm put a package into a folder.
#[cfg(feature = "cli")]
fn fetch(package: &str, version: &str, folder: &Path) -> Result<(), NpmError> {
    let prefix = folder.display().to_string();
    let what = format!("{package}@{version}");
    let args = [
        "install",
        "--prefix",
        &prefix,
        "--ignore-scripts",
        "--omit=optional",
        "--save-exact",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
        "--fetch-retries=1",
        &what,
    ];
    match ask(&args, &what) {
        Ok(_) => Ok(()),
        Err(NpmError::Failed { said, .. }) if said.contains("ETARGET") || said.contains("E404") => {
            Err(NpmError::NoSuchVersion { package: package.to_owned(), version: version.to_owned() })
        }
        Err(error) => Err(error),
    }
}

/// Runs npm and returns what it prints.
#[cfg(feature = "cli")]
fn ask(args: &[&str], what: &str) -> Result<Vec<u8>, NpmError> {
    let mut npm = Command::new("npm");
    npm.args(args).stdin(Stdio::null());
    platform::end_with_us(&mut npm);
    let npm = npm.output().map_err(NpmError::NoNpm)?;
    if npm.status.success() {
        return Ok(npm.stdout);
    }
    let said = String::from_utf8_lossy(&npm.stderr);
    // Where its log is helps nobody: it is gone with the next ones.
    let is_about_us = |line: &&str| line.contains("error") && !line.contains("complete log of this run");
    let said: Vec<&str> =
        said.lines().filter(is_about_us).map(|line| line.trim_start_matches("npm error ")).collect();
    let said: String = said.join("; ").chars().take(300).collect();
    let said = if said.is_empty() { npm.status.to_string() } else { said };
    Err(NpmError::Failed { what: what.to_owned(), said })
}

/// What stands for the version of the target in that of a package.
#[cfg(feature = "cli")]
const VERSION: &str = "{version}";

/// The name or the version of a package, for this machine.
#[cfg(feature = "cli")]
fn filled(text: &str) -> Option<String> {
    if !["{platform}", "{os}", "{cpu}"].iter().any(|place| text.contains(place)) {
        return Some(text.to_owned());
    }
    let (os, cpu) = machine(std::env::consts::OS, std::env::consts::ARCH)?;
    let platform = platform_name(os, cpu, is_musl());
    Some(text.replace("{platform}", &platform).replace("{os}", os).replace("{cpu}", cpu))
}

/// The file at a path of which a part may be `*`, any one folder: the first in the order of their names. It is found
/// below `root`, in the folder `inside`.
#[cfg(feature = "cli")]
fn file_at(root: &Path, inside: &Path, path: &str) -> Option<PathBuf> {
    let Some((before, after)) = path.split_once("*/") else {
        let file = inside.join(path);
        return root.join(&file).is_file().then_some(file);
    };
    let inside = inside.join(before);
    let mut folders: Vec<OsString> =
        root.join(&inside).read_dir().ok()?.flatten().map(|entry| entry.file_name()).collect();
    folders.sort();
    folders.into_iter().find_map(|folder| file_at(root, &inside.join(folder), after))
}

/// What packages of npm call a system and a processor, by what Rust calls them.
#[cfg(feature = "cli")]
fn machine(system: &str, processor: &str) -> Option<(&'static str, &'static str)> {
    let system = match system {
        "linux" => "linux",
        "macos" => "darwin",
        "windows" => "win32",
        "freebsd" => "freebsd",
        _ => return None,
    };
    let processor = match processor {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return None,
    };
    Some((system, processor))
}

/// What packages of npm call a machine.
#[cfg(feature = "cli")]
fn platform_name(os: &str, cpu: &str, is_musl: bool) -> String {
    let library = if is_musl && os == "linux" { "-musl" } else { "" };
    format!("{os}-{cpu}{library}")
}

/// Whether the machine has musl and not glibc: clawgate itself may be linked statically on either.
#[cfg(feature = "cli")]
fn is_musl() -> bool {
    let arch = std::env::consts::ARCH;
    let exists =
        |name: String| ["/lib", "/lib64"].iter().any(|folder| Path::new(folder).join(&name).exists());
    exists(format!("ld-musl-{arch}.so.1"))
        && !exists(format!("ld-linux-{}.so.2", arch.replace('_', "-")))
        && !exists(format!("ld-linux-{arch}.so.1"))
}

#[cfg(feature = "cli")]
fn is_script(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| ["js", "mjs", "cjs"].iter().any(|known| extension == *known))
}

#[cfg(feature = "cli")]
fn node(package: &str, version: &str) -> Result<PathBuf, NpmError> {
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    on_path(&path, "node")
        .ok_or_else(|| NpmError::NoNode { package: package.to_owned(), version: version.to_owned() })
}

/// A program that starts a script. The target's own environment need not know where Node.js is.
#[cfg(feature = "cli")]
fn write_start(start: &Path, node: &Path, script: &Path) -> io::Result<()> {
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let text = format!(
        "#!/bin/sh\n# Made by clawgate: starts a script with the Node.js that was there when it was installed.\n\
         node={}\n[ -x \"$node\" ] || node=node\nexec \"$node\" {} \"$@\"\n",
        quoted(node),
        quoted(script)
    );
    fs::write(start, text)?;
    open_to_all(start)
}

#[cfg(feature = "cli")]
fn open_to_all(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claude_cli_is_a_script_first_and_a_binary_later() {
        let (_, text) = super::super::TARGETS.iter().find(|(name, _)| *name == "claude").unwrap();
        let npm = Target::parse("claude", text).unwrap().npm.unwrap();
        assert_eq!(npm.program("2.1.112"), Some(("@anthropic-ai/claude-code", "{version}", "cli.js")));
        let binary = ("@anthropic-ai/claude-code-{platform}", "{version}", "claude");
        assert_eq!(npm.program("2.1.113"), Some(binary));
        assert!(is_script("cli.js") && is_script("dist/x.mjs") && !is_script("claude") && !is_script("js"));
        assert!(!filled("@anthropic-ai/claude-code-{platform}").unwrap().contains('{'));
    }

    #[test]
    fn a_machine_has_npms_name() {
        let name = |system, processor, is_musl| {
            let (os, cpu) = machine(system, processor).unwrap();
            platform_name(os, cpu, is_musl)
        };
        assert_eq!(name("linux", "x86_64", false), "linux-x64");
        assert_eq!(name("linux", "aarch64", false), "linux-arm64");
        assert_eq!(name("linux", "x86_64", true), "linux-x64-musl");
        assert_eq!(name("linux", "aarch64", true), "linux-arm64-musl");
        assert_eq!(name("macos", "aarch64", false), "darwin-arm64");
        assert_eq!(name("macos", "x86_64", true), "darwin-x64");
        assert_eq!(name("windows", "x86_64", false), "win32-x64");
        assert_eq!(machine("linux", "riscv64"), None);
        assert_eq!(machine("plan9", "x86_64"), None);
    }

    #[test]
    fn a_folder_of_the_path_may_be_any() {
        let root = tempfile::tempdir().unwrap();
        for file in ["p/vendor/b/bin/agent", "p/vendor/a/README", "p/vendor/c/bin/agent"] {
            fs::create_dir_all(root.path().join(file).parent().unwrap()).unwrap();
            fs::write(root.path().join(file), "").unwrap();
        }
        let found = |path| file_at(root.path(), Path::new("p"), path);
        assert_eq!(found("vendor/*/bin/agent"), Some("p/vendor/b/bin/agent".into()));
        assert_eq!(found("vendor/c/bin/agent"), Some("p/vendor/c/bin/agent".into()));
        assert_eq!(found("vendor/*/bin/other"), None);
        assert_eq!(found("nothing/*/agent"), None);
    }

    #[test]
    fn complaints_say_where() {
        let complaint = |npm: &str| {
            let text = format!(
                "target = {{ name = \"x\", program = \"x\" }}\n[[speaks]]\ncontract = \"claw-flat\"\n{npm}"
            );
            Target::parse("t.toml", &text).unwrap_err().to_string()
        };
        assert!(complaint("[npm]\npackage = \"x\"").contains("at least one [[npm.program]]"));
        assert!(complaint("[npm]\n[[npm.program]]\npath = \"x\"").contains("missing key `package`"));
        let program = |line: &str| complaint(&format!("[npm]\npackage = \"x\"\n[[npm.program]]\n{line}"));
        assert!(program("path = \"../x\"").starts_with("t.toml:7:8: expected a path inside the package"));
        assert!(program("path = \"x\"\nversions = \">=new\"").contains("is no version bound"));
    }
}
