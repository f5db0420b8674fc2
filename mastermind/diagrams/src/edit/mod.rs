//! Changes of a diagram's file: unchanged parts stay byte for byte, with their comments and their order.
//!
//! [`outline`] lists the elements of a file with their words, as they are written. [`edited`] makes changes, each at an
//! element that the outline names by its key, and returns the text. Nothing here checks whether the diagram is sound: a
//! reader does.
//!
//! Keys count from 0. `2.3` is the fourth element of the third activity, `2.3:1.0` the first element of its second
//! branch; `2` and `2.3:1` are the flows that contain them. A key is valid for the text that it was taken from.
//!
//! ```
//! use mastermind_diagrams::edit::{Edit, Form, edited, outline};
//! let text = "@startuml\nstart\n' here\n:a <<action+>> {cost = 1};\nstop\n@enduml\n";
//! let first = &outline(text, Form::PlantUml)?.activities[0].flow[0];
//! assert_eq!((first.name.as_str(), first.words[0].text.as_str()), ("a", "1"));
//! let change = Edit::SetWord { key: first.key.clone(), word: "cost".into(), text: "ms(2)".into() };
//! assert!(edited(text, Form::PlantUml, &[change])?.contains(":a <<action+>> {cost = ms(2)};"));
//! # Ok::<(), mastermind_diagrams::edit::EditError>(())
//! ```

mod kinds;
mod toml_form;

pub use kinds::{KindOfElement, WordOfKind, kinds};

use serde::{Deserialize, Serialize};

use crate::{plantuml, xmi};

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A program model in TOML.
    Toml,
    /// Activity diagrams of PlantUML, in the new syntax.
    PlantUml,
    /// UML in XMI.
    Xmi,
}

impl Form {
    /// The form of a file, by its name and its text; `None` for a form that is not edited by
    /// elements.
    pub fn of(name: &str, text: &str) -> Option<Self> {
        let ending = name.rsplit('.').next().unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "toml" => Some(Self::Toml),
            "puml" | "plantuml" | "pu" | "iuml" | "wsd" => Some(Self::PlantUml),
            "uml"
                if !text
                    .trim_start_matches('\u{feff}')
                    .trim_start()
                    .starts_with('<') =>
            {
                Some(Self::PlantUml)
            }
            "uml" | "xmi" | "emx" => Some(Self::Xmi),
            _ => None,
        }
    }
}

/// Contents of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outline {
    /// Its form.
    pub form: Form,
    /// Whether elements may be added, moved and removed, and not only changed.
    pub can_rearrange: bool,
    /// Activities, in the order of the file.
    pub activities: Vec<OutlineActivity>,
    /// Global variables and cost functions.
    pub declared: Vec<Declared>,
}

/// An activity of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutlineActivity {
    /// The key of its flow.
    pub key: String,
    /// Its name; empty where the file gives none.
    pub name: String,
    /// Its elements, in the order of the file.
    pub flow: Vec<Item>,
}

/// An element of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Item {
    /// By which changes name it.
    pub key: String,
    /// Its type, as the TOML form calls it; in addition `fork`, `repeat` and `group`.
    pub kind: String,
    /// Its name; of a decision or a `while` of PlantUML its condition.
    pub name: String,
    /// Its words, in the order of the file.
    pub words: Vec<Word>,
    /// The flows that it holds.
    pub branches: Vec<ItemBranch>,
    /// Its first and last line in the file, from 1.
    pub lines: [usize; 2],
}

/// A word and its text, as they are written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Word {
    /// As the TOML form calls it.
    pub word: String,
    /// Its text.
    pub text: String,
}

/// A flow in an element.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ItemBranch {
    /// By which changes name it.
    pub key: String,
    /// Its condition and its label.
    pub words: Vec<Word>,
    /// Its elements.
    pub flow: Vec<Item>,
}

/// Where something is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Variables of all activities.
    Globals,
    /// Cost functions.
    Functions,
}

impl Section {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Globals => "globals",
            Self::Functions => "functions",
        }
    }
}

/// A global variable or a cost function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Declared {
    /// Section that declares it.
    pub section: Section,
    /// Its name; of a function with its parameters, `f(n)`.
    pub name: String,
    /// Its value as it is written.
    pub value: String,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "edit", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Edit {
    /// Sets a word of an element, or of a branch; an empty text removes it.
    SetWord {
        /// The element or branch.
        key: String,
        /// The word, as the TOML form calls it.
        word: String,
        /// Its text.
        text: String,
    },
    /// Another name.
    Rename {
        /// The element.
        key: String,
        /// The name.
        to: String,
    },
    /// A new element.
    Insert {
        /// The flow.
        key: String,
        /// Before which of its elements, or their number for its end.
        at: usize,
        /// Its type.
        kind: String,
        /// Its name.
        name: String,
    },
    /// An element less, with all that it holds.
    Remove {
        /// The element.
        key: String,
    },
    /// An element after the next one of its flow, or before the one before it.
    Move {
        /// The element.
        key: String,
        /// Whether towards the end.
        down: bool,
    },
    /// One more branch of an element that has several: the last one, or before the one without a condition.
    AddBranch {
        /// The element.
        key: String,
        /// Its condition; empty for the branch without one.
        guard: String,
    },
    /// A branch less, with all that it holds.
    RemoveBranch {
        /// The branch.
        key: String,
    },
    /// A new activity without elements.
    AddActivity {
        /// Its name.
        name: String,
    },
    /// An activity less, with all its elements.
    RemoveActivity {
        /// The key of its flow.
        key: String,
    },
    /// The value of a variable or a cost function, which may be new; an empty text removes it.
    Declare {
        /// Which of them.
        section: Section,
        /// Its name; of a function with its parameters.
        name: String,
        /// Its value.
        value: String,
    },
}

