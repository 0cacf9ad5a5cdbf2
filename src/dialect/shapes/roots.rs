//! Roots.

use super::{INNER_META, META};
use crate::schema::shape::{Field, Record, Shape};

static ROOT: Record = Record::of(&[
    Field::required("uri", Shape::FileUri),
    Field::optional("name", Shape::Text),
    INNER_META,
]);

pub(crate) static LIST_ROOTS_RESULT: Record =
    Record::of(&[Field::required("roots", Shape::List(&Shape::Record(&ROOT))), META]);
