//! JSON pointers (RFC 6901) with two additions: a segment `*` stands for every element of an array or object, and `-1`
//! for the last element of an array.

use std::fmt;
use std::hash::{Hash as _, Hasher};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Name;
use super::{JsonView, Kind};

#[derive(Clone)]
pub(crate) struct Pointer {
    /// Tells it from all others, but not from what was made of it.
    number: NonZeroU32,
    text: String,
    segments: Vec<Segment>,
    many: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Any,
    Key { name: Name, index: Option<Index> },
}

/// Which element of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    At(usize),
    Last,
}

/// A key as a segment of a pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The pointer to a member of what another one points at.
pub(crate) fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", escape(key))
}

/// The keys that a segment of a pointer stands for.
pub(crate) fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// The keys on the way that a pointer describes.
pub(crate) fn keys(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(unescape)
}

/// Whether a pointer is one of those that a pattern stands for: a `*` in it is any one key.
pub(crate) fn fits<'k>(pattern: &str, pointer: impl IntoIterator<Item = &'k str>) -> bool {
    let (mut wanted, mut found) = (pattern.split('/'), pointer.into_iter());
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == "*" || wanted == found => {}
            _ => return false,
        }
    }
}

/// The way from a message to a value inside it: the last step, and the way to there. It lives on the stack of the walk
/// and is put into words only for evidence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trail<'t> {
    before: Option<&'t Trail<'t>>,
    step: Step<'t>,
}

/// One step from a value to a value inside it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'t> {
    Key(&'t str),
    Index(usize),
}

impl<'t> Trail<'t> {
    /// The way one step further.
    pub(crate) fn new(before: Option<&'t Trail<'t>>, step: Step<'t>) -> Self {
        Self { before, step }
    }

    /// The way as an RFC 6901 pointer.
    pub(crate) fn render(&self) -> String {
        let mut text = self.before.map_or_else(String::new, Self::render);
        text.push('/');
        match self.step {
            Step::Key(key) => text.push_str(&escape(key)),
            Step::Index(index) => text.push_str(&index.to_string()),
        }
        text
    }

    /// Hashes the way so that all elements of an array have the same.
    pub(crate) fn hash_general(&self, hasher: &mut impl Hasher) {
        if let Some(before) = self.before {
            before.hash_general(hasher);
        }
        match self.step {
            Step::Key(key) => key.hash(hasher),
            Step::Index(_) => hasher.write_u8(b'*'),
        }
    }
}

/// Where a value was found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'p> {
    /// Where the pointer says.
    Written(&'p str),
    /// Where `*` led to; none is the message itself.
    Found(Option<&'p Trail<'p>>),
}

impl Place<'_> {
    /// The place as an RFC 6901 pointer.
    pub(crate) fn render(self) -> String {
        match self {
            Self::Written(text) => text.to_string(),
            Self::Found(trail) => trail.map_or_else(String::new, Trail::render),
        }
    }
}

/// The number of the next pointer.
static NEXT: AtomicU32 = AtomicU32::new(1);

impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pointer").field(&self.text).finish()
    }
}

