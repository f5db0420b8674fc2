//! Questions and jobs of the page, and the command line of each. A value of the page is only ever the value of an
//! option or a path within the folder; it cannot become another option.

use std::ffi::OsString;
use std::path::Path;

use serde::Deserialize;

use crate::{Error, Folder};

/// The arguments of the program.
pub type Arguments = Vec<OsString>;

/// Content of a view: a verb that reads. It writes nothing.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// Problems of an assembly, a script or a program model.
    Check {
        /// The file.
        file: String,
        /// Fitted models that its costs name.
        models: Option<String>,
    },
    /// An assembly's instances and connections; with records and models their times.
    Wiring {
        /// The assembly.
        file: String,
        /// Records of a run of it.
        records: Option<String>,
        /// Models of its components.
        models: Option<String>,
    },
    /// The picture of a program model or an assembly, as SVG.
    Picture {
        /// The file.
        file: String,
    },
    /// The elements of a program model with the marks of its picture.
    Diagram {
        /// The file.
        file: String,
        /// The activity that it begins with, where the file's own choice is not meant.
        main: Option<String>,
    },
    /// The classes that an assembly can use, by its `path`.
    Classes {
        /// The assembly.
        file: Option<String>,
    },
    /// A class: its ports and parameters.
    Class {
        /// Its name.
        class: String,
        /// The assembly whose `path` leads to it.
        file: Option<String>,
    },
    /// Description of a run.
    Info {
        /// The record directory.
        records: String,
    },
    /// Where the time of a run went.
    Profile {
        /// The record directory.
        records: String,
        /// The rows of each rank, instead of the mean.
        #[serde(default)]
        per_rank: bool,
        /// Whether only the summary of a run that has ended is read.
        #[serde(default)]
        summary: bool,
    },
    /// What each rank did in a part of a run's time.
    Calls {
        /// The record directory.
        records: String,
        /// Where the part begins, seconds; the beginning without it.
        from: Option<String>,
        /// Where it ends.
        to: Option<String>,
        /// `WIDTHxHEIGHT`: pixels, which limit columns and rows.
        size: Option<String>,
    },
    /// A figure of a run, as SVG.
    Figure {
        /// The record directory.
        records: String,
        /// Which: scatter, mean, comm, graph or matrix.
        kind: String,
        /// The method, if the figure is of one.
        method: Option<String>,
        /// The parameter of the x axis.
        parameter: Option<String>,
        /// Models to draw.
        models: Option<String>,
    },
    /// Fitted models with all that is known of them.
    Models {
        /// The file.
        models: String,
    },
    /// The time of one call.
    Predict {
        /// The models.
        models: String,
        /// The method.
        method: String,
        /// `K=V,K=V`; empty for a method without parameters.
        #[serde(default)]
        at: String,
        /// The parameter of a curve, instead of one point.
        along: Option<String>,
        /// Which time, or which counter.
        metric: Option<String>,
    },
    /// Next measurements for a method.
    Suggest {
        /// The models.
        models: String,
        /// The method.
        method: String,
    },
    /// The best assembly, and the times of others.
    Choose {
        /// The assembly.
        file: String,
        /// The models.
        models: String,
        /// The records of the workload.
        records: String,
        /// Number of the best assemblies to show.
        best: Option<u32>,
        /// A condition on attributes.
        require: Option<String>,
    },
    /// The runs that show every pair of alternatives.
    Plan {
        /// The assembly.
        file: String,
    },
    /// A simulation of a program model or a recorded run.
    Simulate {
        /// The model or record directory.
        file: String,
        /// The machine.
        machine: Option<String>,
        /// Fitted models that its costs name.
        models: Option<String>,
        /// Processes.
        ranks: Option<u32>,
        /// Values of global variables, `NAME=VALUE`.
        #[serde(default)]
        set: Vec<String>,
        /// Whether to show the parameters that the time depends on.
        #[serde(default)]
        sensitivity: bool,
        /// Processes whose activities are shown, as `0-7`.
        timeline: Option<String>,
    },
    /// Throughput and waiting of a closed queueing network.
    Queue {
        /// The network.
        file: String,
    },
    /// The difference of two runs.
    Compare {
        /// The first record directory.
        first: String,
        /// The second one.
        second: String,
    },
}

