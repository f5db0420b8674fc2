//! Diagrams of other people, which are not ours to keep: run by hand on a folder of them.

use std::fs;

use mastermind_diagrams::{Reading, read_plantuml, read_xmi};
use mastermind_models::ModelSet;
use mastermind_programs::expression::Expression;
use mastermind_programs::{Element, ElementKind, System, lower};
use mastermind_simulation::engine::simulate;
use mastermind_simulation::machine::Machine;

/// Gives each action that says none a cost of a millisecond; how many there are.
fn give_costs(flow: &mut [Element]) -> usize {
    let mut given = 0;
    for element in flow {
        given += match &mut element.kind {
            ElementKind::Action { cost, code } if cost.is_none() && code.is_empty() => {
                *cost = Some(Expression::Number(1e-3));
                1
            }
            ElementKind::Decision { branches } => {
                let branches = branches.iter_mut();
                branches.map(|branch| give_costs(&mut branch.flow)).sum()
            }
            ElementKind::Loop { flow, .. }
            | ElementKind::While { flow, .. }
            | ElementKind::Parallel { flow, .. }
            | ElementKind::Critical { flow, .. } => give_costs(flow),
            _ => 0,
        };
    }
    given
}

/// Reads a file, gives costs to its actions, and simulates it; what is wrong with it else.
fn outcome(name: &str, text: &str) -> Result<(), String> {
    let read = if name.ends_with(".puml") {
        read_plantuml(text)
    } else {
        read_xmi(text)
    };
    let Reading { mut model, .. } = read.map_err(|error| error.to_string())?;
    let flows = model.activities.values_mut();
    let given: usize = flows.map(|activity| give_costs(&mut activity.flow)).sum();
    let system = System {
        processes: 2,
        nodes: 2,
        processors: 4,
    };
    let program = lower(&model, &ModelSet::default(), system).map_err(|error| error.to_string())?;
    let machine = Machine {
        processors: 4,
        ..Machine::default()
    };
    let outcome = simulate(&program, &machine).map_err(|error| error.to_string())?;
    let milliseconds = outcome.makespan_ns as f64 / 1e6;
    println!("{name}: {given} actions given a millisecond each, {milliseconds:.3} ms");
    Ok(())
}

/// Of the PlantUML files of the folder `public-diagrams` among the temporary ones at least 25 of 30 load and run, of those in XMI
/// 8 of 10; why each other one does not is printed.
#[test]
#[ignore = "reads files that are not ours to keep"]
fn public_files_load_and_run() {
    let folder = std::env::temp_dir().join("public-diagrams");
    let mut counts = [[0_usize; 2]; 2];
    let mut names: Vec<_> = fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("a file").path())
        .collect();
    names.sort();
    for path in names {
        let name = path.display().to_string();
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
        let kind = usize::from(!name.ends_with(".puml"));
        let result = outcome(&name, &text);
        counts[kind][0] += usize::from(result.is_ok());
        counts[kind][1] += 1;
        if let Err(reason) = result {
            println!("{name}: {reason}");
        }
    }
    let [puml, xmi] = counts;
    println!(
        "PlantUML {} of {}, XMI {} of {}",
        puml[0], puml[1], xmi[0], xmi[1]
    );
    assert!(puml[0] * 30 >= puml[1] * 25 && xmi[0] * 10 >= xmi[1] * 8);
}
