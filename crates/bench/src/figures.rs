//! The figures of the benchmarks, drawn.

use toller_plot::{Axis, Bars, Curve, Curves, Figure, Panel, Part, Style};
use toller_topk::Scan;

use crate::Passes;
use crate::encode::EncodePoint;
use crate::limits::Limits;
use crate::search::{Case, Point};
use crate::sparse::SparsePoint;

/// Curves of a panel for one size that is held, at most.
const CURVES: usize = 3;

/// The batch at which cost is shown against vectors and hits, where it was measured: large enough that
/// the machine computes, not reads.
const HELD_QUERIES: usize = 256;

/// A size that is varied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Vectors,
    Queries,
    Hits,
}

impl Size {
    fn of(self, case: &Case) -> usize {
        match self {
            Self::Vectors => case.vectors,
            Self::Queries => case.queries,
            Self::Hits => case.k,
        }
    }

    /// A value of it, in words.
    fn say(self, value: usize) -> String {
        let number = grouped(value);
        match self {
            Self::Hits => format!("k {number}"),
            Self::Vectors => format!("{number} vectors"),
            Self::Queries if value == 1 => "1 query".to_owned(),
            Self::Queries => format!("{number} queries"),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Vectors => "vectors",
            Self::Queries => "queries of a batch",
            Self::Hits => "hits of a query (k)",
        }
    }
}

/// The time of a search against each size that was varied (against the queries, if none was), with the
/// machine's floors: a panel each. `points` has the figures of every combination of sizes.
#[must_use]
pub fn search_figure(points: &[Point], limits: &Limits, subtitle: String) -> Figure {
    let varied: Vec<Size> = [Size::Vectors, Size::Queries, Size::Hits]
        .into_iter()
        .filter(|&size| distinct(points, size).len() > 1)
        .collect();
    let varied = if varied.is_empty() { vec![Size::Queries] } else { varied };
    let panels = varied.into_iter().map(|size| search_panel(points, limits, size)).collect();
    Figure { title: "Exact search: time against size".to_owned(), subtitle, panels }
}

fn search_panel(points: &[Point], limits: &Limits, varied: Size) -> Panel {
    let most = |size| distinct(points, size).last().copied().unwrap_or(0);
    let queries = distinct(points, Size::Queries);
    let held_queries = if queries.contains(&HELD_QUERIES) { HELD_QUERIES } else { most(Size::Queries) };
    // The other two sizes: one is held, the other makes the curves, one for each scan.
    let (held, held_at, curves_of) = match varied {
        Size::Vectors => (Size::Queries, held_queries, Size::Hits),
        Size::Queries => (Size::Vectors, most(Size::Vectors), Size::Hits),
        Size::Hits => (Size::Vectors, most(Size::Vectors), Size::Queries),
    };
    let points: Vec<&Point> = points.iter().filter(|point| held.of(&point.case) == held_at).collect();
    let mut scans: Vec<Scan> = Vec::new();
    for point in &points {
        if !scans.contains(&point.case.scan) {
            scans.push(point.case.scan);
        }
    }
    let curve = |name: String, style, (scan, at): (Scan, usize), seconds: &dyn Fn(&Point) -> f64| {
        let mut of_curve: Vec<(f64, f64)> = points
            .iter()
            .filter(|point| point.case.scan == scan && curves_of.of(&point.case) == at)
            .map(|point| (varied.of(&point.case) as f64, seconds(point) * 1e3))
            .collect();
        of_curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve { name, points: of_curve, style }
    };
    let most_curves = if scans.len() > 1 { CURVES - 1 } else { CURVES };
    let mut sizes = few(distinct(points.iter().copied(), curves_of), most_curves);
    if curves_of == Size::Queries && sizes.len() > 2 {
        // The batch of the other panel, too.
        sizes[1] = held_queries.max(sizes[0]);
        sizes.dedup();
    }
    let mut curves = Vec::new();
    for &scan in &scans {
        for &at in &sizes {
            let name =
                if scans.len() > 1 { format!("{scan}, {}", curves_of.say(at)) } else { curves_of.say(at) };
            curves.push(curve(name, Style::Measured, (scan, at), &|point| point.timings.median()));
        }
    }
    // The floor of the first scan. It does not depend on k, so any curve's sizes give it.
    let floor = |point: &Point| limits.floor_secs(point.bytes, point.uploaded, point.operations);
    for &scan in scans.iter().take(1) {
        for &at in if varied == Size::Hits { &sizes[..] } else { &sizes[..1] } {
            let name = match varied {
                Size::Hits => format!("floor, {}", curves_of.say(at)),
                _ => "floor: read rate, matrix rate".to_owned(),
            };
            curves.push(curve(name, Style::Bound, (scan, at), &floor));
        }
    }
    let against = match varied {
        Size::Vectors => "vectors",
        Size::Queries => "queries",
        Size::Hits => "k",
    };
    Panel {
        title: format!("Against {against}, at {}", held.say(held_at)),
        content: Curves { x: Axis::log(varied.label()), y: Axis::log("milliseconds a search"), curves }
            .into(),
    }
}

