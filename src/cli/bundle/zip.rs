//! The part of the zip format that a bundle needs: files that are stored as they are. Everything else is refused, so that
//! whatever somebody sends holds no more than it weighs and stays where it is unpacked.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How the files of a zip begin, and that of one without any.
const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// The sizes of these records without what varies.
const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;
/// More files, or longer names, no bundle has.
const MOST_ENTRIES: usize = 50_000;
const LONGEST_NAME: usize = 400;
/// 1980-01-01, so that the same recordings are the same bytes.
const DATE: u16 = 0x21;

/// Why a zip cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ZipError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Refused(String),
}

fn refused<T>(why: impl Into<String>) -> Result<T, ZipError> {
    Err(ZipError::Refused(why.into()))
}

/// Whether a file is a zip, by its first bytes.
pub(super) fn is_zip(path: &Path) -> bool {
    let mut magic = [0; 4];
    let is_file = fs::metadata(path).is_ok_and(|file| file.is_file());
    let read = is_file && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok();
    read && [LOCAL, END].contains(&u32::from_le_bytes(magic))
}

/// Writes a zip.
pub(super) struct ZipWriter {
    file: BufWriter<File>,
    at: u64,
    entries: Vec<Entry>,
}

/// A file in a zip.
struct Entry {
    name: String,
    crc: u32,
    size: u32,
    offset: u32,
}

impl ZipWriter {
    pub(super) fn new(file: File) -> Self {
        Self { file: BufWriter::new(file), at: 0, entries: Vec::new() }
    }

    /// Adds a file.
    pub(super) fn add(&mut self, name: &str, from: &mut dyn Read) -> io::Result<()> {
        let too_large = || io::Error::other("a bundle is at most 4 GB large");
        let offset = u32::try_from(self.at).map_err(|_| too_large())?;
        let mut entry = Entry { name: name.to_owned(), crc: 0, size: 0, offset };
        self.file.write_all(&entry.local())?;
        let (mut crc, mut size, mut chunk) = (!0, 0u64, vec![0; 64 << 10]);
        loop {
            let length = match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            crc = crc32(crc, &chunk[..length]);
            size += length as u64;
            self.file.write_all(&chunk[..length])?;
        }
        entry.crc = !crc;
        entry.size = u32::try_from(size).map_err(|_| too_large())?;
        // What is known only now stands at the beginning.
        self.file.seek(SeekFrom::Start(self.at))?;
        let head = entry.local();
        self.file.write_all(&head)?;
        self.at += head.len() as u64 + size;
        self.file.seek(SeekFrom::Start(self.at))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Writes the list of all files.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let mut list = Vec::new();
        for entry in &self.entries {
            list.extend(CENTRAL.to_le_bytes());
            // Made on Unix, by a reader that needs nothing special: an ordinary file.
            list.extend(0x0314_u16.to_le_bytes());
            list.extend(entry.common());
            list.extend([0; 6]);
            list.extend((0o100_644_u32 << 16).to_le_bytes());
            list.extend(entry.offset.to_le_bytes());
            list.extend(entry.name.as_bytes());
        }
        let count = u16::try_from(self.entries.len()).map_err(|_| io::Error::other("too many files"))?;
        let (start, length) = (self.at as u32, list.len() as u32);
        list.extend(END.to_le_bytes());
        list.extend([0; 4]);
        list.extend([count, count].iter().flat_map(|count| count.to_le_bytes()));
        list.extend([length, start].iter().flat_map(|number| number.to_le_bytes()));
        list.extend([0; 2]);
        self.file.write_all(&list)?;
        self.file.flush()
    }
}

