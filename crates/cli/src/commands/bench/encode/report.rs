//! The tables and the JSON of `toller bench encode`.

use std::io::Write;

use serde_json::{Value, json};
use toller_bench::Timings;
use toller_bench::encode::EncodePoint;
use toller_bench::memory::resident_bytes;
use toller_encoder::{Compute, EncoderError};
use toller_engine::Encoder;
use toller_nn::NnError;
use toller_simd::Isa;

use super::super::machine::MatrixLimit;
use super::super::output::{
    KERNEL_HEADER, LATENCY_HEADER, Table, giga, kernel_cells, kernels_json, latency_cells, share,
    timings_json,
};
use super::QUERY_TOKENS;

/// What was measured, to be printed.
pub(super) struct Report<'a> {
    pub(super) model: &'a str,
    pub(super) encoder: &'a Encoder,
    pub(super) threads: usize,
    pub(super) limit: &'a MatrixLimit,
    pub(super) needs: Needs,
    /// What the texts of each point are.
    pub(super) names: Vec<&'a str>,
    pub(super) points: &'a [EncodePoint],
    pub(super) latencies: &'a [Latency],
}

/// What a model takes, after its first query.
pub(super) struct Needs {
    /// Numbers of all weights.
    parameters: u64,
    /// Bytes of memory of this process, if the system reports them.
    process_bytes: Option<u64>,
    /// Bytes that are in use on the GPUs, also by other programs.
    device_bytes: Option<u64>,
}

impl Needs {
    pub(super) fn of(encoder: &Encoder) -> Result<Self, EncoderError> {
        let device_bytes = match encoder.compute() {
            Compute::Gpus(devices) => Some(devices.iter().try_fold(0, |sum, device| {
                Ok::<_, NnError>(sum + device.facts().memory_bytes.saturating_sub(device.free_bytes()?))
            })?),
            _ => None,
        };
        let parameters = encoder.model().parameters();
        Ok(Self { parameters, process_bytes: resident_bytes(), device_bytes })
    }

    /// A line for the reader.
    fn line(&self) -> String {
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 * 1e-6);
        let mut line = format!(
            "{:.1} million parameters, {} in f32",
            self.parameters as f64 * 1e-6,
            megabytes(self.parameters * size_of::<f32>() as u64)
        );
        if let Some(bytes) = self.process_bytes {
            line += &format!("; after a query the process takes {}", megabytes(bytes));
        }
        if let Some(bytes) = self.device_bytes {
            line += &format!(", and {} of GPU memory are in use", megabytes(bytes));
        }
        line
    }
}

/// The latency of batches.
pub(super) struct Latency {
    /// Queries of a batch.
    pub(super) batch: usize,
    pub(super) timings: Timings,
}

impl Latency {
    /// Seconds for each query of a batch, by the median.
    fn each(&self) -> f64 {
        self.timings.median() / self.batch as f64
    }
}

