//! The component class.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use cca_ports::{CommPort, Component, Parameter, PortError, RSlice, Services, UsesPort, component};
use hydro_ports::{ArrayName, Lent, MeshPort, OutputPort};

use crate::{GatheredPatch, OutputError, paint, write_csv, write_density_png};

/// Writes the density as a picture and the primitive states as a table.
#[component(class = "hydro.FieldOutput", version = "1.0")]
struct FieldOutput {
    mesh: UsesPort<dyn MeshPort>,
    comm: UsesPort<dyn CommPort>,
    png: Parameter<String>,
    csv: Parameter<String>,
}

impl Component for FieldOutput {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let parameters = services.parameters("parameters")?;
        let file = |key: &str, what: &str| {
            let place = "relative to the current directory; {step} becomes the step; empty: none";
            parameters
                .text(key, "")
                .help(&format!("{what}, {place}"))
                .add()
        };
        let component = Arc::new(FieldOutput {
            mesh: services.register_uses_port("mesh")?,
            comm: services.register_uses_port("comm")?,
            png: file("png", "picture of the density, .png")?,
            csv: file("csv", "table of the cells")?,
        });
        services.add_provides_port::<dyn OutputPort, _>("output", &component)?;
        Ok(component)
    }
}

impl OutputPort for FieldOutput {
    fn write(&self, step: u64, time: f64) -> Result<(), PortError> {
        let path = |parameter: &Parameter<String>| with_step(&parameter.get(), step);
        let (png, csv) = (path(&self.png), path(&self.csv));
        if png.is_empty() && csv.is_empty() {
            return Ok(());
        }
        let (mesh, comm) = (self.mesh.get()?, self.comm.get()?);
        let message = local_patches(&*mesh)?;
        let gathered = comm.gather(0, RSlice::from_slice(&message))?;
        if comm.rank()? != 0 {
            return Ok(());
        }
        let patches = gathered
            .iter()
            .flat_map(|values| GatheredPatch::unpack(values));
        let mut patches: Vec<_> = patches.collect();
        let (grid, fields, outlines) = paint(mesh.domain()?, mesh.levels()?, &mut patches);
        if !png.is_empty() {
            let drawn = write_density_png(Path::new(&png), &grid, &fields[0], &outlines, time);
            drawn.map_err(|error| failed(&error))?;
        }
        if !csv.is_empty() {
            let written = write_csv(Path::new(&csv), &grid, fields.each_ref().map(|f| &f[..]));
            written.map_err(|error| failed(&error))?;
        }
        Ok(())
    }
}

/// A path with the step in it.
fn with_step(path: &str, step: u64) -> String {
    path.replace("{step}", &step.to_string())
}

fn local_patches(mesh: &impl MeshPort) -> Result<Vec<f64>, PortError> {
    let mut message = Vec::new();
    for level in 0..mesh.levels()? {
        for patch in &mesh.patches(level)? {
            let state = Lent::take(mesh, *patch, ArrayName::State)?;
            let patch = GatheredPatch::new(*patch, state.values());
            state.put()?;
            patch.pack(&mut message);
        }
    }
    Ok(message)
}

/// Error and cause in one line, since no source crosses the border.
fn failed(error: &OutputError) -> PortError {
    match error.source() {
        Some(cause) => PortError::failed(cause).context(error),
        None => PortError::failed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_its_step() {
        assert_eq!(with_step("out/rho-{step}.png", 12), "out/rho-12.png");
        assert_eq!(with_step("rho.png", 12), "rho.png");
    }
}
