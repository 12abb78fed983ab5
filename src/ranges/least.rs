//! The choice of the best.

/// The first of those with the least key; if all are errors, the first one.
///
/// # Panics
/// If there are none at all.
pub(super) fn least<T, E>(
    candidates: impl IntoIterator<Item = Result<(f64, T), E>>,
) -> Result<T, E> {
    let better = |a: Result<(f64, T), E>, b: Result<(f64, T), E>| match (&a, &b) {
        (Ok((first, _)), Ok((second, _))) if second < first => b,
        (Err(_), Ok(_)) => b,
        _ => a,
    };
    let best = candidates.into_iter().reduce(better).expect("something to choose from");
    best.map(|(_, best)| best)
}
