//! What is sent to the client between the noise and the store of a release.

use crate::modules::Sources;

/// What follows the charge is an argument of these.
const MEASURING: [&str; 6] =
    [".of_rows(", ".of_each_row(", ".of_given(", ".of_prepared(", ".of_charged(", "after_charge("];

/// What sends something.
const TELLING: [&str; 16] = [
    "notice!",
    "warning!",
    "info!",
    "log!",
    "debug1!",
    "debug2!",
    "debug3!",
    "debug4!",
    "debug5!",
    "ereport!",
    ".report(",
    "PgLogLevel::NOTICE",
    "PgLogLevel::WARNING",
    "tell_whose(",
    "tell_of_search(",
    "tell_outside(",
];

/// Where that may be: SQL functions before and after a release, the receipt's notice and whose a release is, deeds,
/// which release nothing. `pg/functions/watch.rs` is silent where a release is stored.
const MAY_TELL: [&str; 14] = [
    "pg/functions/access.rs",
    "pg/functions/bounds.rs",
    "pg/functions/consistent.rs",
    "pg/functions/datasets.rs",
    "pg/functions/explain_hierarchy.rs",
    "pg/functions/hierarchy.rs",
    "pg/functions/publications.rs",
    "pg/functions/ranges.rs",
    "pg/functions/rectangles.rs",
    "pg/functions/region_ranges.rs",
    "pg/functions/streams.rs",
    "pg/functions/watch.rs",
    "pg/release/order.rs",
    "pg/ledger/deed.rs",
];

/// Notices elsewhere, and within what measures.
pub fn too_early(sources: &Sources) -> Vec<String> {
    let mut complaints = Vec::new();
    for (file, text) in sources {
        let tells = |text: &str| TELLING.iter().any(|word| text.contains(word));
        if tells(text) && !MAY_TELL.contains(&file.as_str()) {
            complaints.push(format!("{file} tells something, and is none of {MAY_TELL:?}"));
        }
        for measuring in MEASURING {
            let called = |at: &usize| !text[..*at].ends_with("fn ");
            let calls = text.match_indices(measuring).map(|(at, _)| at).filter(called);
            let calls = calls.map(|at| arguments(&text[at..]));
            complaints.extend(
                calls
                    .filter(|call| tells(call))
                    .map(|call| format!("{file}: {}", call.lines().next().unwrap_or_default())),
            );
        }
    }
    complaints
}

/// A call, up to its closing parenthesis.
fn arguments(text: &str) -> &str {
    let mut open = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' if open == 1 => return &text[..=at],
            ')' => open -= 1,
            _ => {}
        }
    }
    text
}

#[test]
fn a_notice_is_found_where_it_is_too_early() {
    let of = |file: &str, text: &str| Sources::from([(file.to_string(), text.to_string())]);
    let complaints = |file: &str, text: &str| too_early(&of(file, text)).len();
    let early = "asked.of_rows(|s| plan(s), |truth| { notice!(\"{truth}\"); truth }); done()";
    let late = "let told = asked.of_rows(|s| plan(s), |truth| truth)?; notice!(\"stored\");";
    assert_eq!(complaints("pg/functions/ranges.rs", early), 1);
    assert_eq!(complaints("pg/functions/ranges.rs", late), 0);
    let between =
        "let told = after_charge(receipt, |r| { let t = tell(r)?; log!(\"{t}\"); keep(t) })?;";
    assert_eq!(complaints("pg/release/order.rs", between), 1);
    let last = "Ok(after_charge(receipt, |r| { tell_whose(dataset, name)?; tell(r) })?)";
    assert_eq!(complaints("pg/release/order.rs", last), 1);
    assert_eq!(complaints("hierarchy/a.rs", late), 1);
}
