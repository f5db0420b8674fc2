//! A set read, written and described, and the values that it refuses.

use super::*;

fn set() -> (Arc<ParameterSet>, Parameter<f64>, Parameter<String>) {
    let set = Arc::new(ParameterSet::default());
    let cfl = set
        .real("cfl", 0.4)
        .bounds(0.0, 1.0)
        .unit("1")
        .add()
        .unwrap();
    let side = set
        .text("left", "fixed")
        .choices(&["fixed", "outflow"])
        .add()
        .unwrap();
    (set, cfl, side)
}

#[test]
fn a_value_is_held_and_an_integer_taken_for_a_number() {
    let (set, cfl, side) = set();
    assert_eq!(cfl.get(), 0.4);
    set.set_value("cfl".into(), ParameterValue::Integer(1))
        .unwrap();
    set.set_value("left".into(), ParameterValue::Text("outflow".into()))
        .unwrap();
    assert_eq!((cfl.get(), side.get().as_str()), (1.0, "outflow"));
}

#[test]
fn what_is_not_allowed_changes_nothing_and_is_named() {
    let (set, cfl, _) = set();
    let refused = |key: &str, value| {
        set.set_value(key.into(), value)
            .unwrap_err()
            .message()
            .to_string()
    };
    assert_eq!(
        refused("cfl", ParameterValue::Real(1.5)),
        "cannot set parameter \"cfl\": 1.5, expected 0 to 1"
    );
    assert!(refused("cfl", ParameterValue::Real(f64::NAN)).contains("NaN"));
    assert!(refused("cfl", ParameterValue::Text("x".into())).contains("expected number"));
    assert!(refused("left", ParameterValue::Text("x".into())).contains("fixed, outflow"));
    assert!(refused("cfk", ParameterValue::Real(0.1)).contains("one of cfl, left"));
    assert_eq!(cfl.get(), 0.4);
}

#[test]
fn the_configuration_is_read_and_written_as_a_map() {
    let (set, cfl, side) = set();
    let heard = Arc::new(RwLock::new(Vec::new()));
    let set_keys = Arc::clone(&heard);
    set.on_set(move |key| write(&set_keys).push(key.to_string()));
    let mut map = set.read_configuration_map().unwrap();
    assert_eq!(map.get_double("cfl", 0.0), Ok(0.4));
    map.put_double("cfl", 0.5).unwrap();
    map.put_string("left", "outflow".into()).unwrap();
    set.write_configuration_map(map).unwrap();
    assert_eq!((cfl.get(), side.get().as_str()), (0.5, "outflow"));
    assert_eq!(*read(&heard), ["cfl", "left"]);
    let mut wrong = TypeMap::default();
    wrong.put_int_array("cfl", vec![1].into()).unwrap();
    let error = set.write_configuration_map(wrong).unwrap_err();
    assert_eq!(error.code(), ErrorCode::BadProperties);
}

#[test]
fn groups_prompts_and_late_parameters_are_described() {
    let set = Arc::new(ParameterSet::default());
    set.set_title("Mesh");
    set.begin_group("size");
    set.integer("nx", 4).prompt("cells along x").add().unwrap();
    let (late, added) = (Arc::downgrade(&set), RwLock::new(false));
    set.on_get(move || {
        if let (Some(set), false) = (late.upgrade(), std::mem::replace(&mut *write(&added), true)) {
            set.integer("ny", 4).add().unwrap();
        }
    });
    let descriptions = set.descriptions().unwrap();
    assert_eq!(set.title().unwrap(), "Mesh");
    assert_eq!(descriptions[0].group, "size");
    assert_eq!(descriptions[0].prompt, "cells along x");
    assert_eq!(descriptions[1].key, "ny");
}

#[test]
fn a_default_out_of_bounds_and_a_second_name_are_refused() {
    let (set, _, _) = set();
    assert!(set.real("x", 2.0).bounds(0.0, 1.0).add().is_err());
    assert!(set.real("cfl", 0.1).add().is_err());
}
