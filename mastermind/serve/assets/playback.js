// Playback of a simulated run: a moment of simulated time, the position of each process at it, and the messages in flight.

import { choice, h, time } from "./dom.js";
import { first, timeline } from "./timeline.js";

/** Seconds of real time that the playback of a whole run takes. */
const SECONDS = 12;

/**
 * Follows a run. `found` is the answer of `simulate --timeline`, `step(element)` the step of the picture for an element,
 * `show(places, flights)` shows a moment in the picture. Returns `{place, again(), end()}`.
 */
export function follow(found, step, show) {
  const end = Math.max(1, found.makespan_ns);
  const steps = found.elements.map(step);
  const rows = found.timeline.map((row) => ({ ...row, name: row.rank }));
  const rowOf = new Map(rows.map((row, at) => [row.rank, at]));
  const between = found.messages_between?.flights ?? [];
  const byRow = between.map((number, at) => (at % 5 < 2 ? rowOf.get(number) : number));
  let moment = 0;
  let speed = 1;
  let frame = null;
  let last = 0;

  const chart = timeline("What processes do when", { end_ns: end, rows, names: found.elements.map((one) => one.name), flights: byRow }, (ns) => {
    pause();
    at(ns);
  });
  const slider = h("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Simulated time", oninput: () => {
    pause();
    at((slider.value / 1000) * end);
  } });
  const said = h("span", { class: "number" });
  const play = h("button", { type: "button", id: "play", onclick: () => (frame === null ? start() : pause()) }, "Play");

  /** Position of a process: the step of its slice, and whether it waits there. Waiting is the begin of a slice. */
  function placeOf(row) {
    const i = first(row.slices, moment);
    if (i >= row.slices.length || row.slices[i + 1] > moment) return null;
    return { step: steps[row.slices[i]], waits: moment < row.slices[i + 1] + row.waits[i / 3] };
  }

  function at(ns) {
    moment = Math.min(end, Math.max(0, ns));
    slider.value = (1000 * moment) / end;
    said.textContent = time(moment / 1e9);
    const places = new Map();
    for (const row of rows) {
      const place = placeOf(row);
      if (place && place.step !== undefined) places.set(row.rank, place);
    }
    const flights = [];
    for (let i = 0; i < between.length; i += 5) {
      const [leaves, arrives] = [between[i + 3], between[i + 4]];
      if (leaves <= moment && moment < arrives) flights.push({ from: between[i], to: between[i + 1], part: (moment - leaves) / Math.max(1, arrives - leaves) });
    }
    show(places, flights);
    chart.at(moment);
  }

  function start() {
    if (moment >= end) moment = 0;
    play.textContent = "Pause";
    last = performance.now();
    const next = (now) => {
      at(moment + ((now - last) / 1000 / SECONDS) * end * speed);
      last = now;
      if (moment >= end) pause();
      else frame = requestAnimationFrame(next);
    };
    frame = requestAnimationFrame(next);
  }

  function pause() {
    if (frame !== null) cancelAnimationFrame(frame);
    frame = null;
    play.textContent = "Play";
  }

  /** The next moment at which a process begins or ends something. */
  function stepBy(sign) {
    pause();
    let best = sign > 0 ? end : 0;
    for (const { slices } of rows) {
      const i = first(slices, moment);
      for (let k = Math.max(0, i - 3); k < Math.min(slices.length, i + 6); k += 3) {
        for (const ns of [slices[k + 1], slices[k + 2]]) {
          if (sign > 0 ? ns > moment && ns < best : ns < moment && ns > best) best = ns;
        }
      }
    }
    at(best);
  }

  const bar = h("div", { class: "bar" }, play, h("button", { type: "button", onclick: () => stepBy(-1) }, "Step back"), h("button", { type: "button", onclick: () => stepBy(1) }, "Step on"),
    slider, said, h("label", {}, "Speed", choice("Speed", [["0.1", "a tenth"], ["0.3", "a third"], ["1", "as it is"], ["3", "three times"]], "1", (value) => { speed = Number(value); })));
  return {
    bar: h("div", { class: "playback" }, bar),
    place: chart.place,
    again: () => at(moment),
    end() {
      pause();
      chart.end();
      show(new Map(), []);
    },
  };
}
