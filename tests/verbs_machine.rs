//! `mastermind machine`: the processor as a table of a machine file.

use mastermind_machine::processor::Processor;
use mastermind_simulation::machine::read_machine;
use mastermind_tests::Scratch;

/// One pass, at once: the values depend on the machine.
const ONCE: [&str; 4] = ["--passes", "1", "--spread", "0"];

#[test]
fn a_machine_file_gets_the_processor_and_keeps_the_rest() {
    if !cfg!(target_arch = "x86_64") {
        return mastermind_tests::skip("measuring the processor", "another architecture");
    }
    let scratch = Scratch::new();
    let own = "# mine\n[nodes]\nprocessors = 2 # two\n";
    scratch.write("m.toml", own);
    let machine = [&["machine", "-o", "m.toml", "--json"], &ONCE[..]].concat();
    let shown: Processor =
        serde_json::from_str(&scratch.mastermind(&machine).well()).expect("JSON");
    let text = scratch.read("m.toml");
    assert!(text.starts_with(own), "{text}");
    let mut table: toml::Table = text.parse().expect("TOML");
    let processor = table.remove("processor").expect("the table");
    let processor: Processor = processor.try_into().expect("a processor");
    assert_eq!(processor, shown);
    // These hold on every processor: a clock of 0.2 to 10 GHz, and dependent instructions are slower than independent
    // ones.
    assert!((0.2e9..10e9).contains(&processor.clock_hz.best));
    let [waiting, others] =
        [&processor.latency_ns, &processor.throughput_ns].map(|of| of["addition"].best);
    assert!(waiting > others, "{waiting} {others}");
    assert!(processor.load.iter().any(|of| of.bytes == 256 << 20));
    // A simulation takes the file as before.
    assert_eq!(read_machine(&text).expect("a machine").processors, 2);
    let error = scratch.mastermind(&machine).error();
    assert!(error.contains("[processor]"), "{error}");
    scratch.write("m.toml", "[[[");
    scratch.mastermind(&machine).error();
    assert_eq!(scratch.read("m.toml"), "[[[");
}
