//! The component class.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use cca_ports::{
    CommPort, Component, Parameter, PortError, RSlice, RSliceMut, Services, UsesPort, component,
};
use hydro_ports::{ArrayName, Lent, MeshPort, Statistics, StatisticsPort};

use crate::{PatchSums, total};

/// First line of the table.
const HEADER: &str =
    "step,time,mass,energy,tracer,circulation,negative_circulation,max_density,max_pressure";

/// Integrals of mass, energy, tracer and vorticity, and the extremes, over the whole domain.
///
/// Integrals are those of the coarsest level, extremes those of all levels.
#[component(class = "hydro.FlowStatistics", version = "1.0")]
struct FlowStatistics {
    mesh: UsesPort<dyn MeshPort>,
    comm: UsesPort<dyn CommPort>,
    csv: Parameter<String>,
    /// Path and file of the table that was begun last.
    table: Mutex<Option<(String, File)>>,
}

impl Component for FlowStatistics {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let csv = services.parameters("parameters")?.text("csv", "");
        let csv = csv.help(
            "table to write, a row each time, relative to the current directory; empty: none",
        );
        let component = Arc::new(FlowStatistics {
            mesh: services.register_uses_port("mesh")?,
            comm: services.register_uses_port("comm")?,
            csv: csv.add()?,
            table: Mutex::default(),
        });
        services.add_provides_port::<dyn StatisticsPort, _>("statistics", &component)?;
        Ok(component)
    }
}

impl StatisticsPort for FlowStatistics {
    fn summarise(&self, step: u64, time: f64) -> Result<Statistics, PortError> {
        let comm = self.comm.get()?;
        let sums = self.local_sums(time)?;
        let sent: Vec<f64> = sums.into_iter().flat_map(PatchSums::to_values).collect();
        let gathered = comm.gather(0, RSlice::from_slice(&sent))?;
        let patches = gathered.iter().flat_map(|values| {
            let (patches, _) = values.as_chunks::<{ PatchSums::LEN }>();
            patches.iter().copied().map(PatchSums::from_values)
        });
        let whole = PatchSums {
            id: 0,
            part: total(patches.collect()),
        };
        let mut values = whole.to_values();
        comm.broadcast(0, RSliceMut::from_mut_slice(&mut values))?;
        let statistics = PatchSums::from_values(values).part;
        let path = self.csv.get();
        if !path.is_empty() && comm.rank()? == 0 {
            let written = self.append(&path, step, time, &values[1..]);
            written.map_err(|error| {
                PortError::failed(error).context(format_args!("cannot write table \"{path}\""))
            })?;
        }
        Ok(statistics)
    }
}

impl FlowStatistics {
    fn local_sums(&self, time: f64) -> Result<Vec<PatchSums>, PortError> {
        let mesh = self.mesh.get()?;
        let mut sums = Vec::new();
        for level in 0..mesh.levels()? {
            // Vorticity needs the cells around the patch.
            mesh.fill_ghosts(level, ArrayName::State, time)?;
            for patch in &mesh.patches(level)? {
                let state = Lent::take(&*mesh, *patch, ArrayName::State)?;
                let of_patch = PatchSums::of(*patch, state.values());
                state.put()?;
                sums.push(if level == 0 {
                    of_patch
                } else {
                    of_patch.extremes()
                });
            }
        }
        Ok(sums)
    }

    fn append(&self, path: &str, step: u64, time: f64, values: &[f64]) -> io::Result<()> {
        let mut table = self
            .table
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut row = format!("{step},{time}");
        for value in values {
            row += &format!(",{value}");
        }
        if let Some((_, file)) = table.as_mut().filter(|(begun, _)| begun == path) {
            return writeln!(file, "{row}");
        }
        let mut file = File::create(path)?;
        writeln!(file, "{HEADER}\n{row}")?;
        *table = Some((path.into(), file));
        Ok(())
    }
}
