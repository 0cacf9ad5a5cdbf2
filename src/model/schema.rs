//! JSON Schemas: their dialects, and the comparison of arguments and results with them
//! ([JSON Schema usage](https://modelcontextprotocol.io/specification/2025-11-25/basic#json-schema-usage)).

use alloc::string::String;

use super::tools::{CallToolResult, Tool};
use crate::json::{Raw, Str, member};

/// The dialect of a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SchemaDialect<'a> {
    /// 2020-12, the default for a schema without `$schema`. Every implementation has to support it.
    V2020_12,
    /// Draft 7.
    Draft7,
    /// The dialect with this URI, as written in the schema.
    Other(&'a str),
}

impl<'a> SchemaDialect<'a> {
    /// Returns the dialect that a schema declares, or 2020-12 if its declaration is absent or unreadable.
    pub fn of(schema: &'a Raw<'_>) -> Self {
        let literal = member(schema.as_json(), "$schema");
        let Some(written) = literal.and_then(|uri| uri.strip_prefix('"')?.strip_suffix('"')) else {
            return Self::V2020_12;
        };
        // A URI with escaped slashes names the same dialect.
        match Str::trusted(written).to_str().trim_end_matches('#') {
            "https://json-schema.org/draft/2020-12/schema" => Self::V2020_12,
            "http://json-schema.org/draft-07/schema" => Self::Draft7,
            _ => Self::Other(written.trim_end_matches('#')),
        }
    }
}

/// A validator that compares values with JSON Schemas. MCP needs one; the application chooses it, because this crate
/// contains none.
pub trait SchemaValidator {
    /// Compares a value with a schema in this dialect.
    ///
    /// # Errors
    ///
    /// [`SchemaError::UnsupportedDialect`] if the validator does not know the dialect; it must not guess.
    /// [`SchemaError::Mismatch`] if the value does not fit.
    fn validate(
        &self,
        dialect: SchemaDialect<'_>,
        schema: &Raw<'_>,
        value: &Raw<'_>,
    ) -> Result<(), SchemaError>;
}

/// The reason why a value does not fit a schema, or cannot be compared with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The validator does not know the dialect. If the peer waits for a response, answer with
    /// [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS).
    #[error("the schema dialect {0} is not supported")]
    UnsupportedDialect(String),
    /// The tool has an output schema, but the result has no structured content.
    #[error("the result has no structured content")]
    Missing,
    /// The value does not fit.
    #[error("{0}")]
    Mismatch(String),
}

