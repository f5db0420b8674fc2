//! The page of `mastermind serve`, in Debian's Chromium: it shows what the verbs print, and the keyboard operates all
//! of it.

use std::process::Command;
use std::time::{Duration, Instant};

use cca_core::Assembly;
use fantoccini::Locator;
use mastermind_tests::{Scratch, root};
use serde_json::{Value, json};

use super::page_browser::{DOWN, ENTER, Page, TAB, button, in_browser, labelled};

/// The name that the page gives to an instance of a class.
fn name_of(class: &str) -> String {
    let last = class.rsplit('.').next().unwrap_or(class);
    last[..1].to_lowercase() + &last[1..]
}

#[test]
fn the_shock_problem_is_assembled_by_keyboard_and_run() {
    let scratch = Scratch::new();
    let example = root().join("examples/shock/shock.toml");
    let wanted = Assembly::read(&example).expect("the example");
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.tab_to(&button("New file")).await;
        page.keys(ENTER).await;
        page.client
            .send_alert_text("made")
            .await
            .expect("a question");
        page.client.accept_alert().await.expect("an answer");
        page.until("return document.querySelector('main h2')?.textContent === 'made.toml'")
            .await;
        page.settled().await;
        for class in wanted.instances.values() {
            page.tab_to(&labelled("Search classes")).await;
            page.keys(class).await;
            page.tab_to(&button(&format!("Add {class}"))).await;
            page.keys(ENTER).await;
            page.until(&format!(
                "return document.querySelector('[data-instance={}]') !== null",
                name_of(class)
            ))
            .await;
            page.settled().await;
            page.tab_to(&button("Close")).await;
            page.keys(ENTER).await;
            page.until(&format!("return {} !== null", labelled("Search classes")))
                .await;
            if page
                .run("return document.querySelector('.palette').open", vec![])
                .await
                == Value::Bool(false)
            {
                page.tab_to(&button("Classes")).await;
                page.keys(ENTER).await;
            }
        }
        let made = |end: &cca_core::Endpoint| {
            format!("{}.{}", name_of(&wanted.instances[&end.instance]), end.port)
        };
        let mut chosen = String::new();
        for (uses, provides) in &wanted.connections {
            let user = name_of(&wanted.instances[&uses.instance]);
            if chosen != user {
                page.tab_to(&format!("document.querySelector('[data-instance={user}]')"))
                    .await;
                page.keys(ENTER).await;
                chosen = user;
            }
            let select = labelled(&format!("uses port {}", uses.port));
            page.until(&format!("return {select} !== null")).await;
            for _ in 0..10 {
                if page.run(&format!("return {select}.value"), vec![]).await
                    == made(provides).as_str()
                {
                    break;
                }
                page.tab_to(&select).await;
                page.keys(DOWN).await;
                page.settled().await;
            }
        }
        for (instance, parameters) in &wanted.parameters {
            let instance = name_of(&wanted.instances[instance]);
            page.tab_to(&format!(
                "document.querySelector('[data-instance={instance}]')"
            ))
            .await;
            page.keys(ENTER).await;
            for (key, value) in parameters {
                let field = labelled(&format!("parameter {key}"));
                page.until(&format!("return {field} !== null")).await;
                page.tab_to(&field).await;
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                let is_choice =
                    page.run(&format!("return {field}.tagName"), vec![]).await == "SELECT";
                // A choice is made by its first letters.
                page.keys(&if is_choice {
                    text[..1].to_owned()
                } else {
                    format!("{text}{TAB}")
                })
                .await;
                page.until(&format!("return {field}?.value === '{text}'"))
                    .await;
                page.settled().await;
            }
        }
        page.tab_to("document.querySelector('[data-instance=shockDriver]')")
            .await;
        page.keys(ENTER).await;
        let start = button("Start the assembly here");
        page.until(&format!("return Boolean({start})")).await;
        page.tab_to(&start).await;
        page.keys(ENTER).await;
        page.settled().await;
        page.until("return document.getElementById('problems') === null")
            .await;
        page.tab_to(&button("Close")).await;
        page.keys(ENTER).await;
        page.until(&format!("return {} !== null", labelled("Settings")))
            .await;
        page.tab_to(&labelled("Settings")).await;
        // The form is sent from a field by the return key: saves, and runs.
        page.keys(&format!("shockDriver.end_time=0.05{ENTER}"))
            .await;
        page.until(
            "return document.querySelector('#jobs summary')?.textContent.endsWith('done') ?? false",
        )
        .await;
        page.close().await;
        let text = scratch.read("made.toml");
        let built = Assembly::read(&scratch.path("made.toml"))
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        let connections: Vec<_> = wanted
            .connections
            .iter()
            .map(|(uses, provides)| (made(uses), made(provides)))
            .collect();
        let mut found: Vec<_> = built
            .connections
            .iter()
            .map(|(uses, provides)| (uses.to_string(), provides.to_string()))
            .collect();
        found.sort();
        let mut connections = connections;
        connections.sort();
        assert_eq!(found, connections);
        let profile = scratch.mastermind(&["profile", "made-records"]).well();
        assert!(profile.contains("godunovFlux.compute"), "{profile}");
    });
}

