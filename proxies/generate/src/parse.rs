//! The functions that a preprocessed header declares.
//!
//! Parsing C is left to the crate `lang-c`. Two things remain here. Real headers contain extensions
//! that no parser knows, and one of them must not cost all the functions of the header: the
//! declaration at the error is blanked out and the text parsed again, up to `MAX_PASSED_OVER`
//! times. And C writes types inside out, around the name, so the syntax tree of each declarator is
//! turned into a type that reads from the name outwards.
//!
//! ```text
//! int (*handlers[4])(char *)
//!     derive(int, (*handlers[4])(char *))
//!       function(char *) -> int            brackets after the name, last one innermost
//!       pointer to that                    then the declarator in the parentheses
//!       array of 4 of that
//!
//! Array(Pointer(Function(char * -> int)), "4")
//! ```
//!
//! Declarations are collected by name. A later declaration of a function adds attributes, and a
//! prototype where the first had none.

use lang_c::ast::{
    Declaration, DeclarationSpecifier, Declarator, DeclaratorKind, DerivedDeclarator, Ellipsis,
    Extension, ExternalDeclaration, FunctionDeclarator, FunctionSpecifier, ParameterDeclaration,
    PointerQualifier, StorageClassSpecifier, StructDeclaration, StructKind, StructType,
    TS18661FloatType, TypeQualifier, TypeSpecifier,
};
use lang_c::driver::{Config, Flavor, SyntaxError, parse_preprocessed};
use lang_c::span::{Node, Span};

use crate::error::GenerateError;
use crate::text::{PreparedText, SourceLocation};
use crate::types::{Argument, Enumeration, Signature, Type, TypeKind, Types};

/// Declarations that are passed over before the header counts as none.
const MAX_PASSED_OVER: usize = 100;

/// A function as the header declares it, all its declarations taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// Name in C.
    pub name: String,
    /// Name in the library, which an `asm` label may change.
    pub symbol: String,
    /// Its arguments and result.
    pub signature: Signature,
    /// Where.
    pub place: SourceLocation,
    /// Whether the header has its body, so that no library need have it.
    pub is_inline: bool,
    /// Names of its attributes, without underscores around them.
    pub attributes: Vec<String>,
}

/// Declarations of a header and the files it includes.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    /// The functions, in the order of their first declaration.
    pub prototypes: Vec<Prototype>,
    /// The types.
    pub types: Types,
    /// Where declarations are that the parser does not understand.
    pub passed_over: Vec<SourceLocation>,
}

/// Reads preprocessed text.
///
/// # Errors
/// [`GenerateError::Unparsable`] if it is not C.
pub fn declarations(preprocessed: &str) -> Result<Declarations, GenerateError> {
    let mut text = PreparedText::new(preprocessed);
    if let Some((offset, found)) = text.too_deep() {
        let place = text.place(offset);
        return Err(GenerateError::TooDeep { place, found });
    }
    let mut passed_over = Vec::new();
    let unit = loop {
        match parse(text.text.clone()) {
            Ok(unit) => break unit,
            Err(error) => {
                let offset = text.misunderstood(error.offset);
                let place = text.place(offset);
                // A declaration that the parser does not understand costs itself alone.
                let next = text.without_declaration(offset);
                match next.filter(|_| passed_over.len() < MAX_PASSED_OVER) {
                    Some(next) => text = next,
                    None => return Err(GenerateError::Unparsable { place }),
                }
                passed_over.push(place);
            }
        }
    };
    let mut reader = Reader {
        text: &text,
        found: Declarations {
            passed_over,
            ..Declarations::default()
        },
        n_unnamed: 0,
        file: String::new(),
    };
    for declaration in &unit.0 {
        if let ExternalDeclaration::Declaration(declaration) = &declaration.node {
            reader.declaration(declaration);
        }
    }
    Ok(reader.found)
}

fn parse(text: String) -> Result<lang_c::ast::TranslationUnit, SyntaxError> {
    let config = Config {
        cpp_command: String::new(),
        cpp_options: Vec::new(),
        flavor: Flavor::GnuC11,
    };
    parse_preprocessed(&config, text).map(|parsed| parsed.unit)
}

/// Part of a declaration in front of its declarators.
#[derive(Default)]
struct Specifiers<'a> {
    types: Vec<&'a TypeSpecifier>,
    qualifiers: Vec<&'a TypeQualifier>,
    is_typedef: bool,
    is_static: bool,
    is_inline: bool,
    attributes: Vec<String>,
}