impl Report<'_> {
    pub(super) fn subject(&self) -> String {
        let (dtype, device) = (self.encoder.dtype(), self.encoder.compute().device());
        format!("{}, {dtype}, {device}, {} threads", self.model, self.threads)
    }

    pub(super) fn tables(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "{}\n{}\n{}\n", self.subject(), self.needs.line(), self.limit)?;
        self.rates(out)?;
        self.shares(out)?;
        self.kernels(out)?;
        self.latencies(out)
    }

    fn rates(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let header = "texts|tokens each|texts/s|tokens/s|GFLOP/s|of matrix|tokenize alone, tokens/s|from ids, tokens/s";
        let mut table = Table::new(header.split('|'));
        for (name, point) in self.names.iter().zip(self.points) {
            table.push([
                (*name).to_owned(),
                format!("{:.1}", point.passes.tokens_per_item()),
                format!("{:.1}", point.passes.items_per_sec()),
                format!("{:.0}", point.passes.tokens_per_sec()),
                giga(point.passes.operations_per_sec()),
                share(point.passes.operations_per_sec() / self.limit.rate),
                format!("{:.0}", point.tokenized_per_sec()),
                point.from_ids_per_sec().map(|rate| format!("{rate:.0}")).unwrap_or_default(),
            ]);
        }
        table.write(out)
    }

    fn shares(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let whose =
            if self.points.iter().any(EncodePoint::is_on_device) { "the device's" } else { "the threads'" };
        writeln!(
            out,
            "\nwhere {whose} time goes, in %; in brackets the share of the matrix rate meanwhile:\n"
        )?;
        let shares: Vec<_> = self.points.iter().map(EncodePoint::shares).collect();
        let parts = shares.first().map(|shares| shares.iter().map(|share| share.name).collect::<Vec<_>>());
        let mut table = Table::new(["texts"].into_iter().chain(parts.unwrap_or_default()));
        for (name, shares) in self.names.iter().zip(&shares) {
            let cells = shares.iter().map(|part| {
                let rate =
                    part.operations_per_sec.map(|rate| format!(" ({})", share(rate / self.limit.rate)));
                format!("{:.1}{}", part.of_time * 100.0, rate.unwrap_or_default())
            });
            table.push([(*name).to_owned()].into_iter().chain(cells));
        }
        table.write(out)
    }

    /// The time of each kernel, on GPUs.
    fn kernels(&self, out: &mut dyn Write) -> std::io::Result<()> {
        if self.points.iter().all(|point| point.kernels.is_empty()) {
            return Ok(());
        }
        writeln!(out, "\nkernels of one pass, each waited for:\n")?;
        let mut table = Table::new(["texts"].into_iter().chain(KERNEL_HEADER));
        for (name, point) in self.names.iter().zip(self.points) {
            for time in &point.kernels {
                table.push([(*name).to_owned()].into_iter().chain(kernel_cells(time)));
            }
        }
        table.write(out)
    }

    fn latencies(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            out,
            "\nlatency of queries of {QUERY_TOKENS} tokens by batch, all threads, tokenization included:\n"
        )?;
        let mut table =
            Table::new(["batch"].into_iter().chain(LATENCY_HEADER).chain(["ms a query", "speed-up"]));
        let alone = self.latencies.first().map_or(f64::NAN, Latency::each);
        for latency in self.latencies {
            let each = [format!("{:.3}", latency.each() * 1e3), format!("{:.1}", alone / latency.each())];
            let cells = latency_cells(&latency.timings).into_iter().chain(each);
            table.push([latency.batch.to_string()].into_iter().chain(cells));
        }
        table.write(out)
    }

    pub(super) fn json(&self) -> Value {
        let latency = |latency: &Latency| {
            json!({
                "batch": latency.batch,
                "tokens": QUERY_TOKENS,
                "seconds": timings_json(&latency.timings),
                "seconds_per_query": latency.each(),
            })
        };
        json!({
            "model": self.model,
            "model_fingerprint": self.encoder.model().fingerprint(),
            "parameters": self.needs.parameters,
            "process_bytes": self.needs.process_bytes,
            "device_bytes": self.needs.device_bytes,
            "dtype": self.encoder.dtype().name(),
            "device": self.encoder.compute().device(),
            "instruction_set": Isa::active().to_string(),
            "threads": self.threads,
            "limits": self.limit.json(),
            "figures": self.names.iter().zip(self.points).map(|(name, point)| self.figure(name, point)).collect::<Vec<_>>(),
            // The first latency is of a single query.
            "query_latency": self.latencies.first().map(latency),
            "latencies": self.latencies.iter().map(latency).collect::<Vec<_>>(),
        })
    }

    fn figure(&self, name: &str, point: &EncodePoint) -> Value {
        let shares = point.shares();
        let tokenization = shares.iter().find(|share| share.name == "tokenization");
        let part = |share: &toller_bench::encode::Share| {
            json!({
                "name": share.name,
                "share_of_time": share.of_time,
                "gflop_per_second": share.operations_per_sec.map(|rate| rate * 1e-9),
                "share_of_matrix_rate": share.operations_per_sec.map(|rate| rate / self.limit.rate),
            })
        };
        json!({
            "texts": name,
            "passages": point.passes.items,
            "tokens": point.passes.tokens,
            "tokens_per_passage": point.passes.tokens_per_item(),
            "seconds": timings_json(&point.passes.timings),
            "passages_per_second": point.passes.items_per_sec(),
            "tokens_per_second": point.passes.tokens_per_sec(),
            "gflop_per_second": point.passes.operations_per_sec() * 1e-9,
            "share_of_matrix_rate": point.passes.operations_per_sec() / self.limit.rate,
            "tokenize_alone_tokens_per_second": point.tokenized_per_sec(),
            "from_ids_tokens_per_second": point.from_ids_per_sec(),
            "tokenization_share": tokenization.map(|share| share.of_time),
            "shares": shares.iter().map(part).collect::<Vec<_>>(),
            "kernels": kernels_json(&point.kernels),
        })
    }
}
