// Jobs started from a page of this server, with their output as it comes.

import * as api from "./api.js";
import { h } from "./dom.js";

export class Jobs {
  constructor(page, place) {
    this.page = page;
    this.place = place;
    this.drawn = new Map();
    this.waiting = new Map();
  }

  async load() {
    const all = await api.jobs();
    this.place.replaceChildren();
    this.drawn.clear();
    for (const job of all) {
      const drawn = this.add(job.id, job.command);
      if (job.dropped) drawn.output.append(`(${job.dropped} lines before)\n`);
      drawn.output.append(job.lines.map((line) => `${line}\n`).join(""));
      if (!job.running) this.end(job.id, job.code);
    }
  }

  /** Starts a job; returns its exit code when it is over. */
  async start(wanted) {
    const job = this.allowed(wanted);
    if (job === null) return null;
    try {
      const { id } = await api.start(job);
      return await new Promise((resolve) => {
        this.waiting.set(id, resolve);
        const drawn = this.drawn.get(id);
        if (drawn?.ended) this.end(id, drawn.code);
      });
    } catch (error) {
      this.page.say(error.message, true);
      return null;
    }
  }

  /** The run of an assembly in which instances may be swapped, if one is running. */
  swappable(path) {
    const found = [...this.drawn].find(([, job]) => !job.ended && job.line.startsWith(`mastermind run ${path} `) && job.line.includes(" --redirectable"));
    return found?.[0] ?? null;
  }

  /** Runs the job, and overwrites existing files if the user permits it; files of another type are never overwritten. */
  allowed(job) {
    const [to, kind] = job.start === "run" ? [job.records, "records"] : job.start === "fit" ? [job.output, "models"] : [null, null];
    const there = to && this.page.entries.find((entry) => entry.path === to);
    if (!there) return job;
    if (there.kind !== kind) {
      this.page.say(`error: cannot write "${to}": it is there and no ${kind}; name another one`, true);
      return null;
    }
    return confirm(`"${to}" is there. Write over it?`) ? { ...job, force: true } : null;
  }

  add(id, line) {
    const known = this.drawn.get(id);
    if (known) return known;
    const output = h("pre", { tabindex: "0", "aria-label": `Output of job ${id}` });
    const state = h("span", { role: "status" }, "runs");
    const stop = h("button", { type: "button", onclick: () => api.stop(id).catch((error) => this.page.say(error.message, true)) }, "Stop");
    const details = h("details", { open: true }, h("summary", {}, h("code", {}, line), " – ", state), h("div", { class: "bar" }, stop), output);
    this.place.prepend(details);
    const drawn = { line, output, state, stop, ended: false };
    this.drawn.set(id, drawn);
    return drawn;
  }

  end(id, code) {
    const drawn = this.drawn.get(id);
    if (!drawn) return;
    Object.assign(drawn, { ended: true, code });
    drawn.state.textContent = code === 0 ? "done" : code === null ? "ended by a signal" : `failed with exit code ${code}`;
    drawn.state.className = code === 0 ? "" : "bad";
    drawn.stop.remove();
    this.waiting.get(id)?.(code);
    this.waiting.delete(id);
  }

  hear(event) {
    if (event.news === "started") this.add(event.id, event.command);
    else if (event.news === "ended") this.end(event.id, event.code);
    else if (event.news === "again") this.load().catch(() => {});
    else if (event.news === "line") {
      const output = this.drawn.get(event.id)?.output;
      if (!output) return;
      const below = output.scrollTop + output.clientHeight >= output.scrollHeight - 4;
      output.append(`${event.line}\n`);
      if (below) output.scrollTop = output.scrollHeight;
    }
  }
}
