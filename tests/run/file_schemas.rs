//! The schemas of the files that people write: every shipped file fits, what a reader refuses as unknown the schema
//! refuses too, and so it does the usual mistakes.

use std::path::{Path, PathBuf};

use clawgate::internals::run::scenario::Scenario;
use serde_json::Value;

use crate::command::ROOT;
use crate::schema::schema;
use crate::tree::files_below;

/// A file of TOML as JSON.
fn read(path: &Path) -> Value {
    toml::from_str(&std::fs::read_to_string(path).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The shipped files of a kind.
fn shipped(kind: &str) -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let below = |folder: &'static str| {
        let files = files_below(&root.join(folder)).into_iter().map(move |path| root.join(folder).join(path));
        files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
    };
    match kind {
        "scenario" => below("scenarios").chain([root.join("src/cli/starter/example.toml")]).collect(),
        "target" => below("targets").collect(),
        "consumer" => below("consumers").collect(),
        "contract" => below("schemas").filter(|path| path.ends_with("contract.toml")).collect(),
        _ => vec![root.join("src/cli/starter/clawgate.toml")],
    }
}

fn problems(kind: &str, value: &Value) -> Vec<String> {
    let name = if kind == "config" { "config".to_owned() } else { format!("files/{kind}") };
    schema(&name).iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect()
}

#[test]
fn every_shipped_file_fits_its_schema() {
    for kind in ["scenario", "target", "consumer", "contract", "config"] {
        let files = shipped(kind);
        assert!(!files.is_empty(), "{kind}");
        for file in files {
            let found = problems(kind, &read(&file));
            assert!(found.is_empty(), "{}: {found:#?}", file.display());
        }
    }
}

/// Every table of a value with an unknown key in it, by its place.
fn with_unknown_keys(value: &Value, at: &str, whole: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            let mut wrong = whole.clone();
            wrong.pointer_mut(at).unwrap()["zz_unknown"] = Value::Bool(true);
            found.push((at.to_owned(), wrong));
            for (key, inner) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                with_unknown_keys(inner, &format!("{at}/{key}"), whole, found);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                with_unknown_keys(inner, &format!("{at}/{index}"), whole, found);
            }
        }
        _ => {}
    }
}

#[test]
fn what_the_reader_does_not_know_the_schema_does_not_know() {
    for file in shipped("scenario") {
        let value = read(&file);
        let mut wrong = Vec::new();
        with_unknown_keys(&value, "", &value, &mut wrong);
        for (place, wrong) in wrong {
            let read =
                Scenario::parse(&file.with_extension("json").display().to_string(), &wrong.to_string());
            if read.is_err_and(|error| error.message.contains("unknown key")) {
                assert!(!problems("scenario", &wrong).is_empty(), "{}: {place}", file.display());
            }
        }
    }
}

/// A kind of file, and a mistake in one.
const MISTAKES: &[(&str, &str)] = &[
    ("scenario", "[scenario]\nname = \"a b\""),
    ("scenario", "[scenario]\nname = \"a\"\n[run]\npromt = \"hi\""),
    ("scenario", "[scenario]\nname = \"a\"\n[expect]\nverdict = \"rate-limit\""),
    ("scenario", "[scenario]\nname = \"a\"\n[api]\nseed = 1"),
    ("scenario", "[scenario]\nname = \"a\"\n[run]\nsteps = [{ signal = \"USR9\" }]"),
    ("target", "[target]\nname = \"x\"\nprogram = \"x\""),
    (
        "target",
        "target = { name = \"x\", program = \"x\" }\nspeaks = [{ contract = \"c\", prompt = [\"-p\"] }]",
    ),
    (
        "target",
        "target = { name = \"x\", program = \"x\" }\nspeaks = [{ contract = \"c\", env = { A = \"{url}\" } }]",
    ),
    (
        "target",
        "target = { name = \"x\", program = \"x\", can = [\"hoks\"] }\nspeaks = [{ contract = \"c\" }]",
    ),
    ("contract", "contract = { name = \"x\", title = \"x\", protocol = \"steam\" }"),
    (
        "contract",
        "contract = { name = \"x\", title = \"x\", protocol = \"stream\" }\n[[clause]]\nid = \"a\"\nlevel = \"must\"",
    ),
    ("known-failures", "[[known-failure]]\nclause = \"a/b\""),
    ("known-failures", "[[known-failure]]\nreason = \"r\""),
    ("known-changes", "[[known-change]]\nreason = \"r\""),
    ("consumer", "[consumer]\nname = \"x\""),
    ("eval", "[eval]\nskill = \"x\"\n[thresholds]\nmin_pass_rate = 80"),
    ("config", "[profile.ci]\nretrys = 1"),
];

#[test]
fn mistakes_are_refused() {
    for (kind, text) in MISTAKES {
        let value: Value = toml::from_str(text).unwrap();
        assert!(!problems(kind, &value).is_empty(), "{kind}: {text}");
    }
    let fine = [
        ("known-failures", "[[known-failure]]\nclause = \"a/b\"\nreason = \"r\"\nexpires = \"2027-01-31\""),
        ("known-changes", "[[known-change]]\nkind = \"field-removed\"\nreason = \"r\""),
        ("eval", "[eval]\nskill = \"x\"\n[[cases]]\nprompt = \"hi\"\n[thresholds]\nmin_pass_rate = 0.8"),
    ];
    for (kind, text) in fine {
        assert_eq!(problems(kind, &toml::from_str(text).unwrap()), [] as [String; 0], "{kind}");
    }
}
