//! Files that FAISS, NumPy, pyarrow and pickle wrote. `scripts/make-exchange-fixtures` made them.

mod common;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use common::{TestResult, error, fixture, read};
use toller_exchange::{ExchangeError, IdsFrom, Precision, Source, SourceOptions, VectorFormat};
use toller_ir::Explain;

const ROWS: usize = 7;
const DIM: usize = 5;

/// What every fixture holds.
fn vectors() -> Vec<Vec<f32>> {
    let number = |row: usize, column: usize| ((7 * row + 3 * column) % 23) as f32;
    (0..ROWS).map(|row| (0..DIM).map(|column| (number(row, column) - 11.0) / 8.0).collect()).collect()
}

fn names() -> Vec<String> {
    (0..ROWS).map(|row| format!("d{row}")).collect()
}

fn numbers(first: usize) -> Vec<String> {
    (first..first + ROWS).map(|number| number.to_string()).collect()
}

fn open(names: &[&str], options: &SourceOptions) -> Result<Source, ExchangeError> {
    let paths: Vec<PathBuf> = names.iter().map(|name| fixture(name)).collect();
    Source::open(&paths, options)
}

#[track_caller]
fn holds(name: &str, options: &SourceOptions, ids: &[String], precision: Precision) -> TestResult {
    let source = open(&[name], options).map_err(|error| format!("{name}: {error}"))?;
    assert_eq!((source.rows(), source.dim(), source.precision()), (ROWS as u64, DIM, precision), "{name}");
    let (found, rows) = read(&source).map_err(|error| format!("{name}: {error}"))?;
    assert_eq!(found, ids, "{name}");
    assert_eq!(rows, vectors(), "{name}");
    Ok(())
}

/// The float32 of `rows` as `fbin`, and as `fvecs`.
fn of_benchmarks(rows: &[Vec<f32>]) -> [Vec<u8>; 2] {
    let dims = rows.iter().map(|row| (row.len() as u32).to_le_bytes());
    let numbers = rows.iter().map(|row| row.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    let extents = [rows.len(), rows[0].len()].map(|extent| (extent as u32).to_le_bytes());
    [
        [extents.concat(), numbers.clone().flatten().collect()].concat(),
        dims.zip(numbers).flat_map(|(dim, numbers)| [dim.to_vec(), numbers].concat()).collect(),
    ]
}

#[test]
fn benchmarks_of_approximate_search() -> TestResult {
    let directory = tempfile::tempdir()?;
    let named = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).map(|()| path)
    };
    let rows = SourceOptions { ids: IdsFrom::Rows, ..SourceOptions::default() };
    let open = |path| Source::open(&[path], &rows);
    let [fbin, fvecs] = of_benchmarks(&vectors());
    for (name, bytes) in [("base.fbin", &fbin), ("base.FVECS", &fvecs)] {
        let source = open(named(name, bytes)?)?;
        assert_eq!((source.rows(), source.dim(), source.precision()), (ROWS as u64, DIM, Precision::F32));
        assert_eq!(read(&source)?, (numbers(0), vectors()), "{name}");
        for cut in (0..bytes.len()).filter(|cut| name == "base.fbin" || cut % (4 + 4 * DIM) != 0) {
            assert!(open(named(name, &bytes[..cut])?).is_err(), "{name} cut to {cut} bytes");
        }
        let longer = open(named(name, &[bytes.as_slice(), &[0; 3]].concat())?);
        assert!(matches!(error(longer)?, ExchangeError::Length { .. }), "{name}");
    }
    // Without identifiers next to them, as for NumPy's; with them, by any name if the format is given.
    let path = named("base.fbin", &fbin)?;
    assert!(matches!(
        error(Source::open(std::slice::from_ref(&path), &SourceOptions::default()))?,
        ExchangeError::NoIds(_)
    ));
    fs::write(path.with_extension("ids.txt"), names().join("\n"))?;
    assert_eq!(read(&Source::open(&[path], &SourceOptions::default())?)?.0, names());
    let format = Some(VectorFormat::Fvecs);
    let source = Source::open(&[named("vectors.bin", &fvecs)?], &SourceOptions { format, ..rows.clone() })?;
    assert_eq!(read(&source)?.1, vectors());

    let mut ragged = fvecs;
    ragged[2 * (4 + 4 * DIM)] -= 1;
    let refused = error(open(named("ragged.fvecs", &ragged)?))?.to_string();
    assert!(refused.ends_with("vector 3 does not have 5 numbers as the first one"), "{refused}");
    for (name, bytes, says) in [
        ("none.fbin", [1_u32, 0].map(u32::to_le_bytes).concat(), "no numbers"),
        ("none.fvecs", vec![0; 4], "no numbers"),
        ("negative.fvecs", vec![0xff; 4], "its first vector has -1 numbers"),
        ("huge.fbin", vec![0xff; 8], "bytes"),
        ("huge.fvecs", i32::MAX.to_le_bytes().to_vec(), "bytes"),
    ] {
        let refused = error(open(named(name, &bytes)?))?.to_string();
        assert!(refused.contains(says), "{name}: {refused}");
    }
    Ok(())
}