/// A job of the page: a verb that writes, or runs a program of the user's.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "start", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Job {
    /// Runs an assembly.
    Run {
        /// The assembly.
        file: String,
        /// Ranks; alone without them.
        ranks: Option<u32>,
        /// Parameters, `INSTANCE.KEY=VALUE`.
        #[serde(default)]
        set: Vec<String>,
        /// Other classes, `INSTANCE=CLASS`.
        #[serde(default)]
        replace: Vec<String>,
        /// A folder for the records.
        records: Option<String>,
        /// Which connections are measured.
        monitor: Option<String>,
        /// Whether records that are there may be lost for it.
        #[serde(default)]
        force: bool,
        /// Whether instances may be swapped while it runs.
        #[serde(default)]
        redirectable: bool,
        /// Whether the run adapts itself, by these models or, where the text is empty, by its own records alone.
        adapt: Option<String>,
    },
    /// Fits models to records.
    Fit {
        /// Record directories, or folders of them.
        records: Vec<String>,
        /// Where the models go.
        output: String,
        /// Whether a file that is there may be lost for it.
        #[serde(default)]
        force: bool,
    },
    /// Runs the plan of an assembly.
    Plan {
        /// The assembly.
        file: String,
        /// A new folder for the records.
        records: String,
        /// How often each assembly is run.
        repeat: Option<u32>,
        /// Parameters, `INSTANCE.KEY=VALUE`.
        #[serde(default)]
        set: Vec<String>,
    },
    /// Writes the report of a run.
    Report {
        /// The record directory.
        records: String,
        /// The page to write.
        output: String,
    },
}

/// A command line that grows by checked values.
struct Line<'a> {
    folder: &'a Folder,
    arguments: Arguments,
}

impl<'a> Line<'a> {
    fn of(folder: &'a Folder, verb: &str) -> Self {
        Line {
            folder,
            arguments: vec![verb.into()],
        }
    }

    fn flag(mut self, name: &str, given: bool) -> Self {
        if given {
            self.arguments.push(name.into());
        }
        self
    }

    /// `--name=value`: a value that begins with a dash stays one.
    fn option(mut self, name: &str, value: Option<impl AsRef<str>>) -> Result<Self, Error> {
        if let Some(value) = value {
            let value = plain(value.as_ref())?;
            self.arguments.push(format!("{name}={value}").into());
        }
        Ok(self)
    }

    fn each(mut self, name: &str, values: &[String]) -> Result<Self, Error> {
        for value in values {
            self = self.option(name, Some(value))?;
        }
        Ok(self)
    }

    fn number(self, name: &str, value: Option<u32>) -> Result<Self, Error> {
        self.option(name, value.map(|value| value.to_string()))
    }

    fn path(mut self, path: &str) -> Result<Self, Error> {
        self.arguments.push(self.folder.existing(path)?.into());
        Ok(self)
    }

    fn path_option(mut self, name: &str, path: Option<&String>) -> Result<Self, Error> {
        if let Some(path) = path {
            let path = self.folder.existing(path)?;
            self.arguments.extend([name.into(), path.into()]);
        }
        Ok(self)
    }

    fn new_path(mut self, name: &str, path: &str) -> Result<Self, Error> {
        let path = self.folder.new_file(path)?;
        self.arguments.extend([name.into(), path.into()]);
        Ok(self)
    }

    /// The folders and libraries of an assembly's `path`, each after `name` or for itself.
    fn libraries(mut self, name: Option<&str>, file: Option<&String>) -> Result<Self, Error> {
        let Some(file) = file else {
            return Ok(self);
        };
        let text = self.folder.text(file)?;
        let below = Path::new(file).parent().unwrap_or(Path::new(""));
        for path in libraries(&text) {
            if let Some(name) = name {
                self.arguments.push(name.into());
            }
            let path = below.join(path);
            let dashed = path.to_string_lossy().starts_with('-');
            let path = if dashed {
                Path::new(".").join(path)
            } else {
                path
            };
            self.arguments.push(path.into());
        }
        Ok(self)
    }
}

/// The `path` of an assembly, as it is written.
fn libraries(text: &str) -> Vec<String> {
    let table = text.parse::<toml::Table>().unwrap_or_default();
    let path = table.get("assembly").and_then(|header| header.get("path"));
    let path = path.and_then(toml::Value::as_array);
    let texts = path.into_iter().flatten().filter_map(toml::Value::as_str);
    texts.map(str::to_owned).collect()
}

fn plain(value: &str) -> Result<&str, Error> {
    if value.contains('\0') {
        return Err(Error::Question {
            what: "a value",
            found: "it has a zero byte".to_owned(),
        });
    }
    Ok(value)
}

/// A word that is an argument by itself on a command line: a class.
fn word(value: &str) -> Result<&str, Error> {
    if value.is_empty() || value.starts_with('-') {
        return Err(Error::Question {
            what: "a class",
            found: format!("\"{value}\" is no name"),
        });
    }
    plain(value)
}

