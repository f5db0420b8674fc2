//! Tables and files of Extra-P: what is read of them, and what is said of those that are broken.

use mastermind_models::{
    Format, InputError, Metric, ParameterKind, SampleSet, Samples, SetAside, Survey, TimeUnit,
    Wanted, Why,
};
use proptest::prelude::*;

type Files<'a> = &'a [(&'a str, &'a str)];

/// The samples of files by their names, and what was set aside.
fn read(files: Files<'_>, wanted: &Wanted) -> Result<(Vec<Samples>, Vec<SetAside>), InputError> {
    let format = |name: &str| Format::of_name(name).expect("a format");
    let mut survey = Survey::default();
    for (name, text) in files {
        survey.look(name, format(name), text.as_bytes(), wanted)?;
    }
    let (mut set, mut aside) = (SampleSet::new(wanted.metric.clone()), Vec::new());
    for (name, text) in files {
        aside.extend(survey.read(name, format(name), text.as_bytes(), wanted, &mut set)?);
    }
    Ok((set.finish(), aside))
}

fn wall() -> Wanted {
    Wanted::new(Metric::Wall)
}

#[track_caller]
fn error(files: Files<'_>, wanted: &Wanted) -> String {
    match read(files, wanted) {
        Ok(read) => panic!("read {read:?}"),
        Err(error) => error.to_string(),
    }
}

/// Method, names of the parameters, and each coordinate with its calls and mean.
type Shape<'a> = (&'a str, Vec<&'a str>, Vec<(Vec<f64>, u64, f64)>);

fn shape(samples: &Samples) -> Shape<'_> {
    let names = samples.parameters.iter().map(|p| p.name.as_str()).collect();
    let points = samples.coordinates.iter().zip(&samples.times);
    let points = points.map(|(x, summary)| (x.clone(), summary.count, summary.mean_s));
    (&samples.method, names, points.collect())
}

#[test]
fn a_plain_table_with_labels_units_and_comments() {
    let table = "# made by a driver\nrep,n [element],order,time_us\n0,1000,sorted,2\n1,1000,sorted,4\n0,1000,random,31.5\n";
    let (samples, aside) = read(&[("out/sort.csv", table)], &wall()).unwrap();
    assert_eq!((samples.len(), aside.len()), (1, 0));
    let order = ParameterKind::Enumeration(vec!["random".into(), "sorted".into()]);
    assert_eq!(samples[0].parameters[1].kind, order);
    assert_eq!(samples[0].parameters[0].unit, "element");
    let points = vec![
        (vec![1000.0, 0.0], 1, 31.5e-6),
        (vec![1000.0, 1.0], 2, 3e-6),
    ];
    assert_eq!(shape(&samples[0]), ("sort", vec!["n", "order"], points));
}

#[test]
fn delimiters_methods_columns_and_units_by_name() {
    let table = "\u{feff}kernel;n;p;t\nfft;8;1;2\nsort;8;1;3\n";
    let wanted = Wanted {
        time: Some("t".into()),
        unit: TimeUnit::Millisecond,
        params: vec!["n".into()],
        ..wall()
    };
    let (samples, _) = read(&[("a.csv", table)], &wanted).unwrap();
    let expected = [("fft", 2e-3), ("sort", 3e-3)];
    for (samples, (method, time_s)) in samples.iter().zip(expected) {
        assert_eq!(
            shape(samples),
            (method, vec!["n"], vec![(vec![8.0], 1, time_s)])
        );
    }
    let wanted = Wanted {
        labels: vec!["p".into()],
        method: Some("kernel".into()),
        ..wanted
    };
    let wanted = Wanted {
        params: vec!["n".into(), "p".into()],
        ..wanted
    };
    let (samples, _) = read(&[("a.tsv", &table.replace(';', "\t"))], &wanted).unwrap();
    assert_eq!(
        samples[0].parameters[1].kind,
        ParameterKind::Enumeration(vec!["1".into()])
    );
}

