//! The order of visits, the counts of calls, and the invariants of the patches (case study, sections 5, 6 and 9).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cca_ports::{PortError, RSlice, UsesPort};
use hydro_ports::{
    Axis, CellBox, FluxPort, GHOST, InterLevelPort, MeshPort, Patch, States, StatesMut, StatesPort,
};
use mastermind_tests::{
    Application, MeshCall, MeshSpy, RankComm, end, example, host_stands_between, on_ranks,
};

const STEPS: usize = 13;

/// Counts the calls of three components and passes them on.
struct Counting {
    states: UsesPort<dyn StatesPort>,
    flux: UsesPort<dyn FluxPort>,
    icc: UsesPort<dyn InterLevelPort>,
    counts: [AtomicUsize; 4],
}

/// Places in `counts`.
const STATES: usize = 0;
const FLUX: usize = 1;
const PROLONG: usize = 2;
const RESTRICT: usize = 3;

impl Counting {
    fn count(&self, what: usize) {
        self.counts[what].fetch_add(1, Ordering::Relaxed);
    }
}

impl StatesPort for Counting {
    fn compute(
        &self,
        axis: Axis,
        cells: States<'_>,
        left: StatesMut<'_>,
        right: StatesMut<'_>,
    ) -> Result<(), PortError> {
        self.count(STATES);
        self.states.get()?.compute(axis, cells, left, right)
    }
}

impl FluxPort for Counting {
    fn compute(
        &self,
        axis: Axis,
        left: States<'_>,
        right: States<'_>,
        flux: StatesMut<'_>,
    ) -> Result<(), PortError> {
        self.count(FLUX);
        self.flux.get()?.compute(axis, left, right, flux)
    }
}

impl InterLevelPort for Counting {
    fn prolong(
        &self,
        coarse_patch: Patch,
        coarse: States<'_>,
        fine_patch: Patch,
        fine: StatesMut<'_>,
        regions: RSlice<'_, CellBox>,
    ) -> Result<(), PortError> {
        self.count(PROLONG);
        self.icc
            .get()?
            .prolong(coarse_patch, coarse, fine_patch, fine, regions)
    }

    fn restrict(
        &self,
        fine_patch: Patch,
        fine: States<'_>,
        coarse_patch: Patch,
        coarse: StatesMut<'_>,
        region: CellBox,
    ) -> Result<(), PortError> {
        self.count(RESTRICT);
        self.icc
            .get()?
            .restrict(fine_patch, fine, coarse_patch, coarse, region)
    }
}

/// The mesh calls of the driver and of the integrator, and how often the counted components were called.
fn run(comm: RankComm) -> (Vec<MeshCall>, Vec<MeshCall>, [usize; 4]) {
    let steps = format!("driver.max_steps={STEPS}");
    let mut assembly = example("shock-amr/shock-amr.toml", &[&steps]);
    for (uses, port) in [
        ("rhs.states", "states"),
        ("rhs.flux", "flux"),
        ("mesh.icc", "icc"),
        ("rk2.mesh", "mesh"),
        ("driver.mesh", "driven"),
    ] {
        host_stands_between(&mut assembly, uses, port);
    }
    let application = Application::new(comm);
    let host = &application.host;
    let counting = Arc::new(Counting {
        states: host.register_uses_port("to_states").expect("a port"),
        flux: host.register_uses_port("to_flux").expect("a port"),
        icc: host.register_uses_port("to_icc").expect("a port"),
        counts: Default::default(),
    });
    let spy = |port: &str| Arc::new(MeshSpy::new(host.register_uses_port(port).expect("a port")));
    let (stepped, driven) = (spy("to_mesh"), spy("to_driven"));
    let added = host
        .add_provides_port::<dyn StatesPort, _>("states", &counting)
        .and_then(|()| host.add_provides_port::<dyn FluxPort, _>("flux", &counting))
        .and_then(|()| host.add_provides_port::<dyn InterLevelPort, _>("icc", &counting))
        .and_then(|()| host.add_provides_port::<dyn MeshPort, _>("mesh", &stepped))
        .and_then(|()| host.add_provides_port::<dyn MeshPort, _>("driven", &driven));
    added.expect("ports");
    application.assemble(&assembly);
    application.go().expect("a run");
    let counts = counting
        .counts
        .each_ref()
        .map(|count| count.load(Ordering::Relaxed));
    (driven.take_calls(), stepped.take_calls(), counts)
}

