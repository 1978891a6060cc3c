//! What the library offers, name by name. A name that appears or goes changes the snapshot, and a reviewer sees it.

use std::fs;
use std::path::{Path, PathBuf};

/// The items of a module that anybody can reach, with the modules below it.
fn items(module: &str, file: &Path, found: &mut Vec<String>) {
    let text = fs::read_to_string(file).unwrap();
    let folder = match file.file_stem().unwrap().to_str().unwrap() {
        "lib" | "mod" => file.parent().unwrap().to_owned(),
        stem => file.with_file_name(stem),
    };
    list(module, &statements(&text), &folder, found);
}

/// Declarations outside of braces, each on one line, without attributes; those that documentation hides are left out.
fn statements(text: &str) -> Vec<String> {
    let (mut all, mut this, mut depth, mut hidden) = (Vec::new(), String::new(), 0_usize, false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("//") || line.is_empty() {
            continue;
        }
        if depth == 0 && this.is_empty() && line.starts_with("#[") {
            hidden |= line == "#[doc(hidden)]" || line == "#[cfg(test)]";
            continue;
        }
        let is_use = this.starts_with("pub use") || line.starts_with("pub use");
        if depth == 0 || is_use {
            this.push_str(line);
            this.push(' ');
        }
        depth = depth + line.matches('{').count() - line.matches('}').count();
        if depth == 0 && (line.ends_with(';') || line.ends_with('}')) {
            let statement = std::mem::take(&mut this);
            if !std::mem::take(&mut hidden) {
                all.push(statement);
            }
        }
    }
    all
}

fn list(module: &str, statements: &[String], folder: &Path, found: &mut Vec<String>) {
    for statement in statements {
        let Some(rest) = statement.strip_prefix("pub ") else { continue };
        let mut words =
            rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        match words.next() {
            Some("mod") => {
                let name = words.next().unwrap();
                let places: [PathBuf; 2] =
                    [folder.join(name).join("mod.rs"), folder.join(format!("{name}.rs"))];
                let file = places.iter().find(|place| place.is_file()).unwrap();
                items(&format!("{module}::{name}"), file, found);
            }
            Some("use") => {
                let path = rest["use ".len()..].trim().trim_end_matches(';');
                let names = path.split_once('{').map_or_else(
                    || path.rsplit("::").next().unwrap(),
                    |(_, group)| group.trim_end_matches('}').trim(),
                );
                assert!(!names.contains('*'), "{module} offers whatever {path} offers");
                let name = |name: &str| name.rsplit(" as ").next().unwrap().trim().to_owned();
                let names = names.split(',').map(name).filter(|name| !name.is_empty());
                found.extend(names.map(|name| format!("{module}::{name}")));
            }
            Some("fn" | "struct" | "enum" | "trait" | "const" | "static" | "type" | "async" | "unsafe") => {
                let name = words.find(|word| *word != "fn").unwrap();
                found.push(format!("{module}::{name}"));
            }
            _ => panic!("what is `pub {rest}` in {module}?"),
        }
    }
}

#[test]
fn the_public_surface_is_the_one_that_was_agreed() {
    let mut found = Vec::new();
    items("clawgate", &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"), &mut found);
    found.sort();
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn every_kind_of_declaration_is_seen() {
    let text = "//! Doc.\npub use a::{\n    B, C as D,\n};\npub use e::F;\n#[derive(Debug)]\npub struct G {\n    pub h: u8,\n}\n\
                impl G {\n    pub fn i() {}\n}\npub(crate) fn j() {}\n#[doc(hidden)]\npub fn k() {}\npub const fn l() {}\n";
    let mut found = Vec::new();
    list("m", &statements(text), Path::new("."), &mut found);
    assert_eq!(found, ["m::B", "m::D", "m::F", "m::G", "m::l"]);
}
