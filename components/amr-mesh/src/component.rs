//! The component class: parameters, ports, and the sequence of steps of a regrid and of a balance.
//!
//! [`Hierarchy`] owns the levels, but knows no parameters, services or locks. `AmrMesh` provides
//! them: each call gets the used ports, locks the mesh and delegates. Where to refine, how to cut
//! and which rank gets a patch are decisions of other components; this file fixes the order in
//! which they are called. The order is the same on every rank, since most steps are collective.
//!
//! ```text
//! regrid    for each level that may be refined, from the coarsest:
//!               fill ghost cells ─▶ regridder.flag(own patches) ─▶ marks of all ranks
//!           regridder.cluster, from the finest level ─▶ boxes; the same boxes as before: no change
//!           ranks inherited from the old patches ─▶ Hierarchy::remake
//! balance   the same boxes ─▶ balancer.assign ─▶ ranks ─▶ Hierarchy::remake
//! ```
//!
//! The mesh stays locked while another component works for it, so a regridder or a boundary
//! condition must not call the mesh: it would wait for itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use cca_abi::Interface;
use cca_ports::{
    CommPort, Component, Counter, CounterPort, Parameter, ParameterSet, PortError, PortRef, RSlice,
    RVec, Services, UsesPort, component,
};
use hydro_ports::{
    ArrayName, BalancerPort, BoundaryPort, CellBox, Change, Domain, InterLevelPort, MeshPort,
    Patch, RegridderPort, States, Traffic,
};

use crate::fill::Ports;
use crate::hierarchy::Hierarchy;
use crate::layout::{Layout, base_boxes, inherit, level_cells};
use crate::level::StorageError;
use crate::regrid::{Marks, new_boxes, share};
use crate::transfer::Messages;

/// An adaptive mesh: levels of patches, each of half the cell size of the one before, where the solution needs them.
#[component(class = "hydro.AMRMesh", version = "1.0")]
struct AmrMesh {
    comm: UsesPort<dyn CommPort>,
    bc: UsesPort<dyn BoundaryPort>,
    icc: UsesPort<dyn InterLevelPort>,
    regridder: UsesPort<dyn RegridderPort>,
    balancer: UsesPort<dyn BalancerPort>,
    parameters: Parameters,
    mesh: Mutex<Option<Hierarchy>>,
    /// Regrids that changed the patches.
    regrids: AtomicU64,
    /// Balances that moved patches.
    balances: AtomicU64,
}

struct Parameters {
    nx: Parameter<i64>,
    ny: Parameter<i64>,
    x: [Parameter<f64>; 2],
    y: [Parameter<f64>; 2],
    base_side: Parameter<i64>,
    max_levels: Parameter<i64>,
    reflux: Parameter<bool>,
}

impl Parameters {
    fn add(set: &Arc<ParameterSet>) -> Result<Self, PortError> {
        let count = |key: &str, default: i64, (lower, upper): (f64, f64), help: &str| {
            let parameter = set.integer(key, default).bounds(lower, upper);
            parameter.help(help).add()
        };
        let edge = |key: &str, default: f64, help: &str| set.real(key, default).help(help).add();
        Ok(Parameters {
            nx: count("nx", 96, (1.0, 1e6), "cells of the coarsest level along x")?,
            ny: count("ny", 32, (1.0, 1e6), "cells of the coarsest level along y")?,
            x: [
                edge("x_lower", 0.0, "left edge of the domain")?,
                edge("x_upper", 3.0, "right edge of the domain")?,
            ],
            y: [
                edge("y_lower", 0.0, "lower edge of the domain")?,
                edge("y_upper", 1.0, "upper edge of the domain")?,
            ],
            base_side: count(
                "base_side",
                32,
                (1.0, 1e6),
                "largest side of a patch of the coarsest level, cells",
            )?,
            max_levels: count(
                "max_levels",
                3,
                (1.0, 8.0),
                "levels at most, each of half the cell size of the one before",
            )?,
            reflux: set
                .bool("reflux", true)
                .help(
                    "correct coarse cells beside a finer level by its fluxes; without, sums drift",
                )
                .add()?,
        })
    }

    fn domain(&self) -> Domain {
        Domain {
            nx: self.nx.get() as usize,
            ny: self.ny.get() as usize,
            x_lower: self.x[0].get(),
            x_upper: self.x[1].get(),
            y_lower: self.y[0].get(),
            y_upper: self.y[1].get(),
        }
    }
}

