//! Objects that are passed on as they came but for some of their members.

use alloc::string::String;
use alloc::vec;

use super::raw::{MemberTexts, Raw};
use super::string::Str;

impl Raw<'_> {
    /// This object with some members changed: a value takes the place of the one that was there, or comes at the
    /// end if there was none; `None` leaves the member out. Everything else stays byte for byte as it is and
    /// where it is, for gateways.
    ///
    /// Of several changes of one name the last counts, and of several members of that name none is left beside
    /// it. A value that is no object counts as an empty one.
    ///
    /// ```
    /// use mcp_sansio::json::{Raw, Str};
    ///
    /// let params = Raw::new(r#"{"name":"files__read","arguments":{"max":1.50},"task":{}}"#)?;
    /// let name = Raw::from(Str::from("read"));
    /// assert_eq!(
    ///     params.edited(&[("name", Some(name)), ("task", None)]).as_json(),
    ///     r#"{"name":"read","arguments":{"max":1.50}}"#,
    /// );
    /// # Ok::<(), mcp_sansio::json::JsonError>(())
    /// ```
    #[must_use = "it is another object; this one does not change"]
    pub fn edited(&self, changes: &[(&str, Option<Raw<'_>>)]) -> Raw<'static> {
        let mut object = Members { text: String::with_capacity(self.as_json().len()) };
        let mut is_placed = vec![false; changes.len()];
        for (key, value) in MemberTexts::of(self.as_json()) {
            let changed =
                changes.iter().zip(&mut is_placed).rev().find(|((name, _), _)| key == **name);
            match changed {
                None => object.push(key.into_string().as_wire(), value),
                Some(((_, Some(new)), placed)) if !*placed => {
                    object.push(key.into_string().as_wire(), new.as_json());
                    *placed = true;
                }
                Some(_) => {}
            }
        }
        for (index, (name, new)) in changes.iter().enumerate() {
            let is_last = !changes.iter().skip(index + 1).any(|(later, _)| later == name);
            let is_placed = is_placed.get(index).is_some_and(|placed| *placed);
            if let Some(new) = new.as_ref().filter(|_| is_last && !is_placed) {
                object.push(Str::from(*name).as_wire(), new.as_json());
            }
        }
        object.end()
    }
}

/// The members of an object that is being written.
struct Members {
    text: String,
}

impl Members {
    /// One more: its name as it is between quotes, and its value.
    fn push(&mut self, name: &str, value: &str) {
        self.text.push_str(if self.text.is_empty() { "{\"" } else { ",\"" });
        self.text.push_str(name);
        self.text.push_str("\":");
        self.text.push_str(value);
    }

    fn end(mut self) -> Raw<'static> {
        self.text.push_str(if self.text.is_empty() { "{}" } else { "}" });
        Raw::owned(self.text)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn edited(object: &str, changes: &[(&str, Option<&str>)]) -> String {
        let raw = |text: &'static str| Raw::new(text).expect("JSON");
        let changes: Vec<_> = changes
            .iter()
            .map(|(name, value)| (*name, value.map(|text| Raw::owned(text.into()))))
            .collect();
        assert_eq!(raw("[1]").edited(&[]).as_json(), "{}");
        let edited = Raw::new(object).expect("JSON").edited(&changes);
        assert_eq!(Raw::new(edited.as_json()).as_ref(), Ok(&edited), "it is JSON");
        edited.as_json().into()
    }

    #[test]
    fn what_is_not_changed_stays_byte_for_byte() {
        let object = r#"{ "a" : 1.0, "\u0062\ud800":[1e2, -0] ,"c":null}"#;
        let same = r#"{"a":1.0,"\u0062\ud800":[1e2, -0],"c":null}"#;
        assert_eq!(edited(object, &[]), same);
        assert_eq!(edited(object, &[("b", None), ("x", None)]), same);
    }

    #[test]
    fn members_are_replaced_where_they_are_and_added_at_the_end() {
        let object = r#"{"a":1,"n\u0061me":"x","c":null}"#;
        let changes = [("name", Some("{}")), ("\"q\"", Some("2")), ("c", None)];
        assert_eq!(edited(object, &changes), r#"{"a":1,"n\u0061me":{},"\"q\"":2}"#);
        assert_eq!(edited("{}", &[("a", Some("1"))]), r#"{"a":1}"#);
        assert_eq!(edited(r#"{"a":1}"#, &[("a", None)]), "{}");
    }

    #[test]
    fn the_last_change_of_a_name_counts_and_replaces_every_member_of_it() {
        let object = r#"{"a":1,"b":2,"a":3}"#;
        assert_eq!(edited(object, &[("a", Some("7"))]), r#"{"a":7,"b":2}"#);
        assert_eq!(edited(object, &[("a", Some("7")), ("a", None)]), r#"{"b":2}"#);
        assert_eq!(edited(object, &[("a", None), ("a", Some("8"))]), r#"{"a":8,"b":2}"#);
        assert_eq!(
            edited(object, &[("d", Some("1")), ("d", Some("2"))]),
            r#"{"a":1,"b":2,"a":3,"d":2}"#
        );
    }
}
