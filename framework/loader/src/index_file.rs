//! Ccaffeine's index files: which libraries a folder has, and by which names their classes are known there.
//!
//! Both forms are read: lines of text (`!location=…`, a library, `create_CLASS NAME`), and XML (`componentDeployment`
//! with a `library`).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::LoadError;

/// More than any index has.
const MAX_INDEX_BYTES: u64 = 16 << 20;

/// A class that an index file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedClass {
    /// Its library.
    pub library: PathBuf,
    /// Its own name; in the text form as the function that made it in Ccaffeine was called, without `create_`.
    pub class: String,
    /// The name that it will have.
    pub alias: String,
}

/// The index files of a folder, sorted by name.
///
/// # Errors
/// The folder cannot be read.
pub fn find_index_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("cca")) && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The classes that an index file names. A library is in the folder of the index, or else where it was built.
///
/// # Errors
/// [`LoadError::Index`]: it cannot be read, or is not of its form.
pub fn read_index(path: &Path) -> Result<Vec<IndexedClass>, LoadError> {
    let wrong = |what: String| LoadError::Index {
        path: path.into(),
        what,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map(|file| file.take(MAX_INDEX_BYTES + 1));
    let read = file.and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > MAX_INDEX_BYTES {
        return Err(wrong(format!(
            "more than {MAX_INDEX_BYTES} bytes, expected an index file"
        )));
    }
    let text = String::from_utf8_lossy(&bytes);
    let folder = path.parent().unwrap_or(Path::new(""));
    if text.starts_with('<') {
        // A file that describes a class, and not its location, names no library.
        return deployed(&text, folder).map_err(wrong);
    }
    listed(&text, folder).map_err(wrong)
}

/// Where a library is: in a folder, or else where it was built, if it is there.
fn place(folder: &Path, built: &str, library: &str) -> PathBuf {
    let (here, there) = (folder.join(library), Path::new(built).join(library));
    match !here.exists() && !built.is_empty() && there.exists() {
        true => there,
        false => here,
    }
}

/// The text form.
fn listed(text: &str, folder: &Path) -> Result<Vec<IndexedClass>, String> {
    let (mut classes, mut built, mut library) = (Vec::new(), "", None);
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if let Some(location) = line.strip_prefix('!') {
            built = location.trim().strip_prefix("location=").unwrap_or(built);
            continue;
        }
        if line.starts_with('#') {
            continue;
        }
        match (&line.split_whitespace().collect::<Vec<_>>()[..], &library) {
            ([], _) => {}
            ([name], _) => library = Some(place(folder, built, name)),
            ([create, alias], Some(library)) => classes.push(IndexedClass {
                library: library.clone(),
                class: create.strip_prefix("create_").unwrap_or(create).into(),
                alias: (*alias).into(),
            }),
            ([_, alias], None) => {
                return Err(format!(
                    "line {number}: class \"{alias}\" before any library, expected its library above it"
                ));
            }
            (words, _) => {
                let n = words.len();
                return Err(format!(
                    "line {number}: {n} words, expected a library, or a function and a class"
                ));
            }
        }
    }
    Ok(classes)
}

/// The XML form.
fn deployed(text: &str, folder: &Path) -> Result<Vec<IndexedClass>, String> {
    let document = roxmltree::Document::parse(text).map_err(|error| error.to_string())?;
    let deployments = document.descendants();
    let deployments = deployments.filter(|node| node.has_tag_name("componentDeployment"));
    let class = |node: roxmltree::Node<'_, '_>| {
        let name = node.attribute("name")?;
        // Under `dependencies` are the libraries that it needs.
        let mut libraries = node.descendants().filter(|inner| {
            let parent = inner.parent().map(|parent| parent.tag_name().name());
            inner.has_tag_name("library") && parent == Some("environment")
        });
        let library = libraries.next()?;
        Some(IndexedClass {
            library: place(
                folder,
                library.attribute("location").unwrap_or_default(),
                library.attribute("name")?,
            ),
            class: name.into(),
            alias: node.attribute("palletClassAlias").unwrap_or(name).into(),
        })
    };
    Ok(deployments.filter_map(class).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String, String)>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.cca");
        fs::write(&path, text).unwrap();
        let shown = |class: IndexedClass| {
            let library = class.library.strip_prefix(folder.path());
            let library = library.unwrap_or(&class.library).display().to_string();
            (library, class.class, class.alias)
        };
        let classes = read_index(&path).map_err(|error| error.to_string())?;
        Ok(classes.into_iter().map(shown).collect())
    }

    fn class(library: &str, class: &str, alias: &str) -> (String, String, String) {
        (library.into(), class.into(), alias.into())
    }

    #[test]
    fn libraries_and_classes_of_a_text_are_read() {
        let built = tempfile::tempdir().unwrap();
        fs::write(built.path().join("libdb.so"), "").unwrap();
        let location = built.path().display();
        let text = format!(
            "# generated\n!date=Mon May 12\n!location=/usr/lib/\n  libxml.so\ncreate_Timer Timer\n\n\
             create_Tap Loo\n! location={location}/\nlibdb.so\ncreate_DB DB2"
        );
        let there = format!("{location}/libdb.so");
        let expected = [
            class("libxml.so", "Timer", "Timer"),
            class("libxml.so", "Tap", "Loo"),
            class(&there, "DB", "DB2"),
        ];
        assert_eq!(read(&text).unwrap(), expected);
        let error = read("create_A A\n").unwrap_err();
        assert!(
            error.contains("line 1: class \"A\" before any library"),
            "{error}"
        );
        let error = read("liba.so\na b c\n").unwrap_err();
        assert!(error.contains("line 2: 3 words"), "{error}");
    }

    #[test]
    fn deployments_are_read() {
        let text = r#"<xml><componentDeployment name="Foo" palletClassAlias="Nice">
            <environment><library name="libfoo.so" global="true"/>
            <dependencies><library name="libpetsc.so"/></dependencies></environment>
            </componentDeployment>
            <componentDeployment name="Bar"><environment><library loading="dynamic" name="libbar.so" location="/no/such"/>
            </environment></componentDeployment>
            <abstractComponent name="Baz"/></xml>"#;
        let expected = [
            class("libfoo.so", "Foo", "Nice"),
            class("libbar.so", "Bar", "Bar"),
        ];
        assert_eq!(read(text).unwrap(), expected);
        assert!(read("<xml>").is_err());
        let bomb = "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>";
        assert!(read(bomb).is_err());
    }
}
