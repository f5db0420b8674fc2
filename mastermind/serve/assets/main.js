// The page: entries of the folder on the left, the view of one of them, running jobs below. The address names the view.

import * as api from "./api.js";
import { h } from "./dom.js";
import { failure } from "./parts.js";
import { assembly } from "./assembly.js";
import { records } from "./records.js";
import { models } from "./models.js";
import { model } from "./model.js";
import { plain } from "./plain.js";
import { Jobs } from "./jobs.js";

const KINDS = [
  ["assembly", "Assemblies", assembly], ["script", "Scripts", plain], ["records", "Runs", records], ["models", "Models", models],
  ["model", "Programs and diagrams", model], ["machine", "Machines", plain], ["network", "Networks", plain],
];

const main = document.getElementById("main");
const state = document.getElementById("state");

/** Argument of every view. */
const page = {
  entries: [],
  readOnly: false,
  of: (kind) => page.entries.filter((entry) => entry.kind === kind).map((entry) => entry.path),
  say(text, bad = false) {
    state.textContent = text;
    state.className = bad ? "bad" : "";
  },
  jobs: null,
  open: (path) => { location.hash = encodeURIComponent(path); },
};
let shown = null;

function drawEntries() {
  const current = decodeURIComponent(location.hash.slice(1));
  const lists = KINDS.map(([kind, title]) => {
    const paths = page.of(kind);
    return paths.length > 0 && [h("h2", {}, title), h("ul", {}, paths.map((path) => h("li", {},
      h("a", { href: `#${encodeURIComponent(path)}`, "aria-current": path === current && "page" }, path))))];
  });
  const nav = document.getElementById("entries");
  nav.replaceChildren(...lists.flat(3).filter(Boolean));
  if (!page.readOnly) {
    nav.append(h("h2", {}, "New"), h("button", { type: "button", onclick: newFile }, "New file"));
  }
  if (!page.entries.length) nav.append(h("p", {}, "No assembly, run or model is in this folder."));
  if (page.cut) nav.append(h("p", { class: "faint" }, "Not all entries are listed."));
}

/** Initial text of a new file, by its ending. */
const BEGINNINGS = {
  toml: (name) => `[assembly]\nname = ${JSON.stringify(name)}\n\n[instances]\n\n[connections]\n`,
  puml: (name) => `@startuml ${name}\nstart\n:A <<action+>> {cost = ms(1)};\nstop\n@enduml\n`,
};

async function newFile() {
  const given = prompt("Name of the new file: .toml for an assembly, .puml for a diagram");
  if (!given) return;
  const file = /\.[a-z]+$/.test(given) ? given : `${given}.toml`;
  const [, stem, ending] = /([^/]*)\.([a-z]+)$/.exec(file);
  const begin = BEGINNINGS[ending];
  if (!begin) {
    page.say(`error: cannot make "${file}": expected .toml for an assembly or .puml for a diagram`, true);
    return;
  }
  try {
    await api.save(file, null, begin(stem));
    await load();
    page.open(file);
  } catch (error) {
    page.say(error.message, true);
  }
}

async function load() {
  const served = await api.folder();
  Object.assign(page, { entries: served.entries, readOnly: served.read_only, cut: served.cut });
  document.getElementById("folder").textContent = `${served.name}${served.read_only ? " (read-only)" : ""}`;
  drawEntries();
  return served;
}

async function show() {
  const path = decodeURIComponent(location.hash.slice(1));
  if (shown?.path === path) return;
  if (shown?.leave && !shown.leave()) {
    location.hash = encodeURIComponent(shown.path);
    return;
  }
  shown?.end?.();
  // Also of a view that is still being opened: the server ends what answers nobody.
  shown?.aborted?.abort();
  const aborted = new AbortController();
  shown = { path, aborted };
  drawEntries();
  if (!path) {
    document.title = "Mastermind";
    main.replaceChildren(h("h2", {}, "What is in the folder"), h("p", {},
      "Choose an assembly to see its wiring and change it, a run to see where its time went, models to see their curves, a program or a diagram to simulate it."));
    return;
  }
  const entry = page.entries.find((entry) => entry.path === path);
  document.title = `${path} – Mastermind`;
  if (!entry) {
    main.replaceChildren(failure(new Error(`error: cannot open "${path}": it is not in the folder`)));
    return;
  }
  const view = KINDS.find(([kind]) => kind === entry.kind)[2];
  const place = h("div");
  main.replaceChildren(h("h2", {}, path), place);
  main.setAttribute("aria-busy", "true");
  try {
    const opened = await view(page, path, place, aborted);
    if (shown.path === path) Object.assign(shown, opened);
    else opened?.end?.();
  } catch (error) {
    if (error.name !== "AbortError") place.append(failure(error));
  } finally {
    if (shown.path === path) main.removeAttribute("aria-busy");
  }
}

function hear(event) {
  if (event.news === "files" || event.news === "again") {
    load().then(() => {
      shown?.changed?.();
      if (!shown?.path) show();
    }).catch((error) => page.say(error.message, true));
  }
  page.jobs.hear(event);
  if (event.news === "started" || event.news === "ended") shown?.jobs?.();
}

window.addEventListener("hashchange", show);
window.addEventListener("beforeunload", (event) => {
  if (shown?.dirty?.()) event.preventDefault();
});

try {
  const served = await load();
  page.jobs = new Jobs(page, document.getElementById("jobs"));
  await page.jobs.load();
  if (!location.hash && served.start) location.hash = encodeURIComponent(served.start);
  await show();
  api.news(hear, (message) => page.say(message ?? "", message !== null));
} catch (error) {
  main.replaceChildren(failure(error));
}
