//! The proxies of C libraries in a wrapped program.
//!
//! A proxy of a C library defines the functions of one interface, records each call and passes it to a library: the
//! program's own at first, later perhaps another one that defines the same functions. The records name the library as
//! the class and the interface as the instance, so that models and the policy of adaptation treat libraries as they
//! treat components. A class is the file name of the library.
//!
//! ```text
//! program ─▶ dgemm (proxy of "blas") ─▶ libopenblas.so    instance "blas", class "libopenblas.so.0", method "dgemm"
//!                                    └▶ libblis.so        after use_library("blas", ".../libblis.so.4")
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cca_abi::recording::ProxyMethod;
use cca_loader::{Alternative, LibraryFunction, LibraryProxy};
use mastermind_measurement::RunRecorder;
use mastermind_records::Definition;
use mastermind_records::definition::{
    CALL_SITE_UNIT, ClassDefinition, MethodDefinition, ParameterDefinition, SwapDefinition,
};

use super::WrapError;

/// The preloaded proxies, and the targets of their calls.
pub(super) struct Libraries {
    all: Vec<Wrapped>,
}

/// Name of the parameter with the address that a call returns to.
const CALL_SITE: &str = "call site";

/// Class of the methods that represent another definition of a function's name, in any library.
pub(super) const OTHER: &str = "another definition";

/// One proxy.
struct Wrapped {
    proxy: LibraryProxy,
    functions: Vec<LibraryFunction>,
    /// Name of the program's own library.
    own: String,
    /// Name of the library that calls go to.
    class: String,
    /// The libraries that calls have gone to so far.
    known: Vec<CalledLibrary>,
    /// The library that calls go to; `None` for the program's own.
    target: Option<Alternative>,
    /// Whether the address that a call returns to is recorded.
    call_sites: bool,
}

/// A library that calls went to.
struct CalledLibrary {
    path: PathBuf,
    name: String,
    /// Its functions as registered with the recorder; empty before the first call.
    methods: Vec<*const ProxyMethod>,
}

// SAFETY: the methods are never freed, and every thread may read them.
unsafe impl Send for CalledLibrary {}

impl Libraries {
    pub(super) fn new(proxies: &[LibraryProxy], call_sites: bool) -> Self {
        let wrapped = proxies.iter().map(|proxy| Wrapped {
            functions: proxy.functions(),
            own: String::new(),
            class: String::new(),
            known: Vec::new(),
            target: None,
            call_sites,
            proxy: proxy.clone(),
        });
        Self {
            all: wrapped.collect(),
        }
    }

    /// Records the calls of all proxies, which go to the program's own libraries.
    pub(super) fn record(&mut self, recorder: &RunRecorder) -> Result<(), WrapError> {
        self.all.iter_mut().try_for_each(|wrapped| {
            let own = wrapped.proxy.own_library();
            wrapped.own = own.map_or("own".into(), |path| wrapped.name(&path));
            wrapped.class = wrapped.own.clone();
            wrapped.send(recorder)
        })
    }

    /// Sends the calls of an interface to another library.
    ///
    /// # Returns
    /// The functions that the library lacks.
    pub(super) fn use_library(
        &mut self,
        recorder: &RunRecorder,
        interface: &str,
        path: &Path,
    ) -> Result<Vec<String>, WrapError> {
        let wrapped = self.of_interface(interface)?;
        let target = wrapped.proxy.alternative(path)?;
        let missing = target.missing().to_vec();
        let class = wrapped.name(target.path());
        wrapped.lead(recorder, class, Some(target))?;
        Ok(missing)
    }

    /// Opens a library that calls of an interface may be sent to later.
    ///
    /// # Returns
    /// Its name in the records.
    pub(super) fn prepare(&mut self, interface: &str, path: &Path) -> Result<String, WrapError> {
        let wrapped = self.of_interface(interface)?;
        let target = wrapped.proxy.alternative(path)?;
        Ok(wrapped.name(target.path()))
    }

    /// Sends the calls of an interface to a library by its name: the program's own, or one that was prepared.
    pub(super) fn use_class(
        &mut self,
        recorder: &RunRecorder,
        interface: &str,
        class: &str,
    ) -> Result<(), WrapError> {
        let wrapped = self.of_interface(interface)?;
        if wrapped.own == class {
            return wrapped.lead(recorder, class.into(), None);
        }
        let known = wrapped.known.iter().find(|known| known.name == class);
        let path = known.map_or_else(|| PathBuf::from(class), |known| known.path.clone());
        let target = wrapped.proxy.alternative(&path)?;
        wrapped.lead(recorder, class.into(), Some(target))
    }

    /// Name of the library that the calls of each interface go to.
    pub(super) fn classes(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.all.iter();
        all.map(|wrapped| (wrapped.proxy.interface(), wrapped.class.as_str()))
    }

