//! The guide and the README are true: their commands are executed, and print what the page says; no link leads nowhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mastermind_tests::{guide, mpis_with, root};

fn page(name: &str) -> PathBuf {
    root().join("docs/src").join(name)
}

/// Follows pages, those that need MPI where there is one.
fn follow(names: &[&str]) {
    for name in names {
        let page = page(name);
        if guide::needs_mpi(&page) && mpis_with("mpicc").is_empty() {
            continue;
        }
        guide::follow(&page);
    }
}

#[test]
fn the_tutorial_of_the_application_scientist() {
    follow(&["tutorial-application.md"]);
}

#[test]
fn the_tutorial_of_the_component_author() {
    follow(&["tutorial-component.md"]);
}

#[test]
fn the_tutorial_of_the_performance_engineer() {
    follow(&["tutorial-engineer.md"]);
}

#[test]
fn the_pages_on_records_and_models() {
    follow(&["records.md", "models.md"]);
}

#[test]
fn the_pages_on_choice_simulation_and_ports() {
    follow(&["choice.md", "simulation.md", "ports.md"]);
}

#[test]
fn the_page_on_python() {
    follow(&["python.md"]);
}

#[test]
fn the_readme() {
    guide::follow(&root().join("README.md"));
}

/// Targets of the links of a page, without those to other hosts.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for part in text.split("](").skip(1) {
        let target = part.split(')').next().unwrap_or_default();
        if !target.contains("://") {
            links.push(target.split('#').next().unwrap_or_default().to_owned());
        }
    }
    links
}

#[test]
fn each_page_is_listed_and_each_link_leads_somewhere() {
    let folder = root().join("docs/src");
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).expect("the list of pages");
    let listed: BTreeSet<String> = links(&summary).into_iter().collect();
    let entries = fs::read_dir(&folder).expect("the guide").flatten();
    let pages = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pages: BTreeSet<String> = pages
        .filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
        .collect();
    assert_eq!(listed, pages);
    let readme = root().join("README.md");
    for page in pages.iter().map(|name| folder.join(name)).chain([readme]) {
        let text = fs::read_to_string(&page).expect("a page");
        let folder = page.parent().unwrap_or(Path::new("."));
        for link in links(&text).into_iter().filter(|link| !link.is_empty()) {
            assert!(folder.join(&link).exists(), "{}: {link}", page.display());
        }
    }
}
