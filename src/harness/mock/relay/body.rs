//! The body of an answer as it comes over the wire: where it ends, and what it is without its framing.

/// How the end of a body is found.
#[derive(Debug)]
pub(super) enum Body {
    /// So many bytes are still to come.
    Length(u64),
    Chunked(Chunks),
    /// It ends with the connection.
    UntilEnd,
}

/// Where in a chunked body the next byte stands.
#[derive(Debug, Default)]
pub(super) enum Chunks {
    /// In the line with the size of a chunk, of which this was read.
    #[default]
    Start,
    Size(Vec<u8>),
    /// So many bytes of a chunk are still to come.
    Data(u64),
    /// In the end of the line after a chunk.
    After,
    /// Among trailers; whether the line has anything in it.
    Trailer(bool),
    Done,
}

/// The framing is none.
#[derive(Debug)]
pub(super) struct Malformed;

/// A longer line holds no size.
const MOST_SIZE: usize = 1024;

impl Body {
    /// Whether all of it has come.
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunks::Done))
    }

    /// Whether it is whole when the connection ends here.
    pub(super) fn may_end(&self) -> bool {
        self.is_done() || matches!(self, Self::UntilEnd)
    }

    /// Takes the next bytes: how many of them belong to the body with its framing; `content` gets what they say.
    pub(super) fn take(&mut self, bytes: &[u8], content: &mut Vec<u8>) -> Result<usize, Malformed> {
        match self {
            Self::UntilEnd => {
                content.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            Self::Length(left) => {
                let used = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                content.extend_from_slice(&bytes[..used]);
                *left -= used as u64;
                Ok(used)
            }
            Self::Chunked(chunks) => chunks.take(bytes, content),
        }
    }
}

impl Chunks {
    fn take(&mut self, bytes: &[u8], content: &mut Vec<u8>) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() {
            match self {
                Self::Start => *self = Self::Size(Vec::new()),
                Self::Size(line) => {
                    let byte = bytes[at];
                    at += 1;
                    if byte != b'\n' {
                        line.push(byte);
                        if line.len() > MOST_SIZE {
                            return Err(Malformed);
                        }
                        continue;
                    }
                    let text = std::str::from_utf8(line).map_err(|_| Malformed)?;
                    let size = text.split(';').next().unwrap_or_default().trim();
                    *self = match u64::from_str_radix(size, 16).map_err(|_| Malformed)? {
                        0 => Self::Trailer(false),
                        size => Self::Data(size),
                    };
                }
                Self::Data(left) => {
                    let used = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len() - at);
                    content.extend_from_slice(&bytes[at..at + used]);
                    at += used;
                    *left -= used as u64;
                    if *left == 0 {
                        *self = Self::After;
                    }
                }
                Self::After => {
                    match bytes[at] {
                        b'\r' => {}
                        b'\n' => *self = Self::Start,
                        _ => return Err(Malformed),
                    }
                    at += 1;
                }
                Self::Trailer(has_text) => {
                    match bytes[at] {
                        b'\r' => {}
                        b'\n' if !*has_text => *self = Self::Done,
                        b'\n' => *has_text = false,
                        _ => *has_text = true,
                    }
                    at += 1;
                }
                Self::Done => return Ok(at),
            }
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_read_however_they_are_split() {
        let wire = b"4;x=y\r\nWiki\r\n5\r\npedia\r\n0\r\nt: 1\r\n\r\nHTTP/1.1";
        for size in 1..wire.len() {
            let (mut body, mut content, mut used) = (Body::Chunked(Chunks::default()), Vec::new(), 0);
            for part in wire.chunks(size) {
                used += body.take(part, &mut content).unwrap();
            }
            assert_eq!(
                (content.as_slice(), used),
                (&b"Wikipedia"[..], wire.len() - b"HTTP/1.1".len()),
                "{size}"
            );
            assert!(body.is_done());
        }
        for wrong in ["x\r\n", "1\r\nab", "ffffffffffffffffff\r\n"] {
            assert!(
                Body::Chunked(Chunks::default()).take(wrong.as_bytes(), &mut Vec::new()).is_err(),
                "{wrong}"
            );
        }
        let mut body = Body::Length(3);
        assert_eq!(body.take(b"abcd", &mut Vec::new()).unwrap(), 3);
        assert!(body.is_done() && !Body::UntilEnd.is_done() && Body::UntilEnd.may_end());
    }
}
