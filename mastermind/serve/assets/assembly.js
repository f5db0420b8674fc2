// An assembly: its wiring with measurements and predictions, its editor, the choice among its alternatives, its runs.

import * as api from "./api.js";
import { choice, editingKeys, figures, h, refill, table, time } from "./dom.js";
import { command, failure, notes } from "./parts.js";
import { draw } from "./wiring.js";

/** Number of assemblies that are ranked; of more the best. */
const RANKED = 200;

/** The class of a name in quotes in a sentence of `check`: `"flux"`, `"flux.compute"`. */
function named(sentence, instances) {
  const quoted = [...sentence.matchAll(/"([^"]*)"/g)].map((match) => match[1].split(".")[0]);
  return quoted.filter((name) => instances.includes(name));
}

export async function assembly(page, path, place, aborted) {
  const editor = {
    saved: await api.text(path), // as in the file
    texts: [], at: 0, // all versions since it was opened, and the index of the present one
    assembly: null, wiring: null, problems: [], warnings: [], chosen: null, open: null, described: new Map(),
    records: "", models: "", require: "", chosenFrom: null,
    moved: JSON.parse(localStorage.getItem(`moved:${path}`) ?? "{}"),
  };
  editor.texts = [editor.saved];
  const now = () => editor.texts[editor.at];
  const dirty = () => now() !== editor.saved;
  const bar = h("div", { class: "bar" });
  const found = h("div");
  const picture = h("div", { class: "wiring" });
  const inspector = h("aside", { class: "inspector", "aria-label": "Instance" });
  const total = h("div", { "aria-live": "polite" });
  const line = h("div");
  const ranking = h("div");
  place.append(bar, found, total, h("div", { class: "work" }, h("div", {}, picture, line, ranking), inspector));

  let classes = new Map();
  // The picture does not wait for the classes, whose libraries must be opened.
  const listing = api.ask({ ask: "classes", file: path }, aborted.signal).then((listed) => {
    classes = new Map((listed.answer ?? []).map((one) => [one.class, one]));
  });

  /** Runs a question about the present text. */
  const ask = (question) => (dirty() && !page.readOnly
    ? api.askDraft(path, now(), question, aborted.signal) : api.ask({ ...question, file: path }, aborted.signal));

  const port = (end, kind) => {
    const [instance, name] = [end.slice(0, end.indexOf(".")), end.slice(end.indexOf(".") + 1)];
    const known = classes.get(editor.assembly?.instances?.[instance]);
    return known?.[kind].find((one) => one.name === name);
  };
  const fits = (uses, provides) => {
    const [a, b] = [port(uses, "uses"), port(provides, "provides")];
    return Boolean(a && b && a.interface === b.interface);
  };

  let turn = 0;
  /** Renews everything that depends on the text. */
  async function refresh() {
    const mine = ++turn;
    place.setAttribute("aria-busy", "true");
    try {
      const [parsed, wiring] = await Promise.all([api.edit(now(), []), ask({ ask: "wiring", records: editor.records, models: editor.models })]);
      if (mine !== turn) return;
      editor.assembly = parsed.assembly;
      if (!editor.wiring) {
        editor.wiring = wiring.answer;
        drawPicture();
      }
      const [check] = await Promise.all([ask({ ask: "check" }), listing]);
      if (mine !== turn) return;
      editor.problems = check.answer?.problems ?? [];
      editor.warnings = [...(check.answer?.warnings ?? [])];
      if (check.code !== 0 && !check.answer) editor.problems = check.notes;
      editor.wiring = wiring.answer ?? editor.wiring;
      refill(found, [
        editor.problems.length > 0 && h("ul", { class: "problems", id: "problems" }, editor.problems.map((one) => h("li", {}, one))),
        editor.warnings.length > 0 && h("ul", { class: "notes" }, editor.warnings.map((one) => h("li", {}, one))),
        wiring.code !== 0 || editor.records ? notes(wiring) : null,
      ]);
      line.replaceChildren(command(wiring.command));
      drawBar();
      drawPicture();
      await Promise.all([drawInspector(), drawTotal()]);
      page.say(dirty() ? "Not saved." : "");
    } catch (error) {
      if (error.name !== "AbortError") page.say(error.message, true);
    } finally {
      if (mine === turn) place.removeAttribute("aria-busy");
    }
  }

  async function change(edits) {
    if (page.readOnly) return;
    try {
      const { text } = await api.edit(now(), edits);
      if (text === now()) return;
      editor.texts.splice(editor.at + 1, Infinity, text);
      editor.at += 1;
      await refresh();
    } catch (error) {
      page.say(error.message, true);
    }
  }

  async function step(by) {
    const at = editor.at + by;
    if (at < 0 || at >= editor.texts.length) return;
    editor.at = at;
    await refresh();
  }

  async function save() {
    try {
      await api.save(path, editor.saved, now());
      editor.saved = now();
      page.say("Saved.");
      drawBar();
    } catch (error) {
      page.say(error.message, true);
      if (error.status === 409) drawBar(true);
    }
  }

  async function reload() {
    editor.saved = await api.text(path);
    editor.texts.splice(editor.at + 1, Infinity, editor.saved);
    editor.at += 1;
    await refresh();
  }

  function drawBar(changed = false) {
    const pick = (name) => (value) => {
      editor[name] = value;
      refresh();
    };
    const edits = !page.readOnly && [
      h("button", { type: "button", class: "main", disabled: !dirty(), onclick: save }, "Save"),
      h("button", { type: "button", disabled: editor.at === 0, onclick: () => step(-1) }, "Undo"),
      h("button", { type: "button", disabled: editor.at + 1 >= editor.texts.length, onclick: () => step(1) }, "Redo"),
      changed && h("button", { type: "button", onclick: reload }, "Load the changed file; Undo brings mine back"),
    ];
    refill(bar, [edits,
      h("label", {}, "Records", choice("Records", [["", "none"], ...page.of("records")], editor.records, pick("records"))),
      h("label", {}, "Models", choice("Models", [["", "none"], ...page.of("models")], editor.models, pick("models"))),
      editor.records && editor.models && h("label", {}, "Requirement", h("input", { "aria-label": "Requirement", placeholder: "flux.order >= 2", value: editor.require, onchange: (event) => pick("require")(event.target.value.trim()) }))]);
  }

  function drawPicture() {
    if (!editor.wiring) return;
    const instances = editor.wiring.instances.map((one) => one.name);
    const problems = new Set(editor.problems.flatMap((sentence) => named(sentence, instances)));
    const focused = document.activeElement?.getAttribute?.("data-instance");
    picture.replaceChildren(draw(editor.wiring, {
      classes, chosen: editor.chosen, open: editor.open, fits, problems, moved: editor.moved,
      choose(name) {
        editor.chosen = name;
        editor.open = null;
        drawPicture();
        drawInspector();
      },
      pick(end, kind) {
        if (page.readOnly) return;
        if (kind === "uses") {
          editor.open = editor.open === end ? null : end;
          drawPicture();
        } else if (editor.open !== null && fits(editor.open, end)) {
          const uses = editor.open;
          editor.open = null;
          change([{ edit: "connect", uses, provides: end }]);
        } else this.choose(end.split(".")[0]);
      },
      move(name, dx, dy) {
        const [x, y] = editor.moved[name] ?? [0, 0];
        editor.moved[name] = [x + dx, y + dy];
        localStorage.setItem(`moved:${path}`, JSON.stringify(editor.moved));
        drawPicture();
      },
    }));
    if (focused) picture.querySelector(`[data-instance="${CSS.escape(focused)}"]`)?.focus();
  }

  async function describe(name) {
    if (!editor.described.has(name)) {
      const answer = await api.ask({ ask: "class", class: name, file: path }, aborted.signal);
      editor.described.set(name, answer.answer?.[0] ?? null);
    }
    return editor.described.get(name);
  }

  let inspected = 0;
  async function drawInspector() {
    const mine = ++inspected;
    inspector.setAttribute("aria-busy", "true");
    const instance = editor.wiring?.instances.find((one) => one.name === editor.chosen);
    const parts = instance ? await ofInstance(instance) : ofAssembly();
    if (mine !== inspected) return;
    refill(inspector, parts);
    inspector.removeAttribute("aria-busy");
  }

  async function ofInstance(instance) {
    const name = instance.name;
    const known = classes.get(instance.class);
    const described = await describe(instance.class);
    const providers = editor.wiring.instances.flatMap((other) => (classes.get(other.class)?.provides ?? []).map((one) => ({ end: `${other.name}.${one.name}`, interface: one.interface })));
    const lead = new Map(editor.wiring.connections.map((one) => [`${one.user}.${one.uses}`, `${one.provider}.${one.provides}`]));
    const alternatives = editor.assembly?.alternatives?.[name] ?? [];
    const same = [...classes.values()].filter((other) => other.class !== instance.class && (known?.provides ?? []).every((mine) => mine.interface === "cca.Parameter"
      || other.provides.some((theirs) => theirs.interface === mine.interface && theirs.name === mine.name)));
    const set = editor.assembly?.parameters?.[name] ?? {};
    return [
      h("h3", {}, name), h("p", { class: "faint" }, described?.doc ?? known?.doc ?? "This class is in none of the assembly's libraries."),
      h("dl", {}, h("dt", {}, "class"), h("dd", {}, choice("class", [...new Set([instance.class, ...alternatives, ...same.map((one) => one.class)])].map((one) =>
        [one, one + predictedWith(name, one)]), instance.class, (value) => change([{ edit: "set-class", instance: name, class: value }]), { disabled: page.readOnly }))),
      (known?.uses ?? []).length > 0 && [h("h3", {}, "Uses ports"), h("dl", {}, known.uses.map((one) => {
        const uses = `${name}.${one.name}`;
        const fitting = providers.filter((provider) => provider.interface === one.interface).map((provider) => provider.end);
        const leads = lead.get(uses) ?? "";
        const options = [["", "not connected"], ...new Set([...fitting, ...(leads ? [leads] : [])])];
        return [h("dt", {}, one.name), h("dd", {}, choice(`uses port ${one.name}`, options, leads, (value) =>
          change([value ? { edit: "connect", uses, provides: value } : { edit: "disconnect", uses }]), { disabled: page.readOnly }), h("small", {}, one.interface))];
      }))],
      (described?.parameters ?? []).length > 0 && [h("h3", {}, "Parameters"), h("dl", {}, described.parameters.map((one) => parameter(name, one, set)))],
      known && (known.provides ?? []).some((one) => one.interface === "cca.Go") && h("div", { class: "bar" }, h("button", { type: "button", disabled: page.readOnly,
        onclick: () => change([{ edit: "set-go", port: `${name}.${known.provides.find((one) => one.interface === "cca.Go").name}` }]) }, "Start the assembly here")),
      swapper(name, [...new Set([...alternatives, ...same.map((one) => one.class), instance.class])]),
      same.length > 0 && !page.readOnly && h("details", { class: "palette" }, h("summary", {}, `Alternatives (${Math.max(alternatives.length, 1)})`), h("ul", {},
        [...new Set([instance.class, ...same.map((one) => one.class)])].map((one) => h("li", {}, h("label", {}, h("input", {
          type: "checkbox", checked: alternatives.includes(one), onchange: (event) => {
            const others = alternatives.filter((other) => other !== one);
            change([{ edit: "set-alternatives", instance: name, classes: event.target.checked ? [...others, one] : others }]);
          },
        }), ` ${one}`))))),
      !page.readOnly && h("div", { class: "bar" }, h("button", { type: "button", onclick: () => {
        editor.chosen = null;
        change([{ edit: "remove-instance", instance: name }]).then(() => picture.querySelector(".instance")?.focus());
      } }, `Remove ${name}`), h("button", { type: "button", onclick: () => {
        const to = prompt("New name", name);
        if (!to || to === name) return;
        editor.chosen = to;
        change([{ edit: "rename-instance", instance: name, to }]);
      } }, "Rename")),
      h("div", { class: "bar" }, h("button", { type: "button", onclick: () => {
        editor.chosen = null;
        drawPicture();
        drawInspector();
        focus(name);
      } }, "Close")),
    ];
  }

  /** Changes a class in the present run. */
  function swapper(name, fitting) {
    const id = page.readOnly ? null : page.jobs.swappable(path);
    if (id === null) return null;
    let wanted = fitting[0];
    return [h("h3", {}, "In the run that goes on"), h("div", { class: "bar" }, choice("Class in the run", fitting, wanted, (value) => { wanted = value; }),
      h("button", { type: "button", onclick: () => api.swap(id, name, wanted).then(() => page.say(`Asked for ${wanted}.`)).catch((error) => page.say(error.message, true)) }, `Swap ${name}`))];
  }

  function parameter(name, one, set) {
    const own = set[one.key] ?? set[one.port]?.[one.key];
    const key = set[one.port]?.[one.key] !== undefined ? `${one.port}.${one.key}` : one.key;
    const shownDefault = one.default.replace(/^"(.*)"$/, "$1");
    const put = (value) => change([value === "" ? { edit: "unset-parameter", instance: name, key } : { edit: "set-parameter", instance: name, key, value }]);
    const text = one.kind === "text";
    // Text is written as text, even if it resembles markup.
    const written = (value) => (text && value !== "" ? JSON.stringify(value) : value);
    const label = `parameter ${one.key}`;
    const shown = own === undefined ? "" : typeof own === "object" ? JSON.stringify(own) : String(own);
    const field = one.choices.length
      ? choice(label, [["", `default (${shownDefault})`], ...one.choices], shown, (value) => put(written(value)), { disabled: page.readOnly })
      : one.kind === "boolean" ? choice(label, [["", `default (${shownDefault})`], "true", "false"], shown, put, { disabled: page.readOnly })
        : h("input", { "aria-label": label, value: shown, placeholder: shownDefault, disabled: page.readOnly, inputmode: text ? "text" : "decimal", onchange: (event) => {
          const value = event.target.value.trim();
          if (value === "" && own === undefined) return;
          put(written(value));
        } });
    const about = [one.help, one.unit && `in ${one.unit}`, one.bounds && `${figures(one.bounds[0])} to ${figures(one.bounds[1])}`].filter(Boolean).join("; ");
    return [h("dt", {}, one.key), h("dd", {}, field, about && h("small", {}, about))];
  }

  function ofAssembly() {
    return [
      h("h3", {}, "Assembly"), h("p", { class: "faint" }, `${editor.wiring?.instances.length ?? 0} instances, ${editor.wiring?.connections.length ?? 0} connections. Choose an instance to see its ports and parameters; move it with the pointer, or with Shift and the arrow keys.`),
      !page.readOnly && palette(), !page.readOnly && runs(),
    ];
  }

  function palette() {
    const list = h("ul");
    const fill = (wanted) => list.replaceChildren(...[...classes.values()].filter((one) => one.class.toLowerCase().includes(wanted.toLowerCase())).map((one) =>
      h("li", {}, h("button", { type: "button", onclick: () => add(one.class) }, `Add ${one.class}`), h("small", {}, ` ${one.doc}`))));
    fill("");
    return h("details", { class: "palette", open: !editor.wiring?.instances.length }, h("summary", {}, `Classes (${classes.size})`),
      h("input", { type: "search", "aria-label": "Search classes", placeholder: "search", oninput: (event) => fill(event.target.value) }), list);
  }

  async function add(name) {
    const last = name.split(".").pop();
    const stem = last[0].toLowerCase() + last.slice(1);
    const taken = editor.wiring?.instances.map((one) => one.name) ?? [];
    let instance = stem;
    for (let at = 2; taken.includes(instance); at += 1) instance = `${stem}${at}`;
    editor.chosen = instance;
    // An assembly that names no libraries gets the folder of this one.
    const folder = classes.get(name)?.library?.replace(/\/[^/]*$/, "");
    const unnamed = folder && !editor.assembly?.assembly?.path?.length;
    await change([...(unnamed ? [{ edit: "add-path", path: folder }] : []), { edit: "add-instance", instance, class: name }]);
    focus(instance);
  }

  /** Moves the keyboard focus to an instance, if the element that had it is gone. */
  function focus(instance) {
    picture.querySelector(`[data-instance="${CSS.escape(instance)}"]`)?.focus();
  }

  function runs() {
    const stem = path.replace(/\.toml$/, "");
    const to = h("input", { "aria-label": "Folder for the records", value: `${stem}-records` });
    const ranks = h("input", { "aria-label": "Ranks", type: "number", min: 1, value: "", placeholder: "alone" });
    const set = h("input", { "aria-label": "Settings", placeholder: "driver.end_time=0.1" });
    const how = choice("Swaps", [["", "none"], ["hand", "by hand, here"], ["adapt", "by itself (--adapt)"]], "", () => {});
    const run = async () => {
      if (dirty()) await save();
      if (dirty()) return;
      const code = await page.jobs.start({ start: "run", file: path, records: to.value || null, ranks: ranks.value ? Number(ranks.value) : null, set: set.value.split(/\s+/).filter(Boolean),
        redirectable: how.value === "hand", adapt: how.value === "adapt" ? editor.models : null });
      if (code === 0 && to.value) {
        editor.records = to.value;
        refresh();
      }
    };
    const planned = h("input", { "aria-label": "Folder for the planned runs", value: `${stem}-planned` });
    const plan = h("p", { class: "faint" });
    if (Object.keys(editor.assembly?.alternatives ?? {}).length) {
      ask({ ask: "plan" }).then(({ answer }) => {
        if (answer) plan.textContent = `${answer.runs.length} runs show every pair of connected alternatives.`;
      }).catch(() => {});
    } else plan.textContent = "No instance has alternatives.";
    return h("form", { onsubmit: (event) => {
      event.preventDefault();
      run();
    } }, h("h3", {}, "Run"), h("dl", {}, h("dt", {}, "records"), h("dd", {}, to), h("dt", {}, "ranks"), h("dd", {}, ranks), h("dt", {}, "settings"), h("dd", {}, set), h("dt", {}, "swaps"), h("dd", {}, how)),
    h("div", { class: "bar" }, h("button", { class: "main" }, "Run")),
    h("h3", {}, "Measure the alternatives"), plan, h("dl", {}, h("dt", {}, "folder"), h("dd", {}, planned)),
    h("div", { class: "bar" }, h("button", { type: "button", onclick: async () => {
      if (dirty()) await save();
      const code = await page.jobs.start({ start: "plan", file: path, records: planned.value, repeat: 1, set: set.value.split(/\s+/).filter(Boolean) });
      if (code === 0) await page.jobs.start({ start: "fit", records: [planned.value], output: `${stem}-models.json` });
    } }, "Run what the plan lists, and fit models")));
  }

  /** Time of the assembly with another class at an instance, as far as the choice ranked it. */
  function predictedWith(instance, name) {
    const ranked = editor.chosenFrom?.ranked;
    if (!ranked?.length) return "";
    const instances = editor.assembly?.instances ?? {};
    const match = ranked.find((one) => Object.entries(one.assembly).every(([other, theirs]) => theirs === (other === instance ? name : instances[other])));
    return match && instance in match.assembly ? ` – ${time(match.predicted_s)} in all` : "";
  }

  let asked = 0;
  async function drawTotal() {
    const mine = ++asked;
    editor.chosenFrom = null;
    if (!editor.records || !editor.models || !Object.keys(editor.assembly?.alternatives ?? {}).length) {
      total.replaceChildren();
      ranking.replaceChildren();
      return;
    }
    total.replaceChildren(h("p", { class: "total" }, "Choosing."));
    try {
      const answer = await ask({ ask: "choose", records: editor.records, models: editor.models, best: RANKED, require: editor.require });
      if (mine !== asked) return;
      const chosen = answer.answer;
      editor.chosenFrom = chosen;
      refill(total, [chosen && totals(chosen)]);
      refill(ranking, [h("h3", {}, "Choice"), notes(answer), chosen && ranked(chosen), command(answer.command)]);
      await drawInspector();
    } catch (error) {
      if (mine === asked && error.name !== "AbortError") total.replaceChildren(failure(error));
    }
  }

  /** Uses the classes of an assembly. */
  const take = (theirs) => change(Object.entries(theirs).filter(([instance, one]) => editor.assembly.instances[instance] !== one)
    .map(([instance, one]) => ({ edit: "set-class", instance, class: one })));

  function totals(chosen) {
    const [lower, upper] = chosen.interval_s ?? [null, null];
    const differing = Object.entries(chosen.best).filter(([instance, best]) => editor.assembly.instances[instance] !== best);
    return h("div", {},
      h("p", { class: "total" }, "Predicted for this assembly: ", h("strong", { id: "current" }, time(chosen.current_s)), "; for the best: ",
        h("strong", { id: "best" }, time(chosen.predicted_s)),
        lower !== null && upper !== null ? ` (95 % between ${time(lower)} and ${time(upper)})` : " (how far off that may be is not known)",
        !chosen.proved && ", not proved the best", differing.length === 0 && ". This is the best."),
      chosen.doubt && !chosen.doubt.told_apart && h("p", { class: "notes" }, doubt(chosen.doubt)),
      differing.length > 0 && !page.readOnly && h("div", { class: "bar" }, h("button", { type: "button", class: "main", id: "take-best", onclick: () => take(chosen.best) },
        `Take the best: ${differing.map(([instance, best]) => `${instance} = ${best}`).join(", ")}`)));
  }

  /** Why the best may not be the best. */
  function doubt({ difference, reversed, spread_known: known, run }) {
    const [instance, others] = run ?? [];
    return [`The best and the next cannot be told apart: ${time(difference)} between them, `,
      known ? `and the other one is faster with a probability of ${figures(100 * reversed)} %.` : "and how far off that may be is not known.",
      instance && ` More runs with ${instance} = ${others.join(" and ")} would tell.`].filter(Boolean).join("");
  }

  function ranked(chosen) {
    if (!(chosen.ranked?.length > 1)) return null;
    const names = Object.keys(chosen.ranked[0].assembly);
    const columns = [...names.map((name) => ({ title: name, of: (row) => row.assembly[name] })),
      { title: "predicted", number: true, of: (row) => row.predicted_s, cell: (row) => time(row.predicted_s) },
      { title: "of the best", number: true, of: (row) => row.predicted_s / chosen.predicted_s, cell: (row) => (row.predicted_s / chosen.predicted_s).toFixed(3) }];
    if (!page.readOnly) {
      columns.push({ title: "choose", of: () => "", cell: (row) => {
        const present = Object.entries(row.assembly).every(([instance, one]) => editor.assembly.instances[instance] === one);
        return present ? "present" : h("button", { type: "button", onclick: () => take(row.assembly) }, "Take it");
      } });
    }
    const all = String(chosen.ranked.length) === String(chosen.assemblies);
    return [h("p", {}, all ? `All ${chosen.assemblies} assemblies:` : `The ${chosen.ranked.length} best of ${chosen.assemblies} assemblies:`),
      table("Assemblies by predicted time", columns, chosen.ranked)];
  }

  const keys = editingKeys(page, save, step);
  document.addEventListener("keydown", keys);
  await refresh();
  return {
    dirty,
    leave: () => !dirty() || confirm("The changes are not saved. Leave them?"),
    jobs: () => {
      if (editor.chosen) drawInspector();
    },
    end() {
      aborted.abort();
      document.removeEventListener("keydown", keys);
    },
    async changed() {
      drawBar();
      const text = await api.text(path).catch(() => null);
      if (text === null || text === editor.saved) return;
      if (dirty()) {
        page.say("The file has changed underneath: Save refuses to write over it.", true);
        drawBar(true);
      } else await reload();
    },
  };
}