/// Section 9, item 8.
#[test]
fn levels_are_visited_in_the_paper_s_order() {
    let (_, calls, _) = run(RankComm::alone());
    let order = |wanted: fn(&MeshCall) -> Option<u32>| {
        let levels: Vec<String> = calls
            .iter()
            .filter_map(wanted)
            .map(|l| format!("L{l}"))
            .collect();
        levels.join(" ")
    };
    let begun = order(|call| match call {
        MeshCall::Begin(level, _) => Some(*level),
        _ => None,
    });
    assert_eq!(begun, ["L0 L1 L2 L2 L1 L2 L2"; STEPS].join(" "));
    let ended = order(|call| match call {
        MeshCall::End(level) => Some(*level),
        _ => None,
    });
    assert_eq!(ended, ["L2 L2 L1 L2 L2 L1 L0"; STEPS].join(" "));
}

/// Section 6, on each rank, for its own patches.
#[test]
fn calls_follow_from_the_patches() {
    for (rank, (driven, calls, counts)) in on_ranks(3, run).into_iter().enumerate() {
        // Once for each fine patch of the initial condition, as it was before the first balance.
        let first = driven
            .iter()
            .take_while(|call| !matches!(call, MeshCall::Balance(..)));
        let first = first.filter_map(|call| match call {
            MeshCall::Regrid(levels) => Some(levels[1..].iter().map(Vec::len).sum::<usize>()),
            _ => None,
        });
        let (mut advances, mut restricted) = (0, first.last().expect("a regrid"));
        for call in &calls {
            if let MeshCall::Begin(0, patches) = call {
                assert_eq!(patches.len(), 3);
                advances += patches[0] + 2 * patches[1] + 4 * patches[2];
                restricted += patches[1] + 2 * patches[2];
            }
        }
        println!(
            "rank {rank}: {advances} patch advances, states, flux, prolong, restrict {counts:?}"
        );
        assert!(advances > 0);
        assert_eq!(counts[STATES], 4 * advances, "4 Σ (P0 + 2 P1 + 4 P2)");
        assert_eq!(counts[FLUX], counts[STATES]);
        assert_eq!(
            counts[RESTRICT], restricted,
            "one for each fine patch and step of the level below"
        );
        let ghosts = calls
            .iter()
            .filter(|call| matches!(call, MeshCall::Ghosts(_)));
        assert_eq!(ghosts.count(), 14 * STEPS, "2 (1 + 2 + 4) a step");
    }
}

fn covers(boxes: &[CellBox], cells: &CellBox) -> bool {
    cells.minus_all(boxes).is_empty()
}

/// Section 5, test f: disjoint, inside the domain, each level in the next coarser one with a cell to spare.
fn check_patches(levels: &[Vec<Patch>]) {
    let domain = CellBox {
        i: 0,
        j: 0,
        nx: 96,
        ny: 32,
    };
    let boxes: Vec<Vec<CellBox>> = levels
        .iter()
        .map(|level| level.iter().map(Patch::cells).collect())
        .collect();
    assert!(covers(&boxes[0], &domain), "level 0 has every cell");
    let mut all = domain;
    for (level, of_level) in boxes.iter().enumerate() {
        for (k, cells) in of_level.iter().enumerate() {
            assert!(all.contains(cells), "{cells} of level {level}");
            let overlaps = of_level[..k]
                .iter()
                .any(|other| other.intersect(cells).is_some());
            assert!(!overlaps, "{cells} of level {level}");
            if level > 0 {
                assert!(cells.nx >= 8 && cells.ny >= 8 && cells.nx <= 64 && cells.ny <= 64);
                let around = cells.coarsen().grow(1);
                let coarser = all.coarsen();
                let around = around.intersect(&coarser).expect("cells");
                assert!(
                    covers(&boxes[level - 1], &around),
                    "{cells} of level {level}"
                );
            }
        }
        all = all.refine();
    }
    let mut ids: Vec<u64> = levels.iter().flatten().map(|patch| patch.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), boxes.iter().map(Vec::len).sum::<usize>());
}

#[test]
fn patches_are_nested_after_every_regrid() {
    let (calls, _, _) = run(RankComm::alone());
    let regrids: Vec<_> = calls
        .iter()
        .filter_map(|call| match call {
            MeshCall::Regrid(levels) => Some(levels),
            _ => None,
        })
        .collect();
    assert!(regrids.len() >= 3 + STEPS / 4, "{} regrids", regrids.len());
    for levels in &regrids {
        check_patches(levels);
    }
    let last = regrids.last().expect("a regrid");
    println!(
        "patches by level: {:?}",
        last.iter().map(Vec::len).collect::<Vec<_>>()
    );
    assert_eq!(last.len(), 3);
}

/// The driver shares the mesh once when it is made, and once in the middle of the run.
#[test]
fn the_mesh_is_balanced_once_in_mid_run() {
    let ranks = on_ranks(3, |comm| run(comm).0);
    for calls in ranks {
        let balances = calls.iter().filter_map(|call| match call {
            MeshCall::Balance(moved, _) => Some(*moved),
            _ => None,
        });
        assert_eq!(balances.collect::<Vec<_>>(), [true, true]);
    }
}