#[test]
fn faiss() -> TestResult {
    let rows = SourceOptions { ids: IdsFrom::Rows, ..SourceOptions::default() };
    holds("flat-ip.faiss", &rows, &numbers(0), Precision::F32)?;
    let plain = SourceOptions::default();
    holds("id-map.faiss", &plain, &numbers(100), Precision::F32)?;
    holds("id-map2.faiss", &plain, &numbers(100), Precision::F32)?;
    holds("pyserini", &plain, &names(), Precision::F32)?;
    holds("pyserini/index", &plain, &names(), Precision::F32)?;
    holds("flat-l2.faiss", &SourceOptions { any_metric: true, ..rows.clone() }, &numbers(0), Precision::F32)?;
    let refused = error(open(&["flat-l2.faiss"], &rows))?;
    assert!(
        refused.to_string().contains("L2")
            && refused.remedy().is_some_and(|remedy| remedy.to_string().contains("any_metric"))
    );
    let refused = error(open(&["ivf.faiss"], &rows))?;
    assert!(refused.to_string().contains("kind IwFl"), "{refused}");
    assert!(matches!(error(open(&["flat-ip.faiss"], &plain))?, ExchangeError::NoIds { .. }));
    assert!(matches!(error(open(&["id-map.faiss"], &rows))?, ExchangeError::HasIds { .. }));
    Ok(())
}

#[test]
fn npy() -> TestResult {
    holds("f4.npy", &SourceOptions::default(), &names(), Precision::F32)?;
    let rows = SourceOptions { ids: IdsFrom::Rows, ..SourceOptions::default() };
    holds("f2.npy", &rows, &numbers(0), Precision::F16)?;
    for name in ["big-endian.npy", "version-2.npy", "version-3.npy"] {
        holds(name, &rows, &numbers(0), Precision::F32)?;
    }
    assert!(matches!(error(open(&["f8.npy"], &rows))?, ExchangeError::Doubles { .. }));
    holds("f8.npy", &SourceOptions { narrow_f64: true, ..rows.clone() }, &numbers(0), Precision::F32)?;
    for (name, says) in [("fortran.npy", "Fortran"), ("ints.npy", "<i4"), ("flat.npy", "1 dimension,")] {
        let refused = error(open(&[name], &rows))?;
        assert!(refused.to_string().contains(says), "{refused}");
        assert!(refused.remedy().is_some());
    }
    Ok(())
}

#[test]
fn parquet() -> TestResult {
    let plain = SourceOptions::default();
    let doubles = SourceOptions { narrow_f64: true, ..plain.clone() };
    holds("list-f4.parquet", &plain, &names(), Precision::F32)?;
    holds("list-f8.parquet", &doubles, &names(), Precision::F32)?;
    holds("list-f2.parquet", &plain, &names(), Precision::F16)?;
    holds("fixed.parquet", &plain, &numbers(100), Precision::F32)?;
    let columns = |id: &str, vector: &str| SourceOptions {
        id_column: Some(id.to_owned()),
        vector_column: Some(vector.to_owned()),
        ..SourceOptions::default()
    };
    holds("large.parquet", &columns("name", "v"), &names(), Precision::F32)?;
    holds("fixed.parquet", &columns("title", "emb"), &names(), Precision::F32)?;
    assert!(matches!(error(open(&["list-f8.parquet"], &plain))?, ExchangeError::Doubles { .. }));
    for (options, what) in [
        (&plain, "it has no column _id or id or docid; it has text, name, v"),
        (&columns("name", "w"), "it has no column w; it has text, name, v"),
        (&columns("name", "name"), "its column name does not hold lists of floats"),
        (&columns("v", "v"), "its column v does not hold strings or integers"),
    ] {
        let refused = error(open(&["large.parquet"], options))?;
        assert!(refused.to_string().ends_with(what), "{refused}");
        assert!(refused.remedy().is_some_and(|remedy| remedy.to_string().contains("vector_column")));
    }
    let refused = error(open(&["null-number.parquet"], &plain).and_then(|source| read(&source)))?;
    assert!(refused.to_string().contains("null"), "{refused}");
    let refused = error(open(&["null-list.parquet"], &plain).and_then(|source| read(&source)))?;
    assert!(matches!(&refused, ExchangeError::Dim { row: 7, id, found: 0, .. } if id == "d6"), "{refused}");
    Ok(())
}

