//! Structs of functions that act as interfaces, as ports: source, and a component library over the libraries that fill them.

use std::path::PathBuf;

use anyhow::Context;
use proxy_generate::StructPorts;
use serde::Serialize;

use super::super::new::CCA_H;
use super::sidl::CCA_PORT_PROXY_H;
use super::{HEADERS, Proxy, run};
use crate::output;

/// The generated files, for `--json`.
#[derive(Serialize)]
pub(super) struct MadePorts {
    /// Names, with the number of methods.
    ports: Vec<(String, usize)>,
    folder: PathBuf,
    library: Option<PathBuf>,
    left_out: Vec<(String, String)>,
    /// Places of declarations that are not understood, `FILE:LINE`, unless a proxy of the header's functions reports
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) passed_over: Vec<String>,
}

impl Proxy {
    /// Writes the ports and builds the components.
    pub(super) fn write_struct_ports(
        &self,
        ports: StructPorts,
        folders: &[PathBuf],
    ) -> anyhow::Result<MadePorts> {
        let folder = self.output.join("ports");
        let stem = &ports.stem;
        let files = [
            (format!("{stem}_ports.h"), &ports.header),
            (format!("{stem}_ports.c"), &ports.source),
            (format!("{stem}_component.c"), &ports.component),
        ];
        for (name, text) in &files {
            self.write_file(&folder, name, text)?;
        }
        let common = [("cca.h", CCA_H), ("cca_port_proxy.h", CCA_PORT_PROXY_H)];
        let of_proxies = HEADERS.iter().filter(|(name, _)| *name != "cca_proxy.h");
        for (name, text) in common.iter().chain(of_proxies) {
            self.write_common(&folder, name, text)?;
        }
        let library = folder.join(format!("lib{stem}_component.so"));
        if !self.source_only {
            self.force.check([Some(&*library)], false)?;
            let mut command = self.compiler(folders);
            command.args([
                "-O2",
                "-fPIC",
                "-shared",
                "-fvisibility=hidden",
                "-fwrapv",
                "-o",
            ]);
            command.arg(&library);
            command.args(files.iter().skip(1).map(|(name, _)| folder.join(name)));
            command.args(["-ldl", "-lpthread"]);
            run(&mut command, "").with_context(|| {
                format!(
                    "cannot build components \"{}\"; leave out of the mark-up what does not compile",
                    library.display()
                )
            })?;
        }
        Ok(MadePorts {
            ports: ports.ports,
            library: (!self.source_only).then_some(library),
            folder,
            left_out: ports.left_out,
            passed_over: Vec::new(),
        })
    }
}

impl MadePorts {
    pub(super) fn show(&self) {
        for (name, n) in &self.ports {
            output::line(format!(
                "{}: port {name} with {n} methods",
                self.folder.display()
            ));
        }
        for (name, reason) in &self.left_out {
            output::line(format!("  left out: {name}: {reason}"));
        }
        super::print_passed_over(&self.passed_over);
        if let Some(library) = &self.library {
            output::line(format!(
                "{}: components that provide it, out of a library that fills the struct",
                library.display()
            ));
        }
    }
}
