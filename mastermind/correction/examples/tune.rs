//! dev
#![expect(missing_docs)]
#[path = "../benches/mecp/instances.rs"]
mod instances;
use instances::*;
use mastermind_correction::*;
use rayon::prelude::*;

fn arg(name: &str, default: f64) -> f64 {
    let args: Vec<String> = std::env::args().collect();
    args.iter()
        .position(|a| a == name)
        .map_or(default, |i| args[i + 1].parse().unwrap())
}
fn median(v: &mut Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    if v.is_empty() {
        f64::NAN
    } else {
        0.5 * (v[(v.len() - 1) / 2] + v[v.len() / 2])
    }
}
fn main() {
    let seed = arg("--seed", 77.0) as u64;
    let n_inst = arg("--instances", 10.0) as usize;
    let trials = arg("--trials", 3.0) as u64;
    let share = arg("--share", 1.0);
    let mut s = Settings::default();
    s.search.node_price = arg("--node", s.search.node_price);
    s.search.gene_price = arg("--gene", s.search.gene_price);
    s.search.population = arg("--pop", 3000.0) as usize;
    s.search.patience = arg("--patience", s.search.patience as f64) as usize;
    s.n_validated = arg("--nval", s.n_validated as f64) as usize;
    s.validated_price = arg("--vprice", s.validated_price);
    s.gate = arg("--gate", s.gate);
    s.clip = arg("--clip", s.clip);
    s.reach = arg("--reach", s.reach);
    s.parameter_range = arg("--range", s.parameter_range);
    let only_form = arg("--form", 0.0) as i32; // -1 all
    let verbose = arg("--verbose", 0.0) > 0.0;
    for (fi, form) in Form::ALL.into_iter().enumerate() {
        if only_form >= 0 && fi as i32 != only_form {
            continue;
        }
        for (si, split) in Split::ALL.into_iter().enumerate() {
            let os = arg("--split", -1.0) as i32;
            if os >= 0 && os != si as i32 {
                continue;
            }
            let inst: Vec<_> = (0..n_inst)
                .map(|p| {
                    let i = Instance::draw(form, p, seed, share).split(split, seed + p as u64);
                    let (train, test) = (i.table.part(true), i.table.part(false));
                    let bases = [Residuals::Squared, Residuals::Relative]
                        .map(|r| SemiEmpirical::fit(&i.specification, &train, r).unwrap());
                    let err = |b: &SemiEmpirical, t: &Table| {
                        relative_error(&t.observed, &i.specification.evaluate(t, &b.values))
                    };
                    let k = usize::from(err(&bases[1], &train) <= err(&bases[0], &train));
                    let base = bases[k].clone();
                    let eb = err(&base, &test);
                    let c = Control::new(&train, &i.specification.evaluate(&train, &base.values))
                        .map(|c| {
                            relative_error(
                                &test.observed,
                                &c.predict(&test, &i.specification.evaluate(&test, &base.values)),
                            )
                        })
                        .unwrap_or(eb);
                    if verbose {
                        println!(
                            "inst {p} train base {:.3} test base {eb:.3} control {c:.3}",
                            i.contention.kind,
                            err(&base, &train)
                        );
                    }
                    (i, train, test, base, eb, c)
                })
                .collect();
            let mut ctl: Vec<f64> = inst.iter().map(|x| 100.0 * (1.0 - x.5 / x.4)).collect();
            let cb = inst.iter().filter(|x| x.5 < x.4).count();
            let cm = median(&mut ctl);
            for case in Case::ALL {
                let jobs: Vec<(usize, u64)> = (0..n_inst)
                    .flat_map(|p| (0..trials).map(move |t| (p, t)))
                    .collect();
                let start = std::time::Instant::now();
                let res: Vec<(usize, f64, bool)> = jobs
                    .par_iter()
                    .map(|(p, t)| {
                        let (i, train, test, base, eb, _) = &inst[*p];
                        let o =
                            correct(&i.specification, train, base, case, 1000 + *t, &s).unwrap();
                        let e = match &o {
                            Outcome::Accepted(c) => {
                                relative_error(&test.observed, &c.predict(&i.specification, test))
                            }
                            _ => *eb,
                        };
                        if verbose {
                            if let Outcome::Accepted(c) = &o {
                                println!(
                                    "  {p} case {} err {e:.4} of {eb:.4} {:?}",
                                    case.number(),
                                    c
                                );
                            } else {
                                println!("  {p} {:?}", o);
                            }
                        }
                        (*p, e / eb, matches!(o, Outcome::Accepted(_)))
                    })
                    .collect();
                let n = res.len() as f64;
                let better = 100.0 * res.iter().filter(|r| r.1 < 1.0).count() as f64 / n;
                let worse = 100.0 * res.iter().filter(|r| r.1 > 1.05).count() as f64 / n;
                let acc = 100.0 * res.iter().filter(|r| r.2).count() as f64 / n;
                let mut red: Vec<f64> = res.iter().map(|r| 100.0 * (1.0 - r.1)).collect();
                let by: Vec<String> = (0..n_inst)
                    .map(|p| {
                        let mut v: Vec<f64> = res
                            .iter()
                            .filter(|r| r.0 == p)
                            .map(|r| 100.0 * (1.0 - r.1))
                            .collect();
                        format!("{:.0}", median(&mut v))
                    })
                    .collect();
                println!(
                    "{:5} {:15} case {} better {better:5.1} worse5 {worse:5.1} acc {acc:5.1} median red {:5.1} control {cm:5.1} (better {cb}) {:.2} s/run  [{}]",
                    form.name(),
                    split.name(),
                    case.number(),
                    median(&mut red),
                    start.elapsed().as_secs_f64() * rayon::current_num_threads() as f64 / n,
                    by.join(" ")
                );
            }
        }
    }
}
