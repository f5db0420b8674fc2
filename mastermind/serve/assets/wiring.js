// The picture of an assembly: boxes in the columns of `graph`, all ports of each class, connections between them.

import { s, time, figures } from "./dom.js";

// Lengths in pixels.
const LETTER = 7;
const LINE = 18;
const HEAD = 42;
const GAP_X = 90;
const GAP_Y = 26;
const MARGIN = 20;
const PORT = 9;
/** A step by an arrow key. */
const STEP = 10;

/** All ports of an instance: those of its class, and connected ones of an unknown class. */
export function ports(instance, classes) {
  const known = classes.get(instance.class);
  const names = (list) => (list ?? []).map((port) => port.name);
  const all = (own, connected) => [...new Set([...own, ...connected])];
  return { provides: all(names(known?.provides), instance.provides), uses: all(names(known?.uses), instance.uses) };
}

/** Time of an instance, and its predictions. */
function times({ measured, predicted }) {
  if (!measured) return "";
  return [time(measured.compute_s), predicted && `models ${time(predicted.compute_s)}`, measured.mpi_s > 0 && `MPI ${time(measured.mpi_s)}`].filter(Boolean).join(", ");
}

function sizes(instance, shown) {
  const longest = (list) => Math.max(0, ...list.map((name) => name.length));
  const letters = Math.max(longest(shown.provides) + longest(shown.uses) + 6, instance.name.length + 3, instance.class.length + 2, times(instance).length + 1, 16);
  const head = HEAD + (instance.measured || instance.predicted ? LINE : 0);
  return { head, width: letters * LETTER, height: head + LINE * Math.max(shown.provides.length, shown.uses.length) + 8 };
}

/** Positions of the boxes: columns from left to right, each in the middle, then moved by hand. */
function placed(wiring, classes, moved) {
  const boxes = wiring.instances.map((instance) => {
    const shown = ports(instance, classes);
    return { instance, ...shown, ...sizes(instance, shown) };
  });
  const columns = [];
  for (const box of boxes) (columns[box.instance.column] ??= []).push(box);
  const filled = columns.filter(Boolean);
  const tall = (column) => column.reduce((sum, box) => sum + box.height + GAP_Y, -GAP_Y);
  const total = Math.max(0, ...filled.map(tall));
  let x = MARGIN;
  for (const column of filled) {
    column.sort((a, b) => a.instance.row - b.instance.row);
    const width = Math.max(...column.map((box) => box.width));
    let y = MARGIN + (total - tall(column)) / 2;
    for (const box of column) {
      const [dx, dy] = moved[box.instance.name] ?? [0, 0];
      Object.assign(box, { x: Math.max(0, x + dx), y: Math.max(0, y + dy), width });
      y += box.height + GAP_Y;
    }
    x += width + GAP_X;
  }
  return boxes;
}

/**
 * Draws an assembly. `look`: `classes` by name, `chosen` instance, `open` uses port that waits for its other end, `fits(uses, provides)`,
 * `problems` by instance, `moved` offsets by instance, and functions to call: `choose(instance)`, `pick(end, kind)`, `move(instance, dx, dy)`.
 */