/// The files of a rank: the times of the calls made from a call are not its own.
#[test]
fn exported_tables_give_exclusive_times() {
    let head = "seq,start_ns,wall_ns,mpi_ns,compute_ns,q,axis,cycles,callpath,parent_seq\n";
    let outer = format!("{head}0,0,1000,,,8,x,,a.b,\n3,2000,500,,,8,x,,a.b,\n");
    let inner = format!("{head}1,10,300,,,4,y,,a.b->c.d,0\n2,400,200,,,4,y,,a.b->c.d,0\n");
    let other = format!("{head}1,10,300,,,4,y,,a.b->c.d,0\n");
    let files = [
        ("run/a.p.b.rank0000.csv", outer.as_str()),
        ("run/c.p.d.rank0000.csv", inner.as_str()),
        ("run/c.p.d.rank0001.csv", other.as_str()),
    ];
    let (samples, _) = read(&files, &wall()).unwrap();
    let [a, c] = &samples[..] else {
        panic!("{samples:?}")
    };
    assert_eq!((a.method.as_str(), c.method.as_str()), ("a::p.b", "c::p.d"));
    // The column of a counter that was never read is no parameter.
    assert_eq!(
        shape(a),
        (
            "a::p.b",
            vec!["q", "axis"],
            vec![(vec![8.0, 0.0], 2, 500.0 * 1e-9)]
        )
    );
    assert_eq!((c.times[0].count, c.times[0].max_s), (3, 300.0 * 1e-9));
    // Time in MPI was not measured: all is set aside.
    let (samples, aside) = read(&files, &Wanted::new(Metric::Mpi)).unwrap();
    assert!(samples.iter().all(|samples| samples.times.is_empty()));
    assert_eq!(
        (aside[0].why, aside[0].count, aside[0].of),
        (Why::NoTime, 2, 2)
    );
}

const TEXT: &str = "# a comment\nPARAMETER p\nPARAMETER n\n\nPOINTS ( 1 10 ) ( 2 10 )\nPOINTS (( 4) (10 ))\n\n\
    METRIC visits\nREGION main->sweep\nDATA 7 7\nDATA 7\nDATA 7\n\
    METRIC time\nDATA 1 3\nDATA 4\nDATA 8.5e0\n";

#[test]
fn the_three_forms_of_extra_p_agree() {
    let newer = r#"{"parameters": ["p", "n"], "measurements": {"main->sweep": {
        "visits": [{"point": [1, 10], "values": [7]}],
        "time": [{"point": [1, 10], "values": [1, 3]}, {"point": [2, 10], "values": [4]},
                 {"point": [4, 10], "values": [8.5]}]}}}"#;
    let older = r#"{"parameters": [{"id": 2, "name": "n"}, {"id": 1, "name": "p"}],
        "callpaths": [{"id": 1, "name": "main->sweep"}], "metrics": [{"id": 4, "name": "time"}],
        "coordinates": [
            {"id": 1, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": 1}, {"parameter_id": 2, "parameter_value": 10}]},
            {"id": 2, "parameter_value_pairs": [{"parameter_id": 2, "parameter_value": 10}, {"parameter_id": 1, "parameter_value": 2}]},
            {"id": 3, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": 4}, {"parameter_id": 2, "parameter_value": 10}]}],
        "measurements": [
            {"id": 1, "callpath_id": 1, "coordinate_id": 1, "metric_id": 4, "value": 1},
            {"id": 2, "callpath_id": 1, "coordinate_id": 1, "metric_id": 4, "value": 3},
            {"id": 3, "callpath_id": 1, "coordinate_id": 2, "metric_id": 4, "value": 4},
            {"id": 4, "callpath_id": 1, "coordinate_id": 3, "metric_id": 4, "value": 8.5}]}"#;
    let lines = "{\"params\":{\"p\":1,\"n\":10},\"callpath\":\"main->sweep\",\"metric\":\"time\",\"value\":[1,3]}\n\n\
        {\"params\":{\"n\":10,\"p\":2},\"callpath\":\"main->sweep\",\"metric\":\"time\",\"value\":4,\"more\":null}\n\
        {\"params\":{\"p\":4,\"n\":10},\"callpath\":\"main->sweep\",\"metric\":\"time\",\"value\":8.5}\n";
    for (name, text) in [
        ("t.txt", TEXT),
        ("n.json", newer),
        ("o.json", older),
        ("l.jsonl", lines),
    ] {
        let (samples, aside) = read(&[(name, text)], &wall()).unwrap();
        assert!(aside.is_empty(), "{name}");
        let points = vec![
            (vec![1.0, 10.0], 2, 2.0),
            (vec![2.0, 10.0], 1, 4.0),
            (vec![4.0, 10.0], 1, 8.5),
        ];
        assert_eq!(
            shape(&samples[0]),
            ("main->sweep", vec!["p", "n"], points),
            "{name}"
        );
    }
    // Another metric by its name; without a choice, the only one there is.
    let wanted = Wanted {
        time: Some("visits".into()),
        ..wall()
    };
    assert_eq!(
        read(&[("t.txt", TEXT)], &wanted).unwrap().0[0].times[0].mean_s,
        7.0
    );
    let only = TEXT.split("METRIC time").next().unwrap();
    assert_eq!(
        read(&[("t.txt", only)], &wall()).unwrap().0[0].times[0].mean_s,
        7.0
    );
}

#[test]
fn talpas_is_json_lines_with_semicolons() {
    let text = "{\"parameters\":{\"x\":20,\"y\":1};\"metric\":\"time\";\"callpath\":\"compute\";\"value\":1.5}\n\
                {\"parameters\":{\"x\":40,\"y\":1};\"metric\":\"time\";\"callpath\":\"compute\";\"value\":2.5}\n";
    let (samples, _) = read(&[("talpas.txt", text)], &wall()).unwrap();
    assert_eq!(samples[0].method, "compute");
    assert_eq!(samples[0].coordinates, [[20.0, 1.0], [40.0, 1.0]]);
    assert_eq!(samples[0].times[1].mean_s, 2.5);
    let broken = read(&[("talpas.txt", "{\"parameters\":{\"x\":20};")], &wall());
    let error = broken.unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read measurements \"talpas.txt\", line 1"),
        "{error}"
    );
}

