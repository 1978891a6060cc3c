//! What went in and out beside the output: the bodies of the requests that a run made, and its standard input.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Facts, Recording};
use crate::text::Masked;

/// The folder of a recording that holds the bodies of requests.
const BODIES: &str = "requests";
/// The folder of a recording that holds what a real API answered.
const ANSWERS: &str = "answers";
/// The file of a recording that holds the standard input.
pub(crate) const STDIN: &str = "stdin";
/// A larger body or standard input is not kept.
pub(crate) const MOST_INPUT: usize = 8 << 20;

/// Bodies and standard input, where they are.
#[derive(Debug, Clone)]
pub(super) enum Input {
    /// In this folder.
    Folder(PathBuf),
    Memory {
        /// By the place of their request in the list.
        bodies: Vec<Option<Vec<u8>>>,
        stdin: Option<Vec<u8>>,
        /// What a real API answered, by the place of its request in the list.
        answers: Vec<Option<Vec<u8>>>,
    },
}

impl Default for Input {
    fn default() -> Self {
        Self::Memory { bodies: Vec::new(), stdin: None, answers: Vec::new() }
    }
}

impl Recording {
    /// The body of a request, by its place in the list `requests`; none where it was not kept. Secrets are masked.
    pub fn request_body(&self, request: usize) -> io::Result<Option<Vec<u8>>> {
        match &self.input {
            Input::Memory { bodies, .. } => Ok(bodies.get(request).cloned().flatten()),
            Input::Folder(folder) => match body_file(&self.facts, request) {
                Some(name) => read(&folder.join(name)),
                None => Ok(None),
            },
        }
    }

    /// What stood on standard input from the start; none where it was closed or not kept. Secrets are masked.
    pub fn stdin(&self) -> io::Result<Option<Vec<u8>>> {
        match &self.input {
            Input::Memory { stdin, .. } => Ok(stdin.clone()),
            Input::Folder(folder) => match stdin_file(&self.facts) {
                Some(name) => read(&folder.join(name)),
                None => Ok(None),
            },
        }
    }

    /// The same recording with these bodies of its requests, in the order of the list `requests`, and this standard
    /// input, all of it in memory. The lists `requests` and `served` name the files that they are saved as.
    #[must_use]
    pub fn with_input(mut self, bodies: Vec<Option<Vec<u8>>>, stdin: Option<Vec<u8>>) -> Self {
        name_bodies(&mut self.facts, |request| bodies.get(request).is_some_and(Option::is_some));
        if let Some(Value::Object(told)) = self.facts.other.get_mut("stdin") {
            told.insert("file".into(), stdin.as_ref().map(|_| STDIN).into());
        }
        self.input = Input::Memory { bodies, stdin, answers: Vec::new() };
        self
    }

    /// The same recording with the bodies of answers that a real API gave, in the order of the list `requests`. The list
    /// `served` names the files that they are saved as.
    #[cfg(feature = "testing")]
    #[must_use]
    pub(crate) fn with_answers(mut self, bodies: Vec<Option<Vec<u8>>>) -> Self {
        if let Some(Value::Array(served)) = self.facts.other.get_mut("served") {
            for answer in served.iter_mut().filter_map(Value::as_object_mut) {
                let request = answer.get("request").and_then(Value::as_u64).unwrap_or(u64::MAX) as usize;
                if bodies.get(request).is_some_and(Option::is_some) {
                    answer.insert("answer".into(), format!("{ANSWERS}/{request:03}").into());
                }
            }
        }
        if let Input::Memory { answers, .. } = &mut self.input {
            *answers = bodies;
        }
        self
    }

    /// The body of an answer that a real API gave, by the place of its request in the list `requests`; none where it was
    /// not kept. Secrets are masked.
    #[cfg(feature = "cli")]
    pub(crate) fn answer_body(&self, request: usize) -> io::Result<Option<Vec<u8>>> {
        match &self.input {
            Input::Memory { answers, .. } => Ok(answers.get(request).cloned().flatten()),
            Input::Folder(folder) => read(&folder.join(ANSWERS).join(format!("{request:03}"))),
        }
    }

    /// Takes the bodies away, and what names them.
    #[cfg(feature = "testing")]
    pub(crate) fn forget_bodies(&mut self) {
        name_bodies(&mut self.facts, |_| false);
        if let Input::Memory { bodies, .. } = &mut self.input {
            *bodies = Vec::new();
        }
    }

    /// Writes bodies and standard input into this folder.
    pub(super) fn save_input(&self, folder: &Path) -> io::Result<()> {
        let requests = self.facts.other.get("requests").and_then(Value::as_array).map_or(0, Vec::len);
        let mut has_folder = false;
        for request in 0..requests {
            let Some(name) = body_file(&self.facts, request) else { continue };
            let Some(body) = self.request_body(request)? else { continue };
            if !std::mem::replace(&mut has_folder, true) {
                fs::create_dir_all(folder.join(BODIES))?;
            }
            fs::write(folder.join(name), body)?;
        }
        if let Input::Memory { answers, .. } = &self.input {
            for (at, answer) in
                answers.iter().enumerate().filter_map(|(at, answer)| Some((at, answer.as_ref()?)))
            {
                fs::create_dir_all(folder.join(ANSWERS))?;
                fs::write(folder.join(ANSWERS).join(format!("{at:03}")), answer)?;
            }
        }
        if let (Some(name), Some(text)) = (stdin_file(&self.facts), self.stdin()?) {
            fs::write(folder.join(name), text)?;
        }
        Ok(())
    }
}