/// Why a change is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is not of its form.
    #[error("cannot edit diagram: {found}, expected {expected}")]
    Form {
        /// The text found.
        found: String,
        /// The expected text.
        expected: &'static str,
    },
    /// No such element, flow or branch.
    #[error("cannot edit diagram: nothing has the key \"{key}\", expected one of the outline")]
    NoSuchKey {
        /// The key.
        key: String,
    },
    /// The change cannot be made in this form or at this element.
    #[error("cannot {act} \"{element}\": {found}; change it in the text")]
    Refused {
        /// The change that failed.
        act: &'static str,
        /// The element.
        element: String,
        /// Why not.
        found: String,
    },
}

pub(crate) fn no_such(key: &str) -> EditError {
    EditError::NoSuchKey {
        key: key.to_owned(),
    }
}

pub(crate) fn refused(act: &'static str, element: &str, found: impl Into<String>) -> EditError {
    EditError::Refused {
        act,
        element: element.to_owned(),
        found: found.into(),
    }
}

/// Contents of a text.
///
/// # Errors
/// It is not of its form.
pub fn outline(text: &str, form: Form) -> Result<Outline, EditError> {
    match form {
        Form::Toml => toml_form::outline(text),
        Form::PlantUml => plantuml::outline(text),
        Form::Xmi => xmi::outline(text),
    }
}

/// A text after some changes, one after the other; each names keys of the text before it.
///
/// # Errors
/// The text is not of its form; a change names a missing element, or cannot be made.
pub fn edited(text: &str, form: Form, edits: &[Edit]) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for edit in edits {
        text = match form {
            Form::Toml => toml_form::edited(&text, edit)?,
            Form::PlantUml => plantuml::edited(&text, edit)?,
            Form::Xmi => xmi::edited(&text, edit)?,
        };
    }
    Ok(text)
}

/// A key in parts: the activity, then an element and, where another follows, the branch of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) activity: usize,
    /// Element, and its branch that contains the next one.
    pub(crate) steps: Vec<(usize, Option<usize>)>,
}

impl Key {
    pub(crate) fn parse(text: &str) -> Result<Self, EditError> {
        let number = |part: &str| part.parse::<usize>().map_err(|_| no_such(text));
        let mut parts = text.split('.');
        let activity = number(parts.next().unwrap_or_default())?;
        let step = |part: &str| match part.split_once(':') {
            Some((element, branch)) => Ok((number(element)?, Some(number(branch)?))),
            None => Ok((number(part)?, None)),
        };
        let steps = parts.map(step).collect::<Result<Vec<_>, EditError>>()?;
        Ok(Self { activity, steps })
    }

    /// The branch that the key names, and its element; `None` for other keys.
    pub(crate) fn branch(&self) -> Option<(Self, usize)> {
        let (last, before) = self.steps.split_last()?;
        let (element, Some(branch)) = *last else {
            return None;
        };
        let mut steps = before.to_vec();
        steps.push((element, None));
        let element = Self {
            activity: self.activity,
            steps,
        };
        Some((element, branch))
    }

    /// The element that the key names, in its flow; `None` for the key of a flow.
    pub(crate) fn element(&self) -> Option<(Self, usize)> {
        let (last, before) = self.steps.split_last()?;
        let (element, None) = *last else {
            return None;
        };
        let flow = Self {
            activity: self.activity,
            steps: before.to_vec(),
        };
        Some((flow, element))
    }
}

/// Gives each element and branch of some flows its key.
pub(crate) fn number(activities: &mut [OutlineActivity]) {
    fn flow(items: &mut [Item], key: &str) {
        for (at, item) in items.iter_mut().enumerate() {
            item.key = format!("{key}.{at}");
            for (branch, one) in item.branches.iter_mut().enumerate() {
                one.key = format!("{}:{branch}", item.key);
                flow(&mut one.flow, &one.key.clone());
            }
        }
    }
    for (at, activity) in activities.iter_mut().enumerate() {
        activity.key = at.to_string();
        flow(&mut activity.flow, &activity.key.clone());
    }
}