impl PartialEq for Pointer {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pointer {}

impl Pointer {
    /// Compiles a pointer; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !text.is_empty() && !text.starts_with('/') {
            return Err(format!("the pointer `{text}` must start with `/`"));
        }
        let segments: Vec<_> = text
            .split('/')
            .skip(1)
            .map(|part| {
                let name = unescape(part);
                if part == "*" {
                    Segment::Any
                } else {
                    let index = match part {
                        "-1" => Some(Index::Last),
                        _ => name.parse().ok().map(Index::At),
                    };
                    Segment::Key { index, name: Name::new(name) }
                }
            })
            .collect();
        let many = segments.contains(&Segment::Any);
        let number =
            NonZeroU32::new(NEXT.fetch_add(1, Ordering::Relaxed)).ok_or("there are too many pointers")?;
        Ok(Self { number, text: text.to_string(), segments, many })
    }

    /// Whether the pointer can lead to several values.
    pub(crate) fn is_many(&self) -> bool {
        self.many
    }

    /// The pointer as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The one value a pointer without `*` leads to, or the first that one with `*` leads to.
    #[inline]
    pub(crate) fn get<'v>(&self, value: JsonView<'v>) -> Option<JsonView<'v>> {
        if !self.many {
            let follow = || self.segments.iter().try_fold(value, |value, segment| segment.of(value));
            let JsonView::Scanned(node) = value else { return follow() };
            let find = || match follow()? {
                JsonView::Scanned(found) => Some(found),
                JsonView::Built(_) => None,
            };
            return node.led(self.number, find).map(JsonView::Scanned);
        }
        let mut found = None;
        self.visit(value, &mut |value, _| {
            found = Some(value);
            false
        });
        found
    }

    /// Shows each value the pointer leads to, with its place, until `show` answers false. Answers whether all were
    /// shown.
    pub(crate) fn visit<'v>(
        &self,
        value: JsonView<'v>,
        show: &mut dyn FnMut(JsonView<'v>, Place<'_>) -> bool,
    ) -> bool {
        if !self.many {
            return self.get(value).is_none_or(|found| show(found, Place::Written(&self.text)));
        }
        walk(&self.segments, value, None, show)
    }

    /// The name of a top-level field, when the pointer is just that.
    pub(crate) fn field(&self) -> Option<&str> {
        match self.segments.as_slice() {
            [Segment::Key { name, .. }] => Some(name.as_str()),
            _ => None,
        }
    }
}

/// Several pointers without `*`, which are followed in one walk.
#[derive(Debug, Default)]
pub(crate) struct Pointers {
    /// The numbers of those that end here.
    here: Vec<usize>,
    inside: Vec<Inside>,
}

/// The pointers that go on with one segment.
#[derive(Debug)]
struct Inside {
    name: Name,
    index: Option<Index>,
    next: Pointers,
}

impl Pointers {
    /// Adds a pointer under a number of its own.
    pub(crate) fn add(&mut self, pointer: &Pointer, number: usize) {
        let mut at = self;
        for segment in &pointer.segments {
            let Segment::Key { name, index } = segment else { return };
            let known = at.inside.iter().position(|known| known.name == *name);
            let place = known.unwrap_or_else(|| {
                at.inside.push(Inside { name: name.clone(), index: *index, next: Self::default() });
                at.inside.len() - 1
            });
            at = &mut at.inside[place].next;
        }
        at.here.push(number);
    }

    /// Shows what each of them leads to, by its number; those that lead nowhere are left out.
    pub(crate) fn visit<'v>(&self, value: JsonView<'v>, show: &mut impl FnMut(usize, JsonView<'v>)) {
        for number in &self.here {
            show(*number, value);
        }
        if self.inside.is_empty() {
            return;
        }
        match value {
            JsonView::Scanned(node) if node.is_object() && self.inside.len() <= u64::BITS as usize => {
                // The order of the members is mostly the same; of duplicates the first counts.
                let (mut cursor, mut left) =
                    (0, u64::MAX >> (u64::BITS as usize - self.inside.len()).min(63));
                for (key, inner) in node.members() {
                    if left == 0 {
                        return;
                    }
                    let Some(place) = key.place_in(&self.inside, cursor, |inside| &inside.name) else {
                        continue;
                    };
                    cursor = place + 1;
                    if left >> place & 1 == 1 {
                        left &= !(1 << place);
                        self.inside[place].next.visit(JsonView::Scanned(inner), show);
                    }
                }
            }
            _ => {
                for Inside { name, index, next } in &self.inside {
                    if let Some(inner) = step(name, *index, value) {
                        next.visit(inner, show);
                    }
                }
            }
        }
    }
}

/// What one step leads to.
#[inline]
fn step<'v>(name: &Name, index: Option<Index>, value: JsonView<'v>) -> Option<JsonView<'v>> {
    match (value.kind(), index) {
        (Kind::Object, _) => value.member(name),
        (Kind::Array, Some(Index::At(index))) => value.items().nth(index),
        (Kind::Array, Some(Index::Last)) => value.items().last(),
        _ => None,
    }
}

