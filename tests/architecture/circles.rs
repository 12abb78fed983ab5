//! Circles among whatever needs one another: files, and what lies in one folder.

use crate::modules::Arrows;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A circle for each knot of files that need one another, file by file.
pub fn of_files(arrows: &Arrows) -> Vec<String> {
    circles(arrows, |file| file.to_string())
}

/// Circles among the files and folders that lie in one folder, a folder being all that is in it.
/// Those of files alone are left to [`of_files`].
pub fn of_folders(arrows: &Arrows) -> Vec<String> {
    let ends = arrows.keys().flat_map(|(from, to)| [from, to]);
    let folders: BTreeSet<&str> = ends.flat_map(|file| above(file)).collect();
    let mut found = Vec::new();
    for folder in folders {
        let inside = |file: &str| file.starts_with(folder);
        let here: Arrows = arrows
            .iter()
            .filter(|((from, to), _)| inside(from) && inside(to))
            .map(|(arrow, why)| (arrow.clone(), why.clone()))
            .collect();
        let sibling = |file: &str| match file[folder.len()..].split_once('/') {
            Some((first, _)) => format!("{folder}{first}/"),
            None => file.to_string(),
        };
        let of_files =
            |circle: &String| !circle.lines().next().is_some_and(|way| way.contains("/ "));
        found.extend(circles(&here, sibling).into_iter().filter(|circle| !of_files(circle)));
    }
    found
}

/// The folders that hold a file, as `""`, `"a/"`, `"a/b/"`.
fn above(file: &str) -> impl Iterator<Item = &str> {
    let ends = file.match_indices('/').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).map(|end| &file[..end])
}

fn circles(arrows: &Arrows, node: impl Fn(&str) -> String) -> Vec<String> {
    let mut graph: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for ((from, to), (line, what)) in arrows {
        let ends = (node(from), node(to));
        if ends.0 != ends.1 {
            let why = format!("    {from}:{line} needs {what} of {to}");
            graph.entry(ends.0).or_default().entry(ends.1).or_insert(why);
        }
    }
    let mut found: Vec<String> = Vec::new();
    let mut told: BTreeSet<String> = BTreeSet::new();
    for start in graph.keys() {
        if told.contains(start) {
            continue;
        }
        if let Some(circle) = shortest(&graph, start) {
            let mut knot = reachable(&graph, start);
            knot.retain(|other| reachable(&graph, other).contains(start));
            let mut lines = vec![circle.join(" -> ")];
            lines.extend(circle.windows(2).map(|step| graph[&step[0]][&step[1]].clone()));
            if knot.len() >= circle.len() {
                let all: Vec<_> = knot.iter().map(String::as_str).collect();
                lines.push(format!("    in a knot of {}: {}", all.len(), all.join(", ")));
            }
            found.push(lines.join("\n"));
            told.extend(knot);
        }
    }
    found
}

type Graph = BTreeMap<String, BTreeMap<String, String>>;

fn neighbours<'a>(graph: &'a Graph, node: &str) -> impl Iterator<Item = &'a String> + use<'a> {
    graph.get(node).into_iter().flat_map(BTreeMap::keys)
}

fn reachable(graph: &Graph, start: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<_> = neighbours(graph, start).collect();
    while let Some(node) = open.pop() {
        if seen.insert(node.clone()) {
            open.extend(neighbours(graph, node));
        }
    }
    seen
}

/// The shortest way from a node back to it.
fn shortest(graph: &Graph, start: &String) -> Option<Vec<String>> {
    let mut before: BTreeMap<&String, &String> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for next in neighbours(graph, node) {
            if next == start {
                let mut way = vec![start.clone(), node.clone()];
                let mut node = node;
                while node != start {
                    node = before[node];
                    way.push(node.clone());
                }
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(next) {
                before.insert(next, node);
                open.push_back(next);
            }
        }
    }
    None
}