#[test]
fn json_lines() -> TestResult {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("embeddings.jsonl");
    let write = |id: &str, vector: &str| -> TestResult {
        let lines = names().into_iter().zip(vectors()).map(|(name, numbers)| {
            format!("{{\"{id}\": \"{name}\", \"contents\": \"a {{\", \"{vector}\": {numbers:?}}}\n")
        });
        Ok(std::fs::write(&path, lines.collect::<Vec<_>>().join("\n"))?)
    };
    let columns = |id: &str, vector: &str| SourceOptions {
        id_column: Some(id.to_owned()),
        vector_column: Some(vector.to_owned()),
        ..SourceOptions::default()
    };
    for (id, vector, options) in [
        ("id", "vector", SourceOptions::default()),
        ("docid", "embedding", SourceOptions::default()),
        ("name", "v", columns("name", "v")),
    ] {
        write(id, vector)?;
        // As a file, and in Pyserini's directory.
        for path in [&path, directory.path()] {
            let source = Source::open(&[path.to_owned()], &options)?;
            assert_eq!((source.rows(), source.dim(), source.precision()), (ROWS as u64, DIM, Precision::F32));
            assert_eq!(read(&source)?, (names(), vectors()), "{id}, {vector}");
        }
    }
    let open = |content: &[u8], options| -> Result<_, ExchangeError> {
        std::fs::write(&path, content).map_err(toller_files::FileError::on("write", &path))?;
        read(&Source::open(std::slice::from_ref(&path), options)?)
    };
    let (plain, others) = (SourceOptions::default(), columns("name", "vector"));
    let line = b"{\"_id\": -7, \"vector\": [0.1, 1e-50, 3]}";
    assert_eq!(open(line, &plain)?, (vec!["-7".to_owned()], vec![vec![0.1, 0.0, 3.0]]));
    let mut zstd = toller_files::CompressedWriter::new(Vec::new(), toller_files::Compression::Zstd);
    zstd.write_all(line)?;
    assert_eq!(open(&zstd.finish()?, &plain)?.0, ["-7"]);

    for (second, options, says) in [
        ("{\"_id\": 8}", &plain, "line 2: it has no field vector"),
        ("{\"vector\": [1, 2, 3]}", &plain, "line 2: it has no field _id"),
        ("{\"_id\": 8, \"vector\": [1, \"a\"]}", &plain, "line 2: invalid type: string"),
        ("{\"_id\": 8, \"vector\": [1, NaN]}", &plain, "line 2: expected"),
        ("{\"_id\": 8, \"vector\": [1, 2]}", &plain, "row 2: the vector of \"8\" has 2 numbers"),
        ("{\"_id\": 8.5, \"vector\": [1, 2, 3]}", &plain, "line 2: expected a string or an integer"),
        ("{\"_id\": 8, \"vector\": [1, 2", &plain, "line 2: EOF"),
        ("", &others, "has no field name; it has _id, vector"),
    ] {
        let refused = error(open(&[line, &b"\n"[..], second.as_bytes()].concat(), options))?;
        assert!(refused.to_string().contains(says) && refused.remedy().is_some(), "{refused}");
    }
    let refused = error(open(b"{\"_id\": 8, \"vector\": []}", &plain))?;
    assert!(refused.to_string().contains("no numbers"), "{refused}");
    assert!(matches!(error(open(b"", &plain))?, ExchangeError::Empty(_)));
    let given = SourceOptions { format: Some(VectorFormat::Jsonl), ..SourceOptions::default() };
    assert!(matches!(error(open(b"\n", &given))?, ExchangeError::Empty(_)));
    let rows = SourceOptions { ids: IdsFrom::Rows, ..SourceOptions::default() };
    assert!(matches!(error(open(line, &rows))?, ExchangeError::HasIds(_)));
    let endless = [line, &b"\n"[..], &vec![b' '; (64 << 20) + 1]].concat();
    let refused = error(open(&endless, &plain))?;
    assert!(refused.to_string().contains("line 2: it is longer than 67108864 bytes"), "{refused}");
    let refused = error(open(b"\x40\0\0\0\0\0\0\0{\"vectors\":{}}", &plain))?;
    assert!(refused.to_string().contains("a safetensors file"), "{refused}");
    Ok(())
}