impl Tool<'_> {
    /// Compares arguments with the input schema of the tool. Absent arguments count as `{}`.
    ///
    /// # Errors
    ///
    /// [`SchemaError`]. The caller of the tool is at fault, unless the dialect is not supported.
    pub fn check_arguments(
        &self,
        arguments: Option<&Raw<'_>>,
        validator: &impl SchemaValidator,
    ) -> Result<(), SchemaError> {
        let dialect = SchemaDialect::of(&self.input_schema);
        validator.validate(dialect, &self.input_schema, arguments.unwrap_or(&Raw::EMPTY_OBJECT))
    }

    /// Compares a result with the output schema of the tool. A result that reports a failure always fits, and so does
    /// any result of a tool without an output schema.
    ///
    /// A server should check its result before it responds, a client before it relies on the result.
    ///
    /// # Errors
    ///
    /// [`SchemaError`]. The server is at fault, unless the dialect is not supported.
    pub fn check_result(
        &self,
        result: &CallToolResult<'_>,
        validator: &impl SchemaValidator,
    ) -> Result<(), SchemaError> {
        let Some(schema) = self.output_schema.as_ref().filter(|_| !result.failed()) else {
            return Ok(());
        };
        let content = result.structured_content.as_ref().ok_or(SchemaError::Missing)?;
        validator.validate(SchemaDialect::of(schema), schema, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;

    /// A validator for one dialect and its keyword `required`.
    struct Required;

    impl SchemaValidator for Required {
        fn validate(
            &self,
            dialect: SchemaDialect<'_>,
            schema: &Raw<'_>,
            value: &Raw<'_>,
        ) -> Result<(), SchemaError> {
            match dialect {
                SchemaDialect::V2020_12 => {}
                SchemaDialect::Draft7 => {
                    return Err(SchemaError::UnsupportedDialect("draft 7".to_owned()));
                }
                SchemaDialect::Other(uri) => {
                    return Err(SchemaError::UnsupportedDialect(uri.to_owned()));
                }
            }
            let required = schema.get("required").unwrap_or(Raw::NULL);
            for name in required.elements().filter_map(|name| name.into_str()) {
                let name = name.to_str();
                if value.get(&name).is_none() {
                    return Err(SchemaError::Mismatch(alloc::format!("no {name}")));
                }
            }
            Ok(())
        }
    }

    fn tool(output: Option<&'static str>) -> Tool<'static> {
        let schema = Raw::new(r#"{"type":"object","required":["a"]}"#).expect("JSON");
        let mut tool = Tool::new("t", schema);
        tool.output_schema = output.map(|schema| Raw::new(schema).expect("JSON"));
        tool
    }

    /// Proves L-TOOL-12, L-TOOL-13, L-TOOL-14, L-AMB-47.
    #[test]
    fn tool_results_must_match_their_output_schema() {
        let strict = tool(Some(r#"{"type":"object","required":["t"]}"#));
        let with = |json: Option<&'static str>, failed| {
            let mut result = CallToolResult::text("text");
            result.structured_content = json.map(|json| Raw::new(json).expect("JSON"));
            result.is_error = failed;
            result
        };
        let mismatch = Err(SchemaError::Mismatch("no t".to_owned()));
        let check = |tool: &Tool<'_>, result| tool.check_result(&result, &Required);
        assert_eq!(check(&strict, with(Some(r#"{"t":1}"#), None)), Ok(()));
        assert_eq!(check(&strict, with(Some("{}"), None)), mismatch);
        assert_eq!(check(&strict, with(None, None)), Err(SchemaError::Missing));
        assert_eq!(check(&strict, with(None, Some(false))), Err(SchemaError::Missing));
        assert_eq!(check(&strict, with(None, Some(true))), Ok(()), "a failure may be anything");
        assert_eq!(check(&strict, with(Some("{}"), Some(true))), Ok(()));
        assert_eq!(check(&tool(None), with(Some("{}"), None)), Ok(()), "it has not said");
        let arguments = Raw::new(r#"{"a":1}"#).expect("JSON");
        assert_eq!(strict.check_arguments(Some(&arguments), &Required), Ok(()));
        let missing = Err(SchemaError::Mismatch("no a".to_owned()));
        assert_eq!(strict.check_arguments(None, &Required), missing);
    }

    /// Proves L-META-10, L-ERR-37, M-JSCH-01.
    #[test]
    fn a_schema_dialect_is_declared_or_defaults_to_2020_12() {
        let table = [
            (r#"{"type":"object"}"#, SchemaDialect::V2020_12),
            (
                r#"{"$schema":"https://json-schema.org/draft/2020-12/schema"}"#,
                SchemaDialect::V2020_12,
            ),
            (r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#, SchemaDialect::Draft7),
            (r#"{"$schema":"urn:x"}"#, SchemaDialect::Other("urn:x")),
            (r#"{"$schema":7}"#, SchemaDialect::V2020_12),
        ];
        for (schema, dialect) in table {
            let schema = Raw::new(schema).expect("JSON");
            assert_eq!(SchemaDialect::of(&schema), dialect);
        }
        let strange = tool(Some(r#"{"$schema":"urn:x"}"#));
        let mut result = CallToolResult::text("t");
        result.structured_content = Some(Raw::EMPTY_OBJECT);
        let unsupported = Err(SchemaError::UnsupportedDialect("urn:x".to_owned()));
        assert_eq!(strange.check_result(&result, &Required), unsupported);
    }
}
