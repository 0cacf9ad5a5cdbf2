//! The forms that some tools ask the user to fill in.

use mcp_sansio::model::{
    ArraySchema, BooleanSchema, EnumOption, Map, NumberSchema, ObjectSchema, PrimitiveSchema,
    SelectItems, StringSchema, Text,
};

fn form<const N: usize>(
    fields: [(&'static str, PrimitiveSchema<'static>); N],
    required: &[&'static str],
) -> ObjectSchema<'static> {
    let mut schema = ObjectSchema::new(
        fields.into_iter().map(|(name, field)| (name.into(), field)).collect::<Map<'_, _>>(),
    );
    if !required.is_empty() {
        schema.required = Some(required.iter().map(|name| (*name).into()).collect());
    }
    schema
}

fn string(change: impl FnOnce(&mut StringSchema<'static>)) -> PrimitiveSchema<'static> {
    let mut schema = StringSchema::default();
    change(&mut schema);
    PrimitiveSchema::String(schema)
}

fn texts(values: &[&'static str]) -> Option<Vec<Text<'static>>> {
    Some(values.iter().map(|value| (*value).into()).collect())
}

fn options(titles: [&'static str; 3]) -> Vec<EnumOption<'static>> {
    let values = ["value1", "value2", "value3"];
    values.into_iter().zip(titles).map(|(value, title)| EnumOption::new(value, title)).collect()
}

pub(super) fn user() -> ObjectSchema<'static> {
    let field =
        |description: &'static str| string(|schema| schema.description = Some(description.into()));
    let fields = [("username", field("User's response")), ("email", field("User's email address"))];
    form(fields, &["username", "email"])
}

/// A form with a default value for every kind of field.
pub(super) fn defaults() -> ObjectSchema<'static> {
    let mut age = NumberSchema::integer();
    age.default = Some(30_u8.into());
    let mut score = NumberSchema::number();
    score.default = mcp_sansio::json::Number::try_from(95.5).ok();
    let mut verified = BooleanSchema::default();
    verified.default = Some(true);
    form(
        [
            ("name", string(|schema| schema.default = Some("John Doe".into()))),
            ("age", PrimitiveSchema::Number(age)),
            ("score", PrimitiveSchema::Number(score)),
            (
                "status",
                string(|schema| {
                    schema.choices = texts(&["active", "inactive", "pending"]);
                    schema.default = Some("active".into());
                }),
            ),
            ("verified", PrimitiveSchema::Boolean(verified)),
        ],
        &[],
    )
}

/// A form with every kind of choice.
pub(super) fn choices() -> ObjectSchema<'static> {
    let plain = ["option1", "option2", "option3"];
    let array = |items| {
        let mut schema = ArraySchema::default();
        schema.items = items;
        PrimitiveSchema::Array(schema)
    };
    form(
        [
            ("untitledSingle", string(|schema| schema.choices = texts(&plain))),
            (
                "titledSingle",
                string(|schema| {
                    schema.one_of =
                        Some(options(["First Option", "Second Option", "Third Option"]));
                }),
            ),
            (
                "legacyEnum",
                string(|schema| {
                    schema.choices = texts(&["opt1", "opt2", "opt3"]);
                    schema.choice_names = texts(&["Option One", "Option Two", "Option Three"]);
                }),
            ),
            ("untitledMulti", array(SelectItems::plain(plain))),
            (
                "titledMulti",
                array(SelectItems::titled(options([
                    "First Choice",
                    "Second Choice",
                    "Third Choice",
                ]))),
            ),
        ],
        &[],
    )
}
