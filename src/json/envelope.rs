//! [`Envelope`], one scanned frame with the positions of its JSON-RPC members.

use core::fmt;

use super::error::{JsonError, JsonErrorKind};
use super::known::KnownMembers;
use super::member_spans::{CallParam, MemberSpans, Object};
use super::scan::{Entered, Scanner, Span, Walked};
use super::starts::Noting;
use super::string::Str;

/// The members that [`Envelope::scan`] locates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Member {
    /// `jsonrpc`
    Jsonrpc,
    /// `id`
    Id,
    /// `method`
    Method,
    /// `params`
    Params,
    /// `result`
    Result,
    /// `error`
    Error,
    /// `params._meta`
    ParamsMeta,
    /// `result._meta`
    ResultMeta,
    /// `result.resultType`
    ResultType,
}

impl Member {
    const COUNT: usize = 9;

    /// Returns the member whose quoted key begins a text, and the length of that key, if the first eight bytes of the
    /// text suffice to recognize it.
    #[inline(always)]
    const fn named_by(word: u64) -> Option<(Self, usize)> {
        const ID: u64 = u64::from_le_bytes(*b"\"id\"\0\0\0\0");
        const ERROR: u64 = u64::from_le_bytes(*b"\"error\"\0");
        const METHOD: u64 = u64::from_le_bytes(*b"\"method\"");
        const PARAMS: u64 = u64::from_le_bytes(*b"\"params\"");
        const RESULT: u64 = u64::from_le_bytes(*b"\"result\"");
        match word {
            METHOD => Some((Self::Method, 8)),
            PARAMS => Some((Self::Params, 8)),
            RESULT => Some((Self::Result, 8)),
            _ if word & (u64::MAX >> 32) == ID => Some((Self::Id, 4)),
            _ if word & (u64::MAX >> 8) == ERROR => Some((Self::Error, 7)),
            _ => None,
        }
    }

    /// Returns the member of the envelope that this key names.
    fn of_envelope(key: &[u8], has_escapes: bool) -> Option<Self> {
        if has_escapes {
            return Self::escaped(key, &Self::ENVELOPE);
        }
        // Whole keys are compared, not byte by byte as a match would.
        let is = |name: &[u8; 6]| key == name;
        match key.len() {
            2 if key == b"id" => Some(Self::Id),
            5 if key == b"error" => Some(Self::Error),
            6 if is(b"method") => Some(Self::Method),
            6 if is(b"params") => Some(Self::Params),
            6 if is(b"result") => Some(Self::Result),
            7 if key == b"jsonrpc" => Some(Self::Jsonrpc),
            _ => None,
        }
    }

    /// Returns the member of `params` or `result` that this key names.
    #[inline]
    fn of_payload(self, key: &[u8], has_escapes: bool) -> Option<Self> {
        let meta = if self == Self::Params { Self::ParamsMeta } else { Self::ResultMeta };
        if has_escapes {
            let names = [("_meta", meta), ("resultType", Self::ResultType)];
            return Self::escaped(key, &names).filter(|found| self.has_member(*found));
        }
        match key.len() {
            5 if key == b"_meta" => Some(meta),
            10 if key == b"resultType" => {
                Some(Self::ResultType).filter(|found| self.has_member(*found))
            }
            _ => None,
        }
    }

    /// Whether a payload of this kind has such a member: only a result has a type.
    const fn has_member(self, member: Self) -> bool {
        !matches!((self, member), (Self::Params, Self::ResultType))
    }

