//! What is exported is read again, value by value.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use mastermind_export::{
    ExtrapFormat, RecordBatches, Selection, TableFormat, write_extrap, write_parquet,
    write_perfetto, write_table,
};
use mastermind_records::definition::{
    CallPathDefinition, ClockDefinition, CounterDefinition, MethodDefinition, ParameterDefinition,
    ParameterKind,
};
use mastermind_records::{
    Calibration, ChunkPreparer, ChunkSizes, Definition, LogIdentity, LogWriter, RecordWords, Run,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

const N_CALLS: u64 = 20_000;

fn parameter(name: &str, kind: ParameterKind) -> ParameterDefinition {
    ParameterDefinition {
        name: name.into(),
        kind,
        labels: vec!["x".into(), "y".into()],
        ..ParameterDefinition::default()
    }
}

fn counter(name: &str, unavailable: Option<&str>) -> CounterDefinition {
    CounterDefinition {
        name: name.into(),
        unavailable: unavailable.map(Into::into),
        ..CounterDefinition::default()
    }
}

/// Numbers that look like measured ones: the same at every run of the test.
fn noise(seed: u64) -> u64 {
    let mixed = (seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ (mixed >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 40
}

/// A log of a rank: `flux.compute(q, axis, ratio)` with counters, called from `driver.go()`, which fails at the end.
fn write_log(directory: &Path, rank: u32, n_calls: u64) {
    let preparer = Arc::new(ChunkPreparer::start(None).unwrap());
    let start = Calibration {
        ticks: 0,
        ns: 1_000,
    };
    let identity = LogIdentity { rank, thread: 0 };
    let sizes = ChunkSizes::default();
    let mut writer = LogWriter::create(directory, identity, start, sizes, &preparer).unwrap();
    let method = |id, instance: &str, name: &str, parameters, counters| {
        Definition::Method(MethodDefinition {
            id,
            instance: instance.into(),
            class: format!("test.{instance}"),
            port: instance.into(),
            method: name.into(),
            parameters,
            counters,
            ..MethodDefinition::default()
        })
    };
    let parameters = vec![
        parameter("q", ParameterKind::Integer),
        parameter("axis", ParameterKind::Enumeration),
        parameter("ratio", ParameterKind::Real),
    ];
    let counters = vec![counter("faults", None), counter("misses", Some("ENOENT"))];
    let path = |id, parent, method| Definition::CallPath(CallPathDefinition { id, parent, method });
    for definition in [
        Definition::Clock(ClockDefinition {
            name: "test".into(),
            ticks_per_second: 1e9,
            step_ticks: 0.0,
        }),
        method(1, "driver", "go", vec![], vec![]),
        method(2, "flux", "compute", parameters, counters),
        path(1, 0, 1),
        path(2, 1, 2),
    ] {
        writer.define(&definition).unwrap();
    }
    let mut now = 0;
    for call in 0..n_calls {
        now += 300 + noise(call) % 500;
        let wall = 2_000 + noise(call + 7) % 300;
        let q = [1000, 2000, 4000, 8000][(call / 2 % 4) as usize];
        assert!(writer.append(RecordWords {
            path: 2,
            start: now,
            wall,
            mpi: Some(wall / 10),
            failed: false,
            values: &[q, call % 2, 0.5f64.to_bits(), call % 3],
        }));
        now += wall;
    }
    assert!(writer.append(RecordWords {
        path: 1,
        start: 0,
        wall: now,
        mpi: Some(now / 20),
        failed: true,
        values: &[],
    }));
    let end = Calibration {
        ticks: now,
        ns: 1_000 + now,
    };
    writer.finish(end).unwrap();
}

fn run(directory: &Path) -> Run {
    write_log(directory, 0, N_CALLS);
    write_log(directory, 3, N_CALLS);
    Run::open(directory).unwrap()
}

fn integer(field: &Field) -> Option<u64> {
    match field {
        Field::Null => None,
        Field::Long(value) => Some(value.cast_unsigned()),
        other => panic!("{other}, expected an integer"),
    }
}

#[test]
fn parquet_gives_back_every_value() {
    let directory = tempfile::tempdir().unwrap();
    let run = run(directory.path());
    let out = directory.path().join("dataset");
    let files = write_parquet(&run, &out).unwrap();
    let of = |method: &str, rank: u32| -> PathBuf {
        out.join(format!("method={method}/rank={rank}/records.parquet"))
    };
    assert_eq!(files.len(), 4);
    let mut bytes = 0;
    for rank in [0, 3] {
        for name in ["driver.driver.go", "flux.flux.compute"] {
            let path = of(name, rank);
            bytes += path.metadata().unwrap().len();
            let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
            let mut rows = reader.get_row_iter(None).unwrap();
            for (log, first_seq) in run.logs_of(rank) {
                let records = log.records_from(first_seq);
                let own = records.filter(|r| name.ends_with(&r.method.method));
                for record in own {
                    let row = rows.next().unwrap().unwrap();
                    let row: BTreeMap<_, _> = row
                        .get_column_iter()
                        .map(|(n, f)| (n.clone(), f.clone()))
                        .collect();
                    let get = |name: &str| integer(&row[name]);
                    assert_eq!(get("seq"), Some(record.seq));
                    assert_eq!(get("start_ns"), Some(record.start_ns));
                    assert_eq!(get("wall_ns"), Some(record.wall_ns));
                    assert_eq!(get("mpi_ns"), record.mpi_ns);
                    assert_eq!(get("parent_seq"), record.parent_seq);
                    assert_eq!(get("failed"), Some(u64::from(record.failed)));
                    let callpath = log.definitions().call_path_name(record.call_path);
                    assert_eq!(row["callpath"], Field::Str(callpath));
                    if record.method.method == "compute" {
                        assert_eq!(get("q"), Some(record.values[0]));
                        let label = ["x", "y"][record.values[1] as usize];
                        assert_eq!(row["axis"], Field::Str(label.into()));
                        assert_eq!(row["ratio"], Field::Double(0.5));
                        assert_eq!(get("faults"), Some(record.values[3]));
                        assert_eq!(row["misses"], Field::Null);
                    }
                }
            }
            assert!(rows.next().is_none());
        }
    }
    let per_record = bytes as f64 / run.n_records() as f64;
    assert!(per_record <= 10.0, "{per_record} bytes a record");
    let again = write_parquet(&run, &out).unwrap_err();
    assert!(again.to_string().contains("not empty"), "{again}");
}

/// What the one table has to hold, as text; absent is empty.
fn expected(run: &Run) -> Vec<Vec<String>> {
    let or_empty = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let mut rows = Vec::new();
    for rank in run.ranks() {
        for (log, first_seq) in run.logs_of(rank) {
            for record in log.records_from(first_seq) {
                let method = record.method;
                let is_flux = method.instance == "flux";
                let only = |text: String| if is_flux { text } else { String::new() };
                let word = |place: usize| record.values.get(place).copied().unwrap_or_default();
                rows.push(vec![
                    "a run".into(),
                    rank.to_string(),
                    "0".into(),
                    method.instance.clone(),
                    method.class.clone(),
                    method.port.clone(),
                    method.method.clone(),
                    record.seq.to_string(),
                    record.start_ns.to_string(),
                    record.wall_ns.to_string(),
                    or_empty(record.mpi_ns),
                    or_empty(record.compute_ns()),
                    only(word(0).to_string()),
                    only(["x", "y"][word(1) as usize].into()),
                    only("0.5".into()),
                    only(word(3).to_string()),
                    String::new(),
                    log.definitions().call_path_name(record.call_path),
                    or_empty(record.parent_seq),
                    record.failed.to_string(),
                ]);
            }
        }
    }
    rows
}

const COLUMNS: &str = "run,rank,thread,instance,class,port,method,seq,start_ns,wall_ns,mpi_ns,compute_ns,\
                       q,axis,ratio,faults,misses,callpath,parent_seq,failed";

fn of_csv(path: &Path) -> (String, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader
        .headers()
        .unwrap()
        .iter()
        .collect::<Vec<_>>()
        .join(",");
    let rows = reader
        .records()
        .map(|row| row.unwrap().iter().map(str::to_owned).collect());
    (header, rows.collect())
}

fn of_parquet(path: &Path) -> (String, Vec<Vec<String>>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let mut header = Vec::new();
    let mut rows = Vec::new();
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        header = row
            .get_column_iter()
            .map(|(name, _)| name.clone())
            .collect();
        let cells = row.get_column_iter().map(|(_, field)| match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            other => other.to_string(),
        });
        rows.push(cells.collect());
    }
    (header.join(","), rows)
}

fn arrow_cells(batch: &RecordBatch, row: usize) -> Vec<String> {
    let cell = |column: &dyn Array| {
        if column.is_null(row) {
            return String::new();
        }
        if let Some(texts) = column.as_string_opt::<i32>() {
            return texts.value(row).into();
        }
        if let Some(flags) = column.as_boolean_opt() {
            return flags.value(row).to_string();
        }
        match column.as_primitive_opt::<Int64Type>() {
            Some(integers) => integers.value(row).to_string(),
            None => column.as_primitive::<Float64Type>().value(row).to_string(),
        }
    };
    batch.columns().iter().map(|column| cell(column)).collect()
}

fn of_arrow(path: &Path) -> (String, Vec<Vec<String>>) {
    let reader = arrow_ipc::reader::FileReader::try_new(File::open(path).unwrap(), None).unwrap();
    let schema = reader.schema();
    assert_eq!(schema.metadata()["mastermind.run"], "{\"assembly\":\"a\"}");
    assert_eq!(
        schema.field_with_name("wall_ns").unwrap().metadata()["unit"],
        "ns"
    );
    let header: Vec<_> = schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    let batches = reader.map(Result::unwrap);
    let rows = batches.flat_map(|batch| {
        (0..batch.num_rows())
            .map(|row| arrow_cells(&batch, row))
            .collect::<Vec<_>>()
    });
    (header.join(","), rows.collect())
}

#[test]
fn one_table_has_the_same_rows_in_each_format() {
    let directory = tempfile::tempdir().unwrap();
    let run = run(directory.path());
    let expected = expected(&run);
    type Read = fn(&Path) -> (String, Vec<Vec<String>>);
    for (format, name, read) in [
        (TableFormat::Csv, "t.csv", of_csv as Read),
        (TableFormat::Parquet, "t.parquet", of_parquet),
        (TableFormat::Arrow, "t.arrow", of_arrow),
    ] {
        let path = directory.path().join(name);
        let out = Box::new(File::create(&path).unwrap());
        let about = "{\"assembly\":\"a\"}";
        let rows = write_table(&run, "a run", about, (&path, out), format).unwrap();
        assert_eq!(rows, run.n_records());
        let (header, found) = read(&path);
        assert_eq!(header, COLUMNS);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{format:?}");
        }
        if format == TableFormat::Parquet {
            let bytes = path.metadata().unwrap().len() as f64 / run.n_records() as f64;
            assert!(bytes <= 10.0, "{bytes} bytes a record");
        }
    }
}

