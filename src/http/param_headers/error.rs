//! The errors of header annotations, of arguments and of their header fields.

use alloc::string::String;

/// An `x-mcp-header` annotation that breaks a rule. The author of the tool is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("x-mcp-header at {place:?}: {flaw}")]
#[non_exhaustive]
pub struct InvalidAnnotation {
    /// The location, as a [JSON Pointer](https://www.rfc-editor.org/rfc/rfc6901) to the schema with the annotation:
    /// `/properties/region`; empty for the whole schema. Its length is not limited: it depends on the schema.
    pub place: String,
    /// The rule that the annotation breaks.
    pub flaw: AnnotationFlaw,
}

/// The rule that an `x-mcp-header` annotation breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AnnotationFlaw {
    /// The annotation is not on a property, or not on one that is reached from the top by names of properties alone.
    #[error("not on a property that is reached through properties alone")]
    Misplaced,
    /// The annotation is not a string.
    #[error("not a string")]
    NotText,
    /// The annotation is empty, or has characters that the name of a header cannot have.
    #[error("not a name for a header")]
    NotToken,
    /// Another annotation in the schema has the same name, ignoring case.
    #[error("the name is used twice")]
    Duplicate,
    /// The `type` of the property is not `string`, `integer` or `boolean`.
    #[error("on a property that is neither a string nor an integer nor a boolean")]
    WrongType,
}

/// An argument is an integer beyond ±(2^53 − 1), which the protocol does not allow in a header. The caller is at
/// fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the integer for {header} is out of range")]
#[non_exhaustive]
pub struct IntegerOutOfRange {
    /// The name of the header: `Mcp-Param-Priority`.
    pub header: String,
}

/// A header does not match the arguments of the call. The client or a proxy is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{header} {cause}")]
#[non_exhaustive]
pub struct ParamMismatch {
    /// The name of the header: `Mcp-Param-Region`.
    pub header: String,
    /// The kind of the mismatch.
    pub cause: ParamCause,
}

/// The kind of mismatch of an `Mcp-Param-` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ParamCause {
    /// The header is absent, but the argument has a value.
    #[error("is missing")]
    Missing,
    /// The header is present, but the argument is absent, `null`, an object or an array.
    #[error("is there without an argument")]
    Unexpected,
    /// The header occurs several times.
    #[error("is there more than once")]
    Repeated,
    /// The value has characters that a header cannot have, or is marked as base64 but is not valid base64.
    #[error("has an invalid value")]
    Invalid,
    /// The value differs from the argument.
    #[error("is not what the arguments say")]
    Different,
}