    const ENVELOPE: [(&'static str, Self); 6] = [
        ("jsonrpc", Self::Jsonrpc),
        ("id", Self::Id),
        ("method", Self::Method),
        ("params", Self::Params),
        ("result", Self::Result),
        ("error", Self::Error),
    ];

    /// Finds a key with escapes: `"\u0069d"` is `"id"` to every JSON parser.
    #[cold]
    fn escaped(key: &[u8], names: &[(&str, Self)]) -> Option<Self> {
        let key = Str::trusted(core::str::from_utf8(key).ok()?);
        names.iter().find(|(name, _)| key == **name).map(|(_, member)| *member)
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The members of one frame in their wire form.
///
/// ```
/// use mcp_sansio::json::{Envelope, Member};
///
/// let envelope = Envelope::scan(br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{}}"#, 128);
/// assert_eq!(envelope.defect(), None);
/// assert_eq!(envelope.get(Member::Id), Some("7"));
/// assert_eq!(envelope.get(Member::Method), Some("\"ping\""));
///
/// // What was read before a defect can still be used.
/// let envelope = Envelope::scan(br#"{"jsonrpc":"2.0","id":8,"method":oops}"#, 128);
/// assert!(envelope.defect().is_some());
/// assert_eq!(envelope.get(Member::Id), Some("8"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Envelope<'a> {
    bytes: &'a [u8],
    /// The same bytes once they are known to be UTF-8.
    text: Option<&'a str>,
    /// The positions of the complete members.
    spans: [Span; Member::COUNT],
    complete: u16,
    /// The members whose key was read, even if the value was not.
    begun: u16,
    duplicated: u16,
    /// The positions of the members of `params`, or else of `result`, and of the `_meta` in it.
    payload: Option<MemberSpans>,
    meta: Option<MemberSpans>,
    defect: Option<JsonError>,
    begins_as_usual: bool,
}

impl<'a> Envelope<'a> {
    /// Scans one frame, which may nest `depth` levels deep (at most 128).
    ///
    /// The work is linear in the length of the frame, nothing is allocated, and the stack does not grow with the
    /// nesting. A frame longer than `u32::MAX` is not scanned.
    pub fn scan(bytes: &'a [u8], depth: u8) -> Self {
        let mut envelope = Self::unread(bytes);
        envelope.read(depth, None);
        envelope
    }

    /// Creates the envelope of an unscanned frame. The value is large and costly to move, so a hot caller creates it
    /// in place and then [scans](Self::read) it.
    #[inline]
    pub(crate) const fn unread(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            text: None,
            spans: [Span::EMPTY; Member::COUNT],
            complete: 0,
            begun: 0,
            duplicated: 0,
            payload: None,
            meta: None,
            defect: None,
            begins_as_usual: false,
        }
    }

    /// Scans an unscanned frame, whose `_meta` may contain known members.
    pub(crate) fn read(&mut self, depth: u8, known: Option<&KnownMembers>) {
        if u32::try_from(self.bytes.len()).is_err() {
            self.defect = Some(JsonError::new(JsonErrorKind::Ended, 0));
            return;
        }
        let mut not_utf8 = None;
        match core::str::from_utf8(self.bytes) {
            Ok(text) => self.text = Some(text),
            Err(error) => {
                not_utf8 = Some(JsonError::new(JsonErrorKind::NotUtf8, error.valid_up_to()));
            }
        }
        let mut scanner = Scanner::new(self.bytes, depth);
        let broken = self.members(&mut scanner, known).err();
        self.defect = broken.or(not_utf8).or_else(|| scanner.flaw());
    }

    /// Returns the member in its wire form, strings with their quotes.
    ///
    /// Of a duplicated member of the envelope this is the first, of `_meta` and `resultType` the last. `None` also
    /// for a member that a defect has cut off.
    pub fn get(&self, member: Member) -> Option<&'a str> {
        let range = self.span(member)?.range();
        match self.text {
            Some(text) => text.get(range),
            None => core::str::from_utf8(self.bytes.get(range)?).ok(),
        }
    }

    /// Whether the key of the member was read, even if a defect hides its value.
    pub const fn has(&self, member: Member) -> bool {
        self.begun & member.bit() != 0
    }

    /// Whether the member of the envelope occurs more than once.
    pub const fn is_duplicated(&self, member: Member) -> bool {
        self.duplicated & member.bit() != 0
    }

    /// Whether any member of the envelope occurs more than once.
    #[inline]
    pub(crate) const fn has_duplicates(&self) -> bool {
        self.duplicated != 0
    }

    /// Whether the version is the first member, in its usual spelling.
    #[inline]
    pub(crate) const fn begins_as_usual(&self) -> bool {
        self.begins_as_usual
    }

    /// Returns the defect of the frame as JSON, if it has one.
    ///
    /// If the defect [keeps the structure](JsonErrorKind::keeps_structure), the members are complete nevertheless;
    /// otherwise only those in front of it are.
    pub const fn defect(&self) -> Option<JsonError> {
        self.defect
    }