export function draw(wiring, look) {
  const boxes = placed(wiring, look.classes, look.moved);
  const by = new Map(boxes.map((box) => [box.instance.name, box]));
  const heaviest = Math.max(0, ...wiring.instances.map((one) => one.measured?.compute_s ?? 0));
  const mostCalls = Math.max(0, ...wiring.connections.map((one) => one.calls ?? 0));
  const portY = (box, list, name) => box.y + box.head + LINE * (list.indexOf(name) + 0.5);
  const wires = wiring.connections.map((one) => {
    const [from, to] = [by.get(one.user), by.get(one.provider)];
    if (!from || !to) return null;
    const [x1, y1] = [from.x + from.width, portY(from, from.uses, one.uses)];
    const [x2, y2] = [to.x, portY(to, to.provides, one.provides)];
    const bend = Math.max(Math.abs(x2 - x1) / 2, GAP_X / 2);
    const thick = one.calls === undefined || one.calls === null ? 1.3 : 1 + (3 * Math.log(1 + one.calls)) / Math.log(1 + mostCalls || 2);
    const chosen = look.chosen === one.user || look.chosen === one.provider;
    return [s("path", { class: chosen ? "wire chosen" : "wire", "stroke-width": thick.toFixed(1), d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` },
      s("title", {}, `${one.user}.${one.uses} to ${one.provider}.${one.provides}`)),
    one.calls !== undefined && one.calls !== null && s("text", { class: "calls", x: x1 + 10, y: y1 - 3 }, `${figures(one.calls)} calls`)];
  });
  const connected = new Set(wiring.connections.map((one) => `${one.user}.${one.uses}`));
  const provided = new Set(wiring.connections.map((one) => `${one.provider}.${one.provides}`));

  function port(box, kind, name) {
    const end = `${box.instance.name}.${name}`;
    const uses = kind === "uses";
    const x = uses ? box.x + box.width : box.x;
    const y = portY(box, box[kind], name);
    const free = !(uses ? connected : provided).has(end);
    const waits = look.open !== null && !uses;
    const classes = ["port", kind, free && "open", end === wiring.go && "go", waits && (look.fits(look.open, end) ? "fits" : "dim"), look.open === end && "fits"];
    return s("g", { class: classes.filter(Boolean).join(" "), "data-end": end, onclick: (event) => {
      event.stopPropagation();
      look.pick(end, kind);
    } },
    s("title", {}, `${kind} port ${end}${end === wiring.go ? ", starts the assembly" : ""}`),
    s("rect", { x: x - PORT / 2, y: y - PORT / 2, width: PORT, height: PORT }),
    s("text", { class: uses ? "right" : "", x: uses ? x - 9 : x + 9, y: y + 4 }, name));
  }

  const drawn = boxes.map((box) => {
    const { instance } = box;
    const own = instance.measured?.compute_s;
    const problem = look.problems.has(instance.name);
    const label = [instance.name, instance.class, times(instance), problem && "has a problem"].filter(Boolean).join(" ");
    const group = s("g", {
      class: ["instance", look.chosen === instance.name && "chosen", problem && "problem"].filter(Boolean).join(" "),
      tabindex: "0", role: "button", "aria-label": label, "aria-pressed": String(look.chosen === instance.name), "data-instance": instance.name,
      onclick: () => look.choose(instance.name),
      onkeydown: (event) => {
        const step = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
        if (step && event.shiftKey) {
          event.preventDefault();
          look.move(instance.name, ...step);
        } else if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          look.choose(instance.name);
        }
      },
    },
    s("rect", { class: "box", x: box.x, y: box.y, width: box.width, height: box.height, rx: 4 }),
    s("text", { class: "name", x: box.x + box.width / 2, y: box.y + 17 }, instance.name),
    s("text", { class: "class", x: box.x + box.width / 2, y: box.y + 33 }, instance.class),
    own !== undefined && s("text", { class: "time", x: box.x + box.width / 2, y: box.y + 50 }, times(instance)));
    if (own && heaviest) {
      const rect = group.querySelector("rect");
      rect.style.fill = `color-mix(in oklab, var(--box), hsl(var(--hot)) ${Math.round((100 * own) / heaviest)}%)`;
    }
    drag(group, (dx, dy) => look.move(instance.name, dx, dy));
    return [group, box.provides.map((name) => port(box, "provides", name)), box.uses.map((name) => port(box, "uses", name))];
  });
  const width = Math.max(300, ...boxes.map((box) => box.x + box.width)) + MARGIN;
  const height = Math.max(120, ...boxes.map((box) => box.y + box.height)) + MARGIN;
  return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Wiring of ${wiring.assembly}` }, wires, drawn);
}

/** Lets the pointer move a box; a movement of few pixels is a click. */
function drag(group, moved) {
  group.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = [event.clientX, event.clientY];
    const follow = (now) => { group.setAttribute("transform", `translate(${now.clientX - x} ${now.clientY - y})`); };
    const end = (now) => {
      window.removeEventListener("pointermove", follow);
      group.removeAttribute("transform");
      const [dx, dy] = [now.clientX - x, now.clientY - y];
      if (Math.hypot(dx, dy) > 4) moved(dx, dy);
    };
    window.addEventListener("pointermove", follow);
    window.addEventListener("pointerup", end, { once: true });
  });
}