impl Question {
    /// Its command line, without the program.
    ///
    /// # Errors
    /// A path leads out of the folder or to nothing; a value cannot be an argument.
    pub fn arguments(&self, folder: &Folder) -> Result<Arguments, Error> {
        let line = match self {
            Question::Check { file, models } => Line::of(folder, "check")
                .path(file)?
                .path_option("--models", models.as_ref())?,
            Question::Wiring {
                file,
                records,
                models,
            } => {
                // Models predict the recorded calls.
                let models = models.as_ref().filter(|_| records.is_some());
                let line = Line::of(folder, "graph")
                    .path(file)?
                    .path_option("--records", records.as_ref())?
                    .path_option("--models", models)?;
                return Ok(line.option("--format", Some("json"))?.arguments);
            }
            Question::Picture { file } => {
                let line = Line::of(folder, "graph").path(file)?;
                return Ok(line.option("--format", Some("svg"))?.arguments);
            }
            Question::Diagram { file, main } => {
                let line = Line::of(folder, "graph")
                    .path(file)?
                    .option("--main", main.as_ref())?;
                return Ok(line.option("--format", Some("json"))?.arguments);
            }
            Question::Classes { file } => {
                Line::of(folder, "list").libraries(None, file.as_ref())?
            }
            Question::Class { class, file } => {
                let mut line = Line::of(folder, "describe");
                line.arguments.push(word(class)?.into());
                line.libraries(Some("--path"), file.as_ref())?
            }
            Question::Info { records } => Line::of(folder, "info").path(records)?,
            Question::Profile {
                records,
                per_rank,
                summary,
            } => Line::of(folder, "profile")
                .path(records)?
                .flag("--per-rank", *per_rank)
                .flag("--summary", *summary),
            Question::Calls {
                records,
                from,
                to,
                size,
            } => Line::of(folder, "plot")
                .path(records)?
                .option("--kind", Some("timeline"))?
                .option("--from", from.as_ref())?
                .option("--to", to.as_ref())?
                .option("--size", size.as_ref())?,
            Question::Figure {
                records,
                kind,
                method,
                parameter,
                models,
            } => {
                let line = Line::of(folder, "plot")
                    .path(records)?
                    .option("--kind", Some(kind))?
                    .option("--method", method.as_ref())?
                    .option("--parameter", parameter.as_ref())?
                    .path_option("--models", models.as_ref())?;
                return Ok(line.option("--output", Some("-"))?.arguments);
            }
            Question::Models { models } => {
                let line = Line::of(folder, "predict").path(models)?;
                return Ok(line.option("--format", Some("json"))?.arguments);
            }
            Question::Predict {
                models,
                method,
                at,
                along,
                metric,
            } => {
                let at = Some(at).filter(|at| !at.is_empty());
                Line::of(folder, "predict")
                    .path(models)?
                    .option("--method", Some(method))?
                    .option("--at", at)?
                    .option("--along", along.as_ref())?
                    .option("--metric", metric.as_ref())?
            }
            Question::Suggest { models, method } => Line::of(folder, "suggest")
                .path(models)?
                .option("--method", Some(method))?,
            Question::Choose {
                file,
                models,
                records,
                best,
                require,
            } => Line::of(folder, "choose")
                .path(file)?
                .path_option("--models", Some(models))?
                .path_option("--records", Some(records))?
                .number("--best", *best)?
                .option("--require", require.as_ref())?,
            Question::Plan { file } => Line::of(folder, "plan").path(file)?,
            Question::Simulate {
                file,
                machine,
                models,
                ranks,
                set,
                sensitivity,
                timeline,
            } => Line::of(folder, "simulate")
                .path(file)?
                .path_option("--machine", machine.as_ref())?
                .path_option("--models", models.as_ref())?
                .number("--ranks", *ranks)?
                .each("--set", set)?
                .flag("--sensitivity", *sensitivity)
                .option("--timeline", timeline.as_ref())?,
            Question::Queue { file } => Line::of(folder, "queue").path(file)?,
            Question::Compare { first, second } => {
                Line::of(folder, "compare").path(first)?.path(second)?
            }
        };
        Ok(line.flag("--json", true).arguments)
    }
}

impl Job {
    /// Its command line, without the program.
    ///
    /// # Errors
    /// A path leads out of the folder or to nothing; a value cannot be an argument.
    pub fn arguments(&self, folder: &Folder) -> Result<Arguments, Error> {
        let line = match self {
            Job::Run {
                file,
                ranks,
                set,
                replace,
                records,
                monitor,
                force,
                redirectable,
                adapt,
            } => {
                let line = Line::of(folder, "run")
                    .path(file)?
                    .number("--ranks", *ranks)?
                    .each("--set", set)?
                    .each("--replace", replace)?
                    .option("--monitor", monitor.as_ref())?
                    .flag("--redirectable", *redirectable);
                let line = match adapt.as_deref() {
                    None => line,
                    Some("") => line.flag("--adapt", true),
                    Some(models) => line.path_option("--adapt", Some(&models.to_owned()))?,
                };
                match records {
                    Some(records) => line
                        .new_path("--records", records)?
                        .flag("--overwrite", *force),
                    None => line,
                }
            }
            Job::Fit {
                records,
                output,
                force,
            } => {
                let mut line = Line::of(folder, "fit");
                for records in records {
                    let runs = folder.runs(records)?;
                    line.arguments.extend(runs.into_iter().map(OsString::from));
                }
                line.new_path("--output", output)?.flag("--force", *force)
            }
            Job::Plan {
                file,
                records,
                repeat,
                set,
            } => Line::of(folder, "plan")
                .path(file)?
                .flag("--run", true)
                .new_path("--records", records)?
                .number("--repeat", *repeat)?
                .each("--set", set)?,
            Job::Report { records, output } => Line::of(folder, "report")
                .path(records)?
                .new_path("--output", output)?,
        };
        Ok(line.arguments)
    }
}

