//! `Object`: a JSON object of OAuth, flat and small, possibly with unknown members.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use zeroize::Zeroize;

/// The members of a JSON object. A member with the value `null` counts as absent.
pub(in crate::auth) struct Object(BTreeMap<String, Value>);

/// The name of a member whose value has the wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::auth) struct WrongType(pub(in crate::auth) &'static str);

impl Object {
    /// Parses a JSON object. Returns `None` if the text is not a JSON object or contains a duplicate member.
    pub(in crate::auth) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(in crate::auth) fn text(&self, name: &'static str) -> Result<Option<&str>, WrongType> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_str().map(Some).ok_or(WrongType(name))
    }

    /// Returns a list of strings.
    pub(in crate::auth) fn texts(
        &self,
        name: &'static str,
    ) -> Result<Option<Vec<String>>, WrongType> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let list = value.as_array().ok_or(WrongType(name))?;
        let texts = list.iter().map(|text| text.as_str().map(String::from));
        texts.collect::<Option<_>>().map(Some).ok_or(WrongType(name))
    }

    /// Whether a member is `true`. Any other value counts as false.
    pub(in crate::auth) fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }

    /// Returns a number of seconds. Some servers write numbers as strings, some with a fraction.
    pub(in crate::auth) fn seconds(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::String(text) => text.parse().ok(),
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it saturates"
            )]
            Value::Number(number) => number
                .as_u64()
                .or_else(|| number.as_f64().filter(|it| *it >= 0.0).map(|it| it as u64)),
            _ => None,
        }
    }
}

/// Wipes the values, which may be tokens. Those that are kept have been copied to a `Secret`.
impl Drop for Object {
    fn drop(&mut self) {
        for value in self.0.values_mut() {
            if let Value::String(text) = value {
                text.zeroize();
            }
        }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry()? {
                    if members.insert(name, value).is_some() {
                        return Err(A::Error::custom("a member is there twice"));
                    }
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
