//! What plans for two dimensions promise.

use crate::charge::Costs;
use crate::charge::Receipt;
use crate::noise::words_from_system;
use crate::privacy::composed_epsilon;
use crate::ranges::asked::rectangles;
use crate::ranges::{
    Dimensions, Loss, PlanePlan, PlaneRequest, RangeMethod, RangePlanError, Rectangle,
};

#[test]
fn plans_spend_what_was_asked() {
    for (method, delta) in [
        ("flat", 0.0),
        ("flat", 1e-9),
        ("gaussian", 1e-9),
        ("tree_consistent", 0.0),
        ("tree_consistent", 1e-9),
        ("cascade", 1e-9),
        ("optimal", 1e-9),
        ("auto", 0.0),
        ("auto", 1e-9),
    ] {
        for rows_per_unit in [1, 5] {
            let asked = rectangles([40, 70], 0.5, delta, method).unwrap();
            let plan = PlanePlan::new(PlaneRequest { rows_per_unit, ..asked }).unwrap();
            let k = f64::from(rows_per_unit);
            match plan.mechanism().measurements().loss() {
                Loss::Epsilon(loss) => {
                    assert_eq!(plan.delta(), 0.0);
                    assert!((1.0 - 1e-12..=1.0).contains(&(loss * k / 0.5)), "{method}: {loss}");
                }
                Loss::Rho(loss) => {
                    assert_eq!(plan.delta(), delta);
                    let ratio = loss * k * k / plan.rho();
                    assert!((1.0 - 1e-12..=1.0).contains(&ratio), "{method}: {ratio}");
                    let spent = composed_epsilon(&plan.cost().loss, delta).unwrap();
                    assert!((0.495..=0.5 + 1e-10).contains(&spent), "{method}: {spent}");
                }
            }
        }
    }
}

/// Among the candidates none has a smaller mean.
#[test]
fn the_choices_have_the_least_mean() {
    let mean = |method: &str, delta: f64| {
        let plan = PlanePlan::new(rectangles([100, 90], 1.0, delta, method).unwrap()).unwrap();
        plan.mechanism().mean_over_all()
    };
    for delta in [0.0, 1e-9] {
        let best = mean("tree_consistent", delta);
        let all = (2..=100).map(|b| mean(&format!("tree_consistent:{b}"), delta));
        assert_eq!(all.fold(f64::INFINITY, f64::min), best);
    }
    let methods = ["flat", "gaussian", "optimal", "tree_consistent", "cascade"];
    let methods = methods.map(|word| mean(word, 1e-9));
    let pure = mean("tree_consistent", 0.0);
    assert_eq!(methods.into_iter().fold(pure, f64::min), mean("auto", 1e-9));
    assert_eq!(mean("flat", 0.0).min(pure), mean("auto", 0.0));
}