#[test]
fn one_parameter_needs_no_parentheses_and_no_names() {
    let text = "PARAMETER p\nPOINTS 1000 2000\n\nDATA 4.1 3.9\nDATA 8\n";
    let (samples, _) = read(&[("runs/met.txt", text)], &wall()).unwrap();
    let points = vec![(vec![1000.0], 2, 4.0), (vec![2000.0], 1, 8.0)];
    assert_eq!(shape(&samples[0]), ("met", vec!["p"], points));
}

#[test]
fn lines_that_end_with_two_characters_count_once() {
    let error = |table: &str| read(&[("t.csv", table)], &wall()).unwrap_err().to_string();
    for table in ["n;time\r\n1;2\r\n2;1,5\r\n", "n;time\n1;2\n2;1,5\n"] {
        let found = error(table);
        assert!(
            found.contains("line 3, column 2: \"1,5\", expected a number"),
            "{found}"
        );
    }
    let found = error("n,time\r\n1,2\r\n2\r\n");
    assert!(
        found.contains("line 3: 1 value, expected 2, one a column"),
        "{found}"
    );
    let found = error("n\u{1b}[31m,cost\n1,2\n");
    assert!(
        found.contains("expected one of n\\u{1b}[31m, cost;"),
        "{found}"
    );
}

