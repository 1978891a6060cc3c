//! What a target is started with: arguments, environment, standard input.

use std::ffi::OsString;

use super::room::RoomFile;
use crate::reference::{MISBEHAVE, Misbehaviour};

/// What a target is started with.
#[derive(Debug, Default)]
pub(crate) struct CommandLine {
    pub(crate) program: String,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(String, String)>,
    /// What the target finds in its room, besides the files of the case.
    pub(crate) files: Vec<RoomFile>,
    /// The text of each of them as it was before the room and the API were filled in.
    pub(crate) file_templates: Vec<(String, String)>,
    /// The values that change behaviour and are no secret.
    pub(crate) public: Vec<(String, String)>,
    /// The values that name the room or the scripted API, as they were before that was filled in.
    pub(crate) templates: Vec<(String, String)>,
    pub(crate) stdin: Option<String>,
    /// The arguments of the run before.
    pub(crate) first: Option<Vec<OsString>>,
    /// What is masked wherever it turns up.
    pub(crate) secrets: Vec<String>,
    /// The credentials that the target is given for the API.
    pub(crate) credentials: Vec<String>,
}

impl CommandLine {
    /// Sets a variable, whatever it was before.
    pub(crate) fn set(&mut self, name: &str, value: &str, is_public: bool) {
        self.unset(name);
        self.env.push((name.to_owned(), value.to_owned()));
        if is_public {
            self.public.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Has the reference target do something wrong.
    pub(crate) fn misbehave(&mut self, wrong: Misbehaviour) {
        self.set(MISBEHAVE, wrong.name(), true);
    }

    /// Takes a variable away.
    pub(crate) fn unset(&mut self, name: &str) {
        self.env.retain(|(known, _)| known != name);
        self.public.retain(|(known, _)| known != name);
        self.templates.retain(|(known, _)| known != name);
    }
}