/// The rows of a record as the columns of these names have them.
fn streamed(run: &Arc<Run>, names: &[&str]) -> Vec<Vec<String>> {
    let columns = names.iter().map(|name| (*name).into()).collect();
    let selection = Selection {
        columns: Some(columns),
        ..Selection::default()
    };
    let batches = RecordBatches::new(Arc::clone(run), "long", "{}", selection).unwrap();
    // All at once, as in a table: what was made first must not change when more is made.
    let batches: Vec<_> = batches.map(Result::unwrap).collect();
    let rows = |batch: &RecordBatch| -> Vec<_> {
        let texts = batch.columns().iter().map(|column| {
            let keys = column.as_dictionary_opt::<Int32Type>();
            keys.map_or_else(
                || Arc::clone(column),
                |keys| {
                    let texts = keys.values().as_string::<i32>();
                    let texts = keys
                        .keys()
                        .iter()
                        .map(|key| Some(texts.value(key? as usize)));
                    Arc::new(texts.collect::<StringArray>()) as ArrayRef
                },
            )
        });
        let named = names.iter().zip(texts);
        let batch = RecordBatch::try_from_iter_with_nullable(
            named.map(|(name, column)| (name, column, true)),
        );
        let batch = batch.unwrap();
        (0..batch.num_rows())
            .map(|row| arrow_cells(&batch, row))
            .collect()
    };
    batches.iter().flat_map(rows).collect()
}

