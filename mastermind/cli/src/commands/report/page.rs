//! A page in HTML without requests to other servers: style, script and pictures are in it, and every name is plain
//! text.

use std::fmt::Write;

use crate::output::turns;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Bytes of a word from which it is broken where the table has no room, for mangled names.
const LONGEST_WORD: usize = 40;

/// A page that grows section by section.
pub struct Page {
    title: String,
    body: String,
    /// Anchors and titles of the sections.
    sections: Vec<(String, String)>,
}

/// A cell of a table.
pub enum Cell {
    /// Text.
    Text(String),
    /// Text, with a note below it.
    Noted(String, String),
    /// A number as shown, and the number to sort rows by.
    Number(String, f64),
    /// Parts of a whole as a bar: compute and MPI, each from 0 to 1; rows are sorted by their sum.
    Bar([f64; 2]),
}

/// A text as HTML shows it, also within quotes. Characters that a document cannot contain are shown by their pictures.
pub fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            '\n' | '\t' => safe.push(letter),
            // A character that turns the direction of writing would disguise a name.
            c if turns(c) => safe.push(char::REPLACEMENT_CHARACTER),
            c if c < ' ' => safe.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or(' ')),
            c if c.is_control() => safe.push(char::REPLACEMENT_CHARACTER),
            c => safe.push(c),
        }
    }
    safe
}

impl Page {
    pub fn new(title: &str, subtitle: &str) -> Self {
        let body = format!(
            "<h1>{}</h1>\n<p class=\"soft\">{}</p>\n",
            escaped(title),
            escaped(subtitle)
        );
        Page {
            title: title.into(),
            body,
            sections: Vec::new(),
        }
    }

    /// Begins a section, with the command that shows the same data.
    pub fn section(&mut self, anchor: &str, title: &str, command: &str) {
        self.sections.push((anchor.into(), title.into()));
        let _ = write!(
            self.body,
            "<h2 id=\"{}\">{}</h2>\n<pre class=\"command\">{}</pre>\n",
            escaped(anchor),
            escaped(title),
            escaped(command)
        );
    }

    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h3>{}</h3>", escaped(text));
    }

    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escaped(text));
    }

    /// A key to the colours of bars.
    pub fn key(&mut self) {
        self.body += "<p class=\"key soft\"><i class=\"compute\"></i>compute<i class=\"mpi\"></i>inside MPI</p>\n";
    }

    /// A table whose columns sort it when they are clicked.
    pub fn table(&mut self, header: &[&str], rows: impl IntoIterator<Item = Vec<Cell>>) {
        let rows: Vec<_> = rows.into_iter().collect();
        let is_number = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let mut numbers =
                cells.filter(|cell| !matches!(cell, Cell::Text(text) if text.is_empty()));
            numbers.any(|cell| matches!(cell, Cell::Number(..)))
        };
        self.body += "<table class=\"sortable\"><thead><tr>";
        for (column, name) in header.iter().enumerate() {
            let number = if is_number(column) { " data-n" } else { "" };
            let _ = write!(self.body, "<th{number}>{}</th>", escaped(name));
        }
        self.body += "</tr></thead><tbody>\n";
        for row in rows {
            self.body += "<tr>";
            row.iter().for_each(|cell| self.cell(cell));
            self.body += "</tr>\n";
        }
        self.body += "</tbody></table>\n";
    }

    fn cell(&mut self, cell: &Cell) {
        let _ = match cell {
            Cell::Text(text) => {
                let is_long = text
                    .split_whitespace()
                    .any(|word| word.len() > LONGEST_WORD);
                let class = if is_long { " class=\"long\"" } else { "" };
                // A long name may be broken between its class and its method.
                let text = escaped(text).replace("::", "::<wbr>");
                write!(self.body, "<td{class}>{text}</td>")
            }
            Cell::Noted(text, note) => write!(
                self.body,
                "<td class=\"noted\">{}<p class=\"soft\">{}</p></td>",
                escaped(text),
                escaped(note)
            ),
            Cell::Number(text, value) => write!(
                self.body,
                "<td class=\"n\" data-v=\"{value}\">{}</td>",
                escaped(text)
            ),
            Cell::Bar([compute, mpi]) => write!(
                self.body,
                "<td data-v=\"{}\"><div class=\"bar\"><i class=\"compute\" style=\"width:{:.1}%\"></i>\
                 <i class=\"mpi\" style=\"width:{:.1}%\"></i></div></td>",
                compute + mpi,
                100.0 * compute,
                100.0 * mpi
            ),
        };
    }

    /// A picture, with the command that draws it.
    ///
    /// # Arguments
    /// * `svg` - as our own figures write it: names in it are escaped already
    pub fn figure(&mut self, svg: &str, caption: &str, command: &str) {
        // The document has its own beginning.
        let svg = svg.find("<svg").map_or("", |start| &svg[start..]);
        let _ = write!(
            self.body,
            "<figure>{svg}<figcaption>{}</figcaption></figure>\n<pre class=\"command\">{}</pre>\n",
            escaped(caption),
            escaped(command)
        );
    }

    /// A part that is shown on demand, and in print.
    pub fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Self)) {
        let _ = writeln!(
            self.body,
            "<details><summary>{}</summary>",
            escaped(summary)
        );
        fill(self);
        self.body += "</details>\n";
    }

    /// The whole document.
    pub fn finish(self) -> String {
        let links = self.sections.iter().map(|(anchor, title)| {
            format!("<a href=\"#{}\">{}</a>", escaped(anchor), escaped(title))
        });
        let links = links.collect::<String>();
        let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<nav>{links}</nav>\n{}<script>{SCRIPT}</script>\n</body>\n</html>\n",
            escaped(&self.title),
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_inject_markup() {
        let name = "</script><script>alert('x')</script>\" onload=\"y\u{202e}\u{1b}";
        let mut page = Page::new(name, name);
        page.section(name, name, name);
        page.heading(name);
        page.paragraph(name);
        page.table(
            &[name],
            [
                vec![Cell::Text(name.into())],
                vec![Cell::Number(name.into(), 1.0)],
            ],
        );
        page.figure("<svg></svg>", name, name);
        page.details(name, |_| {});
        let html = page.finish();
        assert_eq!(html.matches("<script>").count(), 1, "{html}");
        assert_eq!(html.matches("</script>").count(), 1, "{html}");
        assert!(
            !html.contains("onload=\"") && !html.contains('\u{202e}'),
            "{html}"
        );
        assert!(
            !html.contains("http://") && !html.contains("https://"),
            "{html}"
        );
    }

    #[test]
    fn numbers_are_sorted_by_their_value() {
        let mut page = Page::new("a", "b");
        page.table(
            &["name", "ms"],
            [vec![
                Cell::Text("x".into()),
                Cell::Number("1 200".into(), 1200.0),
            ]],
        );
        let html = page.finish();
        assert!(html.contains("<th>name</th><th data-n>ms</th>"), "{html}");
        assert!(
            html.contains("<td class=\"n\" data-v=\"1200\">1 200</td>"),
            "{html}"
        );
    }
}
