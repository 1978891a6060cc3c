//! A reader whose secrets are masked.

use std::io::{self, Read};

use super::Masker;

/// What is read of another reader, with its secrets masked.
pub(crate) struct Masked<R> {
    inner: R,
    masker: Masker,
    /// What is masked and not read yet, from `at` on.
    ready: Vec<u8>,
    at: usize,
    chunk: Vec<u8>,
    is_over: bool,
}

impl<R: Read> Masked<R> {
    /// Masks what looks like a credential.
    pub(crate) fn new(inner: R) -> Self {
        Self::with(inner, Masker::default())
    }

    /// Masks what this masker knows, too.
    pub(crate) fn with(inner: R, masker: Masker) -> Self {
        Self { inner, masker, ready: Vec::new(), at: 0, chunk: vec![0; 64 << 10], is_over: false }
    }
}

impl<R: Read> Read for Masked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() && !self.is_over {
            self.ready.clear();
            self.at = 0;
            let length = self.inner.read(&mut self.chunk)?;
            self.is_over = length == 0;
            if self.is_over {
                self.masker.finish(&mut self.ready);
            } else {
                self.masker.push(&self.chunk[..length], &mut self.ready);
            }
        }
        let length = (self.ready.len() - self.at).min(into.len());
        into[..length].copy_from_slice(&self.ready[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}