impl Segment {
    #[inline]
    fn of<'v>(&self, value: JsonView<'v>) -> Option<JsonView<'v>> {
        match self {
            Self::Key { name, index } => step(name, *index, value),
            Self::Any => None,
        }
    }
}

fn walk<'v>(
    segments: &[Segment],
    value: JsonView<'v>,
    trail: Option<&Trail<'_>>,
    show: &mut dyn FnMut(JsonView<'v>, Place<'_>) -> bool,
) -> bool {
    let Some((segment, rest)) = segments.split_first() else {
        return show(value, Place::Found(trail));
    };
    let mut step = |step: Step<'_>, inner| walk(rest, inner, Some(&Trail::new(trail, step)), show);
    match segment {
        Segment::Any if value.kind() == Kind::Array => {
            value.items().enumerate().all(|(index, inner)| step(Step::Index(index), inner))
        }
        Segment::Any => value.members().all(|(key, inner)| step(Step::Key(&key), inner)),
        Segment::Key { name, index } => match (segment.of(value), index) {
            (None, _) => true,
            (Some(inner), Some(index)) if value.kind() == Kind::Array => {
                let index = match index {
                    Index::At(index) => *index,
                    Index::Last => value.items().count() - 1,
                };
                step(Step::Index(index), inner)
            }
            (Some(inner), _) => step(Step::Key(name.as_str()), inner),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(pointer: &str, value: &Value) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        Pointer::parse(pointer).unwrap().visit(value.into(), &mut |value, path| {
            all.push((path.render(), value.to_value().into_owned()));
            true
        });
        all
    }

    #[test]
    fn a_star_is_every_element() {
        let value = json!({"a": [{"id": 1}, {"x": 0}, {"id": 2}], "b~/": 3});
        assert_eq!(found("/a/*/id", &value), [("/a/0/id".into(), json!(1)), ("/a/2/id".into(), json!(2))]);
        assert_eq!(found("/b~0~1", &value), [("/b~0~1".into(), json!(3))]);
        assert_eq!(found("", &value).len(), 1);
        assert_eq!(found("/a/7", &value), []);
    }

    #[test]
    fn several_pointers_lead_where_each_of_them_does() {
        let texts = ["", "/a", "/a/b", "/a/0/b", "/a/-1", "/c/a", "/c", "/d", "/-1", "/a/b"];
        let pointers = texts.map(|text| Pointer::parse(text).unwrap());
        let mut all = Pointers::default();
        pointers.iter().enumerate().for_each(|(number, pointer)| all.add(pointer, number));
        for text in [
            r#"{"c":{"a":2,"b":1},"a":{"b":{"x":3}}}"#,
            r#"{"a":[{"b":1},4],"-1":0}"#,
            r#"{"a":{"0":{"b":7},"-1":8},"c":[1],"d":null}"#,
            r#"{"a":{"b":1},"a":{"b":2}}"#,
            r#"[{"a":1},2]"#,
            "{}",
            "1",
        ] {
            let mut scanner = crate::json::Scanner::default();
            let document = scanner.scan(text).unwrap();
            let built: Value = serde_json::from_str(text).unwrap();
            for view in [JsonView::Scanned(document.root()), (&built).into()] {
                let mut found = [const { None }; 10];
                all.visit(view, &mut |number, value| {
                    assert!(found[number].replace(value.to_value().into_owned()).is_none(), "{text}");
                });
                let each =
                    pointers.each_ref().map(|pointer| Some(pointer.get(view)?.to_value().into_owned()));
                assert_eq!(found, each, "{text}");
            }
        }
    }

    #[test]
    fn minus_one_is_the_last_element() {
        let value = json!({"a": [{"id": 1}, {"id": 2}], "none": [], "-1": 7});
        let get = |pointer: &str| {
            Pointer::parse(pointer).unwrap().get((&value).into()).map(|v| v.to_value().into_owned())
        };
        assert_eq!(get("/a/-1/id"), Some(json!(2)));
        assert_eq!((get("/none/-1"), get("/-1")), (None, Some(json!(7))));
        assert_eq!(found("/*/-1/id", &value), [("/a/1/id".into(), json!(2))]);
    }
}