impl<'a> Specifiers<'a> {
    fn of(specifiers: &'a [Node<DeclarationSpecifier>]) -> Self {
        let mut found = Self::default();
        for specifier in specifiers {
            match &specifier.node {
                DeclarationSpecifier::TypeSpecifier(ty) => found.types.push(&ty.node),
                DeclarationSpecifier::TypeQualifier(qualifier) => {
                    found.qualifiers.push(&qualifier.node)
                }
                DeclarationSpecifier::StorageClass(class) => match class.node {
                    StorageClassSpecifier::Typedef => found.is_typedef = true,
                    StorageClassSpecifier::Static => found.is_static = true,
                    _ => {}
                },
                DeclarationSpecifier::Function(specifier) => match specifier.node {
                    FunctionSpecifier::Inline => found.is_inline = true,
                    FunctionSpecifier::Noreturn => found.attributes.push("noreturn".into()),
                },
                DeclarationSpecifier::Extension(extensions) => {
                    found.attributes.extend(attributes(extensions))
                }
                DeclarationSpecifier::Alignment(_) => {}
            }
        }
        found
    }
}

fn attributes(extensions: &[Node<Extension>]) -> impl Iterator<Item = String> + '_ {
    extensions
        .iter()
        .filter_map(|extension| match &extension.node {
            Extension::Attribute(attribute) => {
                Some(attribute.name.node.trim_matches('_').to_owned())
            }
            _ => None,
        })
}

struct Reader<'t> {
    text: &'t PreparedText,
    found: Declarations,
    n_unnamed: usize,
    /// File of the declaration that is read.
    file: String,
}

