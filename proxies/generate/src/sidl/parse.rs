//! Tokens as declarations: the grammar of SIDL, with contracts kept as text.
//!
//! [`parse`] takes the text of a file, lets `lex` make tokens of it, and returns packages with their symbols as they
//! are written: `resolve` looks names up, and a type is a word or an array of words. Nothing closes a contract, so it
//! ends where a method begins (`Parser::begins_method`) or where its next part does. The first token that does not fit
//! is the error, with its line and the expected text.
//!
//! ```text
//! int solve(in int n, in rarray<double,2> a(n,n)); require square : n > 0;
//!
//! Method { name: "solve", result: Named("int"), throws: [], contract: ["require square: n > 0"], arguments: [
//!     Argument { mode: In, ty: Named("int"), name: "n" },
//!     Argument { mode: In, ty: Raw(Named("double"), 2, ["n", "n"]), name: "a" } ] }
//!
//! interface Shape { double area(in int n) }      line 2 has "}", expected ";"
//! ```

use super::SidlError;
use super::lex::{Kind, MAX_DEPTH, Token, tokens};

/// A file.
#[derive(Debug, Default)]
pub struct File {
    pub name: String,
    /// Packages or symbols whose names need not be spelt out.
    pub imports: Vec<String>,
    pub packages: Vec<Package>,
}

/// `package NAME version V { … }`; one within another is a package of its own.
#[derive(Debug, Default)]
pub struct Package {
    /// Its whole name, such as `gov.cca`.
    pub name: String,
    pub version: Option<String>,
    pub symbols: Vec<Symbol>,
}

/// A definition in a package.
#[derive(Debug)]
pub struct Symbol {
    pub name: String,
    pub doc: String,
    pub kind: SymbolKind,
}

#[derive(Debug)]
pub enum SymbolKind {
    /// An interface or a class: its parents, and its own methods.
    Object {
        parents: Vec<String>,
        methods: Vec<Method>,
    },
    /// Names and numbers.
    Enumeration(Vec<(String, i64)>),
    /// Types and names.
    Struct(Vec<(Type, String)>),
}

/// A method as it is written.
#[derive(Debug)]
pub struct Method {
    /// Its name with its overload extension.
    pub name: String,
    pub doc: String,
    pub result: Type,
    pub arguments: Vec<Argument>,
    pub throws: Vec<String>,
    /// `require` and `ensure`, each as it is written.
    pub contract: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    In,
    Out,
    Inout,
}

#[derive(Debug)]
pub struct Argument {
    pub mode: Mode,
    pub ty: Type,
    pub name: String,
}

/// A type as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A word of the language, such as `double`, or the name of a symbol.
    Named(String),
    /// `array<T, dimension>`; no element type for `array<>`.
    Array(Option<Box<Type>>, u32),
    /// `rarray<T, dimension> a(m, n)`, with its extents as they are written.
    Raw(Box<Type>, u32, Vec<String>),
}

/// Words that may precede a method's type.
const MODIFIERS: [&str; 8] = [
    "copy",
    "static",
    "final",
    "abstract",
    "local",
    "oneway",
    "nonblocking",
    "override",
];

/// Words that connect the parts of a contract, so no method begins behind one.
const OPERATORS: [&str; 9] = [
    "implies", "iff", "and", "or", "xor", "mod", "rem", "not", "is",
];

/// Reads a file.
///
/// # Errors
/// [`SidlError::Syntax`], with the place.
pub fn parse(name: &str, text: &str) -> Result<File, SidlError> {
    let mut parser = Parser {
        file: name,
        tokens: tokens(name, text)?,
        at: 0,
        depth: 0,
    };
    let mut file = File {
        name: name.to_owned(),
        ..File::default()
    };
    while parser.peek().kind != Kind::End {
        if parser.takes("package") {
            parser.package("", None, &mut file.packages)?;
        } else if parser.takes("import") || parser.takes("require") {
            file.imports.push(parser.name("a package")?);
            if parser.takes("version") {
                parser.version()?;
            }
            parser.must(";")?;
        } else if !(parser.takes("final") || parser.takes(";")) {
            return Err(parser.error("package, import or require"));
        }
    }
    Ok(file)
}

