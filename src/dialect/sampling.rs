//! The rules between the messages of a sampling request
//! ([tool use](https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#message-content-constraints)).

use crate::json::{Elements, Str, member};
use crate::ordered::OrderedSet;
use crate::schema::{Misfit, Problem};

/// The ids of the tool uses in a message.
type Uses<'a> = OrderedSet<Str<'a>>;

/// Checks that the next message answers every tool use in the `messages` of these params, and answers nothing else.
/// Checks the whole history. The params are an object whose shape has been checked.
pub(crate) fn check_messages(params: &str) -> Result<(), Misfit> {
    let messages = member(params, "messages").unwrap_or_default();
    let mut open = Uses::new();
    let messages = Elements::of(messages).filter_map(|message| message.borrowed());
    for (index, message) in messages.enumerate() {
        open = check_message(message, open)
            .map_err(|misfit| misfit.in_element(index).inside("messages"))?;
    }
    all_answered(&open)
}

/// Checks that the tool uses in a message have unique ids. Returns the ids.
pub(crate) fn check_uses(message: &str) -> Result<Uses<'_>, Misfit> {
    let mut uses = Uses::new();
    for (index, block) in blocks(message).enumerate() {
        if is_of_kind(block, "tool_use") {
            match text(block, "id") {
                Some(id) if !uses.contains_key(&id) => uses.insert(id, ()),
                _ => return Err(in_block(Misfit::at("id", Problem::NotAllowed), index, message)),
            }
        }
    }
    Ok(uses)
}

/// Checks that a message answers the open tool uses. Returns the tool uses of the message.
fn check_message<'a>(message: &'a str, mut open: Uses<'a>) -> Result<Uses<'a>, Misfit> {
    let is_from = |role: &str| text(message, "role").is_some_and(|name| name == *role);
    let results = blocks(message).filter(|block| is_of_kind(block, "tool_result")).count();
    if 0 < results {
        let answers_nothing = open.is_empty() || !is_from("user");
        if answers_nothing || results < blocks(message).count() {
            return Err(Misfit::at("tool_result", Problem::NotAllowed));
        }
        for (index, block) in blocks(message).enumerate() {
            if text(block, "toolUseId").is_none_or(|id| open.remove(&id).is_none()) {
                let strange = Misfit::at("toolUseId", Problem::NotAllowed);
                return Err(in_block(strange, index, message));
            }
        }
    }
    all_answered(&open)?;
    if is_from("assistant") { check_uses(message) } else { Ok(Uses::new()) }
}

fn all_answered(open: &Uses<'_>) -> Result<(), Misfit> {
    if open.is_empty() { Ok(()) } else { Err(Misfit::at("tool_result", Problem::Missing)) }
}

/// Returns the content of a message: one block, or several.
fn blocks(message: &str) -> impl Iterator<Item = &str> {
    let content = member(message, "content").unwrap_or_default();
    let (one, several) =
        if content.starts_with('[') { (None, content) } else { (Some(content), "[]") };
    one.into_iter().chain(Elements::of(several).filter_map(|block| block.borrowed()))
}

/// Adds the path of a block of a message to a misfit.
fn in_block(misfit: Misfit, index: usize, message: &str) -> Misfit {
    let is_list = member(message, "content").is_some_and(|content| content.starts_with('['));
    let misfit = if is_list { misfit.in_element(index) } else { misfit };
    misfit.inside("content")
}

fn is_of_kind(block: &str, kind: &str) -> bool {
    text(block, "type").is_some_and(|name| name == *kind)
}

