use alloc::vec::Vec;

use super::*;
use crate::json::Str;

/// Returns all pages of a list, by following the cursors.
fn walk(pager: Pager, items: &[u32]) -> Vec<Vec<u32>> {
    let mut pages = Vec::new();
    let mut cursor: Option<Str<'static>> = None;
    loop {
        let page = pager.page(items, cursor.as_ref()).expect("our own cursor");
        pages.push(page.items.to_vec());
        match page.next_cursor {
            Some(next) => cursor = Some(Str::from(&*next)),
            None => return pages,
        }
    }
}

/// Proves L-PAGE-08: the same cursor gives the same page, and all pages together are the list.
#[test]
fn pages_cover_the_list_once() {
    for items in 0..20_u32 {
        let list: Vec<u32> = (0..items).collect();
        for page_items in 0..8 {
            let pager = Pager::new(page_items).key(7);
            let pages = walk(pager, &list);
            assert_eq!(pages.concat(), list);
            assert!(pages.iter().all(|page| page.len() <= page_items.max(1)));
            assert_eq!(walk(pager, &list), pages, "again");
        }
    }
    assert_eq!(walk(Pager::new(2), &[]), [[0_u32; 0]; 1], "an empty list has one page");
}

/// Proves L-PAGE-09: a cursor that is not of this list is refused.
#[test]
fn only_cursors_of_this_list_are_cursors() {
    let list: Vec<u32> = (0..10).collect();
    let pager = Pager::new(3).key(1).version(1);
    let ours = pager.page(&list, None).expect("the first").next_cursor.expect("more");
    let page = |pager: Pager, list: &[u32], cursor: &str| {
        pager.page(list, Some(&Str::from(cursor))).map(|page| page.items.to_vec())
    };
    assert_eq!(page(pager, &list, &ours), Ok(alloc::vec![3, 4, 5]));
    let (place, checksum) = ours.split_once('-').expect("two parts");
    let forged = [
        alloc::string::String::new(),
        "3".into(),
        "-".into(),
        alloc::format!("4-{checksum}"),
        alloc::format!("{place}-{checksum}0"),
        alloc::format!("0{place}-{checksum}"),
        alloc::format!("+{place}-{checksum}"),
        alloc::format!("{place}-{}", checksum.to_uppercase() + "0"),
        alloc::format!(" {ours}"),
        alloc::format!("{ours}\n"),
    ];
    for cursor in forged {
        assert_eq!(page(pager, &list, &cursor), Err(InvalidCursor), "{cursor:?}");
    }
    for other in [pager.key(2), pager.version(2), Pager::new(4).key(1).version(1)] {
        assert_eq!(page(other, &list, &ours), Err(InvalidCursor));
    }
    assert_eq!(page(pager, &list[..3], &ours), Err(InvalidCursor), "the list has become shorter");
}

/// Proves L-PAGE-10, L-PAGE-05, L-PAGE-06, L-PAGE-07 for clients that page by hand. Pain 76.
#[test]
fn the_page_guard_stops_endless_pagination() {
    let cursor = |text: &str| Some(Str::from(text));
    let mut guard = PageGuard::new(PageLimits::default());
    for text in ["a", "b", ""] {
        assert_eq!(guard.page(cursor(text).as_ref(), 0, 0), NextPage::Follows, "{text}");
    }
    assert_eq!(guard.page(cursor("b").as_ref(), 0, 0), NextPage::Stop(PageStop::RepeatedCursor));
    guard.restart();
    assert_eq!(guard.page(cursor("b").as_ref(), 0, 0), NextPage::Follows);
    assert_eq!(guard.page(None, 0, 0), NextPage::End);

    let mut guard = PageGuard::new(PageLimits { pages: 2, items: 100, bytes: 100 });
    assert_eq!(guard.page(cursor("1").as_ref(), 1, 0), NextPage::Follows);
    assert_eq!(guard.page(cursor("2").as_ref(), 1, 0), NextPage::Stop(PageStop::TooManyPages));
    let mut guard = PageGuard::new(PageLimits { pages: 2, items: 100, bytes: 100 });
    assert_eq!(guard.page(cursor("1").as_ref(), 100, 0), NextPage::Stop(PageStop::TooManyItems));
    let mut guard = PageGuard::new(PageLimits { pages: 1, items: 1, bytes: 100 });
    assert_eq!(guard.page(None, 100, 0), NextPage::End, "what is there is taken");
}