struct Parser<'a> {
    file: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    /// The token `places` behind the next; the last one is the end.
    fn ahead(&self, places: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + places).min(last)]
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn error(&self, expected: &str) -> SidlError {
        let found = match &self.peek().kind {
            Kind::Word(text) | Kind::Literal(text) => format!("\"{text}\""),
            Kind::Integer(number) => format!("\"{number}\""),
            Kind::Sign(sign) => format!("\"{sign}\""),
            Kind::End => "the end".to_owned(),
        };
        SidlError::Syntax {
            file: self.file.to_owned(),
            line: self.peek().line,
            found,
            expected: expected.to_owned(),
        }
    }

    fn is(&self, places: usize, text: &str) -> bool {
        match &self.ahead(places).kind {
            Kind::Word(word) => word == text,
            Kind::Sign(sign) => *sign == text,
            _ => false,
        }
    }

    fn takes(&mut self, text: &str) -> bool {
        let found = self.is(0, text);
        self.at += usize::from(found);
        found
    }

    fn must(&mut self, text: &str) -> Result<(), SidlError> {
        match self.takes(text) {
            true => Ok(()),
            false => Err(self.error(&format!("\"{text}\""))),
        }
    }

    fn name(&mut self, what: &str) -> Result<String, SidlError> {
        match self.peek().kind.clone() {
            Kind::Word(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.error(what)),
        }
    }

    fn version(&mut self) -> Result<String, SidlError> {
        let text = match &self.peek().kind {
            Kind::Integer(number) => number.to_string(),
            Kind::Literal(text) if !text.starts_with(['"', '\'']) => text.clone(),
            _ => return Err(self.error("a version such as 1.0")),
        };
        self.at += 1;
        Ok(text)
    }

    fn list(&mut self) -> Result<Vec<String>, SidlError> {
        let mut names = vec![self.name("a name")?];
        while self.takes(",") {
            names.push(self.name("a name")?);
        }
        Ok(names)
    }

    /// Parses the text behind the word `package`.
    fn package(
        &mut self,
        outer: &str,
        outer_version: Option<&str>,
        packages: &mut Vec<Package>,
    ) -> Result<(), SidlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("fewer packages within packages"));
        }
        let own = self.name("the name of a package")?;
        let name = match outer {
            "" => own,
            outer => format!("{outer}.{own}"),
        };
        let version = match self.takes("version") {
            true => Some(self.version()?),
            false => outer_version.map(str::to_owned),
        };
        self.must("{")?;
        let place = packages.len();
        packages.push(Package {
            name: name.clone(),
            version: version.clone(),
            symbols: Vec::new(),
        });
        while !self.takes("}") {
            if self.takes(";") || self.takes("final") {
                continue;
            }
            if self.takes("package") {
                self.package(&name, version.as_deref(), packages)?;
            } else if let Some(symbol) = self.symbol()? {
                packages[place].symbols.push(symbol);
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// A definition; none for a declaration that only announces one, such as `class Box;`.
    fn symbol(&mut self) -> Result<Option<Symbol>, SidlError> {
        let doc = self.peek().doc.clone();
        self.takes("abstract");
        let word = self.name("package, interface, class, enum or struct")?;
        let kind = match word.as_str() {
            "interface" | "class" | "enum" | "struct" => word,
            _ => {
                self.at -= 1;
                return Err(self.error("package, interface, class, enum or struct"));
            }
        };
        let name = self.name("a name")?;
        if self.takes(";") {
            return Ok(None);
        }
        let kind = match kind.as_str() {
            "enum" => self.enumeration()?,
            "struct" => self.members()?,
            _ => self.object()?,
        };
        Ok(Some(Symbol { name, doc, kind }))
    }

    fn enumeration(&mut self) -> Result<SymbolKind, SidlError> {
        self.must("{")?;
        let (mut values, mut next) = (Vec::new(), 0_i64);
        while !self.takes("}") {
            let name = self.name("the name of a value")?;
            if self.takes("=") {
                let is_negative = self.takes("-");
                let Kind::Integer(number) = self.peek().kind else {
                    return Err(self.error("an integer"));
                };
                self.at += 1;
                next = if is_negative { -number } else { number };
            }
            values.push((name, next));
            next = next.saturating_add(1);
            if !self.takes(",") && !self.is(0, "}") {
                return Err(self.error("\",\" or \"}\""));
            }
        }
        Ok(SymbolKind::Enumeration(values))
    }

    fn members(&mut self) -> Result<SymbolKind, SidlError> {
        self.must("{")?;
        let mut members = Vec::new();
        while !self.takes("}") {
            let ty = self.ty()?;
            let (ty, name) = self.declared(ty)?;
            members.push((ty, name));
            self.must(";")?;
        }
        Ok(SymbolKind::Struct(members))
    }

    fn object(&mut self) -> Result<SymbolKind, SidlError> {
        let (mut parents, mut methods) = (Vec::new(), Vec::new());
        while ["extends", "implements", "implements-all"]
            .iter()
            .any(|word| self.takes(word))
        {
            parents.extend(self.list()?);
        }
        self.must("{")?;
        while !self.takes("}") {
            if self.takes(";") {
                continue;
            }
            // A condition on all objects of the class, which no method documents.
            if self.takes("invariant") {
                self.assertions()?;
                continue;
            }
            methods.push(self.method()?);
        }
        Ok(SymbolKind::Object { parents, methods })
    }

    fn method(&mut self) -> Result<Method, SidlError> {
        let doc = self.peek().doc.clone();
        while MODIFIERS.iter().any(|word| self.takes(word)) {}
        let result = self.ty()?;
        let mut name = self.name("the name of a method")?;
        if self.takes("[") {
            if !self.is(0, "]") {
                name += &self.name("an overload extension")?;
            }
            self.must("]")?;
        }
        self.must("(")?;
        let mut arguments = Vec::new();
        while !self.takes(")") {
            arguments.push(self.argument()?);
            if !self.takes(",") && !self.is(0, ")") {
                return Err(self.error("\",\" or \")\""));
            }
        }
        let (mut throws, mut contract) = (Vec::new(), Vec::new());
        loop {
            if self.takes("throws") {
                // An empty list is seen in files that tools wrote.
                throws = if self.is(0, ";") {
                    vec![]
                } else {
                    self.list()?
                };
            } else if self.takes("from") {
                self.name("the name of a method")?;
                if self.takes("[") {
                    if !self.is(0, "]") {
                        self.name("an overload extension")?;
                    }
                    self.must("]")?;
                }
            } else {
                break;
            }
        }
        // A contract is in front of the semicolon or behind it.
        let is_ended = self.takes(";");
        for word in ["require", "ensure"] {
            if self.takes(word) {
                contract.extend(
                    self.assertions()?
                        .iter()
                        .map(|text| format!("{word} {text}")),
                );
            }
        }
        if !is_ended && contract.is_empty() {
            return Err(self.error("\";\""));
        }
        Ok(Method {
            name,
            doc,
            result,
            arguments,
            throws,
            contract,
        })
    }

    fn argument(&mut self) -> Result<Argument, SidlError> {
        self.takes("copy");
        let mode = match () {
            () if self.takes("in") => Mode::In,
            () if self.takes("out") => Mode::Out,
            () if self.takes("inout") => Mode::Inout,
            () => return Err(self.error("in, out or inout")),
        };
        self.takes("copy");
        let ty = self.ty()?;
        let (ty, name) = self.declared(ty)?;
        Ok(Argument { mode, ty, name })
    }

    /// The name behind a type, and the extents of a raw array.
    fn declared(&mut self, ty: Type) -> Result<(Type, String), SidlError> {
        let name = self.name("a name")?;
        let Type::Raw(element, dimension, _) = ty else {
            return Ok((ty, name));
        };
        self.must("(")?;
        let (mut extents, mut extent, mut open) = (Vec::new(), String::new(), 0);
        while open > 0 || !self.is(0, ")") {
            match self.advance().kind {
                Kind::Sign(",") if open == 0 => extents.push(std::mem::take(&mut extent)),
                Kind::Sign(sign) => {
                    open += usize::from(sign == "(");
                    open -= usize::from(sign == ")");
                    extent += sign;
                }
                Kind::Word(word) => extent += &word,
                Kind::Integer(n) => extent += &n.to_string(),
                Kind::Literal(_) | Kind::End => return Err(self.error("the extents of the array")),
            }
        }
        extents.push(extent);
        self.must(")")?;
        if extents.len() != dimension as usize || extents.iter().any(String::is_empty) {
            return Err(self.error(&format!("{dimension} extents of \"{name}\"")));
        }
        Ok((Type::Raw(element, dimension, extents), name))
    }

    fn ty(&mut self) -> Result<Type, SidlError> {
        let word = self.name("a type")?;
        if !["array", "rarray", "iterator"].contains(&word.as_str()) || !self.is(0, "<") {
            return Ok(Type::Named(word));
        }
        self.must("<")?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("fewer types within types"));
        }
        let mut element = None;
        if !self.is(0, ">") && !self.is(0, ",") {
            element = Some(Box::new(self.ty()?));
        }
        let mut dimension = 1;
        while self.takes(",") {
            match self.peek().kind.clone() {
                Kind::Integer(number @ 1..=7) => {
                    dimension = number as u32;
                    self.at += 1;
                }
                _ if self.takes("row-major") || self.takes("column-major") => {}
                _ => return Err(self.error("1 to 7 dimensions, row-major or column-major")),
            }
        }
        self.must(">")?;
        self.depth -= 1;
        match (word.as_str(), element) {
            ("array", element) => Ok(Type::Array(element, dimension)),
            ("iterator", _) => Ok(Type::Named(word)),
            (_, Some(element)) => Ok(Type::Raw(element, dimension, Vec::new())),
            (_, None) => Err(self.error("the type of the elements")),
        }
    }

    /// Parses the conditions behind `require`, `ensure` or `invariant`, up to the first text that
    /// is not one.
    fn assertions(&mut self) -> Result<Vec<String>, SidlError> {
        let mut assertions = Vec::new();
        loop {
            let mut words = Vec::new();
            while !self.is(0, ";") {
                if self.is(0, "}") || self.peek().kind == Kind::End {
                    return Err(self.error("\";\" behind what is asserted"));
                }
                words.push(match self.advance().kind {
                    Kind::Word(text) | Kind::Literal(text) => text,
                    Kind::Integer(number) => number.to_string(),
                    Kind::Sign(sign) => sign.to_owned(),
                    Kind::End => String::new(),
                });
            }
            self.must(";")?;
            assertions.push(text_of(&words));
            if self.is(0, "}")
                || self.is(0, "ensure")
                || self.is(0, "invariant")
                || self.begins_method()
            {
                return Ok(assertions);
            }
        }
    }

    /// Whether a method begins here: a type, a name, and a parenthesis or an overload extension.
    fn begins_method(&self) -> bool {
        let is_word = |place: usize, none_of: &[&str]| match &self.ahead(place).kind {
            Kind::Word(word) => !none_of.contains(&word.as_str()),
            _ => false,
        };
        if MODIFIERS.iter().any(|word| self.is(0, word)) {
            return true;
        }
        let mut place = 1;
        if !is_word(0, &OPERATORS) {
            return false;
        }
        if self.is(1, "<") {
            while !self.is(place, ">") {
                if self.is(place, ";") || self.ahead(place).kind == Kind::End {
                    return false;
                }
                place += 1;
            }
            place += 1;
        }
        is_word(place, &OPERATORS) && (self.is(place + 1, "(") || self.is(place + 1, "["))
    }
}

/// Words of a contract as one text.
fn text_of(words: &[String]) -> String {
    let mut text = String::new();
    for word in words {
        let is_tight = [")", ",", ":"].contains(&word.as_str())
            || word == "(" && text.ends_with(|c: char| c.is_ascii_alphanumeric());
        if !text.is_empty() && !is_tight && !text.ends_with('(') {
            text.push(' ');
        }
        text += word;
    }
    text
}
