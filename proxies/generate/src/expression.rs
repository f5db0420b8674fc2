//! Expressions of arguments, as C that neither divides by zero nor reads a null pointer.
//!
//! ```text
//! n*k        ((int64_t)(n)) * ((int64_t)(k))          integers are reckoned with 64 bits
//! *m         ((m) != 0 ? (int64_t)*(m) : (cca_is_valid = 0, 0))
//! a / b      cca_quotient(…, …, &cca_is_valid)
//! ```
//!
//! Where `cca_is_valid` becomes 0 the call is counted, and not recorded.

use lang_c::ast::{
    BinaryOperator, BinaryOperatorExpression, CallExpression, Constant, Expression,
    ExternalDeclaration, Initializer, MemberExpression, MemberOperator, UnaryOperator,
    UnaryOperatorExpression,
};
use lang_c::driver::{Config, Flavor, parse_preprocessed};

use crate::types::{Argument, Type, TypeKind, Types};

/// How the word of a parameter is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signed integer.
    Integer,
    /// A number with a fraction.
    Real,
    /// One of the values of an enumeration, which is one of [`Types::enumerations`].
    Enumeration(usize),
}

/// An expression as it is written into the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// C of type `int64_t`, `double`, or the enumeration.
    pub text: String,
    /// Which of them.
    pub kind: Kind,
}

/// C of some type.
struct Term {
    text: String,
    ty: Type,
}

/// The part of an expression between a name and its end.
struct Compiler<'a> {
    arguments: &'a [Argument],
    types: &'a Types,
}

/// Compiles an expression of arguments.
///
/// # Errors
/// The error in it, and the expected text.
pub fn compile(
    expression: &str,
    arguments: &[Argument],
    types: &Types,
) -> Result<Compiled, String> {
    let parsed = parse(expression)?;
    let compiler = Compiler { arguments, types };
    let term = compiler.term(&parsed)?;
    match &types.resolve(&term.ty).kind {
        TypeKind::Integer(_) => Ok(Compiled {
            text: term.text,
            kind: Kind::Integer,
        }),
        TypeKind::Real(_) => Ok(Compiled {
            text: term.text,
            kind: Kind::Real,
        }),
        TypeKind::Enumeration(place) => Ok(Compiled {
            text: term.text,
            kind: Kind::Enumeration(*place),
        }),
        _ => Err(format!(
            "is of type \"{}\", expected a number",
            types.declare(&term.ty, "")
        )),
    }
}

/// Reads an expression of C.
fn parse(expression: &str) -> Result<Expression, String> {
    let wrong = || {
        "is no expression of C, expected one such as \"n\", \"*m\" or \"rows * columns\"".to_owned()
    };
    // Nothing else can be smuggled into the source that is built.
    if expression.contains([';', '{', '}', '"', '#', '\\', '\n', '\'', '`', '@'])
        || expression.len() > 1000
    {
        return Err(wrong());
    }
    let deepest = expression
        .bytes()
        .filter(|byte| b"([*-+!~&".contains(byte))
        .count();
    if deepest > 100 {
        return Err("is too long, expected at most 100 operators".into());
    }
    let config = Config {
        cpp_command: String::new(),
        cpp_options: Vec::new(),
        flavor: Flavor::GnuC11,
    };
    let parsed =
        parse_preprocessed(&config, format!("int x = ({expression});")).map_err(|_| wrong())?;
    let [node] = parsed.unit.0.as_slice() else {
        return Err(wrong());
    };
    let ExternalDeclaration::Declaration(declaration) = &node.node else {
        return Err(wrong());
    };
    let [declarator] = declaration.node.declarators.as_slice() else {
        return Err(wrong());
    };
    match declarator
        .node
        .initializer
        .as_ref()
        .map(|initializer| &initializer.node)
    {
        Some(Initializer::Expression(expression)) => Ok(expression.node.clone()),
        _ => Err(wrong()),
    }
}

