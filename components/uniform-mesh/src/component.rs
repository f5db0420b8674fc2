//! The component class.

use std::sync::{Arc, Mutex, MutexGuard};

use cca_ports::{
    CommPort, Component, Parameter, ParameterSet, PortError, RSlice, RVec, Services, UsesPort,
    component,
};
use hydro_ports::{ArrayName, BoundaryPort, Change, Domain, MeshPort, Patch, StatesMut, Traffic};

use crate::mesh::{Mesh, StorageError};
use crate::{Sizes, Splitting, decompose};

/// A uniform mesh of one level, cut into patches that the ranks share.
#[component(class = "hydro.UniformMesh", version = "1.0")]
struct UniformMesh {
    comm: UsesPort<dyn CommPort>,
    bc: UsesPort<dyn BoundaryPort>,
    parameters: Parameters,
    mesh: Mutex<Option<Mesh>>,
}

struct Parameters {
    nx: Parameter<i64>,
    ny: Parameter<i64>,
    x: [Parameter<f64>; 2],
    y: [Parameter<f64>; 2],
    split: Parameter<String>,
    patches_x: Parameter<i64>,
    patches_y: Parameter<i64>,
    max_side: Parameter<i64>,
    patches_per_rank: Parameter<i64>,
    patch_sizes: Parameter<String>,
}

