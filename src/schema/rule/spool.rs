//! Records that are kept until the end of a run, however many there are: the first of them in memory, the rest in a
//! temporary file that has no name.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Mutex, PoisonError};

/// What is said when records cannot be read again.
pub(super) const UNREADABLE: &str =
    "what was kept in a temporary file cannot be read again, so that this was not judged";

/// So many bytes of a spool are in memory at most.
const CHUNK: usize = 16 << 10;

/// Records in the order of their coming.
#[derive(Debug, Default)]
pub(super) struct Spool {
    chunks: Vec<Chunk>,
    /// What does not fill a chunk yet.
    tail: Vec<u8>,
}

#[derive(Debug)]
enum Chunk {
    /// Where it begins in the file.
    Written(u64),
    /// It could not be written.
    Held(Box<[u8]>),
}

/// The file that all spools of the process share; it is made when the first of them needs it.
struct Shared {
    file: Option<File>,
    end: u64,
    /// Where chunks were that nobody needs any more.
    free: Vec<u64>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { file: None, end: 0, free: Vec::new() });

impl Shared {
    fn with<T>(act: impl FnOnce(&mut Self) -> T) -> T {
        act(&mut SHARED.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&mut self, chunk: &[u8]) -> io::Result<u64> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let place = self.free.last().copied().unwrap_or(self.end);
        file.seek(SeekFrom::Start(place))?;
        file.write_all(chunk)?;
        if self.free.pop().is_none() {
            self.end += CHUNK as u64;
        }
        Ok(place)
    }

    fn read(&mut self, place: u64, into: &mut Vec<u8>) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        file.seek(SeekFrom::Start(place))?;
        let read = file.take(CHUNK as u64).read_to_end(into)?;
        if read == CHUNK { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

impl Spool {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// How many bytes its records have.
    pub(super) fn bytes(&self) -> u64 {
        (self.chunks.len() * CHUNK + self.tail.len()) as u64
    }

    /// Adds a record.
    pub(super) fn push(&mut self, record: &[u8]) {
        put_number(&mut self.tail, record.len() as u64);
        let mut rest = record;
        loop {
            let taken = rest.len().min(CHUNK.saturating_sub(self.tail.len()));
            self.tail.extend_from_slice(&rest[..taken]);
            rest = &rest[taken..];
            if self.tail.len() < CHUNK {
                return;
            }
            let full = &self.tail[..CHUNK];
            self.chunks.push(match Shared::with(|shared| shared.write(full)) {
                Ok(place) => Chunk::Written(place),
                // Where nothing can be written, memory is all that there is.
                Err(_) => Chunk::Held(full.into()),
            });
            // The length of a record may stand across the end.
            self.tail.drain(..CHUNK);
        }
    }

    /// Shows the records in their order, for as long as that is wanted.
    pub(super) fn each(&self, show: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<()> {
        let mut held = Vec::new();
        for number in 0..=self.chunks.len() {
            match self.chunks.get(number) {
                Some(Chunk::Written(place)) => Shared::with(|shared| shared.read(*place, &mut held))?,
                Some(Chunk::Held(bytes)) => held.extend_from_slice(bytes),
                None => held.extend_from_slice(&self.tail),
            }
            let mut fields = Fields(&held);
            while let Some(record) = fields.record() {
                if !show(record) {
                    return Ok(());
                }
            }
            let rest = fields.0.len();
            held.drain(..held.len() - rest);
        }
        Ok(())
    }

    /// Distributes the records among so many spools, by what is said of each.
    pub(super) fn scatter(&self, number: u64, by: impl Fn(&[u8]) -> u64) -> io::Result<Vec<Self>> {
        let mut parts: Vec<Self> = (0..number).map(|_| Self::default()).collect();
        self.each(&mut |record| {
            parts[(by(record) % number) as usize].push(record);
            true
        })?;
        Ok(parts)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.chunks.is_empty() {
            return;
        }
        let places = self.chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Written(place) => Some(*place),
            Chunk::Held(_) => None,
        });
        Shared::with(|shared| {
            shared.free.extend(places);
            if shared.free.len() as u64 * CHUNK as u64 == shared.end {
                // Nobody has anything in it, and the disk may have it back.
                (shared.file, shared.end) = (None, 0);
                shared.free.clear();
            }
        });
    }
}

/// Writes a number in as few bytes as it needs.
pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// What is left to read of a record.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Fields<'b> {
    /// A number as [`put_number`] wrote it.
    pub(super) fn number(&mut self) -> Option<u64> {
        let length = self.0.iter().take(10).position(|byte| *byte < 0x80)? + 1;
        let (number, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(number.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f)))
    }

    /// As many bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A number of eight bytes.
    pub(super) fn word(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    /// The next record, if all of it is there.
    fn record(&mut self) -> Option<&'b [u8]> {
        let mut fields = Self(self.0);
        let length = fields.number()?;
        let record = fields.bytes(length as usize)?;
        self.0 = fields.0;
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: usize) -> Vec<u8> {
        let length = number * 7919 % 300 + if number.is_multiple_of(500) { 3 * CHUNK } else { 0 };
        (0..length).map(|at| (at + number) as u8).collect()
    }

    #[test]
    fn records_come_back_as_they_were_and_in_their_order() {
        let mut spool = Spool::default();
        assert!(spool.is_empty());
        (0..2000).for_each(|number| spool.push(&record(number)));
        assert!(spool.chunks.len() > 10, "{}", spool.chunks.len());
        assert!(spool.tail.capacity() <= 2 * CHUNK, "only the last of them is in memory");
        assert!(spool.chunks.iter().all(|chunk| matches!(chunk, Chunk::Written(_))));
        let mut next = 0;
        spool
            .each(&mut |found| {
                assert_eq!(found, record(next), "{next}");
                next += 1;
                true
            })
            .unwrap();
        assert_eq!(next, 2000);
        let parts = spool.scatter(3, |record| record.len() as u64).unwrap();
        assert_eq!(parts.iter().map(Spool::bytes).sum::<u64>(), spool.bytes());
        for (part, spool) in parts.iter().enumerate() {
            let mut of_part = (0..2000).map(record).filter(|record| record.len() % 3 == part);
            spool
                .each(&mut |found| {
                    assert_eq!(Some(found), of_part.next().as_deref());
                    true
                })
                .unwrap();
            assert_eq!(of_part.next(), None);
        }
    }

    #[test]
    fn a_number_takes_the_bytes_that_it_needs() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(Fields(&out).number(), Some(number));
            assert_eq!(Fields(&out[..out.len() - 1]).number(), None);
        }
    }
}
