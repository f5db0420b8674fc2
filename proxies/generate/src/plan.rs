//! Decides how a proxy treats each function of a header.
//!
//! A header declares more than its library: functions of other headers, inline functions, functions
//! that a wrapper in C cannot pass on. For each function the plan is one of three, and says why if
//! it is not the first; users see the reasons and mend the mark-up. The plan also computes all that
//! the source needs (groups, parameters as C expressions, names of further definitions), so that
//! writing the source takes no more decisions.
//!
//! ```text
//! recorded     arguments and result can be written down again in C
//! forwarded    passed on, can be sent elsewhere, not recorded:   printf(const char *, ...)
//! left alone   the proxy does not define it:                     inline, skipped, malloc, setjmp
//! ```
//!
//! A function belongs to the header if it is declared in the header's file, in a folder of its
//! name, or in one of its parts (`Header::owns`); the mark-up may name others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::GenerateError;
use crate::expression::{Compiled, Kind, compile};
use crate::markup::{EmptyArguments, FunctionChoice, FunctionMarkup, MAX_DEFINITIONS, Markup};
use crate::parse::{Declarations, Prototype};
use crate::types::{Argument, Signature, TypeKind, Types};

/// A header as the preprocessor has read it, with the macros that it defines and the names of the
/// files that belong to it.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// How it is included, `zlib.h` or `suitesparse/umfpack.h`.
    pub include: &'a str,
    /// Headers that are included before it, which it needs.
    pub before: &'a [String],
    /// Ends of the paths of other headers whose functions are its own: those that it consists of, where it declares none itself.
    pub parts: &'a [String],
    /// Its file, as the preprocessor names it.
    pub file: &'a str,
    /// The preprocessed text, with markers of lines.
    pub preprocessed: &'a str,
    /// Names of all macros that are defined at its end.
    pub macros: &'a BTreeSet<String>,
}

/// The interface that a proxy implements: the functions it defines, and for all others of the
/// header the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, fit for C.
    pub name: String,
    /// Whether nothing is kept between calls.
    pub is_stateless: bool,
    /// The functions that the proxy gives, in the header's order.
    pub functions: Vec<Function>,
    /// Functions of the header that the proxy does not give, with the reason.
    pub left_alone: Vec<(String, String)>,
    /// Where the header has declarations that are not understood, `FILE:LINE`.
    pub passed_over: Vec<String>,
}

/// One function of an interface, with all that the source of its wrapper needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name in C.
    pub name: String,
    /// Name in the library.
    pub symbol: String,
    /// Which definition of the name it replaces, beginning with 1: the dynamic linker finds one, and the audit library
    /// leads calls of the others to functions of their own.
    pub definition: u32,
    /// Name of its group.
    pub group: String,
    /// Its declaration.
    pub declaration: String,
    /// Its arguments and result.
    pub signature: Signature,
    /// How the proxy treats its calls.
    pub treatment: Treatment,
}

/// How a proxy treats the calls of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// They are recorded.
    Recorded {
        /// With these parameters.
        parameters: Vec<Parameter>,
        /// C of `result` that is not 0 where a call failed.
        failed: Option<String>,
    },
    /// They are passed on and can be sent elsewhere, but not recorded; with the reason.
    Forwarded(String),
}

/// A performance parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// How its word is read.
    pub kind: Kind,
    /// C of its value.
    pub text: String,
}

/// Folders of headers that do not belong together.
const COMMON_FOLDERS: [&str; 2] = ["include", "x86_64-linux-gnu"];

impl Header<'_> {
    /// Whether the declarations of a file belong to this header: the file itself, others in a folder of its own or
    /// of its name (`lzma/` next to `lzma.h`), its parts, and those that the mark-up names.
    pub(crate) fn owns(&self, file: &str, further: &[String]) -> bool {
        let (own, other) = (Path::new(self.file), Path::new(file));
        let folder = own.parent().filter(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            !COMMON_FOLDERS.contains(&&*name) && !name.is_empty()
        });
        own == other
            || other.starts_with(own.with_extension(""))
            || folder.is_some_and(|folder| other.starts_with(folder))
            || self
                .parts
                .iter()
                .chain(further)
                .any(|end| other.ends_with(end))
    }

    /// The name of the header without its ending, as a name of C.
    pub(crate) fn stem(&self) -> String {
        let stem = Path::new(self.include)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let stem: String = stem
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        if stem.starts_with(|c: char| c.is_ascii_digit()) {
            format!("_{stem}")
        } else {
            stem
        }
    }
}

