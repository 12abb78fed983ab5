//! The map of docs/architecture.md: the rooms from top to bottom, and what each may use.

use crate::modules::{Arrows, Sources};
use std::collections::{BTreeMap, BTreeSet};

/// Folders or files of `src/`, and the rooms that they may use.
pub struct Map(Vec<(String, BTreeSet<String>)>);

impl Map {
    /// The table whose head begins with "room": its first column names one, its last what that one
    /// may use. Each is written as code.
    pub fn of_page(page: &str) -> Map {
        let rows = page.lines().skip_while(|line| !line.starts_with("| room ")).skip(2);
        let rows = rows.take_while(|line| line.starts_with('|'));
        let room = |row: &str| {
            let cells: Vec<_> = row.trim_matches('|').split('|').collect();
            let name = code(cells[0]).next().unwrap_or_else(|| panic!("a room in: {row}"));
            (name, code(cells[cells.len() - 1]).collect())
        };
        Map(rows.map(room).collect())
    }

    pub fn rooms(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(room, _)| room.as_str())
    }

    /// In what the map and the code differ.
    pub fn complaints(&self, sources: &Sources, arrows: &Arrows) -> Vec<String> {
        let mut complaints = Vec::new();
        let files = sources.keys().filter(|&file| file != "lib.rs");
        let mut empty: BTreeSet<_> = self.rooms().collect();
        for file in files {
            match self.room_of(file) {
                Some(room) => drop(empty.remove(room)),
                None => complaints.push(format!("{file} is in no room of the map")),
            }
        }
        complaints.extend(empty.iter().map(|room| format!("the room {room} holds no file")));

        let place: BTreeMap<_, _> = self.rooms().zip(0..).collect();
        for (room, uses) in &self.0 {
            for used in uses {
                match place.get(used.as_str()) {
                    None => complaints.push(format!("{room} may use {used}, which is no room")),
                    Some(&of) if of <= place[room.as_str()] => {
                        complaints.push(format!("{room} may use {used}, which is above it"));
                    }
                    Some(_) => {}
                }
            }
        }

        let mut unused: BTreeSet<(&str, &str)> =
            self.0.iter().flat_map(|(room, uses)| uses.iter().map(|u| (&**room, &**u))).collect();
        let allowed = unused.clone();
        for ((from, to), (line, what)) in arrows {
            let (Some(room), Some(used)) = (self.room_of(from), self.room_of(to)) else { continue };
            unused.remove(&(room, used));
            if room != used && !allowed.contains(&(room, used)) {
                complaints
                    .push(format!("{room} may not use {used}: {from}:{line} needs {what} of {to}"));
            }
        }
        for (room, used) in unused {
            complaints.push(format!("{room} may use {used}, and does not"));
        }
        complaints
    }

    /// The innermost room.
    fn room_of(&self, file: &str) -> Option<&str> {
        let holds = |room: &&str| {
            file.strip_prefix(room).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        self.rooms().filter(holds).max_by_key(|room| room.len())
    }
}

/// What is written as code in some Markdown.
fn code(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_string)
}