/// The used ports, got for one call.
struct Got<'a> {
    comm: PortRef<'a, dyn CommPort>,
    bc: PortRef<'a, dyn BoundaryPort>,
    icc: PortRef<'a, dyn InterLevelPort>,
}

type Stub<P> = <P as Interface>::Stub;

impl Got<'_> {
    fn ports(
        &self,
    ) -> Ports<'_, Stub<dyn CommPort>, Stub<dyn BoundaryPort>, Stub<dyn InterLevelPort>> {
        Ports {
            comm: &self.comm,
            bc: &self.bc,
            icc: &self.icc,
        }
    }
}

impl Component for AmrMesh {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(AmrMesh {
            comm: services.register_uses_port("comm")?,
            bc: services.register_uses_port("bc")?,
            icc: services.register_uses_port("icc")?,
            regridder: services.register_uses_port("regridder")?,
            balancer: services.register_uses_port("balancer")?,
            parameters: Parameters::add(&services.parameters("parameters")?)?,
            mesh: Mutex::default(),
            regrids: AtomicU64::new(0),
            balances: AtomicU64::new(0),
        });
        services.add_provides_port::<dyn MeshPort, _>("mesh", &component)?;
        services.add_provides_port::<dyn CounterPort, _>("counters", &component)?;
        Ok(component)
    }
}

impl AmrMesh {
    fn lock(&self) -> MutexGuard<'_, Option<Hierarchy>> {
        // After a panic an array may be missing for good, and its next user gets an error.
        self.mesh
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn get(&self) -> Result<Got<'_>, PortError> {
        Ok(Got {
            comm: self.comm.get()?,
            bc: self.bc.get()?,
            icc: self.icc.get()?,
        })
    }

    /// Works on the mesh.
    fn with<T, E: Into<PortError>>(
        &self,
        work: impl FnOnce(&mut Hierarchy) -> Result<T, E>,
    ) -> Result<T, PortError> {
        let mut mesh = self.lock();
        let mesh = mesh.as_mut().ok_or(StorageError::NotCreated)?;
        work(mesh).map_err(E::into)
    }
}

impl From<StorageError> for PortError {
    fn from(error: StorageError) -> Self {
        PortError::failed(error)
    }
}

impl MeshPort for AmrMesh {
    fn create(&self) -> Result<(), PortError> {
        let domain = self.parameters.domain();
        for (axis, lower, upper) in [
            ("x", domain.x_lower, domain.x_upper),
            ("y", domain.y_lower, domain.y_upper),
        ] {
            if lower >= upper {
                return Err(PortError::failed(format_args!(
                    "cannot create mesh: {axis}_upper {upper}, expected more than {axis}_lower {lower}"
                )));
            }
        }
        let (comm, balancer) = (self.comm.get()?, self.balancer.get()?);
        let (rank, ranks) = (comm.rank()? as usize, comm.size()? as usize);
        let base = base_boxes(&domain, self.parameters.base_side.get() as usize);
        let base = base.map_err(PortError::failed)?;
        let mut layouts = share(&*balancer, vec![base], ranks)?;
        let base = layouts.pop().unwrap_or_default();
        let mesh = Hierarchy::new(domain, base, rank, self.parameters.reflux.get());
        *self.lock() = Some(mesh.map_err(PortError::failed)?);
        Ok(())
    }

    fn domain(&self) -> Result<Domain, PortError> {
        let created = self.lock().as_ref().map(|mesh| *mesh.domain());
        Ok(created.unwrap_or_else(|| self.parameters.domain()))
    }

    fn levels(&self) -> Result<u32, PortError> {
        self.with(|mesh| Ok::<_, StorageError>(mesh.levels().len() as u32))
    }

    fn patches(&self, level: u32) -> Result<RVec<Patch>, PortError> {
        self.with(|mesh| Ok::<_, StorageError>(mesh.patches(level)?.collect()))
    }

    fn take(&self, patch: u64, array: ArrayName) -> Result<RVec<f64>, PortError> {
        self.with(|mesh| mesh.take(patch, array))
    }

    fn put(&self, patch: u64, array: ArrayName, data: RVec<f64>) -> Result<(), PortError> {
        self.with(|mesh| mesh.put(patch, array, data))
    }

    fn begin_step(&self, level: u32, time: f64, dt: f64) -> Result<(), PortError> {
        self.with(|mesh| mesh.begin_step(level, time, dt))
    }

    fn fill_ghosts(&self, level: u32, array: ArrayName, time: f64) -> Result<Traffic, PortError> {
        let got = self.get()?;
        let messages = self.with(|mesh| mesh.fill_ghosts(&got.ports(), level, array, time))?;
        Ok(messages.traffic())
    }