impl Entry {
    /// What both records of a file have: version, flags, method, time, date, digest, sizes and the lengths of names.
    fn common(&self) -> Vec<u8> {
        // The name is UTF-8.
        let mut bytes = Vec::new();
        bytes.extend([20, 1 << 11, 0, 0, DATE].iter().flat_map(|word: &u16| word.to_le_bytes()));
        bytes.extend([self.crc, self.size, self.size].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }

    fn local(&self) -> Vec<u8> {
        let mut bytes = LOCAL.to_le_bytes().to_vec();
        bytes.extend(self.common());
        bytes.extend(self.name.as_bytes());
        bytes
    }
}

/// Unpacks a zip into an empty folder.
pub(super) fn unpack(path: &Path, into: &Path) -> Result<(), ZipError> {
    let mut file = BufReader::new(File::open(path)?);
    let length = file.get_ref().metadata()?.len();
    let mut seen = BTreeSet::new();
    let mut free = 0;
    for listed in list(&mut file, length)? {
        let name = listed.name.as_str();
        if !seen.insert(name.trim_end_matches('/').to_lowercase()) {
            return refused(format!("two files are called {name:?}"));
        }
        let place = place(name)?;
        if listed.offset < free {
            return refused(format!("{name:?} overlaps the file before it"));
        }
        file.seek(SeekFrom::Start(listed.offset))?;
        let head: [u8; LOCAL_BYTES] = read_array(&mut file)?;
        let name_length = u64::from(word(&head, 26));
        let start = listed.offset + LOCAL_BYTES as u64 + name_length + u64::from(word(&head, 28));
        free = start + listed.size;
        if long(&head, 0) != LOCAL || free > length {
            return refused(format!("{name:?} is not where the list of files says"));
        }
        let mut own = vec![0; name_length as usize];
        file.read_exact(&mut own)?;
        if own != name.as_bytes() {
            return refused(format!("{name:?} is called otherwise where it stands"));
        }
        if name.ends_with('/') {
            fs::create_dir_all(into.join(place))?;
            continue;
        }
        file.seek(SeekFrom::Start(start))?;
        let to = into.join(place);
        fs::create_dir_all(to.parent().unwrap_or(into))?;
        let mut out = BufWriter::new(File::create_new(&to)?);
        let (mut crc, mut left, mut chunk) = (!0, listed.size, vec![0; 64 << 10]);
        while left > 0 {
            let most = left.min(chunk.len() as u64) as usize;
            file.read_exact(&mut chunk[..most])?;
            crc = crc32(crc, &chunk[..most]);
            out.write_all(&chunk[..most])?;
            left -= most as u64;
        }
        out.flush()?;
        if !crc != listed.crc {
            return refused(format!("{name:?} is damaged: its checksum is another"));
        }
    }
    Ok(())
}

/// A file as the list of files tells it.
struct Listed {
    name: String,
    crc: u32,
    size: u64,
    offset: u64,
}

/// The files in the order in which they stand.
fn list(file: &mut BufReader<File>, length: u64) -> Result<Vec<Listed>, ZipError> {
    let Some(at) = length.checked_sub(END_BYTES as u64) else { return refused("it is cut off") };
    file.seek(SeekFrom::Start(at))?;
    let end: [u8; END_BYTES] = read_array(file)?;
    if long(&end, 0) != END {
        return refused("it is cut off, or has something behind its end");
    }
    let (count, size, start) =
        (usize::from(word(&end, 10)), u64::from(long(&end, 12)), u64::from(long(&end, 16)));
    if word(&end, 4) != 0 || count != usize::from(word(&end, 8)) || start + size != at {
        return refused("it has parts elsewhere, or is larger than 4 GB");
    }
    if count > MOST_ENTRIES {
        return refused(format!("it lists {count} files, and {MOST_ENTRIES} are the most"));
    }
    file.seek(SeekFrom::Start(start))?;
    let mut listed = Vec::new();
    for _ in 0..count {
        let entry: [u8; CENTRAL_BYTES] = read_array(file)?;
        let length = usize::from(word(&entry, 28));
        if long(&entry, 0) != CENTRAL || length > LONGEST_NAME {
            return refused("its list of files is damaged");
        }
        let mut name = vec![0; length];
        file.read_exact(&mut name)?;
        let Ok(name) = String::from_utf8(name) else { return refused("the name of a file is no UTF-8") };
        let more = i64::from(word(&entry, 30)) + i64::from(word(&entry, 32));
        file.seek_relative(more)?;
        let (stored, packed) = (u64::from(long(&entry, 24)), u64::from(long(&entry, 20)));
        // The upper half is what Unix says of a file.
        let kind = (long(&entry, 38) >> 16) & 0o170_000;
        match word(&entry, 10) {
            0 if stored == packed && word(&entry, 8) & 1 == 0 => {}
            0 => return refused(format!("{name:?} is encrypted or damaged")),
            _ => {
                return refused(format!(
                    "{name:?} is compressed, and bundles hold their files as they are: unpack it, and name the folder"
                ));
            }
        }
        if ![0, 0o100_000, 0o040_000].contains(&kind) || (kind == 0o040_000) && !name.ends_with('/') {
            return refused(format!("{name:?} is no ordinary file but a link or a device"));
        }
        listed.push(Listed {
            name,
            crc: long(&entry, 16),
            size: stored,
            offset: u64::from(long(&entry, 42)),
        });
    }
    listed.sort_by_key(|entry| entry.offset);
    Ok(listed)
}

/// Where a file goes, below the folder that it is unpacked into.
fn place(name: &str) -> Result<PathBuf, ZipError> {
    let parts: Vec<&str> = name.trim_end_matches('/').split('/').collect();
    let is_plain = |part: &&str| {
        !part.is_empty()
            && !part.starts_with("..")
            && *part != "."
            && !part.contains(['\\', ':'])
            && !part.contains(char::is_control)
    };
    if parts.iter().all(is_plain) {
        Ok(parts.iter().collect())
    } else {
        refused(format!("{name:?} leads out of the bundle"))
    }
}

fn read_array<const N: usize>(file: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Goes on with a CRC-32, which begins as all ones and ends inverted.
fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    static TABLE: [u32; 256] = table();
    bytes.iter().fold(crc, |crc, byte| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)])
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut number = 0;
    while number < 256 {
        let (mut value, mut bit) = (number as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[number] = value;
        number += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn packed(folder: &TempDir, files: &[(&str, &str)]) -> PathBuf {
        let path = folder.path().join("a.zip");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        for (name, text) in files {
            zip.add(name, &mut text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        path
    }

    fn unpacked(path: &Path) -> Result<TempDir, String> {
        let into = TempDir::new().unwrap();
        unpack(path, into.path()).map_err(|error| error.to_string())?;
        Ok(into)
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        assert_eq!(!crc32(!0, b"123456789"), 0xcbf4_3926);
        let folder = TempDir::new().unwrap();
        let path = packed(&folder, &[("a/b.txt", "text"), ("é", ""), ("c", "123456789")]);
        assert!(is_zip(&path) && !is_zip(folder.path()));
        let into = unpacked(&path).unwrap();
        assert_eq!(fs::read_to_string(into.path().join("a/b.txt")).unwrap(), "text");
        assert_eq!(fs::read_to_string(into.path().join("é")).unwrap(), "");
        assert!(unpacked(&packed(&folder, &[])).is_ok());
    }

    #[test]
    fn hostile_archives_are_refused_in_a_sentence() {
        let folder = TempDir::new().unwrap();
        let said = |files: &[(&str, &str)]| unpacked(&packed(&folder, files)).unwrap_err();
        for name in ["../x", "a/../../x", "/etc/x", "a\\b", "c:x", "a//b", ".", "a\nb", ""] {
            assert!(said(&[(name, "x")]).contains("leads out of the bundle"), "{name}");
        }
        assert!(said(&[("a", "1"), ("A", "2")]).contains("two files are called \"A\""));
        assert!(
            said(&[("a", "1"), ("a/b", "2")]).contains("exists"),
            "{}",
            said(&[("a", "1"), ("a/b", "2")])
        );
        let path = packed(&folder, &[("name", "some text"), ("other", "more")]);
        let whole = fs::read(&path).unwrap();
        let first = whole.windows(4).position(|bytes| bytes == CENTRAL.to_le_bytes()).unwrap();
        let changed = |at: usize, bytes: &[u8]| {
            let mut changed = whole.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            fs::write(&path, changed).unwrap();
            unpacked(&path).unwrap_err()
        };
        assert!(changed(first + 10, &[8, 0]).contains("is compressed"));
        assert!(changed(first + 8, &[1]).contains("encrypted"));
        assert!(changed(first + 38, &(0o120_777_u32 << 16).to_le_bytes()).contains("a link or a device"));
        assert!(changed(first + 24, &u32::MAX.to_le_bytes()).contains("damaged"));
        assert!(
            changed(first + 20, &[255, 255, 255, 127, 255, 255, 255, 127]).contains("not where the list")
        );
        let second = first + CENTRAL_BYTES + 4;
        assert!(changed(second + 42, &0_u32.to_le_bytes()).contains("overlaps"), "two files at one place");
        assert!(changed(LOCAL_BYTES, b"N").contains("called otherwise"));
        assert!(changed(LOCAL_BYTES + 4, b"S").contains("checksum"));
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(unpacked(&path).is_err(), "{length}");
        }
        // Whatever else is harmed, nothing is written elsewhere and nothing hangs.
        for at in 0..whole.len() {
            let mut harmed = whole.clone();
            harmed[at] ^= 0xff;
            fs::write(&path, harmed).unwrap();
            _ = unpacked(&path);
        }
    }
}
