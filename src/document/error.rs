use std::fmt;

/// Something in a user's file is not what it should be: which file, where in it, and what was expected. Shown with the
/// line of the file and a marker under what is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileError {
    /// The file as the user named it.
    pub file: String,
    /// What is wrong and what was expected, as a lower-case fragment.
    pub message: String,
    /// Where in the file; none when the file as a whole is meant.
    pub(super) place: Option<Box<FilePlace>>,
}

/// A place in a user's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePlace {
    /// Line, counted from 1.
    pub(super) line: usize,
    /// Column in characters, counted from 1.
    pub(super) column: usize,
    /// Where in the document, as `api.turns[0].text`; empty for the document itself.
    pub(super) path: String,
    /// The line of the file, or the part of it that is shown.
    pub(super) source_line: String,
    /// How many characters at its beginning are not shown.
    pub(super) cut: usize,
    pub(super) width: usize,
}

impl FileError {
    /// A complaint about a file as a whole.
    pub fn whole(file: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { file: file.into(), message: message.to_string(), place: None }
    }

    /// The same place with something else to say about it.
    #[must_use]
    pub(crate) fn saying(&self, message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), ..self.clone() }
    }

    /// The line, where one can be named.
    pub fn line(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.line)
    }

    /// One line: file, line, column, message, path.
    pub fn headline(&self) -> String {
        let Some(place) = &self.place else { return format!("{}: {}", self.file, self.message) };
        let at = if place.path.is_empty() { String::new() } else { format!(" (at {})", place.path) };
        format!("{}:{}:{}: {}{at}", self.file, place.line, place.column, self.message)
    }
}

impl std::error::Error for FileError {}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        let Some(place) = &self.place else { return Ok(()) };
        let number = place.line.to_string();
        let gutter = " ".repeat(number.len());
        // Tabs are repeated so that the marker stands under its text however wide a terminal draws them.
        let indent: String = place
            .source_line
            .chars()
            .take(place.column - 1 - place.cut)
            .map(|character| if character == '\t' { '\t' } else { ' ' })
            .collect();
        let marker = "^".repeat(place.width);
        write!(f, "\n{gutter} |\n{number} | {}\n{gutter} | {indent}{marker}", place.source_line)
    }
}
