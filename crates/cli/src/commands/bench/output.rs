//! Tables and JSON of figures.

use std::io::{self, Write};

use serde_json::{Value, json};
use toller_bench::Timings;
use toller_gpu::KernelTime;

/// Columns of figures, aligned, which is Markdown as well.
pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub(super) fn new<T: Into<String>>(header: impl IntoIterator<Item = T>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// Writes the table with all columns aligned right.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| {
            lines().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(|column| width(column).max(2)).collect();
        for (index, line) in lines().enumerate() {
            for (cell, width) in line.iter().zip(&widths) {
                write!(out, "| {cell:>width$} ")?;
            }
            writeln!(out, "|")?;
            if index == 0 {
                for width in &widths {
                    write!(out, "|{:->1$}:", "", width + 1)?;
                }
                writeln!(out, "|")?;
            }
        }
        Ok(())
    }
}

/// The statistics of rounds.
pub(super) fn timings_json(timings: &Timings) -> Value {
    json!({
        "rounds": timings.rounds(),
        "median": timings.median(),
        "min": timings.min(),
        "max": timings.max(),
        "p50": timings.percentile(50.0),
        "p95": timings.percentile(95.0),
        "p99": timings.percentile(99.0),
    })
}

/// The columns of [`kernel_cells`].
pub(super) const KERNEL_HEADER: [&str; 3] = ["kernel", "launches", "ms"];

/// The time of a kernel, as cells.
pub(super) fn kernel_cells(time: &KernelTime) -> [String; 3] {
    [time.kernel.to_owned(), time.launches.to_string(), format!("{:.3}", time.seconds * 1e3)]
}

/// The times of kernels.
pub(super) fn kernels_json(times: &[KernelTime]) -> Value {
    let kernel = |time: &KernelTime| json!({ "kernel": time.kernel, "launches": time.launches, "seconds": time.seconds });
    times.iter().map(kernel).collect()
}

/// Latencies in milliseconds, as cells: median, 95th and 99th percentile, slowest, and their number.
pub(super) fn latency_cells(timings: &Timings) -> [String; 5] {
    let ms = |seconds: f64| format!("{:.2}", seconds * 1e3);
    let [p50, p95, p99] = [50.0, 95.0, 99.0].map(|percent| ms(timings.percentile(percent)));
    [p50, p95, p99, ms(timings.max()), timings.rounds().to_string()]
}

/// The header of [`latency_cells`].
pub(super) const LATENCY_HEADER: [&str; 5] = ["p50 ms", "p95 ms", "p99 ms", "slowest ms", "rounds"];

/// A rate in giga-units a second.
pub(super) fn giga(rate: f64) -> String {
    let rate = rate * 1e-9;
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

/// A share, as in 0.87.
pub(super) fn share(share: f64) -> String {
    format!("{share:.2}")
}