#[test]
fn the_choice_is_that_of_the_terminal_and_is_saved() {
    let scratch = Scratch::new();
    let assembly = scratch.example("shock/shock.toml", &[], &[]);
    let name = assembly
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let plan = [
        "plan",
        &name,
        "--run",
        "--records",
        "planned",
        "--repeat",
        "1",
        "--set",
        "driver.end_time=0.02",
    ];
    scratch.mastermind(&plan).well();
    let runs: Vec<String> = (1..=6).map(|run| format!("planned/run{run}-1")).collect();
    let mut fit: Vec<&str> = vec!["fit"];
    fit.extend(runs.iter().map(String::as_str));
    fit.extend(["-o", "models.json"]);
    scratch.mastermind(&fit).well();
    let choose = [
        "choose",
        &name,
        "--models",
        "models.json",
        "--records",
        "planned/run1-1",
        "--json",
    ];
    let chosen: Value =
        serde_json::from_str(&scratch.mastermind(&choose).well()).expect("a choice");
    let before = scratch.read(&name);
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.show(&name).await;
        for (label, value) in [("Records", "planned/run1-1"), ("Models", "models.json")] {
            let list = page
                .client
                .find(Locator::Css(&format!("[aria-label={label}]")))
                .await
                .expect("a list");
            list.select_by_value(value).await.expect("selected");
            page.settled().await;
        }
        assert_eq!(
            page.text("#best").await,
            page.time(&chosen["predicted_s"]).await
        );
        assert_eq!(
            page.text("#current").await,
            page.time(&chosen["current_s"]).await
        );
        let ranked = chosen["assemblies"]
            .as_str()
            .expect("a number of assemblies");
        let rows = "return String(document.querySelectorAll('[aria-label=\"Assemblies by predicted time\"] tbody tr').length)";
        assert_eq!(page.run(rows, vec![]).await, ranked);
        let text = page.run("return document.body.innerText", vec![]).await;
        assert!(
            !text.as_str().unwrap_or_default().contains("[object"),
            "{text}"
        );
        if let Ok(take) = page.client.find(Locator::Id("take-best")).await {
            take.click().await.expect("taken");
            page.until("return document.getElementById('take-best') === null && document.querySelector('[aria-busy]') === null").await;
            page.tab_to(&button("Save")).await;
            page.keys(ENTER).await;
            page.until("return document.getElementById('state').textContent === 'Saved.'")
                .await;
        }
        // The page has sent requests to its own server only.
        let others = "return performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith(location.origin) && !name.startsWith('blob:'))";
        assert_eq!(page.run(others, vec![]).await, json!([]));
        let elsewhere = "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('answered'), (error) => done(error.message))";
        let elsewhere = page
            .client
            .execute_async(elsewhere, vec![])
            .await
            .expect("an error");
        assert_ne!(elsewhere, "answered");
        assert!(page.address.starts_with("http://127.0.0.1:"));
        page.close().await;
        let saved = Assembly::read(&assembly).expect("an assembly");
        let best: Vec<_> = saved
            .instances
            .iter()
            .map(|(instance, class)| (instance.as_str(), Value::from(class.as_str())))
            .collect();
        for (instance, class) in best {
            assert_eq!(chosen["best"][instance], class, "{instance}");
        }
        let after = scratch.read(&name);
        let changed = before
            .lines()
            .zip(after.lines())
            .filter(|(old, new)| old != new);
        assert!(
            changed
                .map(|(old, _)| old)
                .all(|old| old.starts_with("flux =") || old.starts_with("states =")),
            "{after}"
        );
        assert_eq!(before.lines().count(), after.lines().count());
    });
}