/// The command line that puts another class in an instance's place in a run.
///
/// # Errors
/// One of them is no name.
pub fn swap(process: u32, instance: &str, class: &str) -> Result<Arguments, Error> {
    let (instance, class) = (word(instance)?, word(class)?);
    if instance.contains(['=', '\n']) || class.contains('\n') {
        return Err(Error::Question {
            what: "a swap",
            found: format!("\"{instance}={class}\" is no instance and class"),
        });
    }
    let arguments = [
        "redirect".to_owned(),
        process.to_string(),
        format!("{instance}={class}"),
    ];
    Ok(arguments.into_iter().map(OsString::from).collect())
}

/// A command line as a person types it.
pub fn shown(arguments: &[OsString]) -> String {
    let mut line = "mastermind".to_owned();
    for argument in arguments {
        let text = argument.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+%@".contains(c);
        line.push(' ');
        if !text.is_empty() && text.chars().all(plain) {
            line += &text;
        } else {
            line += &format!("'{}'", text.replace('\'', "'\\''"));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::{any, proptest};

    use super::{Job, Question, shown};
    use crate::Folder;

    fn folder() -> std::io::Result<(tempfile::TempDir, Folder)> {
        let scratch = tempfile::tempdir()?;
        fs::write(
            scratch.path().join("a.toml"),
            "[assembly]\nname = \"a\"\npath = [\"../lib\", \"-x\"]\n",
        )?;
        let folder = Folder::open(scratch.path()).map_err(std::io::Error::other)?;
        Ok((scratch, folder))
    }

    #[test]
    fn a_question_is_a_command_line() -> Result<(), Box<dyn std::error::Error>> {
        let (_scratch, folder) = folder()?;
        let line = |json: &str| -> Result<String, Box<dyn std::error::Error>> {
            let question: Question = serde_json::from_str(json)?;
            Ok(shown(&question.arguments(&folder)?))
        };
        let cases = [
            (
                r#"{"ask":"check","file":"a.toml"}"#,
                "mastermind check a.toml --json",
            ),
            (
                r#"{"ask":"classes","file":"a.toml"}"#,
                "mastermind list ../lib ./-x --json",
            ),
            (
                r#"{"ask":"class","class":"a.B","file":"a.toml"}"#,
                "mastermind describe a.B --path ../lib --path ./-x --json",
            ),
            (
                r#"{"ask":"predict","models":"a.toml","method":"it's","at":"n=1"}"#,
                "mastermind predict a.toml '--method=it'\\''s' --at=n=1 --json",
            ),
        ];
        for (json, expected) in cases {
            assert_eq!(line(json)?, expected);
        }
        for bad in [
            r#"{"ask":"check","file":"b.toml"}"#,
            r#"{"ask":"check","file":"../a.toml"}"#,
            r#"{"ask":"check","file":"a.toml","more":1}"#,
            r#"{"ask":"class","class":"--path"}"#,
            r#"{"ask":"run","file":"a.toml"}"#,
        ] {
            assert!(line(bad).is_err(), "{bad}");
        }
        Ok(())
    }

    proptest! {
        /// Whatever value the page sends, the verb and the options are the same.
        #[test]
        fn a_value_becomes_no_option(value in any::<String>()) {
            let (_scratch, folder) = folder()?;
            let job = Job::Run {
                file: "a.toml".to_owned(),
                ranks: None,
                set: vec![value.clone()],
                replace: vec![value.clone()],
                records: Some(value.clone()),
                monitor: Some(value),
                force: false,
                redirectable: false,
                adapt: None,
            };
            if let Ok(arguments) = job.arguments(&folder) {
                let options: Vec<_> = arguments
                    .iter()
                    .filter_map(|argument| argument.to_str().filter(|text| text.starts_with('-')))
                    .map(|text| text.split('=').next().unwrap_or(text))
                    .collect();
                assert_eq!(
                    options,
                    ["--set", "--replace", "--monitor", "--records"]
                );
            }
        }
    }
}
