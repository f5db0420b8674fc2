//! Diagrams in the page of `mastermind serve`: drawn, changed and simulated in Debian's Chromium, by keyboard alone.

use fantoccini::Locator;
use mastermind_tests::{Scratch, root};
use serde_json::{Value, json};

use super::page_browser::{DOWN, ENTER, Page, TAB, button, in_browser, labelled};

#[test]
fn a_diagram_is_edited_and_simulated() {
    let scratch = Scratch::new();
    for file in ["sample.puml", "machine.toml"] {
        let text = std::fs::read(root().join("examples/sample").join(file)).expect("the example");
        scratch.write(file, text);
    }
    let simulate = [
        "simulate",
        "sample.puml",
        "--machine",
        "machine.toml",
        "--ranks",
        "8",
        "--json",
    ];
    let simulated = |scratch: &Scratch| -> f64 {
        let document: Value =
            serde_json::from_str(&scratch.mastermind(&simulate).well()).expect("a document");
        document["makespan_ns"].as_f64().expect("a time") / 1e9
    };
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.show("sample.puml").await;
        page.until("return document.querySelector('svg.diagram') !== null")
            .await;
        let ranks = page
            .client
            .find(Locator::Css("main input[type=number]"))
            .await
            .expect("ranks");
        ranks.send_keys(&format!("8{ENTER}")).await.expect("typed");
        page.until("return document.getElementById('simulated') !== null")
            .await;
        assert_eq!(
            page.text("#simulated").await,
            page.time(&simulated(&scratch).into()).await
        );
        // A text that is no diagram is found wrong, and one that is changed is simulated before it is saved.
        let area = page
            .client
            .find(Locator::Css("textarea"))
            .await
            .expect("the text");
        let text = scratch.read("sample.puml");
        let replace = "const [area, text] = arguments; area.value = text; area.dispatchEvent(new Event('input'))";
        let argument = serde_json::to_value(&area).expect("an element");
        page.run(
            replace,
            vec![argument.clone(), text.replace("endif", "endwhile").into()],
        )
        .await;
        page.until("return document.getElementById('problems') !== null || document.querySelector('ul.problems') !== null").await;
        let slower = text.replace("{id = 4, type = SAMPLE, time = ms(1)}", "{cost = ms(5)}");
        assert_ne!(slower, text);
        page.run(replace, vec![argument, slower.clone().into()])
            .await;
        page.until("return document.querySelector('ul.problems') === null")
            .await;
        page.settled().await;
        page.run("document.getElementById('simulated').remove()", vec![])
            .await;
        page.tab_to(&button("Simulate")).await;
        page.keys(ENTER).await;
        page.until("return document.getElementById('simulated') !== null")
            .await;
        let shown = page.text("#simulated").await;
        assert_eq!(scratch.read("sample.puml"), text);
        page.tab_to(&button("Save")).await;
        page.keys(ENTER).await;
        page.until("return document.getElementById('state').textContent === 'Saved.'")
            .await;
        assert_eq!(scratch.read("sample.puml"), slower);
        assert_eq!(shown, page.time(&simulated(&scratch).into()).await);
        page.close().await;
    });
}