impl Parameters {
    fn add(set: &Arc<ParameterSet>) -> Result<Self, PortError> {
        let count = |key: &str, default: i64, help: &str| {
            let parameter = set.integer(key, default).bounds(1.0, 1e6);
            parameter.help(help).add()
        };
        let edge = |key: &str, default: f64, help: &str| set.real(key, default).help(help).add();
        let choice = |key: &str, choices: &[&str], help: &str| {
            let parameter = set.text(key, choices[0]).choices(choices);
            parameter.help(help).add()
        };
        Ok(Parameters {
            nx: count("nx", 96, "cells along x")?,
            ny: count("ny", 32, "cells along y")?,
            x: [
                edge("x_lower", 0.0, "left edge of the domain")?,
                edge("x_upper", 3.0, "right edge of the domain")?,
            ],
            y: [
                edge("y_lower", 0.0, "lower edge of the domain")?,
                edge("y_upper", 1.0, "upper edge of the domain")?,
            ],
            split: choice(
                "split",
                &["grid", "max_side", "per_rank"],
                "which of the next parameters say how many patches there are; \
                 only per_rank looks at the number of ranks",
            )?,
            patches_x: count("patches_x", 3, "columns of patches (split = grid)")?,
            patches_y: count("patches_y", 1, "rows of patches (split = grid)")?,
            max_side: count("max_side", 32, "largest side of a patch (split = max_side)")?,
            patches_per_rank: count("patches_per_rank", 1, "(split = per_rank)")?,
            patch_sizes: choice(
                "patch_sizes",
                &["even", "uneven"],
                "uneven: sides in the ratio 1, 2, 3, ..., so that one run has many array sizes",
            )?,
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

    fn splitting(&self) -> Splitting {
        let count = |parameter: &Parameter<i64>| parameter.get() as usize;
        match &*self.split.get() {
            "max_side" => Splitting::MaxSide(count(&self.max_side)),
            "per_rank" => Splitting::PatchesPerRank(count(&self.patches_per_rank)),
            _ => Splitting::Grid(count(&self.patches_x), count(&self.patches_y)),
        }
    }

    fn sizes(&self) -> Sizes {
        match &*self.patch_sizes.get() {
            "uneven" => Sizes::Uneven,
            _ => Sizes::Even,
        }
    }
}

impl Component for UniformMesh {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let component = Arc::new(UniformMesh {
            comm: services.register_uses_port("comm")?,
            bc: services.register_uses_port("bc")?,
            parameters: Parameters::add(&services.parameters("parameters")?)?,
            mesh: Mutex::default(),
        });
        services.add_provides_port::<dyn MeshPort, _>("mesh", &component)?;
        Ok(component)
    }
}

impl UniformMesh {
    fn lock(&self) -> MutexGuard<'_, Option<Mesh>> {
        // After a panic an array may be missing for good, and its next user gets an error.
        self.mesh
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Works on the mesh of a level.
    fn with<T>(
        &self,
        level: u32,
        work: impl FnOnce(&mut Mesh) -> Result<T, StorageError>,
    ) -> Result<T, PortError> {
        let mut mesh = self.lock();
        let worked = match mesh.as_mut() {
            Some(_) if level > 0 => Err(StorageError::NoLevel { level }),
            Some(mesh) => work(mesh),
            None => Err(StorageError::NotCreated),
        };
        worked.map_err(PortError::failed)
    }
}

impl MeshPort for UniformMesh {
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
        let comm = self.comm.get()?;
        let (rank, ranks) = (comm.rank()? as usize, comm.size()? as usize);
        let (splitting, sizes) = (self.parameters.splitting(), self.parameters.sizes());
        let blocks = decompose(domain.nx, domain.ny, ranks, splitting, sizes);
        let blocks = blocks.map_err(PortError::failed)?;
        *self.lock() = Some(Mesh::new(domain, &blocks, rank));
        Ok(())
    }

    fn domain(&self) -> Result<Domain, PortError> {
        let created = self.lock().as_ref().map(|mesh| mesh.domain);
        Ok(created.unwrap_or_else(|| self.parameters.domain()))
    }

    fn levels(&self) -> Result<u32, PortError> {
        self.with(0, |_| Ok(1))
    }

    fn patches(&self, level: u32) -> Result<RVec<Patch>, PortError> {
        self.with(level, |mesh| Ok(mesh.patches().collect()))
    }

    fn take(&self, patch: u64, array: ArrayName) -> Result<RVec<f64>, PortError> {
        self.with(0, |mesh| mesh.take(patch, array))
    }

    fn put(&self, patch: u64, array: ArrayName, data: RVec<f64>) -> Result<(), PortError> {
        self.with(0, |mesh| mesh.put(patch, array, data))
    }

    fn begin_step(&self, level: u32, _time: f64, _dt: f64) -> Result<(), PortError> {
        self.with(level, |_| Ok(()))
    }

    fn fill_ghosts(&self, level: u32, array: ArrayName, _time: f64) -> Result<Traffic, PortError> {
        let (comm, bc) = (self.comm.get()?, self.bc.get()?);
        let mut fields = self.with(level, |mesh| mesh.take_all(array))?;
        let exchanged = match self.lock().as_mut() {
            Some(mesh) => mesh.exchange.run(&*comm, &mut fields),
            None => Ok(Traffic::default()),
        };
        let filled = exchanged.and_then(|traffic| {
            let on_boundary = |patch: &Patch| patch.boundary != Default::default();
            let mut fields = fields.iter_mut().filter(|field| on_boundary(&field.patch));
            fields.try_for_each(|field| {
                let state = StatesMut::new(field.patch.shape, &mut field.values)?;
                bc.fill(field.patch, state)
            })?;
            Ok(traffic)
        });
        self.with(level, |mesh| {
            mesh.put_all(array, fields);
            Ok(())
        })?;
        filled
    }

    fn add_fluxes(
        &self,
        patch: u64,
        _weight: f64,
        _flux_x: RSlice<'_, f64>,
        _flux_y: RSlice<'_, f64>,
    ) -> Result<(), PortError> {
        // One level has no other to account to.
        self.with(0, |mesh| mesh.has(patch))
    }

    fn end_step(&self, level: u32) -> Result<Traffic, PortError> {
        self.with(level, |_| Ok(Traffic::default()))
    }

    fn regrid(&self, _time: f64) -> Result<Change, PortError> {
        self.with(0, |_| Ok(Change::default()))
    }

    fn balance(&self) -> Result<Change, PortError> {
        // The patches stay as they were shared when the mesh was made.
        self.with(0, |_| Ok(Change::default()))
    }
}
