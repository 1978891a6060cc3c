//! The values of a document as they are kept, and the ways to them.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::ops::Range;
use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::packed::Packed;

/// The items of a list, each with its place.
pub(super) type Items<'t> = Rc<[(Range<usize>, Node<'t>)]>;

/// A value of a document. Whoever reads it looks at its parts again and again, so that they are shared.
#[derive(Debug, Clone)]
pub(super) enum Node<'t> {
    Scalar(DeValue<'t>),
    List(Items<'t>),
    Table(Rc<[Entry<'t>]>),
    PackedList(Packed),
    PackedTable(Packed),
}

/// A key with its value; those of a table are sorted by their keys.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    pub(super) key: Cow<'t, str>,
    pub(super) key_span: Range<usize>,
    pub(super) span: Range<usize>,
    pub(super) value: Node<'t>,
}

impl<'t> Node<'t> {
    pub(super) fn new(value: DeValue<'t>) -> Self {
        match value {
            DeValue::Array(items) => Self::List(
                items.into_iter().map(|item| (item.span(), Self::new(item.into_inner()))).collect(),
            ),
            DeValue::Table(entries) => Self::Table(Self::entries(entries)),
            scalar => Self::Scalar(scalar),
        }
    }

    pub(super) fn entries(entries: DeTable<'t>) -> Rc<[Entry<'t>]> {
        let entry = |(key, value): (Spanned<Cow<'t, str>>, Spanned<DeValue<'t>>)| Entry {
            key_span: key.span(),
            span: value.span(),
            key: key.into_inner(),
            value: Self::new(value.into_inner()),
        };
        let mut entries: Vec<_> = entries.into_iter().map(entry).collect();
        entries.sort_by(|one, other| one.key.cmp(&other.key));
        entries.into()
    }

    pub(super) fn scalar(&self) -> Option<&DeValue<'t>> {
        match self {
            Self::Scalar(value) => Some(value),
            _ => None,
        }
    }

    /// The items, if this is a list.
    pub(super) fn list(&self) -> Option<Items<'t>> {
        match self {
            Self::List(items) => Some(Rc::clone(items)),
            Self::PackedList(items) => Some(items.items()),
            _ => None,
        }
    }

    /// The entries, if this is a table.
    pub(super) fn table(&self) -> Option<Rc<[Entry<'t>]>> {
        match self {
            Self::Table(entries) => Some(Rc::clone(entries)),
            Self::PackedTable(entries) => Some(entries.entries()),
            _ => None,
        }
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self, Self::List(_) | Self::PackedList(_))
    }

    pub(super) fn is_table(&self) -> bool {
        !self.is_list() && self.scalar().is_none()
    }
}

/// The way to a value: the last step and the way to there. It is put into words only for a complaint.
#[derive(Debug, Clone, Default)]
pub(super) struct Path<'t>(Option<Rc<(Path<'t>, Step<'t>)>>);

#[derive(Debug)]
pub(super) enum Step<'t> {
    Key(Cow<'t, str>),
    Index(usize),
}

impl<'t> Path<'t> {
    pub(super) fn join(&self, key: impl Into<Cow<'t, str>>) -> Self {
        Self(Some(Rc::new((self.clone(), Step::Key(key.into())))))
    }

    pub(super) fn at(&self, index: usize) -> Self {
        Self(Some(Rc::new((self.clone(), Step::Index(index)))))
    }
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((before, step)) = self.0.as_deref() else { return Ok(()) };
        before.fmt(f)?;
        match step {
            Step::Key(key) if before.0.is_none() => write!(f, "{key}"),
            Step::Key(key) => write!(f, ".{key}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}