/// Decides how each function is treated.
pub(crate) fn plan(
    header: &Header<'_>,
    markup: &Markup,
    declarations: &Declarations,
) -> Result<Interface, GenerateError> {
    let name = markup
        .proxy
        .interface
        .clone()
        .unwrap_or_else(|| header.stem());
    check_name(&name, "the name of an interface")?;
    check_functions(markup, &declarations.prototypes)?;
    let is_named = |prototype: &Prototype| markup.functions.contains_key(&prototype.name);
    let own = |prototype: &&Prototype| {
        is_named(prototype) || header.owns(&prototype.place.file, &markup.proxy.headers)
    };
    let prototypes: Vec<_> = declarations.prototypes.iter().filter(own).collect();
    let mut interface = Interface {
        passed_over: declarations
            .passed_over
            .iter()
            .map(|p| format!("{}:{}", p.file, p.line))
            .collect(),
        left_alone: Vec::new(),
        functions: Vec::new(),
        is_stateless: markup.proxy.stateless,
        name,
    };
    let nothing = FunctionMarkup::default();
    let mut symbols = BTreeSet::new();
    for prototype in prototypes {
        let marked = markup.functions.get(&prototype.name);
        let prototype = &with_arguments(prototype, marked, markup)?;
        let reason = match never_proxied(&prototype.symbol) {
            Some(reason) if marked.is_some() => {
                return Err(GenerateError::NeverProxied {
                    function: prototype.name.clone(),
                    reason,
                });
            }
            Some(reason) => Some(reason.to_owned()),
            None => left_alone(prototype, markup, marked.is_some()),
        };
        // Two names with one symbol would give the proxy the symbol twice.
        let reason = reason.or_else(|| {
            (!symbols.insert(prototype.symbol.clone()))
                .then(|| format!("has the symbol \"{}\" of another", prototype.symbol))
        });
        match reason {
            Some(reason) => interface.left_alone.push((prototype.name.clone(), reason)),
            None => {
                let function = function(
                    prototype,
                    marked.unwrap_or(&nothing),
                    &interface.name,
                    &declarations.types,
                )?;
                let marked = marked.and_then(|marked| marked.definitions);
                let n = marked.or(markup.proxy.definitions).unwrap_or(1);
                interface.functions.extend(definitions(function, n)?);
            }
        }
    }
    if interface.functions.is_empty() {
        // A header of the C library whose functions can all have no proxy: that is the reason to
        // report.
        let never = |name: &String| Some((name.clone(), never_proxied(name)?));
        let mut left_alone = interface.left_alone.iter().map(|(name, _)| name);
        if let Some((function, reason)) = left_alone.find_map(never) {
            return Err(GenerateError::NeverProxied { function, reason });
        }
        return Err(GenerateError::NoFunctions {
            header: header.include.into(),
            passed_over: interface.passed_over,
        });
    }
    Ok(interface)
}

/// Checks that every function that the mark-up names is declared in the header or in one that it
/// includes.
fn check_functions(markup: &Markup, prototypes: &[Prototype]) -> Result<(), GenerateError> {
    let skipped = markup
        .skip
        .functions
        .iter()
        .filter(|name| !name.ends_with('*'));
    for function in markup.functions.keys().chain(skipped) {
        if prototypes
            .iter()
            .all(|prototype| prototype.name != *function)
        {
            let likeness =
                |prototype: &&Prototype| (strsim::jaro(&prototype.name, function) * 1e6) as u64;
            let similar = prototypes
                .iter()
                .max_by_key(likeness)
                .map(|prototype| prototype.name.clone());
            return Err(GenerateError::UnknownFunction {
                similar: similar.filter(|name| strsim::jaro(name, function) > 0.8),
                function: function.clone(),
            });
        }
    }
    Ok(())
}

/// The prototype; for a declaration `f()` the meaning that the mark-up gives it.
fn with_arguments(
    prototype: &Prototype,
    marked: Option<&FunctionMarkup>,
    markup: &Markup,
) -> Result<Prototype, GenerateError> {
    let own = marked.and_then(|marked| marked.arguments);
    let mut prototype = prototype.clone();
    match own.or(markup.proxy.arguments) {
        Some(EmptyArguments::Void) if !prototype.signature.has_prototype => {
            prototype.signature.has_prototype = true;
        }
        Some(EmptyArguments::Void)
            if own.is_some() && !prototype.signature.parameters.is_empty() =>
        {
            return Err(GenerateError::HasArguments {
                function: prototype.name,
            });
        }
        _ => {}
    }
    Ok(prototype)
}

