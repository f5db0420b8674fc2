//! The page of `mastermind serve` follows the rules of accessibility, in light and dark: names, roles, contrast (axe-core).

use std::fs;

use mastermind_tests::{Scratch, bin_dir, skip};
use serde_json::Value;

use super::page_browser::{Page, in_browser};

/// Gives the broken rules with their first elements.
const CHECK: &str = "
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ['violations'] }).then((found) => done({
  passed: found.passes.length,
  broken: found.violations.map((one) => `${one.id}: ${one.nodes[0].html} ${one.nodes[0].failureSummary}`),
}));";

const FILES: [&str; 5] = [
    "shock.toml",
    "run",
    "models.json",
    "program.toml",
    "machine.toml",
];

#[test]
fn every_view_is_accessible() {
    let path = bin_dir().with_file_name("axe").join("axe.min.js");
    let Ok(axe) = fs::read_to_string(&path) else {
        return skip("axe", format!("no {}", path.display()));
    };
    let scratch = Scratch::new();
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
    scratch
        .mastermind(&["fit", "run", "-o", "models.json"])
        .well();
    scratch.write("machine.toml", "[network]\nlatency_ns = 2500\n");
    let model = "[model]\nname = \"two\"\n[activities.Main]\nflow = [{ action = \"a\", cost = \"ms(1)\" }, { barrier = \"b\" }]\n";
    scratch.write("program.toml", model);
    for (scheme, number) in [("light", 1), ("dark", 0)] {
        in_browser(async {
            let preferred = format!("--blink-settings=preferredColorScheme={number}");
            let page = Page::open_with(&scratch.path(""), &preferred).await;
            let is_so = format!("return matchMedia('(prefers-color-scheme: {scheme})').matches");
            assert_eq!(page.run(&is_so, vec![]).await, true, "{scheme}");
            page.run(&axe, vec![]).await;
            for file in FILES {
                page.show(file).await;
                if file == "run" {
                    page.press("Show each call over time").await;
                    page.until("return document.querySelector('.timeline canvas') !== null")
                        .await;
                }
                let found = page.client.execute_async(CHECK, vec![]).await;
                let found = found.expect("the rules");
                assert!(
                    found["passed"].as_u64() > Some(10),
                    "{file}, {scheme}: {found}"
                );
                assert_eq!(
                    found["broken"],
                    Value::Array(Vec::new()),
                    "{file}, {scheme}"
                );
            }
            page.close().await;
        });
    }
}
