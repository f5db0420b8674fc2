//! A first mark-up of a header, by the names and types of its arguments.

use std::fmt::Write;

use crate::error::GenerateError;
use crate::markup::Markup;
use crate::parse::declarations;
use crate::plan::{Header, Interface, Treatment, plan};
use crate::ports::{functions, interfaces};
use crate::types::{Argument, Type, TypeKind, Types};

/// Words in the name of an argument that gives the amount of work.
const SIZE_WORDS: [&str; 21] = [
    "avail", "column", "len", "size", "count", "num", "nmemb", "bytes", "rows", "cols", "dim",
    "width", "height", "level", "capacity", "howmany", "batch", "stride", "order", "parts",
    "elems",
];

/// Most sizes in a structure that are suggested.
const MAX_FIELDS: usize = 4;

/// Writes a mark-up that names every function whose calls can be recorded, with the arguments that are probably
/// sizes.
///
/// # Errors
/// [`GenerateError`]: the header is not C, or declares no function.
pub fn suggest_markup(header: &Header<'_>) -> Result<String, GenerateError> {
    let declarations = declarations(header.preprocessed)?;
    let structs = interfaces(header, &[], &declarations);
    let interface = match plan(header, &Markup::default(), &declarations) {
        Err(GenerateError::NoFunctions { .. }) if !structs.is_empty() => Interface {
            name: header.stem(),
            functions: Vec::new(),
            left_alone: Vec::new(),
            passed_over: Vec::new(),
            is_stateless: false,
        },
        planned => planned?,
    };
    let mut text = format!(
        "# A first mark-up of {} by `mastermind proxy --suggest-markup`: arguments that look like sizes.\n\
         # name = \"expression of the arguments\", such as \"m * n\", \"*n\", \"s->avail_in\" or \"strlen(s)\"; `failed` is one of `result`.\n\n\
         [proxy]\ninterface = \"{}\"\nfunctions = \"all\"\n",
        header.include, interface.name
    );
    for function in &interface.functions {
        // Writing to a string does not fail.
        let _ = write!(text, "\n# {}\n", function.declaration);
        if let Treatment::Forwarded(reason) = &function.treatment {
            let _ = writeln!(text, "# not recorded: {reason}");
            continue;
        }
        let is_fortran = function.symbol.ends_with('_');
        let types = &declarations.types;
        let arguments = &function.signature.parameters;
        let sizes: Vec<_> = arguments
            .iter()
            .flat_map(|a| {
                size(a, is_fortran, types)
                    .into_iter()
                    .chain(fields(a, &a.ty, ".", types))
            })
            .collect();
        let behind = arguments.iter().flat_map(|a| behind(a, types));
        let behind: Vec<_> = behind.filter(|behind| !sizes.contains(behind)).collect();
        let behind = counts_if_any(behind);
        // If nothing else gives the amount of work.
        let is_behind = sizes.is_empty();
        let suggested = if is_behind { &behind } else { &sizes };
        let _ = writeln!(
            text,
            "[functions.{}]\nparameters = {{ {} }}",
            function.name,
            suggested.join(", ")
        );
        if !behind.is_empty() && !is_behind {
            let behind = behind.join(", ");
            let _ = writeln!(text, "# not recorded where the pointer is null: {behind}");
        }
    }
    // Next to functions they are only a hint.
    let hidden = if interface.functions.is_empty() {
        ""
    } else {
        "# "
    };
    for tag in structs {
        let _ = write!(
            text,
            "\n# A struct of functions that take it first: a port. `classes` names libraries that fill it.\n\
             {hidden}[interfaces.{tag}]\n# classes.\"{}.Own\" = {{ library = \"libown.so\", register = \"register_own\" }}\n",
            interface.name
        );
        for (name, signature) in functions(&tag, &declarations.types) {
            let arguments = signature.parameters.iter();
            let sizes: Vec<_> = arguments
                .filter_map(|a| size(a, false, &declarations.types))
                .collect();
            let hidden = match sizes.is_empty() || signature.is_variadic {
                true => "# ",
                false => hidden,
            };
            let _ = writeln!(
                text,
                "{hidden}functions.{name} = {{ parameters = {{ {} }} }}",
                sizes.join(", ")
            );
        }
    }
    for (name, reason) in &interface.left_alone {
        let _ = write!(text, "\n# {name} is left alone: {reason}\n");
    }
    Ok(text)
}