    /// Returns the whole frame.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns `params`, `result` or the `_meta` of one of them, with the positions of its members.
    #[inline]
    pub(crate) fn object(&self, member: Member) -> Option<Object<'_, 'a>> {
        let text = self.get(member)?;
        let places = match member {
            Member::Params | Member::Result => &self.payload,
            _ => &self.meta,
        };
        Some(match places {
            Some(places) if text.starts_with('{') => Object::noted(text, places),
            _ => Object::of(text),
        })
    }

    #[inline]
    fn span(&self, member: Member) -> Option<Span> {
        let span = self.spans.get(member as usize)?;
        (self.complete & member.bit() != 0).then_some(*span)
    }

    fn members(
        &mut self,
        scanner: &mut Scanner<'a>,
        known: Option<&KnownMembers>,
    ) -> Result<(), JsonError> {
        match scanner.next(0) {
            (start, Some(b'{')) => {
                let end =
                    self.frame(scanner, start, known).map_err(|broken| scanner.error(broken))?;
                scanner.end(end)
            }
            (start, Some(_)) => {
                let end = scanner.value(start, 0).map_err(|broken| scanner.error(broken))?;
                scanner.end(end)?;
                Err(JsonError::new(JsonErrorKind::NotAnObject, start))
            }
            (end, None) => Err(JsonError::new(JsonErrorKind::Ended, end)),
        }
    }

    /// Skips the object of the frame.
    #[inline]
    fn frame(
        &mut self,
        scanner: &mut Scanner<'a>,
        start: usize,
        known: Option<&KnownMembers>,
    ) -> Walked {
        let entered = match self.takes_usual_beginning(scanner) {
            Some(behind) => Entered::Member(scanner.next(behind).0),
            None => scanner.enter_object(start, 0)?,
        };
        match entered {
            Entered::Member(at) => {
                scanner.members(at, |scanner, at| self.member(scanner, at, known))
            }
            Entered::Behind(at) => Ok(at),
        }
    }

    /// Skips the member that most messages begin with, and the comma behind it.
    #[inline]
    fn takes_usual_beginning(&mut self, scanner: &Scanner<'a>) -> Option<usize> {
        const BEGINNING: &[u8] = br#"{"jsonrpc":"2.0","#;
        const VERSION: Span = Span { start: 11, end: 16 };
        if !scanner.allows(1) || !self.bytes.starts_with(BEGINNING) {
            return None;
        }
        self.begins_as_usual = true;
        self.begun |= Member::Jsonrpc.bit();
        self.set(Member::Jsonrpc, VERSION);
        Some(BEGINNING.len())
    }

    /// Skips a member of the envelope and records its position.
    #[inline(always)]
    fn member(
        &mut self,
        scanner: &mut Scanner<'a>,
        at: usize,
        known: Option<&KnownMembers>,
    ) -> Walked {
        let (member, start) = match scanner.word(at).and_then(Member::named_by) {
            Some((member, length)) => (member, scanner.colon(at + length)?),
            None => match self.other_key(scanner, at)? {
                (Some(member), start) => (member, start),
                (None, start) => return scanner.value(start, 1),
            },
        };
        self.duplicated |= self.begun & member.bit();
        self.begun |= member.bit();
        let end = match member {
            Member::Params | Member::Result => self.payload(scanner, start, member, known)?,
            _ => scanner.short_value(start, 1)?,
        };
        if !self.is_duplicated(member) {
            self.set(member, Span::new(start, end));
        }
        Ok(end)
    }

    /// Skips a key that [`Member::named_by`] does not recognize. Returns its member and the start of its value.
    #[inline(never)]
    fn other_key(&self, scanner: &mut Scanner<'a>, at: usize) -> Walked<(Option<Member>, usize)> {
        let key = scanner.key(at)?;
        let name = self.bytes.get(key.span.range()).unwrap_or_default();
        Ok((Member::of_envelope(name, key.has_escapes), key.value))
    }