/// The values of a size, ascending.
fn distinct<'a>(points: impl IntoIterator<Item = &'a Point>, size: Size) -> Vec<usize> {
    let mut values: Vec<usize> = points.into_iter().map(|point| size.of(&point.case)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// At most `count` of the values, the first and the last among them.
fn few(values: Vec<usize>, count: usize) -> Vec<usize> {
    if values.len() <= count {
        return values;
    }
    (0..count).map(|index| values[index * (values.len() - 1) / (count - 1)]).collect()
}

/// A number with its thousands apart: 1,000,000.
#[must_use]
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Tokens a second against the length of the texts, with the floor of the matrix rate, and what the time
/// goes to at each length.
#[must_use]
pub fn encode_figure(points: &[EncodePoint], matrix_rate: f64, subtitle: String) -> Figure {
    let at = points.iter().map(|point| (point.passes.tokens_per_item(), &point.passes)).collect();
    let curves = throughput("encode", at, matrix_rate, Passes::tokens_per_sec, |passes| passes.tokens);
    let (x, y) = (Axis::log("tokens of a text"), Axis::linear("tokens a second"));
    let shares: Vec<_> = points.iter().map(EncodePoint::shares).collect();
    let names = shares.first().map(|shares| shares.iter().map(|share| share.name).collect::<Vec<_>>());
    let parts = names.unwrap_or_default().into_iter().enumerate().map(|(index, name)| Part {
        name: name.to_owned(),
        values: shares.iter().map(|shares| shares[index].of_time * 100.0).collect(),
    });
    let on_device = points.iter().any(EncodePoint::is_on_device);
    let bars = Bars {
        x_label: "tokens of a text".to_owned(),
        y_label: if on_device { "% of the device's time" } else { "% of the threads' time" }.to_owned(),
        categories: points.iter().map(|point| format!("{:.0}", point.passes.tokens_per_item())).collect(),
        parts: parts.collect(),
    };
    Figure {
        title: "Encoding".to_owned(),
        subtitle,
        panels: vec![
            Panel { title: "Throughput".to_owned(), content: Curves { x, y, curves }.into() },
            Panel { title: "Where the time goes".to_owned(), content: bars.into() },
        ],
    }
}

/// Pairs a second against the depth of reranking, with the floor of the matrix rate.
#[must_use]
pub fn rerank_figure(points: &[(usize, Passes)], matrix_rate: f64, subtitle: String) -> Figure {
    let at = points.iter().map(|(depth, passes)| (*depth as f64, passes)).collect();
    let curves = throughput("rerank", at, matrix_rate, Passes::items_per_sec, |passes| passes.items);
    let (x, y) = (Axis::log("hits reranked of each query"), Axis::linear("pairs a second"));
    let panel = Panel { title: "Throughput".to_owned(), content: Curves { x, y, curves }.into() };
    Figure { title: "Reranking".to_owned(), subtitle, panels: vec![panel] }
}

/// Milliseconds of a query against its hits: searched alone, and with others.
#[must_use]
pub fn sparse_figure(points: &[SparsePoint], subtitle: String) -> Figure {
    let curve = |name: &str, seconds: fn(&SparsePoint) -> f64| Curve {
        name: name.to_owned(),
        points: points.iter().map(|point| (point.k as f64, seconds(point) * 1e3)).collect(),
        style: Style::Measured,
    };
    let curves = vec![
        curve("a query alone, median", |point| point.alone.median()),
        curve("a query of many", |point| 1.0 / point.queries_per_sec()),
    ];
    let (x, y) = (Axis::log(Size::Hits.label()), Axis::log("milliseconds a query"));
    let panel = Panel { title: "Against k".to_owned(), content: Curves { x, y, curves }.into() };
    Figure { title: "Sparse search: time of a query".to_owned(), subtitle, panels: vec![panel] }
}

/// The rate of passes at each place of the x axis, and what it would be at the matrix rate.
fn throughput(
    what: &str,
    at: Vec<(f64, &Passes)>,
    matrix_rate: f64,
    rate: fn(&Passes) -> f64,
    count: fn(&Passes) -> u64,
) -> Vec<Curve> {
    let bound = |passes: &Passes| count(passes) as f64 / (passes.matrix_operations() / matrix_rate);
    let curve = |name: String, style, y: &dyn Fn(&Passes) -> f64| Curve {
        name,
        points: at.iter().map(|(x, passes)| (*x, y(passes))).collect(),
        style,
    };
    vec![
        curve(format!("{what}, tokenization included"), Style::Measured, &rate),
        curve("at the matrix rate".to_owned(), Style::Bound, &bound),
    ]
}

#[cfg(test)]
mod tests {
    use toller_plot::{Content, Style};
    use toller_topk::Scan;

    use super::{few, grouped, search_figure};
    use crate::Timings;
    use crate::limits::Limits;
    use crate::search::{Case, Nominated, Point};

    /// A second for each thousand of pairs of vector and query.
    fn points(vectors: &[usize], queries: &[usize], ks: &[usize]) -> Vec<Point> {
        let mut points = Vec::new();
        for &vectors in vectors {
            for &queries in queries {
                for &k in ks {
                    let seconds = (vectors * queries) as f64 / 1e3;
                    let timings = Timings::new(vec![seconds]).expect("a round");
                    let (bytes, operations) = (vectors as f64, (vectors * queries) as f64);
                    let (case, nominated) =
                        (Case { vectors, queries, k, scan: Scan::F32 }, Nominated::default());
                    points.push(Point { case, timings, bytes, uploaded: 0.0, operations, nominated });
                }
            }
        }
        points
    }

    const LIMITS: Limits = Limits { read_rate: 1e3, upload_rate: f64::INFINITY, matrix_rate: 1e4 };

    #[test]
    fn a_panel_for_every_size_that_was_varied() {
        let figure =
            search_figure(&points(&[10, 20], &[1, 256, 1024], &[5, 6, 7, 8]), &LIMITS, String::new());
        let titles: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(
            titles,
            ["Against vectors, at 256 queries", "Against queries, at 20 vectors", "Against k, at 20 vectors"]
        );
        let Content::Curves(curves) = &figure.panels[1].content else { panic!("not curves") };
        let names: Vec<&str> = curves.curves.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["k 5", "k 6", "k 8", "floor: read rate, matrix rate"]);
        assert_eq!(curves.curves[0].points, [(1.0, 20.0), (256.0, 5120.0), (1024.0, 20480.0)]);
        // 20 bytes at 1e3 a second; 20 * 256 and 20 * 1024 operations at 1e4.
        assert_eq!(curves.curves[3].points, [(1.0, 20.0), (256.0, 512.0), (1024.0, 2048.0)]);
        assert_eq!(curves.curves[3].style, Style::Bound);
        let mut scans = points(&[10], &[1, 2], &[5]);
        scans.extend(points(&[10], &[1, 2], &[5]).into_iter().map(|mut point| {
            point.case.scan = Scan::Int8;
            point
        }));
        let Content::Curves(curves) =
            &search_figure(&scans, &LIMITS, String::new()).panels[0].content.clone()
        else {
            panic!("not curves")
        };
        let names: Vec<&str> = curves.curves.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["f32, k 5", "int8, k 5", "floor: read rate, matrix rate"]);
        let one = search_figure(&points(&[10], &[3], &[5]), &LIMITS, String::new());
        assert_eq!(one.panels.len(), 1);
        assert!(one.to_svg().is_ok());
    }

    #[test]
    fn numbers_are_grouped_and_few() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((few((0..9).collect(), 3), few(vec![1, 2], 3)), (vec![0, 4, 8], vec![1, 2]));
    }
}
