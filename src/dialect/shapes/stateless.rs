//! What only the revisions without sessions have: discovery and subscriptions by stream.

use super::lifecycle::SERVER_CAPABILITIES;
use super::{CACHE_SCOPE, META, TTL};
use crate::schema::shape::{Field, Record, Shape};

pub(crate) static DISCOVER_RESULT: Record = Record::of(&[
    Field::required("supportedVersions", Shape::List(&Shape::Text)),
    Field::required("capabilities", Shape::Record(&SERVER_CAPABILITIES)),
    Field::optional("instructions", Shape::Text),
    TTL,
    CACHE_SCOPE,
    META,
]);

pub(crate) static LISTEN: Record =
    Record::of(&[Field::required("notifications", Shape::Record(&FILTER)), META]);

pub(crate) static ACKNOWLEDGED: Record =
    Record::of(&[Field::required("notifications", Shape::Record(&FILTER)), META]);

static FILTER: Record = Record::of(&[
    Field::optional("toolsListChanged", Shape::Boolean),
    Field::optional("promptsListChanged", Shape::Boolean),
    Field::optional("resourcesListChanged", Shape::Boolean),
    Field::optional("resourceSubscriptions", Shape::List(&Shape::Text)),
    Field::optional("taskIds", Shape::List(&Shape::Text)),
]);