#[test]
fn bad_times_are_set_aside_and_told() {
    let table = "n,time\n1,0\n2,-1\n3,nan\n4,inf\n5,\n6,2\n,3\ninf,4\n7,-2\n";
    let (samples, mut aside) = read(&[("t.csv", table)], &wall()).unwrap();
    let points = vec![(vec![1.0], 1, 0.0), (vec![6.0], 1, 2.0)];
    assert_eq!(shape(&samples[0]), ("t", vec!["n"], points));
    aside.sort_by_key(|aside| aside.line);
    let told: Vec<_> = aside.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "2 of 9 values of \"t\" in \"t.csv\", line 3: a time below zero",
            "2 of 9 values of \"t\" in \"t.csv\", line 4: no time, or not a number",
            "1 of 9 values of \"t\" in \"t.csv\", line 5: an infinite time",
            "2 of 9 values of \"t\" in \"t.csv\", line 8: a parameter that is not there or not finite",
        ]
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let error = |name: &str, text: &str| error(&[(name, text)], &wall());
    let begins = "cannot read measurements \"t.csv\"";
    for (text, message) in [
        (
            "",
            ": nothing in it, expected a line of column names and a call a line",
        ),
        (
            "n,time\n",
            ": nothing in it, expected a line of column names and a call a line",
        ),
        (
            "n,m\n1,2\n",
            ": no column \"wall\", expected one of n, m; name the column of the time",
        ),
        (
            "n,time\n1,2,3\n",
            ", line 2: 3 values, expected 2, one a column",
        ),
        (
            "n,time\n1,2\n2,fast\n",
            ", line 3, column 2: \"fast\", expected a number",
        ),
        (
            "n,time\n1,2\n10O,3\n",
            ", line 3: \"10O\" for parameter \"n\", expected a number as in the lines before; \
             name it among the labels if it is one",
        ),
        (
            "n,time\nsmall,2\n10,3\n",
            ", line 3: 10 for parameter \"n\", expected a label as in the lines before; \
             name it among the labels if it is one",
        ),
        (
            "n,time_ms,time_us\n1,2,2000\n",
            ": times \"time_ms\" and \"time_us\", expected one; name the column to take",
        ),
        (
            "n,time [min]\n1,2\n",
            ": times in \"min\" as column \"time [min]\" says, expected s, ms, us or ns; convert them",
        ),
        (
            "n,n,time\n1,2,3\n",
            ", line 2: parameter \"n\" twice, expected each once",
        ),
    ] {
        assert_eq!(error("t.csv", text), format!("{begins}{message}"));
    }
    let begins = "cannot read measurements \"t.txt\"";
    for (text, message) in [
        (
            "\n# only this\n",
            ": nothing in it, expected the sections PARAMETER, POINTS, REGION and DATA",
        ),
        (
            "n,time\n1,2\n",
            ", line 1: \"n,time\", expected PARAMETER, POINTS, REGION, METRIC or DATA",
        ),
        (
            "POINTS (1)\n",
            ", line 1: POINTS without a parameter, expected PARAMETER above",
        ),
        (
            "PARAMETER x\nPOINTS (1 2)\n",
            ", line 2: a point of 2 coordinates, expected 1, one a parameter",
        ),
        (
            "PARAMETER x\nPOINTS (1\n",
            ", line 2: a point without end, expected \")\"",
        ),
        (
            "PARAMETER x\nPOINTS 1 2\nDATA 1\nREGION r\n",
            ", line 4: 1 DATA lines of \"\", expected 2, one a point",
        ),
        (
            "PARAMETER x\nPOINTS 1\nDATA 1\nDATA 1\n",
            ", line 4: DATA line 2, expected 1, one a point",
        ),
        (
            "PARAMETER x\nPOINTS 1\nDATA x\n",
            ", line 3: \"x\", expected a number",
        ),
    ] {
        assert_eq!(error("t.txt", text), format!("{begins}{message}"));
    }
    for (name, text, message) in [
        (
            "t.jsonl",
            "{\"params\":{\"x\":1},\"value\":1}\n{\"params\":{\"x\":1}\n",
            ", line 2, column",
        ),
        (
            "t.jsonl",
            "{\"value\":1}\n",
            ", line 1, column 11: not the JSON that Extra-P reads",
        ),
        (
            "t.jsonl",
            "{\"params\":{\"x\":1},\"value\":NaN}\n",
            ", line 1, column 27: not the JSON",
        ),
        (
            "t.jsonl",
            "\n\n",
            ": nothing in it, expected a measurement a line",
        ),
        (
            "t.json",
            "{\n\"parameters\": [\"x\"]\n}",
            ", line 3, column 1: not the JSON",
        ),
        ("t.json", " ", ": nothing in it"),
        (
            "t.json",
            r#"{"parameters":["x"],"measurements":{"a":{"time":[{"point":[1,2],"values":[1]}]}}}"#,
            ": 2 coordinates at point 1 of \"a\", metric \"time\", expected 1, one a parameter",
        ),
        (
            "t.json",
            r#"{"parameters":["x"],"measurements":{"a":{"b":[{"point":[1],"values":[1]}],"c":[{"point":[1],"values":[1]}]}}}"#,
            ": metrics \"b\", \"c\", expected \"wall\"; name the one to take as the time",
        ),
        (
            "t.json",
            r#"{"parameters":[],"callpaths":[],"metrics":[],"coordinates":[],"measurements":[
                {"callpath_id":3,"coordinate_id":1,"metric_id":1,"value":0}]}"#,
            ": a measurement of callpath 3, expected an id from the lists above it",
        ),
    ] {
        let found = error(name, text);
        assert!(
            found.starts_with(&format!("cannot read measurements \"{name}\"{message}")),
            "{found}"
        );
    }
}

