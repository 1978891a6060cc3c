//! A word of a vocabulary that may grow, so that files of a newer clawgate can be read.

use std::fmt;

use serde::de::{DeserializeOwned, IntoDeserializer, value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A word of a vocabulary that may grow: one that we know, or one of a newer clawgate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word<T> {
    Known(T),
    Unknown(String),
}

impl<T: Copy> Word<T> {
    #[cfg(feature = "cli")]
    pub(crate) fn known(&self) -> Option<T> {
        match self {
            Self::Known(word) => Some(*word),
            Self::Unknown(_) => None,
        }
    }
}

impl<T: DeserializeOwned> Word<T> {
    pub(crate) fn read(word: &str) -> Self {
        let known: Result<T, value::Error> = T::deserialize(word.into_deserializer());
        known.map_or_else(|_| Self::Unknown(word.to_owned()), Self::Known)
    }
}

impl<T> From<T> for Word<T> {
    fn from(word: T) -> Self {
        Self::Known(word)
    }
}

impl<T: PartialEq> PartialEq<T> for Word<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, Self::Known(word) if word == other)
    }
}

impl<T: Serialize> fmt::Display for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl<T: Serialize> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(word) => word.serialize(serializer),
            Self::Unknown(word) => serializer.serialize_str(word),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::read(&String::deserialize(deserializer)?))
    }
}
