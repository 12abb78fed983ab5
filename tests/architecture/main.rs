//! The order of the code: no circles among files or folders, and rooms that use only the rooms
//! below them that the map in docs/architecture.md names.

mod circles;
mod map;
mod modules;
mod notices;

use map::Map;
use modules::{Sources, arrows};
use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../../docs/architecture.md");
const DRAWING: &str = include_str!("../../docs/architecture.svg");

/// Every file below `src/`.
fn sources() -> Sources {
    fn read(folder: &Path, name: &str, sources: &mut Sources) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let last = path.file_name().and_then(|name| name.to_str()).expect("a name");
            if path.is_dir() {
                read(&path, &format!("{name}{last}/"), sources);
            } else if last.ends_with(".rs") {
                sources.insert(format!("{name}{last}"), fs::read_to_string(&path).expect("a text"));
            }
        }
    }
    let mut sources = Sources::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut sources);
    sources
}

fn assert_none(what: &str, complaints: Vec<String>) {
    assert!(complaints.is_empty(), "{}: {what}\n\n{}\n", complaints.len(), complaints.join("\n"));
}

#[test]
fn no_files_need_one_another() {
    assert_none("circles among files", circles::of_files(&arrows(&sources())));
}

#[test]
fn no_folders_need_one_another() {
    assert_none("circles among folders", circles::of_folders(&arrows(&sources())));
}

#[test]
fn rooms_use_what_the_map_says() {
    let sources = sources();
    let complaints = Map::of_page(PAGE).complaints(&sources, &arrows(&sources));
    assert_none("differences between the map and the code", complaints);
}

/// A notice is seen at once: of what is measured and may not be stored none is sent.
#[test]
fn nothing_is_told_between_noise_and_store() {
    assert_none("notices before a release is stored", notices::too_early(&sources()));
}

#[test]
fn the_drawing_shows_every_room() {
    let missing = |room: &&str| !DRAWING.contains(&format!(">{room}</text>"));
    let rooms = Map::of_page(PAGE);
    let missing: Vec<_> = rooms.rooms().filter(missing).map(str::to_string).collect();
    assert_none("rooms that docs/architecture.svg does not show", missing);
}

/// What follows is on a small tree, with mistakes planted in it.
fn small(changes: &[(&str, &str)]) -> Sources {
    let files = [
        ("lib.rs", "pub mod low; pub mod high;"),
        ("low.rs", "pub struct Low; impl Low { pub fn low(&self) {} }"),
        ("high/mod.rs", "mod one; mod two; pub use one::One; pub use two::two;"),
        ("high/one.rs", "use crate::low::Low; pub struct One(pub Low);"),
        ("high/two.rs", "use super::One; pub fn two(one: &One) { one.0.low() }"),
    ];
    files.iter().chain(changes).map(|&(file, text)| (file.into(), text.into())).collect()
}

const SMALL_MAP: &str = "
| room | holds | may use |
|---|---|---|
| `high` | | `low` |
| `low` | | nothing |
";

fn complaints(changes: &[(&str, &str)]) -> Vec<String> {
    let sources = small(changes);
    let arrows = arrows(&sources);
    let mut all = circles::of_files(&arrows);
    all.extend(circles::of_folders(&arrows));
    all.extend(Map::of_page(SMALL_MAP).complaints(&sources, &arrows));
    all
}

fn assert_finds(changes: &[(&str, &str)], needles: &[&str]) {
    let found = complaints(changes);
    for needle in needles {
        assert!(found.iter().any(|one| one.contains(needle)), "{needle}, in: {found:#?}");
    }
}

#[test]
fn a_tree_without_mistakes_passes() {
    assert_eq!(complaints(&[]), Vec::<String>::new());
    // neither comments, nor tests, nor a parent that passes on what its children define
    let harmless = "//! [crate::high::One]\n pub struct Low; impl Low { pub fn low(&self) {} }
        #[cfg(test)] mod tests { use crate::high::One; }
        #[cfg(test)] mod more;";
    let changes = [("low.rs", harmless), ("low/more.rs", "use crate::high::One;")];
    assert_eq!(complaints(&changes), Vec::<String>::new());
}

#[test]
fn a_planted_circle_is_found_file_by_file() {
    let one = "use crate::low::Low;\npub struct One(pub Low);\nfn f(x: &One) { super::two(x) }";
    assert_finds(
        &[("high/one.rs", one)],
        &[
            "high/one.rs -> high/two.rs -> high/one.rs",
            "high/one.rs:3 needs two of high/two.rs",
            "high/two.rs:1 needs One of high/one.rs",
        ],
    );
    // by a re-export under another name, inside a macro, by `Self`, and by a method
    for one in [
        "use super::two as other; pub struct One; fn f(x: &One) { other(x) }",
        "pub struct One; fn f(x: &One) { println!(\"{}\", [super::two(x)].len()) }",
        "use super::*; pub struct One; fn f(x: &One) { two(x) }",
        "pub struct One; impl One { fn f(&self) { self.elsewhere() } }",
        "pub struct One; impl One { fn f() { Self::elsewhere(&One) } }",
        "pub struct One; fn f(x: &One) { x.elsewhere() }",
    ] {
        let two = "use super::One; pub fn two(_: &One) {} impl One { pub fn elsewhere(&self) {} }";
        let both = [("high/one.rs", one), ("high/two.rs", two)];
        assert_finds(&both, &["high/one.rs -> high/two.rs -> high/one.rs"]);
    }
}

#[test]
fn a_parent_that_uses_its_child_and_is_used_by_it_is_a_circle() {
    let parent = "mod one; mod two; pub use one::One; pub use two::two;
        pub struct Own; fn f(x: &One) { two(x) }";
    assert_finds(
        &[("high/mod.rs", parent), ("high/two.rs", "use super::*; pub fn two(_: &One) -> Own {}")],
        &["high/mod.rs -> high/two.rs -> high/mod.rs"],
    );
}

#[test]
fn a_planted_circle_of_folders_is_found() {
    let changes = [
        ("lib.rs", "pub mod low; pub mod high; pub mod side;"),
        ("side/mod.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
        ("side/a.rs", "pub struct A;"),
        ("side/b.rs", "use crate::high::One; pub struct B(One);"),
        ("high/two.rs", "use crate::side::A; pub fn two(_: A) {}"),
    ];
    assert_finds(&changes, &["high/ -> side/ -> high/", "side/b.rs:1 needs One of high/one.rs"]);
}

#[test]
fn a_planted_arrow_upwards_is_found() {
    let low = "pub struct Low;\nimpl Low { pub fn low(&self) -> crate::high::One {} }";
    assert_finds(
        &[("low.rs", low)],
        &["low may not use high: low.rs:2 needs One of high/one.rs", "high/ -> low.rs -> high/"],
    );
}

#[test]
fn a_map_that_is_not_of_this_code_is_found() {
    let sources = small(&[("lib.rs", "mod low; mod high; mod new;"), ("new.rs", "")]);
    let page = SMALL_MAP.replace("nothing", "`high`, `old`") + "| `empty` | | `low` |";
    let found = Map::of_page(page.replace("\n\n", "\n").as_str());
    let found = found.complaints(&sources, &arrows(&sources));
    for needle in [
        "new.rs is in no room",
        "the room empty holds no file",
        "low may use high, which is above it",
        "low may use old, which is no room",
        "low may use high, and does not",
    ] {
        assert!(found.iter().any(|one| one.contains(needle)), "{needle}, in: {found:#?}");
    }
}