#[test]
fn other_parameters_of_a_method_are_refused_and_other_orders_are_not() {
    let first = ("a/sort.csv", "n,p,time\n1,2,3\n");
    let (samples, _) = read(&[first, ("b/sort.csv", "p,time_ms,n\n2,5000,1\n")], &wall()).unwrap();
    assert_eq!(shape(&samples[0]).2, [(vec![1.0, 2.0], 2, 4.0)]);
    for (header, found) in [
        ("n,m,time", "n, m"),
        ("n,p [byte],time", "n, p (byte)"),
        ("n,time,run", "n"),
    ] {
        let other = format!("{header}\n1,2,3\n");
        assert_eq!(
            error(&[first, ("b/sort.csv", &other)], &wall()),
            format!(
                "cannot read measurements \"b/sort.csv\", line 2: parameters [{found}] of \"sort\", \
                 expected [n, p] as in \"a/sort.csv\"; fit them apart"
            )
        );
    }
    let lines = "{\"params\":{\"x\":1},\"value\":1}\n{\"params\":{\"y\":1},\"value\":1}\n";
    assert!(
        error(&[("l.jsonl", lines)], &wall())
            .contains("line 2: parameters [y] of \"l\", expected [x]")
    );
}

#[test]
fn a_label_that_only_one_file_has_belongs_to_the_method() {
    let files = [
        ("a/s.csv", "n,order,time\n1,up,3\n"),
        ("b/s.csv", "n,order,time\n1,down,4\n"),
    ];
    let (samples, _) = read(&files, &wall()).unwrap();
    assert_eq!(
        shape(&samples[0]).2,
        [(vec![1.0, 0.0], 1, 4.0), (vec![1.0, 1.0], 1, 3.0)]
    );
}

/// A name without what the text formats give a meaning.
const NAME: &str = "[a-z][a-z0-9]{0,6}";