/// A function for each definition of its name.
fn definitions(function: Function, n: u32) -> Result<Vec<Function>, GenerateError> {
    if !(1..=MAX_DEFINITIONS).contains(&n) {
        return Err(GenerateError::Definitions {
            function: function.name,
            found: n,
        });
    }
    let others = (2..=n).map(|definition| Function {
        name: format!("{}_definition_{definition}", function.name),
        symbol: format!("cca_spare_{definition}_{}", function.symbol),
        definition,
        ..function.clone()
    });
    let others: Vec<_> = others.collect();
    Ok([function].into_iter().chain(others).collect())
}

/// Why a function of the C library can have no proxy, even if the mark-up names it; `None` if it
/// can.
fn never_proxied(symbol: &str) -> Option<&'static str> {
    match symbol {
        "malloc" | "calloc" | "realloc" | "reallocarray" | "free" | "cfree" | "aligned_alloc"
        | "memalign" | "posix_memalign" | "valloc" | "pvalloc" | "malloc_usable_size" => {
            Some("the recorder allocates memory itself, before it can record a call")
        }
        "dlopen" | "dlmopen" | "dlclose" | "dlsym" | "dlvsym" | "dlerror" | "dladdr"
        | "dladdr1" | "dlinfo" | "dl_iterate_phdr" | "__tls_get_addr" => {
            Some("a proxy finds by it the functions that it stands for")
        }
        // GCC's manual, 2.1: calls of these may be generated in any code.
        "memcpy" | "memmove" | "memset" | "memcmp" => {
            Some("compilers call it anywhere, also in the proxy's own code")
        }
        // The second return would be into a function that has ended.
        "setjmp" | "_setjmp" | "sigsetjmp" | "__sigsetjmp" | "getcontext" | "vfork" => {
            Some("it returns twice, and a function that calls it in between has ended by then")
        }
        _ => None,
    }
}

fn left_alone(prototype: &Prototype, markup: &Markup, is_marked: bool) -> Option<String> {
    if markup.skips(&prototype.name) {
        Some("skipped by the mark-up".into())
    } else if markup.proxy.functions == FunctionChoice::Named && !is_marked {
        Some("not named by the mark-up".into())
    } else if prototype.is_inline {
        Some("its body is in the header, so that calls need no library".into())
    } else {
        None
    }
}

fn function(
    prototype: &Prototype,
    markup: &FunctionMarkup,
    interface: &str,
    types: &Types,
) -> Result<Function, GenerateError> {
    let signature = &prototype.signature;
    let group = match &markup.group {
        Some(group) => {
            check_name(group, "the name of a group")?;
            group.clone()
        }
        None => handle(signature, types).unwrap_or_else(|| interface.to_owned()),
    };
    let treatment = match forwarded(prototype, types) {
        Some(reason) => Treatment::Forwarded(reason),
        None => Treatment::Recorded {
            parameters: parameters(prototype, markup, types)?,
            failed: failed(prototype, markup, types)?,
        },
    };
    Ok(Function {
        name: prototype.name.clone(),
        symbol: prototype.symbol.clone(),
        definition: 1,
        group,
        declaration: declaration(prototype, types),
        signature: signature.clone(),
        treatment,
    })
}

/// A prototype as C has it.
pub(crate) fn declaration(prototype: &Prototype, types: &Types) -> String {
    let arguments = types.arguments(&prototype.signature);
    types.declare(
        &prototype.signature.result,
        &format!("{}({arguments})", prototype.name),
    )
}

/// Why the calls of a function can be passed on only.
pub(crate) fn forwarded(prototype: &Prototype, types: &Types) -> Option<String> {
    let signature = &prototype.signature;
    let has = |name: &str| {
        prototype
            .attributes
            .iter()
            .any(|attribute| attribute == name)
    };
    if signature.is_variadic {
        Some("variadic: C cannot pass on arguments that it does not know".into())
    } else if !signature.has_prototype {
        Some("declared without a prototype: its arguments are unknown".into())
    } else if has("noreturn") {
        Some("does not return".into())
    } else if has("returns_twice") {
        Some("returns twice".into())
    } else {
        let parameters = signature.parameters.iter().map(|argument| &argument.ty);
        let unwritable = parameters
            .chain([&signature.result])
            .find_map(|ty| types.unwritable(ty));
        unwritable.map(|text| format!("passes {text}"))
    }
}