/// All calls of the mesh, by any caller, and how often values were prolonged.
fn run_with_one_spy(comm: RankComm) -> (Vec<MeshCall>, usize) {
    let steps = format!("driver.max_steps={STEPS}");
    let mut assembly = example("shock-amr/shock-amr.toml", &[&steps]);
    host_stands_between(&mut assembly, "mesh.icc", "icc");
    host_stands_between(&mut assembly, "driver.mesh", "mesh");
    for uses in ["rk2.mesh", "statistics.mesh"] {
        assembly.connections.insert(end(uses), end("host.mesh"));
    }
    let application = Application::new(comm);
    let host = &application.host;
    let unused = |port: &str| format!("unused_{port}");
    let counting = Arc::new(Counting {
        states: host.register_uses_port(&unused("states")).expect("a port"),
        flux: host.register_uses_port(&unused("flux")).expect("a port"),
        icc: host.register_uses_port("to_icc").expect("a port"),
        counts: Default::default(),
    });
    let spy = Arc::new(MeshSpy::new(
        host.register_uses_port("to_mesh").expect("a port"),
    ));
    let added = host
        .add_provides_port::<dyn InterLevelPort, _>("icc", &counting)
        .and_then(|()| host.add_provides_port::<dyn MeshPort, _>("mesh", &spy));
    added.expect("ports");
    application.assemble(&assembly);
    application.go().expect("a run");
    let prolongs = counting.counts[PROLONG].load(Ordering::Relaxed);
    (spy.take_calls(), prolongs)
}

/// The patches of all ranks by level.
fn boxes(ranks: &[&[Vec<Patch>]], level: usize) -> Vec<CellBox> {
    let patches = ranks.iter().filter_map(|levels| levels.get(level));
    patches.flatten().map(Patch::cells).collect()
}

/// Pairs of a patch and a coarser one with cells that the patch needs and no patch of its level has.
fn pairs(wanted: &[CellBox], there: &[CellBox], coarser: &[CellBox]) -> usize {
    let of_patch = |cells: &CellBox| {
        let rest = cells.minus_all(there);
        let overlaps = |coarse: &&CellBox| {
            let fine = coarse.refine();
            rest.iter().any(|part| part.intersect(&fine).is_some())
        };
        coarser.iter().filter(overlaps).count()
    };
    wanted.iter().map(of_patch).sum()
}

/// The prolongs of a rank when ghost cells of a level are filled.
fn prolongs_of_fill(rank: usize, ranks: &[&[Vec<Patch>]], level: usize) -> usize {
    let Some(coarser) = level.checked_sub(1) else {
        return 0;
    };
    let domain = CellBox::between((0, 0), (96 << level, 32 << level));
    let own = boxes(&ranks[rank..=rank], level);
    let with_ghosts = own.iter().map(|cells| cells.grow(GHOST as i64));
    let with_ghosts: Vec<_> = with_ghosts
        .filter_map(|cells| cells.intersect(&domain))
        .collect();
    pairs(&with_ghosts, &boxes(ranks, level), &boxes(ranks, coarser))
}

/// The patches after a regrid or a balance.
fn patches_after(call: &MeshCall) -> &[Vec<Patch>] {
    match call {
        MeshCall::Regrid(patches) | MeshCall::Balance(_, patches) => patches,
        other => panic!("{other:?}, expected the same on every rank"),
    }
}

/// Section 6: "per ghost fill and regrid, per overlapping coarse patch", on each rank.
#[test]
fn prolongs_follow_from_the_patches() {
    let ranks = on_ranks(3, run_with_one_spy);
    for (rank, (calls, counted)) in ranks.iter().enumerate() {
        let mut expected = 0;
        let mut now: Vec<&[Vec<Patch>]> = vec![&[]; ranks.len()];
        for (at, call) in calls.iter().enumerate() {
            match call {
                MeshCall::Ghosts(level) => {
                    expected += prolongs_of_fill(rank, &now, *level as usize);
                }
                MeshCall::Regrid(_) | MeshCall::Balance(..) => {
                    let new: Vec<&[Vec<Patch>]> = ranks
                        .iter()
                        .map(|(calls, _)| patches_after(&calls[at]))
                        .collect();
                    let is_regrid = matches!(call, MeshCall::Regrid(_));
                    // Before it marks cells, a regrid fills the ghost cells of the levels that may be refined.
                    if is_regrid && now[rank].len() > 1 {
                        expected += prolongs_of_fill(rank, &now, 1);
                    }
                    for level in 1..new[rank].len() {
                        let own = boxes(&new[rank..=rank], level);
                        expected += pairs(&own, &boxes(&now, level), &boxes(&new, level - 1));
                    }
                    now = new;
                }
                _ => {}
            }
        }
        println!("rank {rank}: {counted} prolongs");
        assert!(expected > 100);
        assert_eq!(*counted, expected, "on rank {rank}");
    }
}