proptest! {
    /// What is written in any of the formats is read again.
    #[test]
    fn written_measurements_are_read_again(
        names in proptest::collection::btree_set(NAME, 1..4),
        points in proptest::collection::btree_map(proptest::collection::vec(1u32..1000, 3), proptest::collection::vec(1e-9f64..1e3, 1..4), 1..6),
    ) {
        let names: Vec<String> = names.into_iter().map(|name| format!("x{name}")).collect();
        let mut expected = std::collections::BTreeMap::<Vec<u32>, Vec<f64>>::new();
        for (point, values) in &points {
            expected.entry(point[..names.len()].to_vec()).or_default().extend(values);
        }
        let (mut text, mut lines, mut json) = (String::new(), String::new(), String::new());
        let mut table = format!("{},time\n", names.join(","));
        let mut points = String::new();
        for (point, values) in &expected {
            let point: Vec<_> = point.iter().map(ToString::to_string).collect();
            let shown: Vec<_> = values.iter().map(|v| format!("{v:e}")).collect();
            points += &format!(" ({})", point.join(" "));
            text += &format!("DATA {}\n", shown.join(" "));
            json += &format!("{{\"point\":[{}],\"values\":[{}]}},", point.join(","), shown.join(","));
            let params: Vec<_> = names.iter().zip(&point).map(|(n, v)| format!("\"{n}\":{v}")).collect();
            lines += &format!("{{\"params\":{{{}}},\"value\":[{}]}}\n", params.join(","), shown.join(","));
            shown.iter().for_each(|value| table += &format!("{},{value}\n", point.join(",")));
        }
        let text = format!("PARAMETER {}\nPOINTS{points}\nREGION m\nMETRIC time\n{text}", names.join(" "));
        let quoted: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let json = json.trim_end_matches(',');
        let json = format!("{{\"parameters\":[{}],\"measurements\":{{\"m\":{{\"time\":[{json}]}}}}}}", quoted.join(","));
        for (name, text) in [("m.txt", &text), ("m.jsonl", &lines), ("m.json", &json), ("m.csv", &table)] {
            let (samples, aside) = read(&[(name, text.as_str())], &wall()).unwrap();
            prop_assert!(aside.is_empty());
            prop_assert_eq!(samples.len(), 1);
            prop_assert_eq!(samples[0].coordinates.len(), expected.len());
            for (at, (point, values)) in expected.iter().enumerate() {
                let point: Vec<f64> = point.iter().map(|&x| f64::from(x)).collect();
                prop_assert_eq!(&samples[0].coordinates[at], &point);
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                prop_assert_eq!(samples[0].times[at].count, values.len() as u64);
                prop_assert!((samples[0].times[at].mean_s / mean - 1.0).abs() < 1e-12);
            }
        }
    }

    /// Broken text is an error or samples, never a panic, and the numbers taken are sound.
    #[test]
    fn damaged_inputs_do_no_harm(
        name in prop::sample::select(vec!["t.csv", "t.txt", "t.json", "t.jsonl"]),
        cut in 0usize..600,
        at in 0usize..600,
        byte in any::<u8>(),
    ) {
        let text = match name {
            "t.csv" => "n,order,time\n1,up,3\n2,down,4\n3,up,inf\n",
            "t.txt" => TEXT,
            "t.json" => r#"{"parameters": ["p"], "measurements": {"a": {"time": [{"point": [1], "values": [1, 3]}]}}}"#,
            _ => "{\"params\":{\"p\":1,\"n\":\"x\"},\"value\":[1,3]}\n{\"params\":{\"p\":2,\"n\":\"y\"},\"value\":2}\n",
        };
        let mut bytes = text.as_bytes()[..cut.min(text.len())].to_vec();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        let format = Format::of_name(name).unwrap();
        let mut survey = Survey::default();
        if survey.look(name, format, bytes.as_slice(), &wall()).is_ok() {
            let mut set = SampleSet::new(Metric::Wall);
            let aside = survey.read(name, format, bytes.as_slice(), &wall(), &mut set).unwrap();
            for samples in set.finish() {
                let own = aside.iter().filter(|aside| aside.method == samples.method);
                prop_assert_eq!(samples.n_refused, own.map(|aside| aside.count).sum::<u64>());
                prop_assert!(samples.times.iter().all(|t| t.mean_s >= 0.0 && t.mean_s.is_finite() || t.max_s > 1e300));
            }
        }
    }

    /// Any text at all.
    #[test]
    fn any_text_does_no_harm(text in ".{0,200}", which in 0usize..4) {
        let format = [Format::Table, Format::ExtrapText, Format::ExtrapJson, Format::JsonLines][which];
        let mut survey = Survey::default();
        let _ = survey.look("any", format, text.as_bytes(), &wall());
    }
}

