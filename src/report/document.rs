//! Reports that are one document, written when the run is over.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Why a report could not be made. It is our own fault, whatever the target did.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RenderError(pub(super) String);

/// Writes a whole document: a reader sees the old one or the new one, never half of one.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    // A device or a pipe is written to, not replaced.
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        let mut file = File::options().write(true).open(path)?;
        file.write_all(text.as_bytes())?;
        return file.flush();
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // A file that may not be written stays as it is, although its folder would allow to replace it.
    if path.exists() {
        File::options().append(true).open(path)?;
    }
    let mut file = tempfile::Builder::new().prefix(".clawgate-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    place(file, path)
}

/// Puts a document that was written elsewhere in the same folder in its place, all at once.
pub(super) fn place(file: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_data()?;
    set_mode(file.as_file(), path)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The rights that the file would have had if it had been made in its place.
fn set_mode(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).map_or(0o644, |known| known.permissions().mode());
    file.set_permissions(fs::Permissions::from_mode(mode))
}