/// Cells that are asked for one by one are measured one by one.
#[test]
fn auto_is_for_what_is_asked() {
    let request = rectangles([200, 200], 1.0, 1e-6, "auto").unwrap();
    let cells: Vec<Rectangle> = (0..40_000)
        .step_by(97)
        .map(|cell| (cell / 200, cell % 200))
        .map(|(row, column)| Rectangle { rows: row..row + 1, columns: column..column + 1 })
        .collect();
    let method = |asked| {
        PlanePlan::new(PlaneRequest { asked, ..request.clone() }).unwrap().parameters().method()
    };
    assert_eq!(method(cells), RangeMethod::Flat);
    assert_eq!(method(Vec::new()), RangeMethod::Optimal);
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let dimensions = Dimensions::Two;
    let plan = |rows, columns, epsilon, delta, method: &str| {
        let plan = rectangles([rows, columns], epsilon, delta, method).and_then(PlanePlan::new);
        plan.map(|plan| (plan.parameters().method(), plan.parameters().branching()))
    };
    for (rows, columns) in [(0, 5), (5, 0), (-1, 5), (5, i64::MIN), (4097, 4096), (i64::MAX, 2)] {
        let error = plan(rows, columns, 1.0, 0.0, "flat").unwrap_err();
        assert_eq!(error, RangePlanError::Sides { rows, columns });
        assert!(error.to_string().contains(&columns.to_string()));
    }
    for word in [
        "",
        "flats",
        "tree",
        "wavelet",
        "optimal:prefix",
        "optimal:2",
        "cascade:x",
        "tree_consistent:geometric",
        "auto:prefix",
    ] {
        let error = plan(4, 5, 1.0, 1e-9, word).unwrap_err();
        assert_eq!(error, RangePlanError::Method { word: word.into(), dimensions });
    }
    for (rows, columns) in [(1025, 3), (2, 4096)] {
        let error = plan(rows, columns, 1.0, 1e-9, "optimal").unwrap_err();
        let (method, side) = (RangeMethod::Optimal, rows.max(columns) as usize);
        assert_eq!(error, RangePlanError::MethodSides { method, side, most: 1024 });
        assert!(plan(rows, columns, 1.0, 1e-9, "auto").is_ok());
    }
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = plan(4, 5, epsilon, 0.0, "flat").unwrap_err();
        assert!(matches!(error, RangePlanError::Epsilon { .. }));
    }
    for delta in [-1e-9, 1.0, f64::NAN, 1e-320] {
        let error = plan(4, 5, 1.0, delta, "flat").unwrap_err();
        assert!(matches!(error, RangePlanError::Delta { .. }), "{delta}");
    }
    for (word, method) in [("gaussian", RangeMethod::Gaussian), ("cascade:3", RangeMethod::Cascade)]
    {
        let error = plan(4, 5, 1.0, 0.0, word).unwrap_err();
        assert_eq!(error, RangePlanError::DeltaMissing { method, dimensions });
        assert_eq!(error.hint(), "Methods that need no delta: flat, tree_consistent.");
    }
    for (word, value) in
        [("tree_consistent", 0), ("tree_consistent", 1), ("cascade", 1), ("cascade", 33)]
    {
        let error = plan(4, 5, 1.0, 1e-9, &format!("{word}:{value}")).unwrap_err();
        let most = if word == "cascade" { 32 } else { 1 << 24 };
        assert_eq!(error, RangePlanError::Branching { value, most, dimensions });
    }
    for (epsilon, delta, method) in
        [(1e-12, 0.0, "auto"), (1e9, 0.0, "flat"), (1e-9, 1e-9, "cascade")]
    {
        let error = plan(4, 5, epsilon, delta, method).unwrap_err();
        assert!(matches!(error, RangePlanError::Scale { .. }), "{error}");
    }
    assert_eq!(plan(4, 5, 1.0, 0.0, "auto"), Ok((RangeMethod::Flat, None)));
    assert_eq!(plan(4, 5, 1.0, 1e-9, "cascade:32"), Ok((RangeMethod::Cascade, Some(32))));
    let wide = plan(1, 1 << 24, 1.0, 0.0, "tree_consistent:4096");
    assert_eq!(wide, Ok((RangeMethod::TreeConsistent, Some(4096))));
}

/// What lies beyond the grid counts nothing; counts too large to measure are cut cell by cell.
#[test]
fn any_rectangle_has_an_answer() {
    let plan = PlanePlan::new(rectangles([3, 4], 1.0, 1e-9, "cascade").unwrap()).unwrap();
    let largest = plan.mechanism().largest_count();
    let mut words = words_from_system().unwrap();
    let release = Receipt::uncharged(plan).release(&[u64::MAX; 12], &mut words);
    let all = Rectangle { rows: 0..3, columns: 0..4 };
    let beyond = Rectangle { rows: 0..usize::MAX, columns: 0..7 };
    assert_eq!(release.sum(&beyond), release.sum(&all));
    assert_eq!(release.variance(&beyond), release.variance(&all));
    let ratio = release.sum(&all) / (12 * largest) as f64;
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    #[expect(clippy::reversed_empty_ranges)]
    for (rows, columns) in [(3..9, 0..4), (2..1, 0..4), (0..3, 4..4), (7..5, 9..2)] {
        let nothing = Rectangle { rows, columns };
        assert_eq!((release.sum(&nothing), release.variance(&nothing)), (0.0, 0.0));
    }
}