    fn of_interface(&mut self, interface: &str) -> Result<&mut Wrapped, WrapError> {
        let is_meant = |wrapped: &Wrapped| wrapped.proxy.interface() == interface;
        let Some(place) = self.all.iter().position(is_meant) else {
            let interfaces = self.all.iter().map(|wrapped| wrapped.proxy.interface());
            return Err(WrapError::NoInterface {
                interface: interface.into(),
                interfaces: interfaces.map(str::to_owned).collect(),
            });
        };
        Ok(&mut self.all[place])
    }

    /// Stops recording; calls still go to the present library.
    pub(super) fn stop(&self, recorder: &RunRecorder) {
        for wrapped in &self.all {
            let target = wrapped.target.as_ref();
            // SAFETY: no methods; one thread at a time, since `Wrapped` is behind a lock.
            unsafe {
                wrapped
                    .proxy
                    .use_functions(target, &[], recorder.recorder(), false)
            };
        }
    }
}

impl Wrapped {
    /// The file name of a library; with its whole path, if another of the same name was used before.
    fn name(&mut self, path: &Path) -> String {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some(known) = self.known.iter().find(|known| known.path == path) {
            return known.name.clone();
        }
        let file = path.file_name().unwrap_or(path.as_os_str());
        let file = file.to_string_lossy();
        let is_taken = self.known.iter().any(|known| known.name == file);
        let name = if is_taken {
            path.to_string_lossy()
        } else {
            file
        }
        .into_owned();
        self.known.push(CalledLibrary {
            path,
            name: name.clone(),
            methods: Vec::new(),
        });
        name
    }

    /// Sends the calls to a library from now on, or to the program's own for `None`.
    fn lead(
        &mut self,
        recorder: &RunRecorder,
        class: String,
        target: Option<Alternative>,
    ) -> Result<(), WrapError> {
        let path = match &target {
            Some(target) => target.path().to_owned(),
            None => self.proxy.own_library().unwrap_or_default(),
        };
        let from = std::mem::replace(&mut self.class, class);
        recorder.announce(Definition::Swap(SwapDefinition {
            ticks: recorder.now(),
            from,
            to: ClassDefinition {
                instance: self.proxy.interface().into(),
                class: self.class.clone(),
                library: path.to_string_lossy().into_owned(),
                ..ClassDefinition::default()
            },
        }));
        self.target = target;
        self.send(recorder)
    }

    /// Sends the calls to the target, each recorded as a method of its class.
    fn send(&mut self, recorder: &RunRecorder) -> Result<(), WrapError> {
        let methods = self.methods(recorder);
        let target = self.target.as_ref();
        // SAFETY: `stop` comes before the recorder's end; the methods are never freed; `Wrapped` is behind a lock.
        let are_sent = !methods.is_empty()
            && unsafe {
                let recorder = recorder.recorder();
                self.proxy
                    .use_functions(target, &methods, recorder, self.call_sites)
            };
        are_sent
            .then_some(())
            .ok_or_else(|| WrapError::LibraryVersion {
                interface: self.proxy.interface().into(),
            })
    }

    /// The functions as methods of the current class, registered when calls go there for the first time.
    fn methods(&mut self, recorder: &RunRecorder) -> Vec<*const ProxyMethod> {
        let place = self.known.iter().position(|known| known.name == self.class);
        if let Some(known) = place
            .map(|place| &self.known[place])
            .filter(|known| !known.methods.is_empty())
        {
            return known.methods.clone();
        }
        let known = self.known.iter().find(|known| !known.methods.is_empty());
        let register = |(place, function): (usize, &LibraryFunction)| {
            // Calls of such a function always go to the same library.
            let same = known.and_then(|known| known.methods.get(place));
            if let Some(same) = same.filter(|_| function.is_other) {
                return Some(*same);
            }
            let method = recorder.method(recorder.register(self.method(function)))?;
            // Calls read it as long as the process lives.
            Some(Arc::into_raw(method))
        };
        let methods: Vec<_> = self
            .functions
            .iter()
            .enumerate()
            .filter_map(register)
            .collect();
        if let Some(place) = place {
            self.known[place].methods = methods.clone();
        }
        methods
    }

    fn method(&self, function: &LibraryFunction) -> MethodDefinition {
        let parameters = function.parameters.iter();
        let call_site = self.call_sites.then(|| ParameterDefinition {
            name: CALL_SITE.into(),
            unit: CALL_SITE_UNIT.into(),
            ..ParameterDefinition::default()
        });
        MethodDefinition {
            instance: self.proxy.interface().into(),
            class: if function.is_other {
                OTHER.into()
            } else {
                self.class.clone()
            },
            port: function.group.clone(),
            interface: self.proxy.interface().into(),
            method: function.name.clone(),
            parameters: parameters
                .map(|parameter| ParameterDefinition {
                    name: parameter.name.clone(),
                    kind: parameter.kind.into(),
                    unit: parameter.unit.clone(),
                    labels: parameter.labels.clone(),
                })
                .chain(call_site)
                .collect(),
            ..MethodDefinition::default()
        }
    }
}