/// With any content of the pages, and any number of items.
#[test]
fn a_list_ends_at_its_bytes() {
    let cursor = |text: &str| Some(Str::from(text));
    let mut guard = PageGuard::new(PageLimits { pages: 100, items: 100, bytes: 1_000 });
    assert_eq!(guard.page(cursor("1").as_ref(), 0, 999), NextPage::Follows);
    let stopped = guard.page(cursor("2").as_ref(), 0, 1);
    assert_eq!(stopped, NextPage::Stop(PageStop::TooManyBytes));
    assert_eq!(guard.page(None, 0, 1_000), NextPage::End, "the last page is taken as it is");
    guard.restart();
    assert_eq!(guard.page(cursor("1").as_ref(), 0, 999), NextPage::Follows);
}

/// Any pages: the guard agrees with a record of all pages since the last restart.
#[test]
fn the_page_guard_agrees_with_a_record() {
    let mut state = 1_u64;
    let mut below = |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) % most
    };
    for _ in 0..300 {
        let limits = PageLimits { pages: 8, items: 1 + below(40), bytes: 1 + below(400) as usize };
        let (mut guard, mut pages) = (PageGuard::new(limits), Vec::new());
        for _ in 0..20 {
            if below(8) == 0 {
                guard.restart();
                pages.clear();
                continue;
            }
            let (name, items, bytes) = (below(12), below(8), below(80) as usize);
            let is_repeated = pages.iter().any(|(known, _, _)| *known == name);
            pages.push((name, items, bytes));
            let cursor = Str::from(alloc::format!("{name}").as_str());
            let next = guard.page(Some(&cursor), items as usize, bytes);
            let stop = if is_repeated {
                Some(PageStop::RepeatedCursor)
            } else if limits.pages as usize <= pages.len() {
                Some(PageStop::TooManyPages)
            } else if limits.items <= pages.iter().map(|(_, items, _)| items).sum() {
                Some(PageStop::TooManyItems)
            } else if limits.bytes <= pages.iter().map(|(_, _, bytes)| bytes).sum() {
                Some(PageStop::TooManyBytes)
            } else {
                None
            };
            assert_eq!(next, stop.map_or(NextPage::Follows, NextPage::Stop));
            if stop.is_some() {
                break;
            }
        }
    }
}

/// Each limit applies to the pages since the last restart.
#[test]
fn a_list_that_begins_again_has_all_its_limits() {
    let cursor = |text: &str| Some(Str::from(text));
    let mut guard = PageGuard::new(PageLimits { pages: 3, items: 10, bytes: 1_000 });
    for _ in 0..3 {
        assert_eq!(guard.page(cursor("1").as_ref(), 4, 400), NextPage::Follows);
        assert_eq!(guard.page(cursor("2").as_ref(), 4, 400), NextPage::Follows);
        guard.restart();
    }
}

/// Other processes of the same key have to read a cursor, also those of an earlier release. SplitMix64 has given the numbers.
#[test]
fn the_text_of_a_cursor_stays() {
    let table = [
        (Pager::new(2).key(7).version(3), "2-431326973f352fd2"),
        (Pager::new(1), "1-d6d3517acf614a26"),
        (
            Pager::new(3).key(0xfedc_ba98_7654_3210).version(0x0123_4567_89ab_cdef),
            "3-6ceb843dd53836c1",
        ),
    ];
    for (pager, cursor) in table {
        assert_eq!(pager.page(&[(); 9], None).unwrap().next_cursor.as_deref(), Some(cursor));
    }
}