    fn add_fluxes(
        &self,
        patch: u64,
        weight: f64,
        flux_x: RSlice<'_, f64>,
        flux_y: RSlice<'_, f64>,
    ) -> Result<(), PortError> {
        self.with(|mesh| mesh.add_fluxes(patch, weight, [&flux_x, &flux_y]))
    }

    fn end_step(&self, level: u32) -> Result<Traffic, PortError> {
        let got = self.get()?;
        let messages = self.with(|mesh| mesh.end_step(&got.ports(), level))?;
        Ok(messages.traffic())
    }

    fn regrid(&self, time: f64) -> Result<Change, PortError> {
        let (got, regridder) = (self.get()?, self.regridder.get()?);
        let ports = got.ports();
        let finest = self.parameters.max_levels.get() as usize - 1;
        let ranks = ports.comm.size()? as usize;
        self.with(|mesh| {
            let (mut marks, mut messages) = (Vec::new(), Messages::default());
            // Marks of a level make the next one, so the finest level that is allowed gets none.
            for level in 0..finest.min(mesh.levels().len()) {
                messages.append(mesh.fill_ghosts(&ports, level as u32, ArrayName::State, time)?);
                let mut of_level = Marks::new(&level_cells(mesh.domain(), level));
                for stored in &mesh.levels()[level].stored {
                    let patch = stored.patch;
                    let state = States::new(patch.shape, stored.array(ArrayName::State))?;
                    of_level.add(&patch, &regridder.flag(patch, state)?)?;
                }
                messages.add_reduction(ranks, of_level.doubles());
                marks.push(of_level.gather(ports.comm)?);
            }
            let mut boxes = new_boxes(&*regridder, mesh.domain(), &marks)?;
            while boxes.last().is_some_and(Vec::is_empty) {
                boxes.pop();
            }
            let old = mesh.layouts();
            // Level 0 covers the domain and is never regridded.
            let mut layouts = old[..1].to_vec();
            for boxes in boxes {
                let at = layouts.len();
                // Data stay where they are, even if the load is then uneven: `balance` moves
                // patches.
                let ranks = inherit(&boxes, old.get(at), &layouts[at - 1]);
                layouts.push(Layout { boxes, ranks });
            }
            let same = |(a, b): (&Layout, &Layout)| a.boxes == b.boxes;
            if layouts.len() == old.len() && layouts.iter().zip(&old).all(same) {
                return Ok(Change {
                    is_new: false,
                    traffic: messages.traffic(),
                });
            }
            messages.append(mesh.remake(&ports, layouts)?);
            self.regrids.fetch_add(1, Ordering::Relaxed);
            Ok::<_, PortError>(Change {
                is_new: true,
                traffic: messages.traffic(),
            })
        })
    }

    fn balance(&self) -> Result<Change, PortError> {
        let (got, balancer) = (self.get()?, self.balancer.get()?);
        let ports = got.ports();
        let ranks = ports.comm.size()? as usize;
        self.with(|mesh| {
            let old = mesh.layouts();
            let boxes = old.iter().map(|layout| layout.boxes.clone());
            let new = share(&*balancer, boxes.collect(), ranks)?;
            if new == old {
                return Ok(Change::default());
            }
            let messages = mesh.remake(&ports, new)?;
            self.balances.fetch_add(1, Ordering::Relaxed);
            Ok::<_, PortError>(Change {
                is_new: true,
                traffic: messages.traffic(),
            })
        })
    }
}

impl CounterPort for AmrMesh {
    fn counters(&self) -> Result<RVec<Counter>, PortError> {
        let counter = |name: &str, count: u64, help: &str| Counter {
            name: name.into(),
            count,
            help: help.into(),
        };
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let changed = "times that patches were made or taken away";
        let moved = "times that patches were shared anew among the ranks";
        let mut counters = vec![
            counter("regrids", count(&self.regrids), changed),
            counter("balances", count(&self.balances), moved),
        ];
        let layouts = self.lock().as_ref().map(Hierarchy::layouts);
        for (level, layout) in layouts.unwrap_or_default().iter().enumerate() {
            let cells: usize = layout.boxes.iter().map(CellBox::cells).sum();
            counters.push(counter(
                &format!("patches_of_level_{level}"),
                layout.boxes.len() as u64,
                &format!("on all ranks, {cells} cells"),
            ));
        }
        Ok(counters.into())
    }
}
