// Activities of processes over time: a row each, with zoom by keys, wheel and buttons. Slices narrower than a pixel are drawn as one.
// A row may have the shares of elements in columns instead of slices; then a closer view is asked for while one zooms.

import { h, time } from "./dom.js";

// Lengths in pixels.
const ROW = 18;
const LEFT = 46;
const FOOT = 22;
/** Factor of a step of zoom, and the part of the view that a step moves along. */
const ZOOM = 1.6;
const STEP = 0.2;
/** A view that begins later than so many times its length has times relative to its beginning. */
const FAR = 10;
/** Milliseconds without another step of zoom before a closer view is asked for. */
const PAUSE = 80;
/** More messages in the view than this are not drawn one by one. */
const MAX_MESSAGES = 1500;

/** A colour of element number `at`: hues far apart from one to the next, by the golden angle. */
export const colour = (at) => `hsl(${(210 + at * 137.508) % 360} 55% ${at % 2 ? 62 : 48}%)`;

/**
 * A timeline. `data`: `end_ns`, `rows` of `{name, slices: [element, begin, end, …], waits: [ns, …]}`, `names` of elements, `flights` as
 * `[row, row, bytes, leaves, arrives, …]`. A row may have `parts` instead of slices: `[column, columns, element, thousandths, …]`, and
 * `data` the beginning and the width of the columns, `from_ns` and `column_ns`. Returns `{place, at(ns)}`; `at` shows a moment,
 * `moved(ns)` is called for a click, `closer(from, to, width, height)` gives other data of a part of the time.
 */