#[test]
fn an_experiment_of_extra_p_is_an_archive() {
    let document = r#"{"Extra-P": "4.2.5", "parameters": ["x"], "measurements": {"main->sweep": {"time": [
        {"coordinate": [4.0], "mean": 2.0, "std": 0.1, "repetitions": 4, "values": null},
        {"coordinate": [8.0], "mean": 4.0}]}}, "modelers": []}"#;
    let archive = |name: &str| {
        let mut bytes = Vec::new();
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(&mut bytes));
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(name, options).unwrap();
        std::io::Write::write_all(&mut writer, document.as_bytes()).unwrap();
        writer.finish().unwrap();
        bytes
    };
    let look = |bytes: &[u8]| {
        let mut survey = Survey::default();
        let (format, wanted) = (Format::of_name("a.extra-p").unwrap(), wall());
        survey.look("a.extra-p", format, bytes, &wanted)?;
        let mut set = SampleSet::new(Metric::Wall);
        survey.read("a.extra-p", format, bytes, &wanted, &mut set)?;
        Ok::<_, InputError>(set.finish().remove(0))
    };
    let whole = archive("experiment.json");
    let samples = look(&whole).unwrap();
    assert_eq!(
        (samples.method.as_str(), samples.parameters[0].name.as_str()),
        ("main->sweep", "x")
    );
    let [first, second] = samples.times[..] else {
        panic!("{samples:?}");
    };
    assert!(
        first.count == 4
            && (first.mean_s - 2.0).abs() < 1e-12
            && (first.m2_s2 - 0.04).abs() < 1e-12
    );
    assert!(second.count == 1 && second.mean_s == 4.0);
    for broken in [&whole[..whole.len() / 2], b"{}", &archive("other.json")[..]] {
        let error = look(broken).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot read measurements \"a.extra-p\": no archive, or a damaged one, expected a ZIP archive with experiment.json, as \
             Extra-P writes it"
        );
    }
}

#[test]
fn benchmark_programs_say_what_they_ran() {
    // As Google Benchmark 1.7, hyperfine 1.15 and pytest-benchmark 5 write them.
    let google = r#"{"context": {"num_cpus": 2}, "benchmarks": [
        {"name": "BM_Sort/n:256/repeats:2", "run_name": "BM_Sort/n:256/repeats:2", "run_type": "iteration", "threads": 1,
         "iterations": 3244, "real_time": 8.0, "cpu_time": 7.0, "time_unit": "us"},
        {"name": "BM_Sort/n:256/repeats:2", "run_name": "BM_Sort/n:256/repeats:2", "run_type": "iteration",
         "real_time": 12.0, "cpu_time": 7.0, "time_unit": "us"},
        {"name": "BM_Sort/n:256/repeats:2_mean", "run_name": "BM_Sort/n:256/repeats:2", "run_type": "aggregate",
         "aggregate_name": "mean", "real_time": 10.0, "cpu_time": 7.0, "time_unit": "us"},
        {"name": "BM_Sort/n:512", "run_name": "BM_Sort/n:512", "run_type": "iteration", "error_occurred": true,
         "real_time": 0.0, "cpu_time": 0.0, "time_unit": "ns"}]}"#;
    let (samples, aside) = read(&[("b.json", google)], &wall()).unwrap();
    assert_eq!(
        shape(&samples[0]),
        (
            "BM_Sort",
            vec!["n"],
            vec![(vec![256.0], 2, 9.999999999999999e-6)]
        )
    );
    assert_eq!((aside[0].count, aside[0].why), (1, Why::NoTime));
    let unlike = google
        .replace("n:512", "n:512/k:3")
        .replace("\"error_occurred\": true,", "");
    let (samples, _) = read(&[("b.json", &unlike)], &wall()).unwrap();
    let methods: Vec<_> = samples.iter().map(|one| one.method.as_str()).collect();
    assert_eq!(methods, ["BM_Sort(n)", "BM_Sort(n, k)"]);
    let cpu = Wanted::new(Metric::named("cpu_time"));
    let (samples, _) = read(&[("b.json", google)], &cpu).unwrap();
    assert_eq!(shape(&samples[0]).2, [(vec![256.0], 2, 7e-6)]);

    let hyperfine = r#"{"results": [
        {"command": "gzip -4 x", "mean": 0.3, "times": [0.2, 0.4], "exit_codes": [0, 0], "parameters": {"level": "4"}},
        {"command": "gzip -9 x", "mean": 0.7, "times": [0.7, 0.1], "exit_codes": [0, 1], "parameters": {"level": "9"}}]}"#;
    let (samples, aside) = read(&[("h.json", hyperfine)], &wall()).unwrap();
    let points = vec![(vec![4.0], 2, 0.3), (vec![9.0], 1, 0.7)];
    let (method, names, found) = shape(&samples[0]);
    assert_eq!((method, names), ("gzip -{level} x", vec!["level"]));
    assert_eq!(found.len(), 2);
    for ((x, n, mean), (known_x, known_n, known)) in found.iter().zip(&points) {
        assert!(x == known_x && n == known_n && (mean - known).abs() < 1e-12);
    }
    assert_eq!((aside[0].count, aside[0].why), (1, Why::NoTime));

    let pytest = r#"{"machine_info": {}, "benchmarks": [
        {"name": "test_build[list-1000]", "params": {"kind": "list", "n": 1000}, "stats": {"mean": 5.0, "data": [1.0, 3.0]}},
        {"name": "test_plain", "params": null, "stats": {"mean": 2.0}}]}"#;
    let (samples, _) = read(&[("p.json", pytest)], &wall()).unwrap();
    let build = samples.iter().find(|one| one.method == "test_build");
    assert_eq!(shape(build.unwrap()).1, ["kind", "n"]);
    assert_eq!(
        samples.iter().map(|one| one.method.as_str()).max(),
        Some("test_plain")
    );
}

