//! The exact variances of the least-squares estimates of a tree over a grid.
//!
//! # One measurement after another
//!
//! Going up the tree, let S be the variance of a node's sum as its descendants' measurements give
//! it, and v the variance of its own measurement. Taking that in changes the variance of any sum of
//! cells by minus the square of its covariance with the node's sum, over S + v: a step of the
//! Kalman filter. Before that the node's children are independent, child c of variance d_c, so S is
//! the sum of the d_c; afterwards the node has the variance d = S v / (S + v), its *slack*. With
//! alpha the factor by which the estimate of a rectangle moves with the node's, that is
//!
//!   variance = v_0 |cells| - sum over measured nodes above the leaves of (S alpha)^2 / (S + v),
//!   alpha = sum d_c alpha_c / S,   alpha of a cell 1 if it is in the rectangle, and 0 otherwise.
//!
//! The difference loses digits: with equal noise on all levels relative errors are below about
//! 2^-50 times the number of cells.
//!
//! # Products
//!
//! Nodes that are last in neither direction are all alike, and so are their children: there alpha
//! is the share of the node's cells that is in the rectangle, the share of its rows times the share
//! of its columns. Of a node that is the last one in its column, but not in its row, all children
//! in one row are alike: again a product, of a weighted share of the rows and the share of the
//! columns. So the sum over the nodes of a level is a product of two sums, but for the one node
//! that is last in both directions, the *corner*. O(h) for a rectangle.
//!
//! The row range and the column range of a random rectangle are independent, so means are products
//! of means. The corner's alpha is a bilinear form in what the two ranges have of the parts of the
//! axes that its descendants keep together, and the mean of its square follows from the second
//! moments of those.

use crate::ranges::plane::grid::{CellGrid, Rectangle};
use crate::ranges::trees::shape::TreeShape;
use nalgebra::{DMatrix, DVector};
use std::ops::Range;

/// Of the nodes that are regular (0) or last (1) in the direction of the rows, and in that of the
/// columns: all of a kind are alike.
pub(super) type PerKind = [[f64; 2]; 2];

/// Indices of [`PerKind`].
pub(super) const REGULAR: usize = 0;
pub(super) const LAST: usize = 1;

/// The tree over a grid: a node of level l covers b^l rows times b^l columns, or what there is of
/// them. Where the rows are fewer than b^l they all are in one node, and only the columns go on
/// being split; and the other way round.
#[derive(Debug, Clone, Copy)]
pub(super) struct GridTree {
    pub(super) rows: TreeShape,
    pub(super) columns: TreeShape,
}

impl GridTree {
    pub(super) fn new(grid: CellGrid, branching: usize) -> GridTree {
        let shape = |bins| TreeShape::new(bins, branching);
        GridTree { rows: shape(grid.rows()), columns: shape(grid.columns()) }
    }

    /// The root's level: the least h >= 1 for which b^h reaches both numbers.
    pub(super) fn height(&self) -> usize {
        self.rows.height().max(self.columns.height())
    }

    pub(super) fn nodes(&self, level: usize) -> usize {
        self.rows.nodes(level) * self.columns.nodes(level)
    }

    pub(super) fn branching(&self) -> usize {
        self.rows.branching()
    }
}

/// The covariance of the cells' estimates.
#[derive(Debug, Clone)]
pub(super) struct GridCovariance {
    tree: GridTree,
    /// of a leaf's measurement
    leaf_variance: f64,
    /// levels 1 .. h, without the root
    levels: Vec<LevelOfGrid>,
}

/// The nodes of a level above the leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct LevelOfGrid {
    /// d of the children
    pub(super) children: PerKind,
    /// S: the sum of that over the children of each kind of node
    pub(super) total: PerKind,
    /// d
    pub(super) slack: PerKind,
    /// S^2 / (S + v)
    gain: PerKind,
    /// The sums of d over one line of children, along the rows and along the columns, of the nodes
    /// that are last in that direction alone.
    line_totals: [f64; 2],
}

impl GridCovariance {
    /// Where a node of level l is measured with the variance `variances[l]`, and the root is not
    /// measured.
    pub(super) fn new(tree: GridTree, variances: &[f64]) -> GridCovariance {
        let leaf_variance = variances[0];
        let mut children = [[leaf_variance; 2]; 2];
        let mut levels = Vec::with_capacity(variances.len() - 1);
        for (level, own) in (1..).zip(&variances[1..]) {
            let counts = |shape: TreeShape| {
                let before = (shape.children_of_last(level) - 1) as f64;
                [[shape.branching() as f64, 0.0], [before, 1.0]]
            };
            let (rows, columns) = (counts(tree.rows), counts(tree.columns));
            let total = per_kind(|row, column| {
                let of = |i: usize, j: usize| rows[row][i] * columns[column][j] * children[i][j];
                of(0, 0) + of(0, 1) + of(1, 0) + of(1, 1)
            });
            let slack = per_kind(|i, j| own / (1.0 + own / total[i][j]));
            let line = |counts: [[f64; 2]; 2], last: f64| {
                counts[LAST][REGULAR] * children[REGULAR][REGULAR] + last
            };
            levels.push(LevelOfGrid {
                children,
                total,
                slack,
                // S - d
                gain: per_kind(|i, j| total[i][j] / (1.0 + own / total[i][j])),
                line_totals: [
                    line(rows, children[LAST][REGULAR]),
                    line(columns, children[REGULAR][LAST]),
                ],
            });
            children = slack;
        }
        GridCovariance { tree, leaf_variance, levels }
    }

