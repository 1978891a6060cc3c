//! The house as it is planned: which module may use which, what is public, and that both stay so.
//!
//! A new edge or a new public item is fine when it is meant: it is added here, and a reviewer sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What everybody may use: they know nobody but each other.
const LEAVES: [&str; 5] = ["json", "text", "time", "version", "document"];

/// Who may use whom besides the leaves, from the bottom to the top.
const ALLOWED: &[(&str, &[&str])] = &[
    ("json", &[]),
    ("text", &[]),
    ("time", &[]),
    ("version", &[]),
    ("document", &[]),
    ("recording", &[]),
    ("stream_json", &["recording"]),
    ("envelope", &[]),
    ("events", &[]),
    ("outcome", &["recording", "stream_json"]),
    ("classify", &["recording", "stream_json", "envelope", "outcome"]),
    ("schema", &["recording", "stream_json", "envelope", "events", "outcome"]),
    ("golden", &["recording"]),
    ("judge", &["recording", "stream_json", "envelope", "events", "outcome", "classify", "schema"]),
    ("reference", &[]),
    ("harness", &["recording", "reference"]),
    (
        "run",
        &[
            "recording",
            "stream_json",
            "events",
            "classify",
            "schema",
            "golden",
            "judge",
            "harness",
            "exit_code",
            "shell",
        ],
    ),
    ("drift", &["recording", "schema", "golden", "judge"]),
    (
        "eval",
        &[
            "recording",
            "stream_json",
            "outcome",
            "classify",
            "schema",
            "judge",
            "harness",
            "run",
            "exit_code",
        ],
    ),
    (
        "testing",
        &[
            "recording",
            "stream_json",
            "envelope",
            "outcome",
            "classify",
            "schema",
            "golden",
            "judge",
            "harness",
            "reference",
            "run",
            "shell",
        ],
    ),
    ("exit_code", &[]),
    ("shell", &[]),
    ("config", &[]),
    (
        "report",
        &[
            "recording",
            "stream_json",
            "events",
            "classify",
            "schema",
            "judge",
            "run",
            "drift",
            "eval",
            "exit_code",
            "shell",
        ],
    ),
];

/// The one that wires all others.
const TOP: [&str; 3] = ["cli", "internals", "lib"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Source without comments and without what only tests have.
fn shipped(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            let indent = line.len() - line.trim_start().len();
            let is_last = |line: &str| {
                line.len() - line.trim_start().len() == indent && (line.trim() == "}" || line.ends_with(';'))
            };
            for line in lines.by_ref() {
                if is_last(line) {
                    break;
                }
            }
        } else if !line.trim_start().starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The modules that a text names by `crate::…`, also in groups.
fn named(text: &str) -> BTreeSet<String> {
    let word =
        |text: &str| -> String { text.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect() };
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            names.extend(group[..group.find('}').unwrap_or(0)].split(',').map(|name| word(name.trim())));
        } else {
            names.insert(word(rest));
        }
    }
    names.remove("");
    names
}

/// Each module with those that it uses, and a file in which it does.
fn edges() -> BTreeMap<String, BTreeMap<String, PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    let mut edges: BTreeMap<String, BTreeMap<String, PathBuf>> = BTreeMap::new();
    for file in files {
        let inside = file.strip_prefix(&root).unwrap();
        let module = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        if module == "main" {
            continue;
        }
        let uses = edges.entry(module.clone()).or_default();
        for name in named(&shipped(&fs::read_to_string(&file).unwrap())) {
            if name != module {
                uses.entry(name).or_insert_with(|| inside.to_owned());
            }
        }
    }
    edges
}

#[test]
fn modules_use_only_those_that_the_plan_allows() {
    let mut wrong = Vec::new();
    for (module, uses) in edges() {
        if TOP.contains(&module.as_str()) {
            continue;
        }
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == module) else {
            wrong.push(format!("src/{module} is not in the plan"));
            continue;
        };
        for (used, file) in uses {
            if !LEAVES.contains(&used.as_str()) && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{module} uses {used} (src/{})", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "DESIGN says otherwise:\n{}", wrong.join("\n"));
}

#[test]
fn an_edge_that_nobody_uses_leaves_the_plan() {
    let edges = edges();
    let mut idle = Vec::new();
    for (module, allowed) in ALLOWED {
        for used in *allowed {
            if !edges.get(*module).is_some_and(|uses| uses.contains_key(*used)) {
                idle.push(format!("{module} → {used}"));
            }
        }
    }
    assert!(idle.is_empty(), "no longer used: {}", idle.join(", "));
}

#[test]
fn no_module_uses_one_that_uses_it() {
    let edges = edges();
    // Whoever can be taken away because he uses nobody that is left is in no cycle.
    let mut left: BTreeMap<&str, BTreeSet<&str>> = edges
        .iter()
        .filter(|(module, _)| !TOP.contains(&module.as_str()))
        .map(|(module, uses)| (module.as_str(), uses.keys().map(String::as_str).collect()))
        .collect();
    loop {
        let free: Vec<&str> = left
            .iter()
            .filter(|(_, uses)| !uses.iter().any(|used| left.contains_key(used)))
            .map(|(m, _)| *m)
            .collect();
        if free.is_empty() {
            break;
        }
        left.retain(|module, _| !free.contains(module));
    }
    assert!(left.is_empty(), "a cycle among: {:?}", left.keys().collect::<Vec<_>>());
}

#[test]
fn an_edge_is_seen_in_every_form() {
    let text = "use crate::report::Sinks;\nuse crate::{eval, run::Stop};\nfn f() { crate::golden::x() }\n\
                // crate::drift\n#[cfg(test)]\nmod tests {\n    use crate::cli::main;\n}\n";
    let names: Vec<String> = named(&shipped(text)).into_iter().collect();
    assert_eq!(names, ["eval", "golden", "report", "run"]);
}

#[test]
fn only_the_platform_knows_which_system_it_is_on() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let seam = root.join("harness/platform");
    assert!(files.iter().any(|file| file.starts_with(&seam)));
    for file in files.into_iter().filter(|file| !file.starts_with(&seam)) {
        let text = shipped(&fs::read_to_string(&file).unwrap());
        for word in ["target_os", "clawgate_portable", "\"/proc/", "rustix::mount", "pidfd", "subreaper("] {
            assert!(
                !text.contains(word),
                "{} has `{word}`, which belongs into harness/platform",
                file.display()
            );
        }
    }
}
