//! `TextValues`: named values that are texts, read as any type: the variables of a URI, the arguments of a prompt.

use std::fmt;

use serde::de::value::SeqDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Error;

/// Named values, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct TextValues {
    values: Vec<(String, TextValue)>,
}

#[derive(Clone, Debug)]
pub(super) enum TextValue {
    One(String),
    Many(Vec<String>),
}

impl TextValues {
    pub(super) fn push(&mut self, name: &str, value: TextValue) {
        self.values.push((name.to_owned(), value));
    }

    /// Adds a text to the list with this name, which is created if it does not exist.
    pub(super) fn append(&mut self, name: &str, text: String) {
        match self.values.iter_mut().find(|(known, _)| known == name) {
            Some((_, TextValue::Many(texts))) => texts.push(text),
            _ => self.push(name, TextValue::Many(vec![text])),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(known, _)| known == name)
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &TextValue)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Reads the values as a type with these fields. A field that is no text is read from the text: a number, for
    /// example. An error begins with the name of the value.
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<T, Error> {
        T::deserialize(Values(self.values.into_iter()))
    }
}

/// Reads the values as a map.
struct Values(std::vec::IntoIter<(String, TextValue)>);

impl<'de> Deserializer<'de> for Values {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(ValuesAccess { values: self.0, value: None })
    }

    // `()` stands for no values, whatever there is.
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct ValuesAccess {
    values: std::vec::IntoIter<(String, TextValue)>,
    /// The value of the last name.
    value: Option<(String, TextValue)>,
}

impl<'de> MapAccess<'de> for ValuesAccess {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.values.next() else { return Ok(None) };
        let key = seed.deserialize(name.as_str().into_deserializer())?;
        self.value = Some((name, value));
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, value) = self.value.take().ok_or_else(|| Error::custom("no name was read"))?;
        let named = |error: Error| Error::custom(format_args!("{name}: {error}"));
        match value {
            TextValue::One(text) => seed.deserialize(Text(text)).map_err(named),
            TextValue::Many(texts) => seed.deserialize(Texts(texts)).map_err(named),
        }
    }
}

/// Reads texts as a list.
struct Texts(Vec<String>);

impl<'de> Deserializer<'de> for Texts {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(SeqDeserializer::new(self.0.into_iter().map(Text)))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Reads a text as a value.
struct Text(String);

impl IntoDeserializer<'_, Error> for Text {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($deserialize:ident $visit:ident $what:literal $is_valid:expr;)+) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(value) if $is_valid(value) => visitor.$visit(value),
                _ => {
                    let shown = Shortened(&self.0);
                    Err(Error::custom(format_args!("{shown:?} is not {}", $what)))
                }
            }
        }
    )+};
}

/// The beginning of a text, for a message.
struct Shortened<'a>(&'a str);

impl fmt::Debug for Shortened<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(40) {
            Some((end, _)) => write!(formatter, "{:?}…", self.0.get(..end).unwrap_or_default()),
            None => fmt::Debug::fmt(self.0, formatter),
        }
    }
}

impl<'de> Deserializer<'de> for Text {
    type Error = Error;

    parsed! {
        deserialize_bool visit_bool "true or false" |_| true;
        deserialize_i8 visit_i8 "a whole number from -128 to 127" |_| true;
        deserialize_i16 visit_i16 "a whole number from -32768 to 32767" |_| true;
        deserialize_i32 visit_i32 "a whole number of 32 bits" |_| true;
        deserialize_i64 visit_i64 "a whole number of 64 bits" |_| true;
        deserialize_i128 visit_i128 "a whole number" |_| true;
        deserialize_u8 visit_u8 "a whole number from 0 to 255" |_| true;
        deserialize_u16 visit_u16 "a whole number from 0 to 65535" |_| true;
        deserialize_u32 visit_u32 "a natural number of 32 bits" |_| true;
        deserialize_u64 visit_u64 "a natural number of 64 bits" |_| true;
        deserialize_u128 visit_u128 "a natural number" |_| true;
        deserialize_f32 visit_f32 "a number" f32::is_finite;
        deserialize_f64 visit_f64 "a number" f64::is_finite;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// A text where a list is expected is a list of one.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(SeqDeserializer::new(std::iter::once(self)))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let text: serde::de::value::StringDeserializer<Error> = self.0.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct tuple tuple_struct map struct identifier
        ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Color {
        Red,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner(u32);

    #[derive(Debug, PartialEq, Deserialize)]
    struct All {
        text: String,
        number: i64,
        inner: Inner,
        ratio: f64,
        flag: bool,
        color: Color,
        list: Vec<u8>,
        one: Vec<String>,
        absent: Option<String>,
        present: Option<u16>,
        optional_list: Option<Vec<u8>>,
    }

    fn values(pairs: &[(&str, &str)]) -> TextValues {
        let mut values = TextValues::default();
        for (name, value) in pairs {
            match value.strip_prefix('|') {
                Some(list) => list.split('|').for_each(|one| values.append(name, one.to_owned())),
                None => values.push(name, TextValue::One((*value).to_owned())),
            }
        }
        values
    }

    #[test]
    fn every_field_is_read_from_its_text() {
        let pairs = [
            ("text", "12"),
            ("number", "-3"),
            ("inner", "7"),
            ("ratio", "0.5"),
            ("flag", "true"),
            ("color", "red"),
            ("list", "|1|2"),
            ("one", "x"),
            ("present", "9"),
            ("optional_list", "|7"),
            ("unknown", "?"),
        ];
        let all: All = values(&pairs).read().unwrap();
        let expected = All {
            text: "12".into(),
            number: -3,
            inner: Inner(7),
            ratio: 0.5,
            flag: true,
            color: Color::Red,
            list: vec![1, 2],
            one: vec!["x".into()],
            absent: None,
            present: Some(9),
            optional_list: Some(vec![7]),
        };
        assert_eq!(all, expected);
        let () = values(&pairs).read().unwrap();
        let map: std::collections::BTreeMap<String, String> = values(&[("a", "b")]).read().unwrap();
        assert_eq!(map["a"], "b");
        let any: serde_json::Value = values(&[("a", "1"), ("b", "|2")]).read().unwrap();
        assert_eq!(any, serde_json::json!({"a": "1", "b": ["2"]}));
    }

    #[test]
    fn a_number_is_finite() {
        for text in ["NaN", "inf", "-infinity", "1e999"] {
            let read = values(&[("x", text)]).read::<std::collections::BTreeMap<String, f64>>();
            assert_eq!(read.unwrap_err().to_string(), format!("x: {text:?} is not a number"));
        }
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct One {
        n: u8,
    }

    #[test]
    fn an_error_names_the_value() {
        let long = "x".repeat(100);
        let table: [(&[(&str, &str)], &str); 5] = [
            (&[], "missing field `n`"),
            (&[("n", "a")], "n: \"a\" is not a whole number from 0 to 255"),
            (&[("n", "256")], "n: \"256\" is not a whole number from 0 to 255"),
            (&[("n", "|1|2")], "n: invalid type: sequence, expected u8"),
            (
                &[("n", &long)],
                &format!("n: \"{}\"… is not a whole number from 0 to 255", "x".repeat(40)),
            ),
        ];
        for (pairs, text) in table {
            assert_eq!(values(pairs).read::<One>().unwrap_err().to_string(), text);
        }
    }
}
