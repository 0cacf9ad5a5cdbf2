//! `List`: a list whose elements are read one by one.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::few::{self, Few};
use super::owned::IntoOwned;
use crate::json::{Raw, decode};
use crate::schema::shape::Shape;
use crate::schema::{ModelWriter, Value, Written};

/// A list whose elements are read independently: an unreadable element does not invalidate the others.
///
/// Each element that was read keeps its JSON. Unknown members are therefore accessible ([`raw`](Self::raw)), and the
/// list is passed on byte for byte. Comparisons include this JSON: a list that was read differs from one built of the
/// same elements.
///
/// ```
/// use mcp_sansio::json::Raw;
/// use mcp_sansio::model::{List, Tool};
///
/// let raw = Raw::new(r#"[{"name":"a","inputSchema":{}},{"name":"b"}]"#)?;
/// let tools: List<Tool> = raw.parse()?;
/// assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a"]);
/// assert_eq!(tools.skipped().map(|skipped| skipped.index).collect::<Vec<_>>(), [1]);
///
/// let mut list = List::from([tools.first().unwrap().clone()]);
/// list.push(Tool::new("c", Raw::EMPTY_OBJECT));
/// list.extend(tools);
/// for tool in &list {
///     assert!(["a", "c"].contains(&tool.name.as_str()));
/// }
/// assert_eq!(list.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct List<'a, T> {
    /// The elements that were built or read.
    entries: Few<Entry<'a, T>>,
    /// The other elements. Usually there are none.
    unread: Option<Box<Unread<'a>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry<'a, T> {
    /// The JSON that the element was read from.
    raw: Option<Raw<'a>>,
    value: T,
}

/// The elements that could not be read. Each takes less memory than an element that was read, because a peer may send
/// very many very short ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Unread<'a> {
    /// The indices in the list as received, in order, with the JSON.
    elements: Vec<(usize, Raw<'a>)>,
    /// The reasons for the first of them.
    reasons: Vec<String>,
}

/// The number of unreadable elements of a list for which the reason is kept.
const MOST_REASONS: usize = 64;

/// An element that could not be read. The peer is at fault if the type follows the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Skipped<'l, 'a> {
    /// The index of the element in the list as received.
    pub index: usize,
    /// The JSON of the element.
    pub raw: &'l Raw<'a>,
    /// The reason why reading failed. It is empty after the first 64 unreadable elements of the list.
    pub reason: &'l str,
}

/// An element as it is written.
enum Element<'l, 'a, T> {
    /// The JSON that it was read from.
    Raw(&'l Raw<'a>),
    Built(&'l T),
}

impl<'a, T> List<'a, T> {
    /// Creates a list of one element.
    #[inline]
    pub(super) const fn only(value: T) -> Self {
        Self { entries: Few::One(Entry { raw: None, value }), unread: None }
    }

    /// Returns the number of readable elements.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no element could be read.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns a readable element. The index counts readable elements only, as [`iter`](Self::iter) does.
    pub fn get(&self, index: usize) -> Option<&T> {
        self.entries.get(index).map(|entry| &entry.value)
    }

    /// Returns the first readable element.
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// Adds an element at the end.
    pub fn push(&mut self, value: T) {
        self.extend([value]);
    }

    /// Returns the JSON that an element was read from, or `None` if the element was not read. The index is that of
    /// [`get`](Self::get).
    pub fn raw(&self, index: usize) -> Option<&Raw<'a>> {
        self.entries.get(index)?.raw.as_ref()
    }

    /// Returns the readable elements in order.
    pub fn iter(&self) -> ListIter<'_, 'a, T> {
        ListIter { entries: self.entries.iter() }
    }

    /// Returns the unreadable elements in order.
    pub fn skipped(&self) -> impl Iterator<Item = Skipped<'_, 'a>> {
        let unread = self.unread.as_deref();
        let elements = unread.map(|unread| unread.elements.as_slice()).unwrap_or_default();
        elements.iter().enumerate().map(move |(at, (index, raw))| {
            let reason = unread.and_then(|unread| unread.reasons.get(at));
            Skipped { index: *index, raw, reason: reason.map(String::as_str).unwrap_or_default() }
        })
    }

    /// Returns all elements in order.
    fn elements(&self) -> impl Iterator<Item = Element<'_, 'a, T>> {
        let unread = self.unread.as_deref().map(|unread| unread.elements.as_slice());
        let mut unread = unread.unwrap_or_default().iter();
        let mut next = unread.next();
        let (mut entries, mut index) = (self.entries.iter(), 0);
        core::iter::from_fn(move || {
            let element = match next {
                Some((at, raw)) if *at == index => {
                    next = unread.next();
                    Element::Raw(raw)
                }
                _ => match entries.next()? {
                    Entry { raw: Some(raw), .. } => Element::Raw(raw),
                    Entry { value, .. } => Element::Built(value),
                },
            };
            index += 1;
            Some(element)
        })
    }
}