/// The handle that a function works on: the name of the type that its first argument points to, if the header does not
/// define it.
fn handle(signature: &Signature, types: &Types) -> Option<String> {
    let first = &signature.parameters.first()?.ty;
    let TypeKind::Pointer(target) = &types.resolve(first).kind else {
        return None;
    };
    let TypeKind::Record(keyword, tag) = &types.resolve(target).kind else {
        return None;
    };
    // A defined struct is data that is passed, not a handle of the library.
    if types.records.contains_key(&format!("{keyword} {tag}")) {
        return None;
    }
    match (&first.kind, &target.kind) {
        (TypeKind::Typedef(name), _) | (_, TypeKind::Typedef(name)) => Some(name.clone()),
        _ => Some(tag.clone()),
    }
}

pub(crate) fn parameters(
    prototype: &Prototype,
    markup: &FunctionMarkup,
    types: &Types,
) -> Result<Vec<Parameter>, GenerateError> {
    let mut parameters = Vec::new();
    for (name, value) in &markup.parameters {
        check_name(name, "the name of a parameter")?;
        let expression = match value {
            toml::Value::String(expression) => expression.clone(),
            toml::Value::Integer(number) => number.to_string(),
            other => {
                let problem = format!(
                    "is of type {}, expected an expression in quotes",
                    other.type_str()
                );
                return Err(wrong(prototype, name, &other.to_string(), problem));
            }
        };
        let compiled = compile(&expression, &prototype.signature.parameters, types);
        let Compiled { text, kind } =
            compiled.map_err(|problem| wrong(prototype, name, &expression, problem))?;
        parameters.push(Parameter {
            name: name.clone(),
            kind: number_if_many(kind, types),
            text,
        });
    }
    Ok(parameters)
}

/// Most values of an enumeration that records name.
const MAX_LABELS: usize = 64;

fn number_if_many(kind: Kind, types: &Types) -> Kind {
    match kind {
        Kind::Enumeration(place) => match types.enumerations.get(place) {
            Some(enumeration) if (1..=MAX_LABELS).contains(&enumeration.names.len()) => kind,
            _ => Kind::Integer,
        },
        kind => kind,
    }
}

pub(crate) fn failed(
    prototype: &Prototype,
    markup: &FunctionMarkup,
    types: &Types,
) -> Result<Option<String>, GenerateError> {
    let Some(expression) = &markup.failed else {
        return Ok(None);
    };
    let result = Argument {
        name: "result".into(),
        ty: prototype.signature.result.clone(),
    };
    let compiled = if result.ty.kind == TypeKind::Void {
        Err("has no result to look at".to_owned())
    } else {
        // A pointer that is null is the usual sign of a failure.
        let is_null = ["result == 0", "result == NULL", "!result"].contains(&expression.trim());
        match &types.resolve(&result.ty).kind {
            TypeKind::Pointer(_) if is_null => return Ok(Some("(result == 0)".into())),
            _ => compile(expression, &[result], types),
        }
    };
    match compiled {
        Ok(compiled) => Ok(Some(compiled.text)),
        Err(problem) => Err(wrong(prototype, "failed", expression, problem)),
    }
}

fn wrong(
    prototype: &Prototype,
    parameter: &str,
    expression: &str,
    problem: String,
) -> GenerateError {
    GenerateError::Expression {
        function: prototype.name.clone(),
        parameter: parameter.into(),
        expression: expression.into(),
        problem,
    }
}

pub(crate) fn check_name(name: &str, what: &'static str) -> Result<(), GenerateError> {
    let is_fit = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name.len() < 200;
    if is_fit && name.starts_with(|c: char| !c.is_ascii_digit()) {
        return Ok(());
    }
    Err(GenerateError::BadName {
        name: name.into(),
        what,
    })
}

/// The enumerations that parameters of the interface are of, by place, with their names.
pub(crate) fn enumerations<'a>(
    interface: &Interface,
    types: &'a Types,
) -> BTreeMap<usize, &'a [String]> {
    let mut found = BTreeMap::new();
    for function in &interface.functions {
        let Treatment::Recorded { parameters, .. } = &function.treatment else {
            continue;
        };
        for parameter in parameters {
            if let Kind::Enumeration(place) = parameter.kind
                && let Some(enumeration) = types.enumerations.get(place)
            {
                found.insert(place, enumeration.names.as_slice());
            }
        }
    }
    found
}
