//! Files that somebody names, read no further than they can end.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// A file that is read whole is not larger than this.
const MOST_BYTES: u64 = 256 << 20;
/// The device that is always at its end.
const NULL: u64 = 0x103;

/// Opens a file. One without an end, such as `/dev/zero`, is refused; a pipe or a terminal is somebody who speaks.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let found = fs::metadata(path)?;
    let kind = found.file_type();
    let is_endless = (kind.is_char_device() && found.rdev() != NULL) || kind.is_block_device();
    let file = File::open(path)?;
    if is_endless && !file.is_terminal() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is a device and has no end: name a file"));
    }
    Ok(file)
}

/// All of a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("is larger than {} MB: name a smaller file", MOST_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The text of a file.
#[cfg(feature = "testing")]
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_and_what_has_one_is_read() {
        for endless in ["/dev/zero", "/dev/urandom"] {
            let refused = read(Path::new(endless)).unwrap_err().to_string();
            assert_eq!(refused, "is a device and has no end: name a file");
        }
        assert_eq!(read(Path::new("/dev/null")).unwrap(), b"");
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large");
        File::create(&large).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(read(&large).unwrap_err().to_string(), "is larger than 256 MB: name a smaller file");
        fs::write(&large, "some text").unwrap();
        assert_eq!(read_to_string(&large).unwrap(), "some text");
    }
}
