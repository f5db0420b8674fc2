//! Files of benchmark programs, and columns of tables that are no parameters.

use mastermind_models::{
    Format, InputError, LeftOut, Metric, SampleSet, Samples, SetAside, Survey, Wanted, Why,
};
use proptest::prelude::*;

/// What was read of an input.
type Input = (Vec<Samples>, Vec<SetAside>, Vec<LeftOut>);

/// The samples of an input, what was set aside, and the columns left out.
fn read(name: &str, format: Format, text: &str) -> Result<Input, InputError> {
    let wanted = Wanted::new(Metric::Wall);
    let mut survey = Survey::default();
    survey.look(name, format, text.as_bytes(), &wanted)?;
    let mut set = SampleSet::new(Metric::Wall);
    let aside = survey.read(name, format, text.as_bytes(), &wanted, &mut set)?;
    Ok((set.finish(), aside, survey.left_out().to_vec()))
}

/// Method, parameters, and each coordinate with its number of calls and their mean in nanoseconds, rounded.
type Shape = (String, Vec<String>, Vec<(Vec<f64>, u64, u64)>);

fn shapes(format: Format, text: &str) -> Vec<Shape> {
    let (samples, _, _) = read("t", format, text).unwrap();
    let shape = |one: &Samples| {
        let names = one.parameters.iter().map(|p| p.name.clone()).collect();
        let points = one.coordinates.iter().zip(&one.times);
        let points =
            points.map(|(x, time)| (x.clone(), time.count, (time.mean_s * 1e9).round() as u64));
        (one.method.clone(), names, points.collect())
    };
    let mut shapes: Vec<Shape> = samples.iter().map(shape).collect();
    shapes.sort_by(|a, b| a.0.cmp(&b.0));
    shapes
}

fn expected(method: &str, names: &[&str], points: &[(&[f64], u64, u64)]) -> Shape {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let points = points.iter().map(|(x, n, ns)| (x.to_vec(), *n, *ns));
    (method.to_owned(), names, points.collect())
}