#[test]
fn a_log_that_is_decoded_in_pieces_has_the_rows_of_the_whole() {
    let directory = tempfile::tempdir().unwrap();
    let n_calls = 300_000;
    write_log(directory.path(), 0, n_calls);
    let run = Arc::new(Run::open(directory.path()).unwrap());
    let rows = streamed(
        &run,
        &[
            "seq",
            "parent_seq",
            "method",
            "start_ns",
            "wall_ns",
            "mpi_ns",
            "compute_ns",
            "failed",
            "q",
            "axis",
            "ratio",
            "faults",
        ],
    );
    assert_eq!(rows.len() as u64, n_calls + 1);
    let text = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (row, record) in rows.iter().zip(run.logs()[0].records()) {
        let mut expected = vec![
            record.seq.to_string(),
            text(record.parent_seq),
            record.method.method.clone(),
        ];
        expected.extend([record.start_ns, record.wall_ns].map(|ns| ns.to_string()));
        expected.extend([
            text(record.mpi_ns),
            text(record.compute_ns()),
            record.failed.to_string(),
        ]);
        expected.extend(record.parameters().map(|value| value.to_string()));
        expected.extend(record.counters().take(1).map(text));
        expected.resize(12, String::new());
        assert_eq!(row, &expected);
    }
}

