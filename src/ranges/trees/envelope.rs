//! The upper envelope of straight lines.

#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) slope: f64,
    pub(super) offset: f64,
}

/// The largest of some lines, as a function of x.
#[derive(Debug)]
pub(super) struct UpperEnvelope {
    /// those that are highest somewhere, in order of ascending slope
    lines: Vec<Line>,
}

impl Line {
    fn at(&self, x: f64) -> f64 {
        self.offset + self.slope * x
    }
}

impl UpperEnvelope {
    /// `sorted`: at least one line, in order of ascending slope.
    pub(super) fn new(sorted: impl IntoIterator<Item = Line>) -> UpperEnvelope {
        let mut lines: Vec<Line> = Vec::new();
        for line in sorted {
            if let Some(parallel) = lines.last().filter(|last| last.slope == line.slope) {
                if parallel.offset >= line.offset {
                    continue;
                }
                lines.pop();
            }
            while let [.., first, second] = lines.as_slice() {
                // the second is nowhere highest if the new line overtakes the first before it does
                let by_second = (first.offset - second.offset) * (line.slope - first.slope);
                let by_line = (first.offset - line.offset) * (second.slope - first.slope);
                if by_line > by_second {
                    break;
                }
                lines.pop();
            }
            lines.push(line);
        }
        UpperEnvelope { lines }
    }

    /// The largest value of any line at x.
    pub(super) fn at(&self, x: f64) -> f64 {
        // lines overtake one another in their order
        let (mut low, mut high) = (0, self.lines.len() - 1);
        while low < high {
            let middle = (low + high) / 2;
            if self.lines[middle + 1].at(x) >= self.lines[middle].at(x) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.lines[low].at(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_largest_line_everywhere(
            mut lines in prop::collection::vec((-3i8..3, -20i8..20), 1..12), x in -10i8..10,
        ) {
            lines.sort();
            let lines: Vec<Line> = lines
                .into_iter()
                .map(|(slope, offset)| Line { slope: slope.into(), offset: offset.into() })
                .collect();
            let x = f64::from(x);
            let largest = lines.iter().map(|line| line.at(x)).fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(UpperEnvelope::new(lines).at(x), largest);
        }
    }
}