/// The sample of S. Pllana et al., "Towards an Environment for Performance Modeling", Figures 7 and 8.
#[test]
fn the_sample_of_the_papers_is_drawn_by_keyboard() {
    let scratch = Scratch::new();
    let sample = root().join("examples/sample");
    for (file, to) in [
        ("sample.puml", "given.puml"),
        ("machine.toml", "machine.toml"),
    ] {
        let text = std::fs::read(sample.join(file)).expect("the example");
        scratch.write(to, text);
    }
    let simulated = |file: &str| -> Value {
        let simulate = [
            "simulate",
            file,
            "--machine",
            "machine.toml",
            "--ranks",
            "4",
            "--json",
        ];
        serde_json::from_str(&scratch.mastermind(&simulate).well()).expect("a document")
    };
    let element = |label: &str| format!("document.querySelector('[aria-label^=\"{label}\"]')");
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.tab_to(&button("New file")).await;
        page.keys(ENTER).await;
        page.client
            .send_alert_text("drawn.puml")
            .await
            .expect("a question");
        page.client.accept_alert().await.expect("an answer");
        page.until("return document.querySelector('main h2')?.textContent === 'drawn.puml'")
            .await;
        page.until("return document.querySelector('svg.diagram') !== null")
            .await;
        for (what, name, value) in [
            ("variable", "GV", "0"),
            ("variable", "P", "0"),
            ("cost function", "F_A1()", "0.000001 * P"),
            ("cost function", "F_SA2(pid_)", "F_A1() * (pid_ + 1)"),
        ] {
            page.fill(&labelled(&format!("New {what}")), name).await;
            page.fill(
                &labelled(&format!("Value of the new {what}")),
                &format!("{value}{ENTER}"),
            )
            .await;
            let declared = labelled(&format!("{what} {name}"));
            page.until(&format!("return {declared}?.value === '{value}'"))
                .await;
        }
        page.fill(&labelled("Name of the new activity"), &format!("SA{ENTER}"))
            .await;
        let in_sa = labelled("Name of the new element at the end of SA");
        for (name, cost) in [("SA1", "ms(1)"), ("SA2", "F_SA2(pid)")] {
            page.until(&format!("return {in_sa} !== null")).await;
            page.fill(&in_sa, &format!("{name}{ENTER}")).await;
            page.says("name", name).await;
            page.fill(&labelled("cost"), &format!("{cost}{TAB}")).await;
            page.says("cost", cost).await;
            page.press("Close").await;
        }
        page.tab_to(&element("action A")).await;
        page.keys(ENTER).await;
        for (word, text) in [
            ("name", "A1"),
            ("cost", "F_A1()"),
            ("code", "GV = 1; P = 4"),
        ] {
            page.fill(&labelled(word), &format!("{text}{TAB}")).await;
            page.says(word, text).await;
        }
        // The third entry of the list.
        page.tab_to(&labelled("New element after")).await;
        page.keys(&DOWN.repeat(2)).await;
        page.fill(
            &labelled("Name of the new element after"),
            &format!("GV{ENTER}"),
        )
        .await;
        page.fill(&labelled("guard"), &format!("GV == 1{TAB}"))
            .await;
        page.says("guard", "GV == 1").await;
        page.tab_to(&labelled("New element inside")).await;
        page.keys(DOWN).await;
        page.fill(
            &labelled("Name of the new element inside"),
            &format!("SA{ENTER}"),
        )
        .await;
        page.says("name", "SA").await;
        page.tab_to(&element("action GV")).await;
        page.keys(ENTER).await;
        page.says("name", "GV").await;
        page.press("Remove").await;
        page.until(&format!("return {} === null", element("action GV")))
            .await;
        page.tab_to(&element("decision GV == 1")).await;
        page.keys(ENTER).await;
        page.until(&format!("return {} !== null", labelled("guard")))
            .await;
        page.press("Add branch").await;
        let in_second = labelled("Name of the new element in branch 2");
        page.until(&format!("return {in_second} !== null")).await;
        page.fill(&in_second, &format!("A2{ENTER}")).await;
        page.says("name", "A2").await;
        page.tab_to(&element("decision GV == 1")).await;
        page.keys(ENTER).await;
        page.until(&format!("return {} !== null", labelled("guard")))
            .await;
        page.fill(
            &labelled("Name of the new element after"),
            &format!("A4{ENTER}"),
        )
        .await;
        page.says("name", "A4").await;
        // A cost with an unknown name is reported at its field while it is typed.
        page.fill(&labelled("cost"), "nothing(1)").await;
        page.until("return [...document.querySelectorAll('.field small')].some((one) => one.textContent.includes('nothing'))")
            .await;
        page.fill(&labelled("cost"), &format!("ms(1){TAB}")).await;
        page.until("return document.getElementById('problems') === null")
            .await;
        page.press("Save").await;
        page.until("return document.getElementById('state').textContent === 'Saved.'")
            .await;
        page.fill(
            "document.querySelector('main input[type=number]')",
            &format!("4{ENTER}"),
        )
        .await;
        page.until("return document.getElementById('play') !== null")
            .await;
        let given = simulated("given.puml");
        let seconds = given["makespan_ns"].as_f64().expect("a time") / 1e9;
        assert_eq!(
            page.text("#simulated").await,
            page.time(&seconds.into()).await
        );
        // Shares stand in the diagram, and in a moment of the simulated time each process is at an element.
        let share = "return [...document.querySelectorAll('[aria-label^=\"action A4\"] .share-text')].map((one) => one.textContent)";
        assert_eq!(page.run(share, vec![]).await, json!(["49.7 %"]));
        page.press("Step on").await;
        page.until("return document.querySelectorAll('circle.token').length === 4")
            .await;
        page.close().await;
        let drawn = simulated("drawn.puml");
        for part in ["makespan_ns", "processes", "messages"] {
            assert_eq!(drawn[part], given[part], "{}", scratch.read("drawn.puml"));
        }
        let times = |document: &Value| {
            let elements = document["elements"].as_array().expect("a list").iter();
            let mut times: Vec<_> = elements
                .map(|one| (one["name"].to_string(), one["total_ns"].as_u64()))
                .collect();
            times.sort();
            times
        };
        assert_eq!(times(&drawn), times(&given));
    });
}

