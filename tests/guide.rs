//! The guide and the README are true: their commands are executed, and print what the page shows; every link has a
//! target.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mastermind_tests::{Scratch, guide, mpis_with, root};
use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;

fn page(name: &str) -> PathBuf {
    root().join("docs/src").join(name)
}

/// Executes pages; those that need MPI are skipped without one.
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
fn the_page_on_large_runs() {
    follow(&["large-runs.md"]);
}

#[test]
fn the_page_on_history() {
    follow(&["history.md"]);
}

#[test]
fn the_pages_on_choice_simulation_and_ports() {
    follow(&["choice.md", "simulation.md", "ports.md"]);
}

#[test]
fn the_page_on_other_machines() {
    follow(&["other-machines.md"]);
}

#[test]
fn the_page_on_end_to_end_models() {
    follow(&["end-to-end.md"]);
}

#[test]
fn the_page_on_recommendations() {
    follow(&["recommend.md"]);
}

#[test]
fn the_page_on_scripts() {
    follow(&["scripts.md"]);
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

/// The file a link in `page` leads to, and the heading there, if it names one.
fn led_to(page: &Path, link: &str) -> (PathBuf, Option<String>) {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let file = match file {
        "" => page.to_path_buf(),
        file => page.parent().unwrap_or(Path::new(".")).join(file),
    };
    let heading = (!heading.is_empty()).then(|| format!("id=\"{heading}\""));
    (file, heading)
}

#[test]
fn the_guide_is_a_book() {
    let folder = Scratch::new();
    let mut book = MDBook::load(root().join("docs")).expect("a book");
    book.config.build.build_dir = folder.path("book");
    book.build().expect("pages");
    let mut chapters = 0;
    for item in book.iter() {
        let BookItem::Chapter(chapter) = item else {
            continue;
        };
        let source = chapter.path.as_ref().expect("no chapter is a draft");
        let page = folder.path("book").join(source).with_extension("html");
        let html = fs::read_to_string(&page).expect("the page of the chapter");
        for part in html.split("href=\"").skip(1) {
            let link = part.split('"').next().unwrap_or_default();
            if link.contains(':') {
                continue;
            }
            let (file, heading) = led_to(&page, link);
            let bytes = fs::read(&file);
            let bytes = bytes.unwrap_or_else(|error| panic!("{}: {link}: {error}", page.display()));
            let text = String::from_utf8_lossy(&bytes);
            let is_there = heading.is_none_or(|heading| text.contains(&heading));
            assert!(is_there, "{}: {link}: no such heading", page.display());
        }
        chapters += 1;
    }
    assert!(chapters > 5, "{chapters} chapters");
}