#[test]
fn pyperf_has_values_in_runs_and_parameters_in_metadata() {
    let suite = r#"{"version": "1.0", "metadata": {"cpu_count": 2, "unit": "second"}, "benchmarks": [
        {"metadata": {"name": "sort", "n": 1000, "loops": 64}, "runs": [
            {"metadata": {"duration": 0.2}, "warmups": [[64, 1e-3]]},
            {"metadata": {"load_avg_1min": 0.5}, "values": [1e-6, 3e-6], "warmups": [[64, 1e-3]]}]},
        {"metadata": {"name": "sort", "n": 2000}, "runs": [{"metadata": {}, "values": [4e-6]}]},
        {"metadata": {"name": "memory", "unit": "byte"}, "runs": [{"values": [738099]}]}]}"#;
    let sort = expected(
        "sort",
        &["n"],
        &[(&[1000.0], 2, 2000), (&[2000.0], 1, 4000)],
    );
    assert_eq!(shapes(Format::ExtrapJson, suite), [sort]);
    // Version 5 has samples, and the name where all runs have the same metadata.
    let older = r#"{"version": 5, "benchmarks": [{"common_metadata": {"name": "telco", "inner_loops": 1},
        "runs": [{"samples": [0.5]}]}]}"#;
    let telco = expected("telco", &[], &[(&[], 1, 500_000_000)]);
    assert_eq!(shapes(Format::ExtrapJson, older), [telco]);
    // Names are unique in a suite, so those of real ones hold the parameter.
    let named = r#"{"version": "1.0", "benchmarks": [
        {"metadata": {"name": "sort_1000"}, "runs": [{"values": [2e-6]}]},
        {"metadata": {"name": "sort_2000"}, "runs": [{"values": [4e-6]}]},
        {"metadata": {"name": "copy_8", "n": 8}, "runs": [{"values": [1e-6]}]},
        {"metadata": {"name": "regex_8"}, "runs": [{"values": [3e-6]}]}]}"#;
    let sizes = [(&[1000.0][..], 1, 2000), (&[2000.0][..], 1, 4000)];
    let known = [
        expected("copy", &["n"], &[(&[8.0], 1, 1000)]),
        expected("regex_8", &[], &[(&[], 1, 3000)]),
        expected("sort", &["value"], &sizes),
    ];
    assert_eq!(shapes(Format::ExtrapJson, named), known);
    for (text, part) in [
        (
            suite.replace("\"1.0\"", "4"),
            "version \"4\" of pyperf's format",
        ),
        (suite.replace("second", "integer"), "values in"),
    ] {
        let error = read("p.json", Format::ExtrapJson, &text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn criterion_has_samples_of_several_iterations() {
    let new = r#"{"group_id":"sort","function_id":"heap","value_str":"64","throughput":{"Elements":64}}
        {"sampling_mode":"Linear","iters":[1.0,2.0],"times":[10.0,40.0]}
        {"group_id":"sort","function_id":"heap","value_str":"128","throughput":null}[[2.0,4.0],[60.0,120.0]]
        {"group_id":"copy","function_id":null,"value_str":null,"throughput":{"Bytes":512}}{"iters":[1.0],"times":[7.0]}
        {"group_id":"all","function_id":"","value_str":"random"}{"iters":[1.0],"times":[9.0]}"#;
    let known = [
        expected("all", &["value"], &[(&[0.0], 1, 9)]),
        expected("copy", &["bytes"], &[(&[512.0], 1, 7)]),
        expected(
            "sort/heap",
            &["value"],
            &[(&[64.0], 2, 15), (&[128.0], 2, 30)],
        ),
    ];
    assert_eq!(shapes(Format::Criterion, new), known);
    let messages = r#"{"reason":"benchmark-complete","id":"sort/heap/64","iteration_count":[1,2],"measured_values":[10,40],"unit":"ns","throughput":[]}
        {"reason":"benchmark-complete","id":"copy","iteration_count":[2],"measured_values":[14],"unit":"ns","throughput":[{"per_iteration":512,"unit":"bytes"}]}
        {"reason":"group-complete","group_name":"sort","benchmarks":["sort/heap/64"],"report_directory":"x"}"#;
    let known = [
        expected("copy", &["bytes"], &[(&[512.0], 1, 7)]),
        expected("sort/heap", &["value"], &[(&[64.0], 2, 15)]),
    ];
    assert_eq!(shapes(Format::ExtrapJson, messages), known);
    assert_eq!(shapes(Format::JsonLines, messages), known);
    let table = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n\
        sort,heap,64,,,10,ns,1\nsort,heap,64,,,40,ns,2\ncopy,,,512,bytes,14,ns,2\n";
    assert_eq!(shapes(Format::Table, table), known);
    let older = "group,function,value,sample_time_nanos,iteration_count\nsort,heap,64,10.0,1\nsort,heap,64,40.0,2\n";
    assert_eq!(shapes(Format::Table, older), known[1..]);
}

#[test]
fn what_is_wrong_in_a_folder_of_criterion_is_named() {
    let benchmark = r#"{"group_id":"sort","function_id":"heap","value_str":"64"}"#;
    for (sample, part) in [
        ("", "no samples of \"sort/heap/64\""),
        ("{}", "no samples of \"sort/heap/64\""),
        (r#"{"iters":[1.0],"ti"#, "no samples of \"sort/heap/64\""),
        (
            r#"{"iters":[1.0],"times":[]}"#,
            "1 numbers of iterations and 0 times",
        ),
    ] {
        let text = format!("{benchmark}{sample}");
        let error = read("c", Format::Criterion, &text).unwrap_err().to_string();
        assert!(error.contains(part), "{sample}: {error}");
    }
    // No call took part in a sample: its time is none.
    let text = format!("{benchmark}{{\"iters\":[0.0,1.0],\"times\":[5.0,5.0]}}");
    let (_, aside, _) = read("c", Format::Criterion, &text).unwrap();
    assert_eq!((aside[0].count, aside[0].why), (1, Why::Infinite));
}

#[test]
fn tables_of_benchmark_programs_hold_no_other_parameters() {
    let google = "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message\n\
        \"BM_Sort/n:256\",3244,8,7,us,1e6,,,,\n\"BM_Sort/n:512\",100,16,7,us,2e6,,,,\n\"BM_Sort/n:1024\",,,,,,,,true,\"none\"\n\
        \"BM_Sort/n:256_mean\",2,8,7,us,,,,,\n";
    let sort = expected(
        "BM_Sort",
        &["n"],
        &[(&[256.0], 1, 8000), (&[512.0], 1, 16_000)],
    );
    assert_eq!(shapes(Format::Table, google), [sort]);
    let hyperfine = "command,mean,stddev,median,user,system,min,max,parameter_level\n\
        gzip -4 x,0.2,0.01,0.2,0.1,0.1,0.2,0.2,4\ngzip -9 x,0.4,,0.4,0.1,0.1,0.4,0.4,9\n";
    let gzip = [(&[4.0][..], 1, 200_000_000), (&[9.0][..], 1, 400_000_000)];
    let gzip = expected("gzip -{level} x", &["level"], &gzip);
    assert_eq!(shapes(Format::Table, hyperfine), [gzip]);
    // Of versions 1.6 to 1.10.
    let json =
        r#"{"results": [{"command": "sleep 2", "mean": 2.0, "times": [2.0], "parameter": 2}]}"#;
    let sleep = expected(
        "sleep {parameter}",
        &["parameter"],
        &[(&[2.0], 1, 2_000_000_000)],
    );
    assert_eq!(shapes(Format::ExtrapJson, json), [sleep]);
}

#[test]
fn columns_that_are_no_parameters_are_reported() {
    let table = "n,rank,rep,host,unit,time\n8,0,0,a,us,3\n8,1,0,a,us,5\n16,0,1,a,us,9\n";
    let (samples, _, left_out) = read("t.csv", Format::Table, table).unwrap();
    assert_eq!(samples[0].parameters.len(), 1);
    // The host is the same everywhere, so nothing is lost.
    assert_eq!(left_out[0].columns, ["rank", "rep"]);
    let by_pandas = ",n,time_us\n0,8,3\n1,16,9\n";
    assert_eq!(shapes(Format::Table, by_pandas)[0].1, ["n"]);
    let no_number = by_pandas.replace("\n1,", "\n5,");
    assert!(read("t.csv", Format::Table, &no_number).is_err());
}

#[test]
fn a_cell_that_contradicts_its_column_is_refused() {
    for (table, place) in [
        ("n,time_ms\n1,2\n2,230us\n", "line 3, column 2"),
        ("n,time,unit\n1,2 ms,ms\n2,3 ms,us\n", "line 3, column 2"),
    ] {
        let error = read("t.csv", Format::Table, table).unwrap_err().to_string();
        assert!(error.contains(place), "{error}");
    }
    let same = "n,time_us\n1,200\n2,2.3e2 usec\n";
    assert_eq!(shapes(Format::Table, same)[0].2[1].2, 230_000);
    for value in ["10us", "7B", "2 GHz", "5 %x"] {
        let table = format!("timeout,time\n{value},1\n{value},2\n");
        let is_label = value == "5 %x";
        assert_eq!(
            read("t.csv", Format::Table, &table).is_ok(),
            is_label,
            "{value}"
        );
    }
}

const DOCUMENTS: [(Format, &str); 5] = [
    (
        Format::ExtrapJson,
        r#"{"version": "1.0", "metadata": {"name": "a"}, "benchmarks": [{"runs": [{"metadata": {"n": 2}, "values": [1.0, 2.0]}]}]}"#,
    ),
    (
        Format::ExtrapJson,
        r#"{"reason":"benchmark-complete","id":"a/1","iteration_count":[1],"measured_values":[10],"unit":"ns","throughput":[]}"#,
    ),
    (
        Format::Criterion,
        r#"{"group_id":"a","function_id":null,"value_str":"1","throughput":{"Bytes":1}}{"iters":[1.0],"times":[2.0]}"#,
    ),
    (
        Format::Table,
        "group,function,value,sample_measured_value,unit,iteration_count\na,b,1,10,ns,1\n",
    ),
    (
        Format::Table,
        "name,iterations,real_time,cpu_time,time_unit\na/1,2,3,4,ns\n",
    ),
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Cut, or with a byte changed, a document is read or refused; what was looked at can be read.
    #[test]
    fn damaged_documents_do_no_harm(which in 0..DOCUMENTS.len(), cut in 0_usize..200, at in 0_usize..200, byte in 0_u8..128) {
        let (format, text) = DOCUMENTS[which];
        let mut bytes = text.as_bytes().to_vec();
        let place = at % bytes.len();
        bytes[place] = byte;
        bytes.truncate(if cut < 100 { text.len() } else { cut % text.len() });
        let wanted = Wanted::new(Metric::Wall);
        let mut survey = Survey::default();
        if survey.look("any", format, bytes.as_slice(), &wanted).is_ok() {
            let mut set = SampleSet::new(Metric::Wall);
            let aside = survey.read("any", format, bytes.as_slice(), &wanted, &mut set).unwrap();
            let refused: u64 = set.finish().iter().map(|samples| samples.n_refused).sum();
            prop_assert_eq!(refused, aside.iter().map(|aside| aside.count).sum::<u64>());
        }
    }

    /// Whatever a suite of pyperf holds comes out: as many values of each benchmark, with their mean.
    #[test]
    fn suites_are_read_again(values in proptest::collection::vec(1e-9_f64..1e3, 1..20), n in 1_u32..1000) {
        let suite = serde_json::json!({"version": "1.0", "benchmarks": [
            {"metadata": {"name": "a", "n": n}, "runs": [{"values": values}]}]});
        let (samples, _, _) = read("p", Format::ExtrapJson, &suite.to_string()).unwrap();
        let (count, mean) = (samples[0].times[0].count, samples[0].times[0].mean_s);
        let wanted = values.iter().sum::<f64>() / values.len() as f64;
        prop_assert_eq!(count, values.len() as u64);
        prop_assert!((mean / wanted - 1.0).abs() < 1e-9);
        prop_assert_eq!(&samples[0].coordinates, &vec![vec![f64::from(n)]]);
    }
}