impl Reader<'_> {
    fn declaration(&mut self, declaration: &Node<Declaration>) {
        self.file = self.text.place(declaration.span.start).file;
        let specifiers = Specifiers::of(&declaration.node.specifiers);
        let base = self.base(&specifiers.types, &specifiers.qualifiers);
        for declarator in &declaration.node.declarators {
            let declarator = &declarator.node.declarator.node;
            let Some(name) = name_of(declarator) else {
                continue;
            };
            let ty = self.derive(base.clone(), declarator);
            if specifiers.is_typedef {
                self.found.types.typedefs.insert(name, ty);
                continue;
            }
            let TypeKind::Function(signature) = &self.found.types.resolve(&ty).kind else {
                continue;
            };
            let signature = (**signature).clone();
            let label = declarator
                .extensions
                .iter()
                .find_map(|extension| match &extension.node {
                    Extension::AsmLabel(text) => Some(
                        text.node
                            .iter()
                            .map(|part| part.trim_matches('"'))
                            .collect(),
                    ),
                    _ => None,
                });
            let mut all = specifiers.attributes.clone();
            all.extend(attributes(&declarator.extensions));
            self.add(Prototype {
                symbol: label.unwrap_or_else(|| name.clone()),
                name,
                signature,
                place: self.text.place(declaration.span.start),
                is_inline: specifiers.is_inline || specifiers.is_static,
                attributes: all,
            });
        }
    }

    /// Adds a function, or the information of another declaration of it.
    fn add(&mut self, prototype: Prototype) {
        let known = self
            .found
            .prototypes
            .iter_mut()
            .find(|known| known.name == prototype.name);
        let Some(known) = known else {
            self.found.prototypes.push(prototype);
            return;
        };
        // A function with one declaration that is not inline has a symbol in the library.
        known.is_inline &= prototype.is_inline;
        known.attributes.extend(prototype.attributes);
        // `int f();` and later `int f(int)`: the second one lists the arguments.
        if !known.signature.has_prototype {
            known.signature = prototype.signature;
        }
    }

    fn base(&mut self, types: &[&TypeSpecifier], qualifiers: &[&TypeQualifier]) -> Type {
        let kind = match types {
            [TypeSpecifier::Struct(record)] => self.record(&record.node),
            [TypeSpecifier::Enum(enumeration)] => {
                let tag = enumeration
                    .node
                    .identifier
                    .as_ref()
                    .map(|tag| tag.node.name.clone());
                let names = enumeration.node.enumerators.iter();
                let names: Vec<_> = names
                    .map(|value| value.node.identifier.node.name.clone())
                    .collect();
                self.enumeration(tag.unwrap_or_default(), names)
            }
            [TypeSpecifier::TypedefName(name)] => TypeKind::Typedef(name.node.name.clone()),
            [TypeSpecifier::Atomic(_)] => TypeKind::Unnamed("an atomic type".into()),
            [TypeSpecifier::TypeOf(_)] => TypeKind::Unnamed("a type by typeof".into()),
            [TypeSpecifier::TS18661Float(float)] => TypeKind::Real(float_name(float)),
            words => arithmetic(words),
        };
        Type {
            kind,
            qualifiers: qualifier_text(qualifiers.iter().copied()),
        }
    }

    fn record(&mut self, record: &StructType) -> TypeKind {
        let keyword = match record.kind.node {
            StructKind::Struct => "struct",
            StructKind::Union => "union",
        };
        let tag = record.identifier.as_ref().map(|tag| tag.node.name.clone());
        let tag = tag.unwrap_or_else(|| {
            self.n_unnamed += 1;
            format!("(unnamed {})", self.n_unnamed)
        });
        if let Some(declarations) = &record.declarations {
            let mut fields = Vec::new();
            for declaration in declarations {
                let StructDeclaration::Field(field) = &declaration.node else {
                    continue;
                };
                let (types, qualifiers) = specifier_qualifiers(&field.node.specifiers);
                let base = self.base(&types, &qualifiers);
                for declarator in &field.node.declarators {
                    let Some(declarator) = &declarator.node.declarator else {
                        continue;
                    };
                    if let Some(name) = name_of(&declarator.node) {
                        let ty = self.derive(base.clone(), &declarator.node);
                        fields.push((name, ty));
                    }
                }
            }
            let name = format!("{keyword} {tag}");
            let types = &mut self.found.types;
            types.record_files.insert(name.clone(), self.file.clone());
            types.records.insert(name, fields);
        }
        TypeKind::Record(keyword, tag)
    }

    fn enumeration(&mut self, tag: String, names: Vec<String>) -> TypeKind {
        let enumerations = &mut self.found.types.enumerations;
        let known = enumerations
            .iter()
            .position(|known| !tag.is_empty() && known.tag == tag);
        let place = known.unwrap_or(enumerations.len());
        match enumerations.get_mut(place) {
            Some(known) if known.names.is_empty() => known.names = names,
            Some(_) => {}
            None => enumerations.push(Enumeration { tag, names }),
        }
        TypeKind::Enumeration(place)
    }

    /// The type of a declared name, from a base type and its declarator.
    fn derive(&mut self, base: Type, declarator: &Declarator) -> Type {
        let mut ty = base;
        // Pointers are in front of the name, and bind less than the brackets and parentheses after it, the last of
        // which is the innermost.
        let is_pointer = |part: &&Node<DerivedDeclarator>| {
            matches!(
                part.node,
                DerivedDeclarator::Pointer(_) | DerivedDeclarator::Block(_)
            )
        };
        for part in declarator.derived.iter().filter(is_pointer) {
            ty = ty.pointer();
            if let DerivedDeclarator::Pointer(qualifiers) = &part.node {
                let qualifiers = qualifiers
                    .iter()
                    .filter_map(|qualifier| match &qualifier.node {
                        PointerQualifier::TypeQualifier(qualifier) => Some(&qualifier.node),
                        PointerQualifier::Extension(_) => None,
                    });
                ty.qualifiers = qualifier_text(qualifiers);
            }
        }
        for part in declarator
            .derived
            .iter()
            .rev()
            .filter(|part| !is_pointer(part))
        {
            let kind = match &part.node {
                DerivedDeclarator::Array(array) => {
                    let span = array.span;
                    TypeKind::Array(Box::new(ty), self.array_size(span))
                }
                DerivedDeclarator::Function(function) => {
                    TypeKind::Function(Box::new(self.signature(ty, &function.node)))
                }
                DerivedDeclarator::KRFunction(_) => TypeKind::Function(Box::new(Signature {
                    result: ty,
                    parameters: Vec::new(),
                    is_variadic: false,
                    has_prototype: false,
                })),
                DerivedDeclarator::Pointer(_) | DerivedDeclarator::Block(_) => continue,
            };
            ty = Type::plain(kind);
        }
        match &declarator.kind.node {
            DeclaratorKind::Declarator(inner) => self.derive(ty, &inner.node),
            DeclaratorKind::Abstract | DeclaratorKind::Identifier(_) => ty,
        }
    }

    /// The text between the brackets.
    fn array_size(&self, span: Span) -> String {
        let text = self.text.text.get(span.start..span.end).unwrap_or_default();
        let inner = text
            .trim()
            .trim_start_matches('[')
            .trim_end_matches(']')
            .trim();
        inner.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn signature(&mut self, result: Type, function: &FunctionDeclarator) -> Signature {
        let mut parameters = Vec::new();
        for (place, parameter) in function.parameters.iter().enumerate() {
            parameters.push(self.parameter(place, &parameter.node));
        }
        // `f(void)` has a prototype without arguments, `f()` has none.
        let is_void = matches!(
            parameters.as_slice(),
            [Argument {
                ty: Type {
                    kind: TypeKind::Void,
                    ..
                },
                ..
            }]
        );
        if is_void {
            parameters.clear();
        }
        Signature {
            result,
            is_variadic: function.ellipsis == Ellipsis::Some,
            has_prototype: is_void || !parameters.is_empty(),
            parameters,
        }
    }

    fn parameter(&mut self, place: usize, parameter: &ParameterDeclaration) -> Argument {
        let specifiers = Specifiers::of(&parameter.specifiers);
        let base = self.base(&specifiers.types, &specifiers.qualifiers);
        let declarator = parameter
            .declarator
            .as_ref()
            .map(|declarator| &declarator.node);
        let name = declarator.and_then(name_of);
        let mut ty = match declarator {
            Some(declarator) => self.derive(base, declarator),
            None => base,
        };
        // Parameters of array and function type are pointers (C11, 6.7.6.3).
        if let TypeKind::Array(element, _) = ty.kind {
            ty = element.pointer();
        } else if matches!(ty.kind, TypeKind::Function(_)) {
            ty = ty.pointer();
        }
        Argument {
            name: name.unwrap_or_else(|| format!("argument{}", place + 1)),
            ty,
        }
    }
}