    /// Skips `params` or `result` and records its members.
    fn payload(
        &mut self,
        scanner: &mut Scanner<'a>,
        start: usize,
        of: Member,
        known: Option<&KnownMembers>,
    ) -> Walked {
        if self.bytes.get(start) != Some(&b'{') {
            return scanner.value(start, 1);
        }
        // Of two payloads only the first is ever read, and not through the recorded positions.
        let is_first = self.begun & (Member::Params.bit() | Member::Result.bit()) == of.bit()
            && !self.is_duplicated(of);
        self.payload = Some(MemberSpans::NONE);
        let walked = |scanner: &mut Scanner<'a>, at| {
            let is_params = of == Member::Params;
            let named = CallParam::named_by(|offset| scanner.word(at + offset));
            let (param, key) = match named.filter(|_| is_params) {
                Some((param, length)) => (Some(param), scanner.read_key(at, length)?),
                None => (None, scanner.key(at)?),
            };
            let member = match param {
                Some(CallParam::Meta) => Some(Member::ParamsMeta),
                Some(CallParam::Name | CallParam::Arguments) => None,
                None => {
                    let name = self.bytes.get(key.span.range()).unwrap_or_default();
                    of.of_payload(name, key.has_escapes)
                }
            };
            let end = match member {
                Some(Member::ParamsMeta | Member::ResultMeta) => {
                    self.noted_meta(scanner, key.value, known)?
                }
                None if param == Some(CallParam::Arguments) => {
                    self.noted_arguments(scanner, key.value)?
                }
                _ => scanner.short_value(key.value, 2)?,
            };
            let span = Span::new(key.value, end);
            if let Some(places) = &mut self.payload {
                places.note_call_param(param);
                places.note(key, span, start);
            }
            if let Some(member) = member {
                self.begun |= member.bit();
                self.set(member, span);
            }
            Ok(end)
        };
        let end = match scanner.enter_object(start, 1)? {
            Entered::Member(at) => scanner.members(at, walked)?,
            Entered::Behind(at) => at,
        };
        if !is_first {
            (self.payload, self.meta) = (None, None);
        }
        Ok(end)
    }

    /// Skips a `_meta` and records its members.
    fn noted_meta(
        &mut self,
        scanner: &mut Scanner<'a>,
        start: usize,
        known: Option<&KnownMembers>,
    ) -> Walked {
        if self.bytes.get(start) != Some(&b'{') {
            return scanner.value(start, 2);
        }
        let bytes = self.bytes;
        let places = self.meta.insert(MemberSpans::NONE);
        match scanner.enter_object(start, 2)? {
            Entered::Member(at) => scanner.members(at, |scanner, at| {
                if let Some(known) = known.filter(|known| known.stand_at(bytes, at)) {
                    known.note_in(places, at - start);
                    return Ok(at + known.len());
                }
                let key = scanner.key(at)?;
                let end = scanner.value(key.value, 3)?;
                places.note(key, Span::new(key.value, end), start);
                Ok(end)
            }),
            Entered::Behind(at) => Ok(at),
        }
    }

    /// Skips the `arguments` of params and records the starts of its members.
    fn noted_arguments(&mut self, scanner: &mut Scanner<'a>, start: usize) -> Walked {
        let mut noting = Noting::new();
        let end = if self.bytes.get(start) == Some(&b'{') {
            scanner.object(start, 2, |scanner, key| {
                noting.note(key, start);
                scanner.value(key.value, 3)
            })?
        } else {
            scanner.value(start, 2)?
        };
        if let Some(places) = &mut self.payload {
            places.note_arguments(noting.starts());
        }
        Ok(end)
    }

    #[inline]
    fn set(&mut self, member: Member, span: Span) {
        if let Some(place) = self.spans.get_mut(member as usize) {
            *place = span;
            self.complete |= member.bit();
        }
    }
}

impl fmt::Debug for Envelope<'_> {
    /// Shows the id and the method if they are scalars, and only the length of everything else.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Envelope");
        debug.field("bytes", &self.bytes.len());
        for (name, member) in [("id", Member::Id), ("method", Member::Method)] {
            if let Some(text) = self.get(member).and_then(shown) {
                debug.field(name, &format_args!("{text}"));
            }
        }
        if let Some(defect) = self.defect {
            debug.field("defect", &defect);
        }
        debug.finish_non_exhaustive()
    }
}

/// The maximum length of the text of a frame that is shown.
pub(crate) const LONGEST_SHOWN: usize = 300;

/// Returns an id or a method that a log may show: only a short string or number, because any other value in its place
/// may be a payload.
pub(crate) fn shown(literal: &str) -> Option<&str> {
    let scalar = matches!(literal.as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9'));
    (scalar && literal.len() <= LONGEST_SHOWN).then_some(literal)
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
