use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use super::*;
use crate::json::Raw;

/// Checks that the output is the same as that of serde_json.
#[track_caller]
fn same<T: Serialize>(value: &T) {
    let theirs = serde_json::to_string(value).expect("writable");
    assert_eq!(Raw::from_serialize(value).expect("writable").as_json(), theirs);
}

/// A map of one member, whose key need not implement `Ord`.
struct Keyed<K>(K);

impl<K: Serialize> Serialize for Keyed<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(&self.0, 1)])
    }
}

#[derive(Serialize)]
struct Newtype<T>(T);

#[derive(Serialize)]
struct Nothing;

#[derive(Serialize)]
enum Variant {
    Unit,
    Newtype(u8),
}

/// A value that is serialized through `Display`, like addresses and dates.
struct Printed(&'static str);

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

struct Bytes(&'static [u8]);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

#[test]
fn keys_are_printed_as_serde_json_prints_them() {
    same(&Keyed("a\"b"));
    same(&Keyed('\n'));
    same(&Keyed(0.5_f32));
    same(&Keyed(1e21_f64));
    same(&Keyed(Some("a")));
    same(&Keyed(Newtype("a")));
    same(&Keyed(Variant::Unit));
    same(&Keyed(Printed("a\"b")));
}

#[test]
fn map_keys_that_json_cannot_represent_are_refused() {
    let refused = |written: Result<Raw<'_>, EncodeError>| written.map(|_| ()).err();
    assert_eq!(refused(Raw::from_serialize(&Keyed(f32::NAN))), Some(EncodeError::NotFinite));
    assert_eq!(refused(Raw::from_serialize(&Keyed(f64::NAN))), Some(EncodeError::NotFinite));
    let variant = Raw::from_serialize(&Keyed(Variant::Newtype(1)));
    assert_eq!(refused(variant), Some(EncodeError::KeyNotAString));
}

#[test]
fn values_of_every_kind_are_printed_as_serde_json_prints_them() {
    same(&Nothing);
    same(&Newtype([1]));
    same(&Printed("a\"b"));
    same(&Bytes(b"ab"));
    same(&Bytes(b""));
}

/// The output does not depend on the kind of the struct, such as a newtype or a unit struct.
#[test]
fn params_can_be_any_kind_of_struct() {
    let write = |value: &dyn Fn(PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError>, empty| {
        let mut buffer = Vec::new();
        let mut writer = Writer::new(&mut buffer, 100);
        value(PayloadWriter::new(&mut writer, "p:", empty, &Additions::NONE, None))?;
        Ok::<_, EncodeError>(String::from_utf8(buffer).expect("UTF-8"))
    };
    let wrapped = Newtype(BTreeMap::from([("a", 1)]));
    let wrapper = write(&|payload| payload.serialize(&wrapped), Empty::Omitted);
    assert_eq!(wrapper, Ok(r#"p:{"a":1}"#.to_string()));
    let nothing = write(&|payload| payload.serialize(&Nothing), Empty::Braces);
    assert_eq!(nothing, Ok("p:{}".to_string()));
}