impl<'a> Unread<'a> {
    fn push(&mut self, index: usize, raw: Raw<'a>, reason: &impl ToString) {
        if self.reasons.len() < MOST_REASONS {
            self.reasons.push(reason.to_string());
        }
        self.elements.push((index, raw));
    }

    fn into_owned(self) -> Unread<'static> {
        let elements = self.elements.into_iter().map(|(index, raw)| (index, raw.into_owned()));
        Unread { elements: elements.collect(), reasons: self.reasons }
    }
}

impl<T: IntoOwned> List<'_, T> {
    /// Converts the value into one that borrows nothing and can outlive its message. Borrowed data is copied; owned
    /// data is moved.
    ///
    /// The copy includes the JSON of each element, so it takes about twice the memory of the elements. If the JSON is
    /// not needed, keep `list.into_iter().map(Tool::into_owned).collect::<Vec<_>>()`.
    pub fn into_owned(self) -> List<'static, T::Owned> {
        let owned = |Entry { raw, value }: Entry<'_, T>| Entry {
            raw: raw.into_owned(),
            value: value.into_owned(),
        };
        List {
            entries: self.entries.into_iter().map(owned).collect(),
            unread: self.unread.map(|unread| Box::new(unread.into_owned())),
        }
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        Self { entries: Few::default(), unread: None }
    }
}

impl<T> Extend<T> for List<'_, T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        self.entries.extend(values.into_iter().map(|value| Entry { raw: None, value }));
    }
}

impl<T> FromIterator<T> for List<'_, T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let entry = |value| Entry { raw: None, value };
        Self { entries: values.into_iter().map(entry).collect(), unread: None }
    }
}

impl<T> From<Vec<T>> for List<'_, T> {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect()
    }
}

impl<T, const N: usize> From<[T; N]> for List<'_, T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<'a, T> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = IntoIter<'a, T>;

    /// Returns the readable elements in order.
    fn into_iter(self) -> IntoIter<'a, T> {
        IntoIter { entries: self.entries.into_iter() }
    }
}

impl<'l, 'a, T> IntoIterator for &'l List<'a, T> {
    type Item = &'l T;
    type IntoIter = ListIter<'l, 'a, T>;

    /// Returns the readable elements in order.
    fn into_iter(self) -> ListIter<'l, 'a, T> {
        self.iter()
    }
}

/// The iterator of [`List::iter`].
#[derive(Clone, Debug)]
pub struct ListIter<'l, 'a, T> {
    entries: core::slice::Iter<'l, Entry<'a, T>>,
}

impl<'l, T> Iterator for ListIter<'l, '_, T> {
    type Item = &'l T;

    fn next(&mut self) -> Option<&'l T> {
        self.entries.next().map(|entry| &entry.value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

/// The iterator of [`List::into_iter`].
#[derive(Debug)]
pub struct IntoIter<'a, T> {
    entries: few::IntoIter<Entry<'a, T>>,
}

impl<T> Iterator for IntoIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.entries.next().map(|entry| entry.value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<T: Value> Value for List<'_, T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        self.write_each(out, &T::SHAPE, T::write)
    }
}

impl<T> List<'_, T> {
    /// Writes an array. The function writes elements that were built; elements that were read are compared with the
    /// shape.
    pub(super) fn write_each(
        &self,
        out: &mut ModelWriter<'_, '_>,
        shape: &Shape,
        mut write: impl FnMut(&T, &mut ModelWriter<'_, '_>) -> Written,
    ) -> Written {
        let start = out.position();
        for element in self.elements() {
            out.piece(",")?;
            match element {
                Element::Raw(raw) => out.compare(raw.as_json(), shape)?,
                Element::Built(value) => write(value, out)?,
            }
        }
        out.enclose(start, b'[', "]")
    }
}

impl<T: Serialize> Serialize for List<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unread = self.unread.as_ref().map_or(0, |unread| unread.elements.len());
        let mut list = serializer.serialize_seq(Some(self.entries.len() + unread))?;
        for element in self.elements() {
            match element {
                Element::Raw(raw) => list.serialize_element(raw)?,
                Element::Built(value) => list.serialize_element(value)?,
            }
        }
        list.end()
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for List<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(core::marker::PhantomData))
    }
}

struct ListVisitor<T>(core::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<'de, T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let (mut entries, mut unread, mut index) = (Vec::new(), None::<Box<Unread<'de>>>, 0);
        while let Some(text) = elements.next_element::<&'de serde_json::value::RawValue>()? {
            let raw = Raw::trusted(text.get());
            match decode(text.get()) {
                Ok(value) => entries.push(Entry { raw: Some(raw), value }),
                Err(error) => unread.get_or_insert_default().push(index, raw, &error),
            }
            index += 1;
        }
        Ok(List { entries: Few::from(entries), unread })
    }
}