/// `name = "expression"` for an argument that is probably a size.
fn size(argument: &Argument, is_fortran: bool, types: &Types) -> Option<String> {
    let name = &argument.name;
    match &types.resolve(&argument.ty).kind {
        TypeKind::Enumeration(_) => Some(format!("{name} = \"{name}\"")),
        TypeKind::Integer(_) if names_a_size(name) => Some(format!("{name} = \"{name}\"")),
        TypeKind::Pointer(target) if is_fortran && names_a_size(name) => {
            let is_integer =
                matches!(types.resolve(target).kind, TypeKind::Integer(kind) if kind != "char");
            is_integer.then(|| format!("{name} = \"*{name}\""))
        }
        _ => None,
    }
}

/// The same for a structure's fields; of many, the [`MAX_FIELDS`] that are most probably sizes.
///
/// # Arguments
/// * `access` - text between the argument and a field
fn fields(argument: &Argument, ty: &Type, access: &str, types: &Types) -> Vec<String> {
    let TypeKind::Record("struct", tag) = &types.resolve(ty).kind else {
        return Vec::new();
    };
    let fields = types.records.get(&format!("struct {tag}"));
    let sizes = fields.into_iter().flatten().filter(|(name, ty)| {
        let is_integer =
            matches!(types.resolve(ty).kind, TypeKind::Integer(kind) if kind != "char");
        is_integer && names_a_size(name) && !name.starts_with('_')
    });
    let name = &argument.name;
    let mut sizes: Vec<&String> = sizes.map(|(field, _)| field).collect();
    // Short names usually denote the dimensions of a problem (n, nnz), long ones derived quantities.
    let mut by_length = sizes.clone();
    by_length.sort_by_key(|field| field.len());
    by_length.truncate(MAX_FIELDS);
    sizes.retain(|field| by_length.contains(field));
    let sizes = sizes.into_iter();
    sizes
        .map(|field| format!("{name}_{field} = \"{name}{access}{field}\""))
        .collect()
}

/// Of the values behind pointers, those whose names begin with `n` if there are any: others such as METIS's `vsize` may
/// be arrays that a caller leaves out.
fn counts_if_any(behind: Vec<String>) -> Vec<String> {
    let is_count = |suggestion: &&String| {
        let name = suggestion.split(' ').next().unwrap_or_default();
        suggestion.contains("\"*") && name.starts_with('n')
    };
    let counts: Vec<_> = behind.iter().filter(is_count).cloned().collect();
    let is_pointer = |suggestion: &String| suggestion.contains("\"*") && !is_count(&suggestion);
    match counts.is_empty() {
        true => behind,
        false => behind.into_iter().filter(|one| !is_pointer(one)).collect(),
    }
}

/// The same for the target of an argument: a size, or a structure with sizes.
fn behind(argument: &Argument, types: &Types) -> Vec<String> {
    let TypeKind::Pointer(target) = &types.resolve(&argument.ty).kind else {
        return Vec::new();
    };
    match &types.resolve(target).kind {
        TypeKind::Integer(kind) if !kind.contains("char") && names_a_size(&argument.name) => {
            let name = &argument.name;
            vec![format!("{name} = \"*{name}\"")]
        }
        _ => fields(argument, target, "->", types),
    }
}

fn names_a_size(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_letter = ["n", "m", "k", "l"].contains(&name.as_str());
    let is_short = name.len() <= 5 && name.starts_with('n') && !name.starts_with("no");
    is_letter || is_short || SIZE_WORDS.iter().any(|word| name.contains(word))
}