#[test]
fn pickles() -> TestResult {
    let plain = SourceOptions::default();
    for protocol in 0..=5 {
        // The lowest have no magic bytes, and are known by their names.
        holds(&format!("tevatron-{protocol}.pkl"), &plain, &names(), Precision::F32)?;
    }
    holds("tevatron-f2.pkl", &plain, &names(), Precision::F16)?;
    let doubles = SourceOptions { narrow_f64: true, ..plain.clone() };
    holds("tevatron-f8.pkl", &doubles, &names(), Precision::F32)?;
    assert!(matches!(error(open(&["tevatron-f8.pkl"], &plain))?, ExchangeError::Doubles { .. }));
    holds("tevatron-scalars.pkl", &plain, &numbers(100), Precision::F32)?;
    for name in ["array-ids", "object-ids", "numpy1"] {
        holds(&format!("tevatron-{name}.pkl"), &plain, &names(), Precision::F32)?;
    }
    for name in ["dpr.pkl", "dpr-extra.pkl", "dpr-mixed.pkl", "dictionary.pkl"] {
        holds(name, &plain, &names(), Precision::F32)?;
    }
    Ok(())
}

#[test]
fn a_pickle_of_something_else_is_named() -> TestResult {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("evil.pkl");
    // os.system('true')
    std::fs::write(&path, b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.")?;
    let refused = error(Source::open(&[path], &SourceOptions::default()))?;
    assert!(refused.to_string().contains("an object of `posix.system`"), "{refused}");
    Ok(())
}

#[test]
fn several_files_are_one_sequence() -> TestResult {
    let source = open(&["id-map.faiss", "tevatron-f2.pkl", "fixed.parquet"], &SourceOptions::default())?;
    assert_eq!((source.rows(), source.precision()), (21, Precision::F32));
    let (ids, rows) = read(&source)?;
    assert_eq!(ids, [numbers(100), names(), numbers(100)].concat());
    assert_eq!(rows, [vectors(), vectors(), vectors()].concat());
    let again = error(toller_exchange::survey(&source, &mut |_| std::ops::ControlFlow::Continue(())))?;
    assert!(
        matches!(&again, ExchangeError::DuplicateId { id, row: 1, again_row: 1, again_path, .. }
            if id == "100" && again_path.ends_with("fixed.parquet")),
        "{again}"
    );
    let rows = SourceOptions { ids: IdsFrom::Rows, ..SourceOptions::default() };
    let (ids, _) = read(&open(&["f4.npy", "f2.npy"], &rows)?)?;
    assert_eq!(ids, numbers(0).into_iter().chain(numbers(ROWS)).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn ids_of_another_number_or_kind_are_refused() -> TestResult {
    let directory = tempfile::tempdir()?;
    let with = |name: &str, content: &str| -> Result<ExchangeError, Box<dyn std::error::Error>> {
        let path = directory.path().join(name);
        std::fs::write(&path, content)?;
        let options = SourceOptions { ids: IdsFrom::Files(vec![path]), ..SourceOptions::default() };
        error(open(&["f4.npy"], &options).and_then(|source| read(&source)))
    };
    assert!(matches!(
        with("six.txt", "a\nb\nc\nd\ne\nf\n")?,
        ExchangeError::IdCount { ids: 6, vectors: 7, .. }
    ));
    assert!(matches!(with("eight.txt", "a\nb\nc\nd\ne\nf\ng\nh")?, ExchangeError::IdCount { ids: 8, .. }));
    assert!(matches!(with("six.json", "[1, 2, 3, 4, 5, 6]")?, ExchangeError::IdCount { ids: 6, .. }));
    assert!(matches!(with("blank.txt", "a\nb\n \nd\ne\nf\ng\n")?, ExchangeError::BadId { row: 3, .. }));
    assert!(matches!(with("number.json", "[\"a\", 2.5]")?, ExchangeError::BadId { row: 2, .. }));
    assert!(matches!(with("cut.json", "[\"a\", \"b\"")?, ExchangeError::BadId { row: 3, .. }));
    assert!(matches!(with("object.json", "{}")?, ExchangeError::BadId { row: 1, .. }));

    let path = directory.path().join("seven.json");
    std::fs::write(&path, "[\"a\", -2, \"é\", \"d\", 5, \"f\", \"g\"]")?;
    let options = SourceOptions { ids: IdsFrom::Files(vec![path.clone()]), ..SourceOptions::default() };
    assert_eq!(read(&open(&["f4.npy"], &options)?)?.0, ["a", "-2", "é", "d", "5", "f", "g"]);
    assert!(matches!(error(open(&["f4.npy", "f2.npy"], &options))?, ExchangeError::IdFileCount { .. }));
    assert!(matches!(error(open(&["dpr.pkl"], &options))?, ExchangeError::HasIds { .. }));
    Ok(())
}