/// A type such as `_Float64x`.
fn float_name(float: &TS18661FloatType) -> String {
    use lang_c::ast::TS18661FloatFormat::{BinaryExtended, DecimalExtended};
    let extended = matches!(float.format, BinaryExtended | DecimalExtended);
    format!("_Float{}{}", float.width, if extended { "x" } else { "" })
}

fn name_of(declarator: &Declarator) -> Option<String> {
    match &declarator.kind.node {
        DeclaratorKind::Identifier(name) => Some(name.node.name.clone()),
        DeclaratorKind::Declarator(inner) => name_of(&inner.node),
        DeclaratorKind::Abstract => None,
    }
}

fn specifier_qualifiers(
    specifiers: &[Node<lang_c::ast::SpecifierQualifier>],
) -> (Vec<&TypeSpecifier>, Vec<&TypeQualifier>) {
    use lang_c::ast::SpecifierQualifier;
    let (mut types, mut qualifiers) = (Vec::new(), Vec::new());
    for specifier in specifiers {
        match &specifier.node {
            SpecifierQualifier::TypeSpecifier(ty) => types.push(&ty.node),
            SpecifierQualifier::TypeQualifier(qualifier) => qualifiers.push(&qualifier.node),
            SpecifierQualifier::Extension(_) => {}
        }
    }
    (types, qualifiers)
}

fn qualifier_text<'a>(qualifiers: impl Iterator<Item = &'a TypeQualifier>) -> String {
    let qualifiers: Vec<_> = qualifiers.collect();
    let named = [
        (TypeQualifier::Const, "const "),
        (TypeQualifier::Volatile, "volatile "),
        (TypeQualifier::Restrict, "restrict "),
    ];
    named
        .iter()
        .filter(|(qualifier, _)| qualifiers.contains(&qualifier))
        .map(|(_, text)| *text)
        .collect()
}

/// The type that a list of arithmetic words denotes, in any order.
fn arithmetic(words: &[&TypeSpecifier]) -> TypeKind {
    let count =
        |wanted: fn(&TypeSpecifier) -> bool| words.iter().filter(|word| wanted(word)).count();
    let longs = count(|word| matches!(word, TypeSpecifier::Long));
    let is_unsigned = count(|word| matches!(word, TypeSpecifier::Unsigned)) > 0;
    let is = |wanted: fn(&TypeSpecifier) -> bool| count(wanted) > 0;
    let real = if is(|word| matches!(word, TypeSpecifier::Double)) {
        Some(if longs > 0 { "long double" } else { "double" }.to_owned())
    } else if is(|word| matches!(word, TypeSpecifier::Float)) {
        Some("float".to_owned())
    } else {
        words.iter().find_map(|word| match word {
            TypeSpecifier::TS18661Float(float) => Some(float_name(float)),
            _ => None,
        })
    };
    if is(|word| matches!(word, TypeSpecifier::Complex)) {
        return TypeKind::Complex(format!(
            "{} _Complex",
            real.unwrap_or_else(|| "double".into())
        ));
    }
    if let Some(real) = real {
        return TypeKind::Real(real);
    }
    if is(|word| matches!(word, TypeSpecifier::Void)) {
        return TypeKind::Void;
    }
    let name = if is(|word| matches!(word, TypeSpecifier::Bool)) {
        "_Bool"
    } else if is(|word| matches!(word, TypeSpecifier::Char)) {
        match (
            is_unsigned,
            is(|word| matches!(word, TypeSpecifier::Signed)),
        ) {
            (true, _) => "unsigned char",
            (_, true) => "signed char",
            _ => "char",
        }
    } else if is(|word| matches!(word, TypeSpecifier::Short)) {
        if is_unsigned {
            "unsigned short"
        } else {
            "short"
        }
    } else {
        match (longs, is_unsigned) {
            (0, false) => "int",
            (0, true) => "unsigned int",
            (1, false) => "long",
            (1, true) => "unsigned long",
            (_, false) => "long long",
            (_, true) => "unsigned long long",
        }
    };
    TypeKind::Integer(name)
}