/// The file of a body inside the recording's folder, if the facts name one. They may come from anywhere, and must not
/// lead anywhere else.
fn body_file(facts: &Facts, request: usize) -> Option<&str> {
    let named = facts.other.get("requests")?.get(request)?.get("body_file")?.as_str()?;
    let digits = named.strip_prefix(BODIES)?.strip_prefix('/')?.strip_suffix(".json")?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(named)
}

fn stdin_file(facts: &Facts) -> Option<&str> {
    facts.other.get("stdin")?.get("file")?.as_str().filter(|named| *named == STDIN)
}

/// Writes down in which file the body of each request is, if it is in one.
fn name_bodies(facts: &mut Facts, has_body: impl Fn(usize) -> bool) {
    let name = |request: usize| Value::from(has_body(request).then(|| format!("{BODIES}/{request:03}.json")));
    let list = |facts: &mut Facts, key: &str, change: &dyn Fn(usize, &mut serde_json::Map<String, Value>)| {
        let Some(Value::Array(items)) = facts.other.get_mut(key) else { return };
        for (at, item) in items.iter_mut().enumerate() {
            item.as_object_mut().into_iter().for_each(|item| change(at, item));
        }
    };
    list(facts, "requests", &|at, request| _ = request.insert("body_file".into(), name(at)));
    list(facts, "served", &|_, served| {
        let request = served.get("request").and_then(Value::as_u64);
        let named = request.and_then(|request| usize::try_from(request).ok()).map(&name);
        served.insert("body".into(), named.unwrap_or_default());
    });
}

/// Reads a file, up to a limit. One that is not there, and what is no ordinary file, was not kept.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(path) {
        Ok(file) if file.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    Masked::new(File::open(path)?).take(MOST_INPUT as u64).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn facts(more: &Value) -> Facts {
        let mut facts = Facts::default();
        facts.exit.code = Some(0);
        facts.other.extend(more.as_object().unwrap().clone());
        facts
    }

    #[test]
    fn bodies_and_standard_input_come_back_from_disk() {
        let told = json!({"requests": [{"path": "/a"}, {"path": "/b"}, {"path": "/c"}],
                          "served": [{"request": 0}, {"request": 2}], "stdin": {"bytes": 2}});
        let bodies = vec![Some(b"{}".to_vec()), None, Some(b"[1]".to_vec())];
        let made =
            Recording::new(facts(&told), Vec::new(), Vec::new()).with_input(bodies, Some(b"hi".to_vec()));
        let folder = tempfile::tempdir().unwrap();
        made.save(folder.path()).unwrap();
        let again = folder.path().join("again");
        Recording::open(folder.path()).unwrap().save(&again).unwrap();
        for recording in [made, Recording::open(folder.path()).unwrap(), Recording::open(&again).unwrap()] {
            assert_eq!(recording.request_body(0).unwrap().as_deref(), Some(&b"{}"[..]));
            assert_eq!(recording.request_body(1).unwrap(), None);
            assert_eq!(recording.request_body(2).unwrap().as_deref(), Some(&b"[1]"[..]));
            assert_eq!(recording.request_body(3).unwrap(), None);
            assert_eq!(recording.stdin().unwrap().as_deref(), Some(&b"hi"[..]));
            assert_eq!(recording.facts.other["requests"][2]["body_file"], "requests/002.json");
            assert_eq!(recording.facts.other["served"][1]["body"], "requests/002.json");
            assert_eq!(recording.facts.other["requests"][1]["body_file"], Value::Null);
        }
    }

    #[test]
    fn bodies_that_are_taken_away_are_not_named() {
        let told = json!({"requests": [{}], "served": [{"request": 0}]});
        let made = Recording::new(facts(&told), Vec::new(), Vec::new());
        let mut made = made.with_input(vec![Some(b"{}".to_vec())], None);
        made.forget_bodies();
        let folder = tempfile::tempdir().unwrap();
        made.save(folder.path()).unwrap();
        assert!(!folder.path().join(BODIES).exists());
        let read = Recording::open(folder.path()).unwrap();
        assert_eq!(read.request_body(0).unwrap(), None);
        assert_eq!(read.facts.other["served"][0]["body"], Value::Null);
        assert_eq!(read.facts.other["requests"][0]["body_file"], Value::Null);
    }

    #[test]
    fn what_a_recording_names_outside_of_it_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("recording");
        fs::create_dir_all(inside.join("requests")).unwrap();
        fs::write(folder.path().join("000.json"), "outside").unwrap();
        fs::write(inside.join("requests/1.json"), "inside").unwrap();
        std::os::unix::fs::symlink(folder.path().join("000.json"), inside.join("requests/2.json")).unwrap();
        let absolute = folder.path().join("000.json").display().to_string();
        for (named, wanted) in [
            ("requests/1.json", Some(&b"inside"[..])),
            ("requests/../../000.json", None),
            ("../000.json", None),
            (absolute.as_str(), None),
            ("requests//1.json", None),
            ("requests/.json", None),
            ("requests/2.json", None),
            ("requests/9.json", None),
        ] {
            let told = json!({"requests": [{"body_file": named}], "stdin": {"file": named}});
            let recording = Recording::at(&inside, facts(&told));
            assert_eq!(recording.request_body(0).unwrap().as_deref(), wanted, "{named}");
            assert_eq!(recording.stdin().unwrap(), None, "{named}");
        }
    }

    #[test]
    fn a_recording_from_before_has_neither() {
        let recording = Recording::at(Path::new("/nowhere"), facts(&json!({"requests": [{"number": 1}]})));
        assert_eq!(recording.request_body(0).unwrap(), None);
        assert_eq!(recording.stdin().unwrap(), None);
    }
}