export function timeline(label, first_data, moved, closer) {
  let data = first_data;
  const whole = Math.max(1, data.end_ns);
  let [from, to] = [0, whole];
  let moment = null;
  const hidden = new Set();
  const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": `${label}. Plus and minus zoom, arrow keys go along, Home shows all.` });
  const said = h("span", { class: "faint", role: "status" });
  const scroll = h("div", { class: "timeline" }, canvas);

  function draw() {
    const width = Math.max(200, scroll.clientWidth || 700);
    const height = data.rows.length * ROW + FOOT;
    const scale = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(document.body);
    const ink = style.color;
    const x = (ns) => LEFT + ((ns - from) / (to - from)) * (width - LEFT - 4);
    pen.font = "11px system-ui, sans-serif";
    data.rows.forEach((row, at) => {
      const y = at * ROW + 2;
      pen.fillStyle = ink;
      pen.textAlign = "right";
      pen.fillText(row.name, LEFT - 6, y + 11);
      if (row.parts) {
        drawParts(pen, row.parts, y, x);
        return;
      }
      const { slices, waits } = row;
      let last = -1;
      for (let i = first(slices, from); i < slices.length && slices[i + 1] < to; i += 3) {
        const [left, right] = [Math.max(LEFT, x(slices[i + 1])), Math.min(width - 4, x(slices[i + 2]))];
        if (right <= last || hidden.has(slices[i])) continue;
        last = Math.max(right, left + 1);
        pen.fillStyle = colour(slices[i]);
        pen.globalAlpha = 1;
        pen.fillRect(left, y, last - left, ROW - 5);
        // The waiting part is paler: it comes before the rest.
        const waited = waits ? waits[i / 3] : 0;
        const end = Math.min(right, x(slices[i + 1] + waited));
        if (waited > 0 && end - left > 1) {
          pen.fillStyle = style.backgroundColor;
          pen.globalAlpha = 0.65;
          pen.fillRect(left, y + 1, end - left, ROW - 7);
        }
        pen.globalAlpha = 1;
      }
      if (row.cut !== null && row.cut !== undefined && row.cut < to) {
        pen.fillStyle = ink;
        pen.textAlign = "left";
        pen.fillText("not kept from here on", Math.max(LEFT, x(row.cut)) + 4, y + 11);
      }
    });
    const flights = [];
    for (let i = 0; i < (data.flights?.length ?? 0); i += 5) {
      if (data.flights[i + 4] >= from && data.flights[i + 3] <= to) flights.push(i);
      if (flights.length > MAX_MESSAGES) break;
    }
    pen.strokeStyle = ink;
    pen.globalAlpha = 0.5;
    if (flights.length <= MAX_MESSAGES) {
      for (const i of flights) {
        pen.beginPath();
        pen.moveTo(x(data.flights[i + 3]), data.flights[i] * ROW + ROW / 2);
        pen.lineTo(x(data.flights[i + 4]), data.flights[i + 1] * ROW + ROW / 2);
        pen.stroke();
      }
    }
    pen.globalAlpha = 1;
    pen.fillStyle = ink;
    const bottom = data.rows.length * ROW;
    const isFar = from > FAR * (to - from);
    for (let part = 0; part <= 4; part += 1) {
      const ns = from + ((to - from) * part) / 4;
      pen.fillRect(x(ns), bottom, 1, 4);
      pen.textAlign = part === 0 ? "left" : part === 4 ? "right" : "center";
      pen.fillText(isFar && part > 0 ? `+${time((ns - from) / 1e9)}` : momentName(from, ns), x(ns), bottom + 16);
    }
    if (moment !== null && moment >= from && moment <= to) {
      pen.fillStyle = ink;
      pen.fillRect(x(moment) - 0.5, 0, 1.5, bottom);
    }
    said.textContent = `${isFar ? `${time((to - from) / 1e9)} from ${momentName(from, from)}` : `${time(from / 1e9)} to ${time(to / 1e9)}`}${flights.length > MAX_MESSAGES ? "; messages are drawn from closer" : ""}`;
  }

  /** A moment, with as many digits as the view shows apart. */
  function momentName(begin, ns) {
    const digits = Math.min(9, Math.ceil(Math.log10(1e11 / (to - from))));
    return begin > FAR * (to - from) ? `${(ns / 1e9).toFixed(Math.max(0, digits))} s` : time(ns / 1e9);
  }

  /** The elements of each column over each other. */
  function drawParts(pen, parts, y, x) {
    const bottoms = new Map();
    for (let i = 0; i < parts.length; i += 4) {
      if (hidden.has(parts[i + 2])) continue;
      pen.fillStyle = colour(parts[i + 2]);
      const share = parts[i + 3] / 1000;
      for (let column = parts[i]; column < parts[i] + parts[i + 1]; column += 1) {
        const bottom = bottoms.get(column) ?? 0;
        bottoms.set(column, bottom + share);
        const begin = data.from_ns + column * data.column_ns;
        // Whole pixels: parts of them would let the background shine through.
        const left = Math.floor(Math.max(LEFT, x(begin)));
        const right = Math.ceil(x(Math.min(whole, begin + data.column_ns)));
        if (right <= LEFT) continue;
        const room = ROW - 5;
        pen.fillRect(left, y + room * (1 - bottom - share), right - left, room * share);
      }
    }
  }

  let asked = 0;
  let timer = null;
  /** Asks for what is in the view now, once it stays for a moment; of several answers only the latest counts. */
  function ask() {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      asked += 1;
      const mine = asked;
      const found = await closer(from, to, Math.round(scroll.clientWidth || 700)).catch(() => null);
      if (found && mine === asked) {
        data = found;
        draw();
      }
    }, PAUSE);
  }

  function show(begin, end) {
    const span = Math.min(whole, Math.max(1, end - begin));
    from = Math.min(Math.max(0, begin), whole - span);
    to = from + span;
    draw();
    if (closer) ask();
  }
  const zoom = (by, about = (from + to) / 2) => show(about - (about - from) / by, about + (to - about) / by);
  const along = (by) => show(from + by * (to - from), to + by * (to - from));
  const under = (event) => from + ((event.offsetX - LEFT) / (canvas.clientWidth - LEFT - 4)) * (to - from);
  canvas.addEventListener("keydown", (event) => {
    const act = { "+": () => zoom(ZOOM), "=": () => zoom(ZOOM), "-": () => zoom(1 / ZOOM), ArrowLeft: () => along(-STEP), ArrowRight: () => along(STEP), Home: () => show(0, whole) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, under(event));
  }, { passive: false });
  canvas.addEventListener("click", (event) => moved?.(Math.min(whole, Math.max(0, under(event)))));
  canvas.addEventListener("mousemove", (event) => {
    const row = data.rows[Math.floor(event.offsetY / ROW)];
    const ns = under(event);
    if (row?.parts) {
      canvas.title = `${row.name}: ${shares(row.parts, Math.floor((ns - data.from_ns) / data.column_ns), data.names)}`;
      return;
    }
    const i = row ? first(row.slices, ns) : Infinity;
    const hit = row && i < row.slices.length && row.slices[i + 1] <= ns;
    canvas.title = hit ? `${row.name}: ${data.names[row.slices[i]]}, ${time((row.slices[i + 2] - row.slices[i + 1]) / 1e9)} from ${time(row.slices[i + 1] / 1e9)}` : "";
  });
  const button = (text, name, act) => h("button", { type: "button", "aria-label": name, onclick: act }, text);
  const bar = h("div", { class: "bar" }, button("+", "Zoom in", () => zoom(ZOOM)), button("−", "Zoom out", () => zoom(1 / ZOOM)), button("←", "Earlier", () => along(-STEP)),
    button("→", "Later", () => along(STEP)), button("all", "Show all of the time", () => show(0, whole)), said);
  const watch = new ResizeObserver(draw);
  watch.observe(scroll);
  return {
    place: h("div", {}, bar, scroll, h("ul", { class: "legend" }, data.names.map((name, at) => {
      const mark = h("span", { class: "swatch" });
      mark.style.background = colour(at);
      const shown = h("button", { type: "button", "aria-pressed": "true", onclick: () => {
        if (!hidden.delete(at)) hidden.add(at);
        shown.setAttribute("aria-pressed", String(!hidden.has(at)));
        draw();
      } }, mark, name);
      return h("li", {}, shown);
    }))),
    at(ns) {
      moment = ns;
      draw();
    },
    end() {
      clearTimeout(timer);
      watch.disconnect();
    },
  };
}

/** The elements in a column with their shares, those with the most first. */
export function shares(parts, column, names) {
  const found = [];
  for (let i = 0; i < parts.length; i += 4) {
    if (parts[i] <= column && column < parts[i] + parts[i + 1]) found.push([names[parts[i + 2]], parts[i + 3]]);
  }
  found.sort((a, b) => b[1] - a[1]);
  return found.map(([name, share]) => `${name} ${(share / 10).toFixed(1)} %`).join(", ") || "nothing";
}

/** The index of the first slice that ends after a moment. */
export function first(slices, ns) {
  let [low, high] = [0, slices.length / 3];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (slices[3 * middle + 2] <= ns) low = middle + 1;
    else high = middle;
  }
  return 3 * low;
}
