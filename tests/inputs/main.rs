//! What users write is refused or read back: seeds, what the fuzzer of `tests/inputs/run` has found
//! (in `found/`), and both with some of it changed. With SEEDS set to a folder, they are written
//! there for the fuzzer.

mod checks;

use pg_dp::charge::Receipt;
use pg_dp::noise::words_from_system;
use pg_dp::ranges::{
    BinBounds, Bins, CellCounts, DpRanges, ReleaseChoice, ReleasePlan, ReleaseRequest,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::path::Path;

type Check = fn(&[u8]);

const TARGETS: [(&str, Check); 3] =
    [("value", checks::value), ("words", checks::words), ("noisy_table", checks::noisy_table)];

fn released(method: &str, delta: f64) -> DpRanges {
    let (bins, widths, epsilon, rows_per_unit, negative) = (24, None, 0.5, 1, false);
    let choice = ReleaseChoice::parse(method).expect("a method");
    let request = ReleaseRequest { bins, widths, epsilon, delta, rows_per_unit, negative, choice };
    let plan = ReleasePlan::new(request).expect("a plan");
    let truth = Bins::empty(BinBounds::new(-3, 21).expect("bounds"));
    Receipt::uncharged(plan).release_bins(&truth, &mut words_from_system().expect("words"))
}

/// As the checks read them: of values a byte for the type and the form comes first.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let value = |kind: u8, text: String, bytes: Vec<u8>| {
        let with_kind = |form: u8, data: Vec<u8>| [vec![kind + 5 * form], data].concat();
        [with_kind(0, text.into_bytes()), with_kind(1, bytes)]
    };
    match target {
        "value" => {
            let mut seeds = Vec::new();
            for text in ["{}", "{1:2, 2:1, 4:1}", "{0:5, 9223372036854775807:1}"] {
                let read = pg_dp::coco::Coco::parse(text).expect("a histogram");
                seeds.extend(value(0, text.into(), read.to_bytes()));
            }
            for text in ["[0,100){17:2, 42:5}", "[-5,9)<=50{0:7}", "[0,1){}"] {
                let read = Bins::parse(text).expect("bins");
                seeds.extend(value(1, text.into(), read.to_bytes()));
            }
            for text in ["[0,9)x[-2,4){1/1:7, 8/-2:1}", "[0,1)x[0,1){}"] {
                let read = CellCounts::parse(text).expect("a grid");
                seeds.extend(value(2, text.into(), read.to_bytes()));
            }
            for (method, delta) in [
                ("flat", 0.0),
                ("tree:3", 0.0),
                ("tree_consistent:2:geometric", 0.0),
                ("quad", 0.0),
                ("wavelet", 0.0),
                ("gaussian", 1e-6),
                ("binary_tree", 1e-6),
                ("cascade:3", 1e-6),
                ("prefix", 1e-6),
                ("optimal", 1e-6),
                ("minimax:prefix", 1e-6),
                ("aware", 0.0),
                ("structure_first", 0.0),
            ] {
                let release = released(method, delta);
                seeds.extend(value(3, release.to_text(), release.to_bytes()));
            }
            seeds
        }
        "words" => [
            "auto:prefix",
            "tree:16:optimised",
            "tree_consistent:3:equal",
            "quad",
            "wavelet",
            "cascade:4:nodes",
            "minimax:nodes",
            "structure_first:all",
            "Hc",
            "Hg",
            "H",
            "Hc_l2",
            "cut:0.5",
            "matching_unweighted",
            "bottom_up",
            "pgsr",
            "topdown",
            "cumulative",
            "chain",
            "none",
            "0.01 -12.345",
            "1e-9 1e15",
            "100 NaN",
        ]
        .map(|word| word.as_bytes().to_vec())
        .into(),
        _ => {
            let row = |path: u8, size: u8, groups: f64| {
                [vec![path, size], groups.to_le_bytes().into()].concat()
            };
            let table = [
                row(0, 1, 9.5),
                row(0, 2, -3.0),
                row(64, 1, 4.25),
                row(65, 2, 7.0),
                row(66, 1, 1e9),
            ]
            .concat();
            (0..7).map(|method| [vec![method], table.clone()].concat()).collect()
        }
    }
}

fn found(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/found").join(target);
    let files = std::fs::read_dir(folder).into_iter().flatten();
    files.map(|file| std::fs::read(file.expect("a file").path()).expect("its bytes")).collect()
}

#[test]
fn seeds_and_what_was_found_hold() {
    let folder = std::env::var("SEEDS").ok();
    for (target, check) in TARGETS {
        for (n, seed) in seeds(target).into_iter().chain(found(target)).enumerate() {
            check(&seed);
            if let Some(folder) = &folder {
                let folder = Path::new(folder).join(target);
                std::fs::create_dir_all(&folder).expect("a folder");
                std::fs::write(folder.join(format!("seed-{n}")), seed).expect("a file");
            }
        }
    }
}

/// What is read of the seeds' texts is what was written.
#[test]
fn the_seeds_are_read() {
    for seed in seeds("value") {
        if let (3, Ok(text)) = (seed[0], std::str::from_utf8(&seed[1..])) {
            assert!(DpRanges::parse(text).is_ok(), "{text}");
        }
    }
}

fn changed(seed: &[u8], words: &mut StdRng) -> Vec<u8> {
    const PIECES: [&[u8]; 12] = [
        b"-",
        b"9223372036854775807",
        b"1e999",
        b"{",
        b"}",
        b",",
        b"\0",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x80\x01",
        b"\x7f",
        b"null",
        b"0.0",
    ];
    let mut data = seed.to_vec();
    for _ in 0..words.random_range(1..4) {
        let at = words.random_range(0..=data.len());
        let to = words.random_range(at..=data.len().min(at + 9));
        match words.random_range(0..4) {
            0 => {
                let piece = PIECES[words.random_range(0..PIECES.len())];
                data.splice(at..to, piece.iter().copied());
            }
            1 => data.insert(at, words.random()),
            2 if at < data.len() => {
                data[at] = [0, 1, 0x7f, 0x80, 0xff, words.random()][words.random_range(0..6)];
            }
            _ => drop(data.drain(at..to)),
        }
    }
    data
}

#[test]
fn changed_seeds_hold() {
    let mut words = StdRng::seed_from_u64(21);
    for (target, check) in TARGETS {
        let seeds: Vec<_> = seeds(target).into_iter().chain(found(target)).collect();
        for _ in 0..50_000 {
            check(&changed(&seeds[words.random_range(0..seeds.len())], &mut words));
        }
    }
}