    /// Levels 1 .. h.
    pub(super) fn levels(&self) -> &[LevelOfGrid] {
        &self.levels
    }

    /// The variance of a rectangle's sum. It lies within the grid.
    pub(super) fn variance(&self, rectangle: &Rectangle) -> f64 {
        let GridTree { rows, columns } = self.tree;
        let (in_rows, in_columns) = (&rectangle.rows, &rectangle.columns);
        let has_last = |bins: usize, range: &Range<usize>| f64::from(range.contains(&(bins - 1)));
        // alpha of the last nodes: their factors in the direction where they are last, and the
        // corner's
        let mut row = has_last(rows.bins(), in_rows);
        let mut column = has_last(columns.bins(), in_columns);
        let mut corner = row * column;
        let mut variance = rectangle.cells() as f64 * self.leaf_variance;
        for (below, level) in self.levels.iter().enumerate() {
            // the shares of the regular children of the last node, summed up
            let part = |shape: TreeShape, range: &Range<usize>| {
                overlap(&rest_of_last(shape, below), range) as f64 / shape.width(below) as f64
            };
            let (row_part, column_part) = (part(rows, in_rows), part(columns, in_columns));
            let d = &level.children;
            corner = (d[REGULAR][REGULAR] * row_part * column_part
                + d[LAST][REGULAR] * row * column_part
                + d[REGULAR][LAST] * row_part * column
                + d[LAST][LAST] * corner)
                / level.total[LAST][LAST];
            row = (d[REGULAR][REGULAR] * row_part + d[LAST][REGULAR] * row) / level.line_totals[0];
            column = (d[REGULAR][REGULAR] * column_part + d[REGULAR][LAST] * column)
                / level.line_totals[1];
            let regular = squares_in_regular(rows, below + 1, in_rows);
            let regular_columns = squares_in_regular(columns, below + 1, in_columns);
            variance -= level.gained([
                [regular * regular_columns, regular * column * column],
                [row * row * regular_columns, corner * corner],
            ]);
        }
        variance
    }

    /// The mean variance over all rectangles that are not empty, in O(h^4).
    pub(super) fn mean_over_all(&self) -> f64 {
        let height = self.tree.height();
        let (rows, columns) = (self.tree.rows, self.tree.columns);
        let (row_moments, column_moments) =
            (last_moments(rows, height), last_moments(columns, height));
        // What the last nodes' alpha is made of: factors of the last bin and of the regular nodes
        // below, level by level; of the corner, by pairs of them.
        let mut row = DVector::from_element(1, 1.0);
        let mut column = row.clone();
        let mut corner = DMatrix::from_element(1, 1, 1.0);
        let mean_cells = mean_length(rows.bins()) * mean_length(columns.bins());
        let mut variance = mean_cells * self.leaf_variance;
        for (below, level) in self.levels.iter().enumerate() {
            let (d, total) = (&level.children, level.total[LAST][LAST]);
            let next = below + 1;
            let mut grown = DMatrix::zeros(next + 1, next + 1);
            grown.view_mut((0, 0), (next, next)).copy_from(&(&corner * (d[LAST][LAST] / total)));
            grown.view_mut((0, next), (next, 1)).copy_from(&(&row * (d[LAST][REGULAR] / total)));
            let column_factors = column.transpose() * (d[REGULAR][LAST] / total);
            grown.view_mut((next, 0), (1, next)).copy_from(&column_factors);
            grown[(next, next)] = d[REGULAR][REGULAR] / total;
            corner = grown;
            let longer = |factors: &DVector<f64>, last: f64, total: f64| {
                (factors * (last / total)).push(d[REGULAR][REGULAR] / total)
            };
            row = longer(&row, d[LAST][REGULAR], level.line_totals[0]);
            column = longer(&column, d[REGULAR][LAST], level.line_totals[1]);

            let row_products = row_moments.view((0, 0), (next + 1, next + 1));
            let column_products = column_moments.view((0, 0), (next + 1, next + 1));
            let row_square = row.dot(&(row_products * &row));
            let column_square = column.dot(&(column_products * &column));
            let corner_square = (row_products * &corner).dot(&(&corner * column_products));
            let regular = mean_squares_in_regular(rows, next);
            let regular_columns = mean_squares_in_regular(columns, next);
            variance -= level.gained([
                [regular * regular_columns, regular * column_square],
                [row_square * regular_columns, corner_square],
            ]);
        }
        variance
    }
}

