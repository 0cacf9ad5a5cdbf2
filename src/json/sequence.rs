//! Writes an array, element by element.

use serde::ser::{Serialize, SerializeSeq, SerializeTuple, SerializeTupleStruct};

use super::raw_write::Source;
use super::shape::{Misfit, Problem, Shape};
use super::write::{EncodeError, Result, Writer, wrong_type};

/// An array whose bracket is open.
pub(crate) struct Sequence<'w, 'a> {
    writer: &'w mut Writer<'a>,
    /// What each element has to look like.
    each: Shape,
    bounds: Bounds,
    count: usize,
}

/// How many elements there may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bounds {
    Any,
    UpTo(usize),
    AtLeastOne,
    /// Exactly one, which is written without brackets.
    Bare,
}

impl<'w, 'a> Sequence<'w, 'a> {
    pub(super) fn open(writer: &'w mut Writer<'a>) -> Result<Self> {
        let (each, bounds) = match writer.take_expected() {
            Shape::Any => (Shape::Any, Bounds::Any),
            Shape::List(each) => (*each, Bounds::Any),
            Shape::ListUpTo(most, each) => (*each, Bounds::UpTo(most)),
            Shape::NonEmpty(each) => (*each, Bounds::AtLeastOne),
            Shape::OneOrMany { one, many } if many.contains(writer.revision()) => {
                (Shape::Record(one), Bounds::Any)
            }
            Shape::OneOrMany { one, .. } => (Shape::Record(one), Bounds::Bare),
            Shape::Answer { lists } if lists.contains(writer.revision()) => {
                (Shape::Text, Bounds::Any)
            }
            Shape::Answer { .. } => return Err(Misfit::new(Problem::NotInRevision).into()),
            _ => return wrong_type(),
        };
        if bounds != Bounds::Bare {
            writer.push(b"[")?;
        }
        Ok(Self { writer, each, bounds, count: 0 })
    }

    pub(super) fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.begin_element()?;
        value.serialize(&mut *self.writer)?;
        self.end_element()
    }

    /// Writes the element that comes next in JSON text.
    pub(super) fn next(&mut self, source: &mut Source<'_>) -> Result {
        self.begin_element()?;
        self.writer.write_next(source)?;
        self.end_element()
    }

    fn begin_element(&mut self) -> Result {
        match self.bounds {
            Bounds::Bare if 0 < self.count => {
                return Err(Misfit::new(Problem::NotInRevision).into());
            }
            Bounds::UpTo(most) if self.count == most => {
                return Err(Misfit::new(Problem::NotAllowed).into());
            }
            _ => {}
        }
        if 0 < self.count {
            self.writer.push(b",")?;
        }
        self.count += 1;
        self.writer.expect(self.each);
        Ok(())
    }

    fn end_element(&self) -> Result {
        if self.writer.wrote_null() { wrong_type() } else { Ok(()) }
    }

    pub(super) fn close(self) -> Result {
        match self.bounds {
            Bounds::Bare | Bounds::AtLeastOne if self.count == 0 => {
                Err(Misfit::new(Problem::Missing).into())
            }
            Bounds::Bare => Ok(()),
            _ => self.writer.push(b"]"),
        }
    }
}

macro_rules! sequences {
    ($($trait:ident::$method:ident),*) => {$(
        impl $trait for Sequence<'_, '_> {
            type Ok = ();
            type Error = EncodeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
                self.element(value)
            }

            fn end(self) -> Result {
                self.close()
            }
        }
    )*};
}

sequences! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field
}