/// Returns a member that is a string.
fn text<'a>(object: &'a str, name: &str) -> Option<Str<'a>> {
    member(object, name).and_then(Str::from_literal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    fn message(role: &str, content: &str) -> String {
        format!(r#"{{"role":"{role}","content":{content}}}"#)
    }

    fn uses(ids: &[&str]) -> String {
        let blocks: alloc::vec::Vec<String> = ids
            .iter()
            .map(|id| format!(r#"{{"type":"tool_use","id":"{id}","name":"n","input":{{}}}}"#))
            .collect();
        message("assistant", &format!("[{}]", blocks.join(",")))
    }

    fn results(ids: &[&str]) -> String {
        let blocks: alloc::vec::Vec<String> = ids
            .iter()
            .map(|id| format!(r#"{{"type":"tool_result","toolUseId":"{id}","content":[]}}"#))
            .collect();
        message("user", &format!("[{}]", blocks.join(",")))
    }

    fn check(messages: &[String]) -> Result<(), Misfit> {
        check_messages(&format!(r#"{{"messages":[{}]}}"#, messages.join(",")))
    }

    #[test]
    fn the_block_that_is_wrong_is_named() {
        let path = |messages: &[String]| format!("{}", check(messages).expect_err("it is wrong"));
        let refused = "has a value that is not allowed";
        let twice = format!("messages[0].content[1].id {refused}");
        assert_eq!(path(&[uses(&["a", "a"])]), twice);
        let strange = format!("messages[1].content[1].toolUseId {refused}");
        assert_eq!(path(&[uses(&["a"]), results(&["a", "b"])]), strange);
        let bare = message("user", r#"{"type":"tool_result","toolUseId":"b","content":[]}"#);
        let strange = format!("messages[1].content.toolUseId {refused}");
        assert_eq!(path(&[uses(&["a"]), bare]), strange);
    }

    /// Proves L-SAMP-12, L-SAMP-13, L-SAMP-15, L-AMB-32: the history is balanced throughout.
    #[test]
    fn every_use_is_answered_by_the_next_message() {
        let user = || message("user", r#"{"type":"text","text":"go"}"#);
        let bare = || message("user", r#"{"type":"tool_result","toolUseId":"a","content":[]}"#);
        let missing = Err(("tool_result", Problem::Missing));
        let unmatched = Err(("tool_result", Problem::NotAllowed));
        let strange = Err(("toolUseId", Problem::NotAllowed));
        let twice = Err(("id", Problem::NotAllowed));
        let mixed = message(
            "user",
            r#"[{"type":"tool_result","toolUseId":"a","content":[]},{"type":"text","text":"x"}]"#,
        );
        let by_assistant = results(&["a"]).replace("user", "assistant");
        let cases = [
            (alloc::vec![], Ok(())),
            (alloc::vec![user()], Ok(())),
            (alloc::vec![user(), uses(&["a"]), results(&["a"])], Ok(())),
            (alloc::vec![user(), uses(&["a"]), bare(), user()], Ok(())),
            (alloc::vec![uses(&["a", "b"]), results(&["b", "a"])], Ok(())),
            (alloc::vec![uses(&["a"]), results(&["a"]), uses(&["a"]), results(&["a"])], Ok(())),
            (alloc::vec![uses(&[r"\u0061"]), results(&["a"])], Ok(())),
            (alloc::vec![user(), uses(&["a"])], missing),
            (alloc::vec![uses(&["a"]), user(), results(&["a"])], missing),
            (alloc::vec![uses(&["a", "b"]), results(&["a"])], missing),
            (alloc::vec![user(), uses(&["a"]), user(), user(), user()], missing),
            (alloc::vec![uses(&["a"]), uses(&["b"]), results(&["b"])], missing),
            (alloc::vec![results(&["a"])], unmatched),
            (alloc::vec![uses(&["a"]), mixed], unmatched),
            (alloc::vec![uses(&["a"]), by_assistant], unmatched),
            (alloc::vec![uses(&["a"]), results(&["a", "a"])], strange),
            (alloc::vec![uses(&["a"]), results(&["b"])], strange),
            (alloc::vec![uses(&["a"]), results(&["a", "b"])], strange),
            (alloc::vec![uses(&["a", "a"]), results(&["a", "a"])], twice),
        ];
        for (messages, expected) in cases {
            let checked = check(&messages).map_err(|misfit| (misfit.field, misfit.problem));
            assert_eq!(checked, expected, "{messages:?}");
        }
    }
}