impl LevelOfGrid {
    /// What the level's measurements take off the variance, from the sums of alpha^2 over each
    /// kind.
    fn gained(&self, squares: PerKind) -> f64 {
        let of = |i: usize, j: usize| self.gain[i][j] * squares[i][j];
        of(0, 0) + of(0, 1) + of(1, 0) + of(1, 1)
    }
}

fn per_kind(of: impl Fn(usize, usize) -> f64) -> PerKind {
    [[of(0, 0), of(0, 1)], [of(1, 0), of(1, 1)]]
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

/// The bins that a level's regular nodes cover.
fn regular_bins(shape: TreeShape, level: usize) -> usize {
    match shape.nodes(level) - 1 {
        0 => 0, // whatever the width
        nodes => nodes * shape.width(level),
    }
}

/// The bins of the regular children, nodes of `level`, of the last node of the level above.
fn rest_of_last(shape: TreeShape, level: usize) -> Range<usize> {
    regular_bins(shape, level + 1)..regular_bins(shape, level)
}

/// The squares of the shares that a range has of the regular nodes of a level, summed up.
fn squares_in_regular(shape: TreeShape, level: usize, range: &Range<usize>) -> f64 {
    let width = shape.width(level);
    let end = range.end.min(regular_bins(shape, level));
    if end <= range.start {
        return 0.0;
    }
    let (first, last) = (range.start / width, (end - 1) / width);
    let square = |bins: usize| (bins as f64 / width as f64).powi(2);
    if first == last {
        return square(end - range.start);
    }
    let (in_first, in_last) = ((first + 1) * width - range.start, end - last * width);
    square(in_first) + (last - first - 1) as f64 + square(in_last)
}

/// The mean length of the ranges of so many bins that are not empty.
fn mean_length(bins: usize) -> f64 {
    (bins + 2) as f64 / 3.0
}

/// The mean of [`squares_in_regular`] over all ranges that are not empty.
///
/// With G(t) the bins of a node among the first t, and G, G' such functions of any sets of bins,
/// the sum of (G(hi) - G(lo)) (G'(hi) - G'(lo)) over 0 <= lo < hi <= n is (n + 1) sum G G' - sum G
/// sum G'. For a node of width w in front of u - 1 bins it is a square function of u.
fn mean_squares_in_regular(shape: TreeShape, level: usize) -> f64 {
    let nodes = (shape.nodes(level) - 1) as i128;
    if nodes == 0 {
        return 0.0;
    }
    let (n, w) = (shape.bins() as i128 + 1, shape.width(level) as i128);
    let (first, second) = (w * (w - 1) / 2, w * (w - 1) * (2 * w - 1) / 6);
    // u = n - w, n - 2 w, ...
    let (count, squares) = (nodes * (nodes + 1) / 2, nodes * (nodes + 1) * (2 * nodes + 1) / 6);
    let (sum_u, sum_u_squares) =
        (nodes * n - w * count, nodes * n * n - 2 * n * w * count + w * w * squares);
    let total = nodes * (n * second - first * first) + sum_u * (n * w * w - 2 * first * w)
        - w * w * sum_u_squares;
    total as f64 / ((n * (n - 1) / 2) as f64 * (w * w) as f64)
}

/// The mean products, over all ranges that are not empty, of what a range has of the last bin and
/// of the regular children of the last nodes of levels 1, 2, ..., in children: h + 1 numbers.
fn last_moments(shape: TreeShape, height: usize) -> DMatrix<f64> {
    let bins = shape.bins();
    let last_bin = bins - 1..bins;
    let parts = std::iter::once((last_bin, 1))
        .chain((0..height).map(|level| (rest_of_last(shape, level), shape.width(level))));
    let parts: Vec<(Range<usize>, usize)> = parts.collect();
    let n = bins as i128 + 1;
    // sums of G and G^2 over t = 0 ..= bins, see above
    let first = |part: &Range<usize>| {
        let (w, u) = (part.len() as i128, n - part.end as i128);
        w * (w - 1) / 2 + w * u
    };
    let second = |part: &Range<usize>| {
        let (w, u) = (part.len() as i128, n - part.end as i128);
        w * (w - 1) * (2 * w - 1) / 6 + w * w * u
    };
    let product = |i: usize, j: usize| {
        // the later a part in the list, the further left it is; where the right one begins, the
        // left one has ended
        let (right, left) = (&parts[i.min(j)].0, &parts[i.max(j)].0);
        let together = if i == j { second(right) } else { left.len() as i128 * first(right) };
        let total = n * together - first(left) * first(right);
        total as f64 / ((n * (n - 1) / 2) as f64 * parts[i].1 as f64 * parts[j].1 as f64)
    };
    DMatrix::from_fn(parts.len(), parts.len(), product)
}