impl Compiler<'_> {
    fn term(&self, expression: &Expression) -> Result<Term, String> {
        match expression {
            Expression::Identifier(name) => self.name(&name.node.name),
            Expression::Constant(constant) => self.constant(&constant.node),
            Expression::UnaryOperator(unary) => self.unary(&unary.node),
            Expression::BinaryOperator(binary) => self.binary(&binary.node),
            Expression::Member(member) => self.member(&member.node),
            Expression::Call(call) => self.call(&call.node),
            Expression::Conditional(conditional) => {
                let condition = self.number(&conditional.node.condition.node)?;
                let yes = self.number(&conditional.node.then_expression.node)?;
                let no = self.number(&conditional.node.else_expression.node)?;
                let ty = if self.is_real(&no.ty) { no.ty } else { yes.ty };
                Ok(Term { text: format!("({} ? {} : {})", condition.text, yes.text, no.text), ty })
            }
            _ => Err("has an operator that is not known here, expected arithmetic, *, [], ., ->, ?: or strlen".into()),
        }
    }

    fn name(&self, name: &str) -> Result<Term, String> {
        if let Some(argument) = self.arguments.iter().find(|argument| argument.name == name) {
            return Ok(self.value(name.to_owned(), &argument.ty));
        }
        let is_enumerator = self
            .types
            .enumerations
            .iter()
            .any(|enumeration| enumeration.names.iter().any(|n| n == name));
        if is_enumerator {
            return Ok(Term {
                text: format!("((int64_t){name})"),
                ty: Type::integer(),
            });
        }
        let names: Vec<_> = self
            .arguments
            .iter()
            .map(|argument| argument.name.as_str())
            .collect();
        let similar = names
            .iter()
            .max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)));
        let hint = similar.filter(|similar| strsim::jaro(similar, name) > 0.7);
        let hint = hint.map_or(String::new(), |similar| {
            format!("; do you mean \"{similar}\"?")
        });
        let expected = if names.is_empty() {
            "no argument".into()
        } else {
            format!("one of {}", names.join(", "))
        };
        Err(format!(
            "has the name \"{name}\", expected {expected}{hint}"
        ))
    }

    /// C of a type as a term: numbers are widened.
    fn value(&self, text: String, ty: &Type) -> Term {
        match &self.types.resolve(ty).kind {
            TypeKind::Integer(_) => Term {
                text: format!("((int64_t)({text}))"),
                ty: Type::integer(),
            },
            TypeKind::Real(_) => Term {
                text: format!("((double)({text}))"),
                ty: Type::real(),
            },
            _ => Term {
                text: format!("({text})"),
                ty: ty.clone(),
            },
        }
    }

    fn constant(&self, constant: &Constant) -> Result<Term, String> {
        match constant {
            Constant::Integer(integer) => {
                let prefix = match integer.base {
                    lang_c::ast::IntegerBase::Decimal => "",
                    lang_c::ast::IntegerBase::Octal => "0",
                    lang_c::ast::IntegerBase::Hexadecimal => "0x",
                    lang_c::ast::IntegerBase::Binary => "0b",
                };
                Ok(Term {
                    text: format!("((int64_t){prefix}{})", integer.number),
                    ty: Type::integer(),
                })
            }
            Constant::Float(float) if matches!(float.base, lang_c::ast::FloatBase::Decimal) => {
                Ok(Term {
                    text: format!("((double){})", float.number),
                    ty: Type::real(),
                })
            }
            _ => Err("has a constant that is not known here, expected a number".into()),
        }
    }

    fn is_real(&self, ty: &Type) -> bool {
        matches!(self.types.resolve(ty).kind, TypeKind::Real(_))
    }

    /// A term that is a number; an enumeration counts as its integer.
    fn number(&self, expression: &Expression) -> Result<Term, String> {
        let term = self.term(expression)?;
        match &self.types.resolve(&term.ty).kind {
            TypeKind::Integer(_) | TypeKind::Real(_) => Ok(term),
            TypeKind::Enumeration(_) => Ok(Term {
                text: format!("((int64_t){})", term.text),
                ty: Type::integer(),
            }),
            _ => Err(format!(
                "reckons with a value of type \"{}\", expected a number",
                self.types.declare(&term.ty, "")
            )),
        }
    }

    fn unary(&self, unary: &UnaryOperatorExpression) -> Result<Term, String> {
        let operator = match unary.operator.node {
            UnaryOperator::Indirection => {
                let pointer = self.term(&unary.operand.node)?;
                return self.read(&pointer, "*", "");
            }
            UnaryOperator::Plus => "+",
            UnaryOperator::Minus => "-",
            UnaryOperator::Complement => "~",
            UnaryOperator::Negate => "!",
            _ => {
                return Err(
                    "changes an argument or takes its address, expected to read only".into(),
                );
            }
        };
        let operand = self.number(&unary.operand.node)?;
        let is_real = self.is_real(&operand.ty);
        if is_real && operator == "~" {
            return Err("takes the complement of a real number, expected an integer".into());
        }
        let ty = if operator == "!" {
            Type::integer()
        } else {
            operand.ty
        };
        Ok(Term {
            text: format!("({operator}{})", operand.text),
            ty,
        })
    }

    /// The value behind a pointer, unless it is null.
    fn read(&self, pointer: &Term, before: &str, after: &str) -> Result<Term, String> {
        let target = match &self.types.resolve(&pointer.ty).kind {
            TypeKind::Pointer(target) | TypeKind::Array(target, _) => target,
            _ => {
                let ty = self.types.declare(&pointer.ty, "");
                return Err(format!(
                    "reads through a value of type \"{ty}\", expected a pointer"
                ));
            }
        };
        self.checked(
            &pointer.text,
            &format!("{before}{}{after}", pointer.text),
            target,
        )
    }

    fn checked(&self, pointer: &str, access: &str, ty: &Type) -> Result<Term, String> {
        let resolved = self.types.resolve(ty);
        match &resolved.kind {
            TypeKind::Integer(_) | TypeKind::Real(_) => {
                let term = self.value(access.to_owned(), ty);
                Ok(Term {
                    text: format!("({pointer} != 0 ? {} : (cca_is_valid = 0, 0))", term.text),
                    ty: term.ty,
                })
            }
            TypeKind::Pointer(_) | TypeKind::Enumeration(_) => Ok(Term {
                text: format!(
                    "({pointer} != 0 ? {access} : (cca_is_valid = 0, (__typeof__({access}))0))"
                ),
                ty: ty.clone(),
            }),
            // Its elements are read, not the array.
            TypeKind::Array(..) => Ok(Term {
                text: format!("({access})"),
                ty: ty.clone(),
            }),
            _ => Err(format!(
                "reads a value of type \"{}\", expected a number",
                self.types.declare(ty, "")
            )),
        }
    }

    fn member(&self, member: &MemberExpression) -> Result<Term, String> {
        let field = &member.identifier.node.name;
        let (base, is_pointer) = match (&member.operator.node, &member.expression.node) {
            (MemberOperator::Indirect, expression) => (self.term(expression)?, true),
            // `(*p).m` is `p->m`.
            (MemberOperator::Direct, Expression::UnaryOperator(unary))
                if unary.node.operator.node == UnaryOperator::Indirection =>
            {
                (self.term(&unary.node.operand.node)?, true)
            }
            (MemberOperator::Direct, expression) => (self.term(expression)?, false),
        };
        let resolved = self.types.resolve(&base.ty);
        let record = match &resolved.kind {
            TypeKind::Pointer(target) if is_pointer => self.types.resolve(target),
            _ => resolved,
        };
        let TypeKind::Record(keyword, tag) = &record.kind else {
            return Err(format!("reads \"{field}\" of a value that is no structure"));
        };
        let fields = self.types.records.get(&format!("{keyword} {tag}"));
        let Some(fields) = fields else {
            return Err(format!(
                "reads \"{field}\" of \"{keyword} {tag}\", which the header does not define"
            ));
        };
        let Some((_, ty)) = fields.iter().find(|(name, _)| name == field) else {
            let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
            return Err(format!(
                "reads \"{field}\" of \"{keyword} {tag}\", expected one of {}",
                names.join(", ")
            ));
        };
        if is_pointer {
            self.checked(&base.text, &format!("{}->{field}", base.text), ty)
        } else {
            Ok(self.value(format!("{}.{field}", base.text), ty))
        }
    }

    fn call(&self, call: &CallExpression) -> Result<Term, String> {
        let Expression::Identifier(name) = &call.callee.node else {
            return Err("calls a function by address, expected strlen at most".into());
        };
        match (name.node.name.as_str(), call.arguments.as_slice()) {
            ("strlen", [text]) => {
                let text = self.term(&text.node)?;
                if !matches!(self.types.resolve(&text.ty).kind, TypeKind::Pointer(_)) {
                    return Err("takes strlen of what is no pointer, expected a string".into());
                }
                let text = format!("cca_length((const char *){}, &cca_is_valid)", text.text);
                Ok(Term {
                    text,
                    ty: Type::integer(),
                })
            }
            (name, _) => Err(format!(
                "calls \"{name}\", expected strlen of one argument at most"
            )),
        }
    }

    fn binary(&self, binary: &BinaryOperatorExpression) -> Result<Term, String> {
        use BinaryOperator as Op;
        if binary.operator.node == Op::Index {
            let base = self.term(&binary.lhs.node)?;
            let place = self.number(&binary.rhs.node)?;
            if self.is_real(&place.ty) {
                return Err("has a real number as index, expected an integer".into());
            }
            return self.read(&base, "", &format!("[{}]", place.text));
        }
        let (left, right) = (
            self.number(&binary.lhs.node)?,
            self.number(&binary.rhs.node)?,
        );
        let is_real = self.is_real(&left.ty) || self.is_real(&right.ty);
        let ty = if is_real {
            Type::real()
        } else {
            Type::integer()
        };
        let quotient =
            |function: &str| format!("{function}({}, {}, &cca_is_valid)", left.text, right.text);
        let plain = |operator: &str| format!("({} {operator} {})", left.text, right.text);
        let compared = |operator: &str| {
            Ok(Term {
                text: plain(operator),
                ty: Type::integer(),
            })
        };
        let integers = |text: String| match is_real {
            true => Err("takes bits or a remainder of a real number, expected integers".to_owned()),
            false => Ok(Term {
                text,
                ty: Type::integer(),
            }),
        };
        match binary.operator.node {
            Op::Plus => Ok(Term {
                text: plain("+"),
                ty,
            }),
            Op::Minus => Ok(Term {
                text: plain("-"),
                ty,
            }),
            Op::Multiply => Ok(Term {
                text: plain("*"),
                ty,
            }),
            Op::Divide if is_real => Ok(Term {
                text: quotient("cca_real_quotient"),
                ty,
            }),
            Op::Divide => Ok(Term {
                text: quotient("cca_quotient"),
                ty,
            }),
            Op::Modulo => integers(quotient("cca_remainder")),
            Op::ShiftLeft => integers(format!("({} << ({} & 63))", left.text, right.text)),
            Op::ShiftRight => integers(format!("({} >> ({} & 63))", left.text, right.text)),
            Op::BitwiseAnd => integers(plain("&")),
            Op::BitwiseOr => integers(plain("|")),
            Op::BitwiseXor => integers(plain("^")),
            Op::Less => compared("<"),
            Op::Greater => compared(">"),
            Op::LessOrEqual => compared("<="),
            Op::GreaterOrEqual => compared(">="),
            Op::Equals => compared("=="),
            Op::NotEquals => compared("!="),
            Op::LogicalAnd => compared("&&"),
            Op::LogicalOr => compared("||"),
            _ => Err("changes an argument, expected to read only".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(expression: &str) -> Result<Compiled, String> {
        let mut types = Types::default();
        types.records.insert(
            "struct s".into(),
            vec![("rows".into(), Type::plain(TypeKind::Integer("int")))],
        );
        let argument = |name: &str, kind| Argument {
            name: name.into(),
            ty: Type::plain(kind),
        };
        let pointer = |kind| TypeKind::Pointer(Box::new(Type::plain(kind)));
        let arguments = [
            argument("n", TypeKind::Integer("int")),
            argument("m", pointer(TypeKind::Integer("int"))),
            argument("x", TypeKind::Real("double".into())),
            argument("s", pointer(TypeKind::Record("struct", "s".into()))),
            argument("t", pointer(TypeKind::Integer("char"))),
        ];
        compile(expression, &arguments, &types)
    }

    #[test]
    fn reading_is_guarded() {
        let text = |expression| compiled(expression).map(|compiled| compiled.text);
        assert_eq!(
            text("*m").unwrap(),
            "((m) != 0 ? ((int64_t)(*(m))) : (cca_is_valid = 0, 0))"
        );
        assert_eq!(
            text("n / 2").unwrap(),
            "cca_quotient(((int64_t)(n)), ((int64_t)2), &cca_is_valid)"
        );
        assert_eq!(
            text("s->rows").unwrap(),
            "((s) != 0 ? ((int64_t)((s)->rows)) : (cca_is_valid = 0, 0))"
        );
        assert_eq!(
            text("strlen(t)").unwrap(),
            "cca_length((const char *)(t), &cca_is_valid)"
        );
        assert_eq!(compiled("n * x").unwrap().kind, Kind::Real);
        assert_eq!(compiled("n > x").unwrap().kind, Kind::Integer);
    }

    #[test]
    fn what_is_no_number_of_the_arguments_is_refused() {
        for (expression, problem) in [
            ("k", "has the name \"k\", expected one of n, m, x, s, t"),
            ("m", "is of type \"int *\", expected a number"),
            ("n = 3", "changes an argument"),
            ("n++", "changes an argument"),
            ("n); evil(", "is no expression of C"),
            ("exit(n)", "calls \"exit\""),
            (
                "*n",
                "reads through a value of type \"long\", expected a pointer",
            ),
            (
                "s->columns",
                "reads \"columns\" of \"struct s\", expected one of rows",
            ),
            ("x % 2", "takes bits or a remainder of a real number"),
            ("", "is no expression of C"),
        ] {
            let error = compiled(expression).unwrap_err();
            assert!(error.contains(problem), "{expression}: {error}");
        }
    }
}