#[test]
fn the_flux_is_swapped_in_mid_run_and_the_record_names_the_new_class() {
    let scratch = Scratch::new();
    let assembly = scratch.example("shock/shock.toml", &[], &[]);
    let name = assembly
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.show(&name).await;
        page.tab_to(&labelled("Swaps")).await;
        page.keys(DOWN).await;
        page.fill(&labelled("Folder for the records"), "swapped")
            .await;
        // Far longer than the test: it is stopped.
        page.fill(
            &labelled("Settings"),
            &format!("driver.end_time=1000{ENTER}"),
        )
        .await;
        page.until("return document.querySelector('#jobs summary')?.textContent.includes('--redirectable') ?? false").await;
        let recorded = |class: &str| {
            let run = scratch.mastermind(&["profile", "swapped", "--json"]);
            let document: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
            let rows = document["rows"].as_array().cloned().unwrap_or_default();
            rows.iter().any(|row| {
                row["name"] == "flux.compute"
                    && row["class"]
                        .as_str()
                        .is_some_and(|classes| classes.contains(class))
            })
        };
        let recorded_in_time = async |class: &str| {
            let begin = Instant::now();
            while !recorded(class) {
                assert!(
                    begin.elapsed() < Duration::from_secs(120),
                    "no call of {class}"
                );
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        recorded_in_time("hydro.GodunovFlux").await;
        assert!(!recorded("hydro.EfmFlux"));
        page.tab_to("document.querySelector('[data-instance=flux]')")
            .await;
        page.keys(ENTER).await;
        let class = labelled("Class in the run");
        page.until(&format!("return {class} !== null")).await;
        page.tab_to(&class).await;
        for _ in 0..5 {
            if page.run(&format!("return {class}.value"), vec![]).await == "hydro.EfmFlux" {
                break;
            }
            page.keys(DOWN).await;
        }
        page.press("Swap flux").await;
        page.until("return [...document.querySelectorAll('#jobs summary')].some((one) => one.textContent.includes('redirect') && one.textContent.endsWith('done'))")
            .await;
        recorded_in_time("hydro.EfmFlux").await;
        page.press("Stop").await;
        page.until("return [...document.querySelectorAll('#jobs summary')].every((one) => !one.textContent.endsWith('runs'))").await;
        page.close().await;
        let profile = scratch.mastermind(&["profile", "swapped"]).well();
        assert!(
            profile.contains("hydro.EfmFlux, hydro.GodunovFlux"),
            "{profile}"
        );
    });
}

/// The files of the page, each compressed by itself, are at most 150 kB.
#[test]
fn a_browser_loads_little() {
    let folder = root().join("mastermind/serve/assets");
    let files = std::fs::read_dir(folder).expect("the files");
    let compressed = files.map(|file| {
        let gzip = Command::new("gzip")
            .arg("-c")
            .arg(file.expect("a file").path())
            .output();
        gzip.expect("gzip").stdout.len()
    });
    let bytes: usize = compressed.sum();
    assert!((1..=150_000).contains(&bytes), "{bytes} bytes");
}

#[test]
fn what_cannot_be_served_is_said() {
    let scratch = Scratch::new();
    let error = scratch.mastermind(&["serve", "nowhere"]).error();
    assert!(error.contains("nowhere"), "{error}");
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let error = scratch.mastermind(&["serve", "--port", &port]).error();
    assert!(error.contains(&format!("port {port}")), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
