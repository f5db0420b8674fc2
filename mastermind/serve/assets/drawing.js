// The picture of a diagram: the marks of `graph`, with the simulated times of each element.

import { s, time } from "./dom.js";

// Lengths in pixels.
const TOKEN = 7;
const BAR = 5;
/** Up to this many processes each have a token of their own; with more, an element shows their number. */
export const TOKENS = 16;

function shape(mark) {
  const common = { class: mark.class };
  if (mark.form === "rect") return s("rect", { ...common, x: mark.x, y: mark.y, width: mark.width, height: mark.height, rx: mark.rx });
  if (mark.form === "circle") return s("circle", { ...common, cx: mark.x, cy: mark.y, r: mark.r });
  if (mark.form === "path") return s("path", { ...common, d: mark.d, "marker-end": mark.tip && "url(#tip)" });
  return s("text", { ...common, x: mark.x, y: mark.y }, mark.text);
}

/** All steps of a drawn model, each after the step that contains it. */
export function stepsOf(drawn) {
  const found = [];
  const walk = (flow) => flow.forEach((step) => {
    found.push(step);
    (step.branches ?? []).forEach((way) => walk(way.flow));
  });
  drawn.activities.forEach((activity) => walk(activity.flow));
  return found;
}

/** The marks of a step that show its position: its box, or its diamond. */
function boxOf(marks) {
  const rect = marks.find((mark) => mark.form === "rect");
  if (rect) return rect;
  const path = marks.find((mark) => mark.form === "path");
  const numbers = (path?.d.match(/-?[\d.]+/g) ?? []).map(Number);
  const [xs, ys] = [numbers.filter((_, at) => at % 2 === 0), numbers.filter((_, at) => at % 2 === 1)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/**
 * Draws a model. `look`: `chosen` step, `problems` by step, `shares` by step (`{share, wait, total_ns, wait_ns}`), `choose(step)`.
 * Returns the picture and `tokens(places, flights)`, which shows the positions of processes and messages.
 */
export function draw(drawn, look) {
  const { width, height, marks } = drawn.drawing;
  const own = new Map();
  for (const mark of marks) {
    if (mark.step !== undefined) own.set(mark.step, [...(own.get(mark.step) ?? []), mark]);
  }
  const boxes = new Map([...own].map(([id, list]) => [id, boxOf(list)]));
  const steps = stepsOf(drawn);
  const byId = new Map(steps.map((step) => [step.id, step]));
  const order = steps.map((step) => step.id);
  const groups = new Map();

  function group(id) {
    const step = byId.get(id);
    const box = boxes.get(id);
    const share = look.shares.get(id);
    const kinds = ["element", look.chosen === id && "chosen", look.problems.has(id) && "problem"].filter(Boolean).join(" ");
    const said = share ? `, ${(100 * share.share).toFixed(1)} % of the time${share.wait > 0 ? `, ${(100 * share.wait).toFixed(1)} % waiting` : ""}` : "";
    const one = s("g", { class: kinds, tabindex: "0", role: "button", "data-step": id, "aria-label": `${step.kind} ${step.name}${said}${look.problems.has(id) ? ", has a problem" : ""}`,
      "aria-pressed": String(look.chosen === id), onclick: (event) => {
        event.stopPropagation();
        look.choose(id);
      }, onkeydown: (event) => {
        const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
        if (event.key === "Enter" || event.key === " ") look.choose(id);
        else if (by) groups.get(order[order.indexOf(id) + by])?.focus();
        else return;
        event.preventDefault();
      } }, own.get(id).map(shape));
    if (share && step.kind !== "decision") {
      const leaf = !step.branches;
      const wide = box.width - 12;
      const y = leaf ? box.y + box.height - BAR / 2 : box.y - BAR / 2;
      one.append(s("rect", { class: "share-ground", x: box.x + 6, y, width: wide, height: BAR }),
        s("rect", { class: "share-busy", x: box.x + 6, y, width: (wide * Math.max(0, share.share - share.wait)).toFixed(1), height: BAR }),
        s("rect", { class: "share-wait", x: (box.x + 6 + wide * Math.max(0, share.share - share.wait)).toFixed(1), y, width: (wide * share.wait).toFixed(1), height: BAR }),
        s("text", { class: "share-text", x: box.x + box.width + 3, y: box.y + (leaf ? box.height : 11) }, `${(100 * share.share).toFixed(1)} %`));
    }
    one.append(s("title", {}, `${step.name}${share ? `: ${time(share.total_ns / 1e9)} over all processes${share.wait_ns ? `, ${time(share.wait_ns / 1e9)} of it waiting` : ""}` : ""}`));
    return one;
  }

  const layer = s("g", { class: "tokens", "aria-hidden": "true" });
  const body = [];
  for (const mark of marks) {
    if (mark.step === undefined) body.push(shape(mark));
    else if (!groups.has(mark.step)) {
      groups.set(mark.step, group(mark.step));
      body.push(groups.get(mark.step));
    }
  }
  const margin = look.shares.size ? 40 : 0;
  const picture = s("svg", { class: "diagram", viewBox: `0 0 ${width + margin} ${height}`, width: width + margin, height, role: "group", "aria-label": `Diagram of ${drawn.model}` },
    s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, s("path", { class: "dot", d: "M0 0 L10 5 L0 10 z" }))),
    body, layer);

  /** Position of the token of a process; by the number of tokens at the same element. */
  const spot = (id, at) => {
    const box = boxes.get(id);
    return box && [box.x + 8 + (at % 8) * (2 * TOKEN + 1), box.y - 2 + Math.floor(at / 8) * (2 * TOKEN + 1)];
  };

  /** `places`: by process its step and whether it waits there; `flights`: pairs of processes and the position of a message, 0 to 1. */
  function tokens(places, flights) {
    const counts = new Map();
    const where = new Map();
    const all = [];
    for (const [rank, place] of places) {
      const at = counts.get(place.step) ?? 0;
      counts.set(place.step, at + 1);
      const point = spot(place.step, at);
      if (!point) continue;
      where.set(rank, point);
      if (places.size <= TOKENS) {
        all.push(s("circle", { class: place.waits ? "token waits" : "token", cx: point[0], cy: point[1], r: TOKEN }), s("text", { class: "rank", x: point[0], y: point[1] + 3 }, rank));
      }
    }
    if (places.size > TOKENS) {
      for (const [id, count] of counts) {
        const point = spot(id, 0);
        if (point) all.push(s("rect", { class: "token", x: point[0] - TOKEN, y: point[1] - TOKEN, width: 3.4 * TOKEN, height: 2 * TOKEN, rx: TOKEN }), s("text", { class: "rank", x: point[0] + 0.7 * TOKEN, y: point[1] + 3 }, count));
      }
    }
    for (const { from, to, part } of flights) {
      const [a, b] = [where.get(from), where.get(to)];
      if (!a || !b) continue;
      const [x, y] = [a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part];
      all.push(s("path", { class: "flight", d: `M${a[0]} ${a[1]}L${b[0]} ${b[1]}` }), s("rect", { class: "message-token", x: x - 4, y: y - 3, width: 8, height: 6 }));
    }
    layer.replaceChildren(...all);
    for (const [id, one] of groups) one.classList.toggle("active", counts.has(id));
  }

  return { picture, tokens };
}