#[test]
fn perfetto_has_every_call() {
    let directory = tempfile::tempdir().unwrap();
    let run = run(directory.path());
    let path = directory.path().join("trace.json");
    write_perfetto(&run, &path, File::create(&path).unwrap()).unwrap();
    let trace: serde_json::Value =
        serde_json::from_reader(std::io::BufReader::new(File::open(path).unwrap())).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let calls: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(calls.len() as u64, run.n_records());
    let first = &calls[0];
    assert_eq!(
        (&first["name"], &first["cat"]),
        (&"flux.compute".into(), &"test.flux".into())
    );
    assert_eq!((&first["pid"], &first["tid"]), (&0.into(), &0.into()));
    assert_eq!(first["args"]["q"], 1000);
    assert_eq!(first["args"]["axis"], "x");
    let record = run.logs()[0].records().next().unwrap();
    assert_eq!(first["ts"].as_f64(), Some(record.start_ns as f64 * 1e-3));
    assert_eq!(first["dur"].as_f64(), Some(record.wall_ns as f64 * 1e-3));
    assert_eq!(
        calls
            .iter()
            .filter(|call| call["args"]["failed"] == true)
            .count(),
        2
    );
}

/// Sums of all values by metric.
fn sums(run: &Run) -> [f64; 3] {
    let mut sums = [0.0; 3];
    let records = run.logs().iter().flat_map(|log| log.records());
    for record in records.filter(|record| !record.failed) {
        let times = [Some(record.wall_ns), record.mpi_ns, record.compute_ns()];
        for (sum, ns) in sums.iter_mut().zip(times) {
            *sum += ns.unwrap() as f64 * 1e-9;
        }
    }
    sums
}

#[test]
fn extrap_text_has_every_value_at_its_point() {
    let directory = tempfile::tempdir().unwrap();
    let run = run(directory.path());
    let out = directory.path().join("extrap");
    let exported = write_extrap(&run, &out, ExtrapFormat::Text).unwrap();
    // An enumeration is no coordinate.
    let names = ["x", "y"].map(|axis| format!("flux.flux.compute-axis-{axis}.txt"));
    assert_eq!(exported.files, names.map(|name| out.join(name)));
    // The only call of `driver.go` failed.
    assert_eq!(exported.left_out, []);
    let mut found: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for (path, axis) in exported.files.iter().zip(["x", "y"]) {
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines().filter(|line| !line.is_empty());
        assert_eq!(lines.next(), Some("PARAMETER q ratio"));
        let points = lines.next().unwrap();
        assert!(
            points.starts_with("POINTS (1000 0.5) (2000 0.5)"),
            "{points}"
        );
        assert_eq!(points.matches('(').count(), 4);
        let region = format!("REGION flux.compute[axis={axis}]");
        assert_eq!(lines.next(), Some(&*region));
        while let Some(metric) = lines.next() {
            let sum = found
                .entry(metric.strip_prefix("METRIC ").unwrap().into())
                .or_default();
            for _ in 0..4 {
                let line = lines.next().unwrap().strip_prefix("DATA ").unwrap();
                let values = line.split(' ').map(|value| value.parse::<f64>().unwrap());
                values.for_each(|value| *sum = (sum.0 + 1, sum.1 + value));
            }
        }
    }
    compare(&found, &run);
}

/// That all values are there, in microseconds.
fn compare(found: &BTreeMap<String, (u64, f64)>, run: &Run) {
    assert_eq!(found.len(), 3);
    for (metric, sum) in ["time_us", "mpi_us", "compute_us"]
        .into_iter()
        .zip(sums(run))
    {
        let (n, found) = found[metric];
        assert_eq!(n, 2 * N_CALLS);
        assert!((found * 1e-6 / sum - 1.0).abs() < 1e-12, "{metric}");
    }
}

#[test]
fn extrap_json_lines_have_every_value() {
    let directory = tempfile::tempdir().unwrap();
    let run = run(directory.path());
    let out = directory.path().join("extrap");
    let exported = write_extrap(&run, &out, ExtrapFormat::JsonLines).unwrap();
    let mut found: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for (path, axis) in exported.files.iter().zip(["x", "y"]) {
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["callpath"], format!("flux.compute[axis={axis}]"));
            assert_eq!(line["params"]["ratio"], 0.5);
            assert!(line["params"].get("axis").is_none());
            let metric = line["metric"].as_str().unwrap().to_owned();
            let sum = found.entry(metric).or_default();
            sum.0 += 1;
            sum.1 += line["value"].as_f64().unwrap();
        }
    }
    compare(&found, &run);
}