#[test]
fn what_is_wrong_in_a_benchmark_is_named() {
    let aggregates = r#"{"context": {}, "benchmarks": [{"name": "a/1_mean", "run_name": "a/1", "run_type": "aggregate",
        "real_time": 1.0, "time_unit": "ns"}]}"#;
    let found = error(&[("b.json", aggregates)], &wall());
    assert!(
        found.contains("1 aggregates, expected repetitions"),
        "{found}"
    );
    let unit = aggregates
        .replace("aggregate\"", "iteration\"")
        .replace("\"ns\"", "\"fortnight\"");
    let found = error(&[("b.json", &unit)], &wall());
    assert!(
        found.contains("time unit \"fortnight\" of \"a/1\", expected s, ms, us or ns"),
        "{found}"
    );
    // Something else that has runs in place of statistics.
    let other = r#"{"benchmarks": [{"metadata": {}, "runs": []}]}"#;
    let found = error(&[("b.json", other)], &wall());
    assert!(found.contains("missing field `name`"), "{found}");
    let none = r#"{"results": []}"#;
    let found = error(&[("b.json", none)], &wall());
    assert!(
        found.contains("expected a JSON document with measurements"),
        "{found}"
    );
}

#[test]
fn a_time_may_have_its_unit_in_its_line() {
    let by_column = "n,time,unit\n100,200,us\n200,0.4,ms\n400,,\n";
    let (samples, aside) = read(&[("t.csv", by_column)], &wall()).unwrap();
    let points = vec![(vec![100.0], 1, 200e-6), (vec![200.0], 1, 0.4e-3)];
    assert_eq!(shape(&samples[0]), ("t", vec!["n"], points));
    assert_eq!((aside[0].count, aside[0].why), (1, Why::NoTime));
    let in_cells = "n,time\n100,200us\n200,0.4 ms\n400,1\n";
    let (samples, _) = read(&[("t.csv", in_cells)], &wall()).unwrap();
    let points = vec![
        (vec![100.0], 1, 200e-6),
        (vec![200.0], 1, 0.4e-3),
        (vec![400.0], 1, 1.0),
    ];
    assert_eq!(shape(&samples[0]).2, points);
    // Where the time's own column says it, another one may be a parameter.
    let of_column = "n,time_ms,unit\n100,2,gpu\n200,4,cpu\n";
    let (samples, _) = read(&[("t.csv", of_column)], &wall()).unwrap();
    assert_eq!(shape(&samples[0]).1, ["n", "unit"]);
    let unknown = error(&[("t.csv", "n,time,unit\n100,2,fortnight\n")], &wall());
    assert!(
        unknown.contains("line 2, column 3: time unit \"fortnight\", expected s, ms, us or ns"),
        "{unknown}"
    );
    let counted = Wanted::new(Metric::named("misses"));
    let (samples, _) = read(&[("t.csv", "n,misses,unit\n1,5,us\n2,6,ms\n")], &counted).unwrap();
    assert_eq!(shape(&samples[0]).1, ["n", "unit"]);
}