#[test]
fn an_element_of_a_model_is_changed_and_the_rest_of_the_file_stays() {
    let scratch = Scratch::new();
    let text =
        std::fs::read_to_string(root().join("examples/sweep3d/sweep3d.toml")).expect("the example");
    scratch.write("model.toml", text.clone());
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.show("model.toml").await;
        page.until("return document.querySelector('svg.diagram [aria-label^=action]') !== null")
            .await;
        page.tab_to("document.querySelector('svg.diagram [aria-label^=action]')")
            .await;
        page.keys(ENTER).await;
        page.until(&format!("return {} !== null", labelled("cost")))
            .await;
        page.fill(&labelled("cost"), &format!("ms(3){TAB}")).await;
        page.says("cost", "ms(3)").await;
        page.press("Undo").await;
        page.until(&format!(
            "return {} !== null && {}.value !== 'ms(3)'",
            labelled("cost"),
            labelled("cost")
        ))
        .await;
        page.press("Redo").await;
        page.says("cost", "ms(3)").await;
        page.press("Save").await;
        page.until("return document.getElementById('state').textContent === 'Saved.'")
            .await;
        page.close().await;
        let after = scratch.read("model.toml");
        let changed: Vec<_> = text
            .lines()
            .zip(after.lines())
            .filter(|(old, new)| old != new)
            .collect();
        assert_eq!(
            (changed.len(), text.lines().count()),
            (1, after.lines().count()),
            "{after}"
        );
        assert!(changed[0].1.contains("cost = \"ms(3)\""), "{changed:?}");
        scratch.mastermind(&["check", "model.toml"]).well();
    });
}

#[test]
fn a_machine_is_a_form_and_the_calls_of_a_run_are_seen_over_its_time() {
    let scratch = Scratch::new();
    let machine = "# Ours.\n[nodes]\nprocessors = 1\n\n[network]\nlatency_ns = 2500 # measured\noverhead_ns = 1500\n";
    scratch.write("machine.toml", machine);
    scratch.example("shock/shock.toml", &[], &[]);
    let run = [
        "run",
        "shock.toml",
        "--records",
        "run",
        "--set",
        "driver.end_time=0.01",
    ];
    scratch.mastermind(&run).well();
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.show("machine.toml").await;
        page.fill(&labelled("network.latency_ns"), &format!("3000{TAB}"))
            .await;
        page.press("Save").await;
        page.until("return document.getElementById('state').textContent === 'Saved.'")
            .await;
        page.show("run").await;
        page.press("Show each call over time").await;
        page.until("return document.querySelector('.timeline canvas') !== null")
            .await;
        let range = "document.querySelector('.timeline').previousElementSibling.querySelector('.faint').textContent";
        page.until(&format!("return {range}.startsWith('0 ns to')"))
            .await;
        page.tab_to("document.querySelector('.timeline canvas')")
            .await;
        page.keys("+").await;
        page.until(&format!("return !{range}.startsWith('0 ns to')"))
            .await;
        page.close().await;
    });
    let after = scratch.read("machine.toml");
    assert_eq!(after, machine.replace("2500", "3000"));
}
