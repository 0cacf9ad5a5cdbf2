//! The errors of header annotations, of arguments and of header fields.

use alloc::string::String;

/// An `x-mcp-header` that breaks a rule: the author of the tool is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("x-mcp-header at {place:?}: {flaw}")]
#[non_exhaustive]
pub struct InvalidAnnotation {
    /// Where it stands, as a [JSON Pointer](https://www.rfc-editor.org/rfc/rfc6901) to the schema that
    /// has it: `/properties/region`, empty for the whole schema. As long as the tool makes it.
    pub place: String,
    /// The rule that it breaks.
    pub flaw: AnnotationFlaw,
}

/// Which rule an `x-mcp-header` breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AnnotationFlaw {
    /// It is not on a property, or not on one that is reached from the top by names of properties
    /// alone.
    #[error("not on a property that is reached through properties alone")]
    Misplaced,
    /// It is not a string.
    #[error("not a string")]
    NotText,
    /// It is empty, or has characters that a name of a header cannot have.
    #[error("not a name for a header")]
    NotToken,
    /// Another one in the schema has the same name, in letters of any case.
    #[error("the name is used twice")]
    Duplicate,
    /// The `type` of the property is not `string`, `integer` or `boolean`.
    #[error("on a property that is neither a string nor an integer nor a boolean")]
    WrongType,
}

/// An integer beyond ±(2^53 − 1) would have to be sent in a header, which the protocol does not allow:
/// the caller is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the integer for {header} is out of range")]
#[non_exhaustive]
pub struct IntegerOutOfRange {
    /// The header: `Mcp-Param-Priority`.
    pub header: String,
}

/// A header does not say what the arguments of the call say: the client is at fault, or a proxy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{header} {cause}")]
#[non_exhaustive]
pub struct ParamMismatch {
    /// The header: `Mcp-Param-Region`.
    pub header: String,
    /// What is wrong with it.
    pub cause: ParamCause,
}

/// What is wrong with an `Mcp-Param-` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ParamCause {
    /// There is none, and the argument has a value.
    #[error("is missing")]
    Missing,
    /// There is one, and the argument is absent, `null`, an object or an array.
    #[error("is there without an argument")]
    Unexpected,
    /// There are several.
    #[error("is there more than once")]
    Repeated,
    /// The value has characters that a header cannot have, or is marked as base64 and is none.
    #[error("has an invalid value")]
    Invalid,
    /// The value is another one.
    #[error("is not what the arguments say")]
    Different,
}
