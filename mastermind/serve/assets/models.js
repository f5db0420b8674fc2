// Fitted models: formulas, curves with their intervals, next measurements.

import * as api from "./api.js";
import { choice, figures, h, refill, s, table, time } from "./dom.js";
import { command, failure, notes } from "./parts.js";

export async function models(page, path, place) {
  const answer = await api.ask({ ask: "models", models: path });
  const all = answer.answer?.models ?? [];
  const one = h("div");
  const mode = (row) => Object.entries(row.where ?? {}).map(([name, value]) => `${name} = ${value}`).join(", ");
  place.append(...[notes(answer), one, table("Models", [
    { title: "method", of: (row) => row.method, cell: (row) => h("button", { type: "button", onclick: () => show(row) }, row.method) },
    { title: "of", of: (row) => row.metric },
    { title: "mode", of: (row) => mode(row) },
    { title: "formula in s", of: (row) => row.expression, cell: (row) => h("code", {}, row.expression) },
    { title: "error, %", number: true, of: (row) => row.cv_smape ?? row.smape, cell: (row) => figures(row.cv_smape ?? row.smape ?? NaN) },
    { title: "calls", number: true, of: (row) => row.n_records },
  ], all), command(answer.command)].flat(Infinity).filter(Boolean));

  async function show(row) {
    const at = {};
    for (const name of row.params) at[name] = row.range[name]?.[1] ?? 1;
    // A label that does not distinguish the model's modes takes any of its values.
    const labels = { ...row.where };
    for (const [name, values] of Object.entries(row.shared ?? {})) labels[name] ??= values[0];
    const curve = h("div", { "aria-live": "polite" });
    const suggested = h("div");
    let along = row.params[0];
    const pairs = () => [...Object.entries(labels), ...Object.entries(at)].map(([name, value]) => `${name}=${value}`).join(",");

    async function drawCurve() {
      try {
        const drawn = await api.ask({ ask: "predict", models: path, method: row.method, at: pairs(), along: along ?? "", metric: row.metric });
        const rows = drawn.answer?.rows;
        const point = drawn.answer;
        refill(curve, [notes(drawn), rows?.length > 0 && picture(rows, along, row.range[along]),
          point && !rows && h("p", { class: "total" }, h("strong", {}, time(point.value_s)), ` (95 % of calls between ${time(point.lower_s)} and ${time(point.upper_s)})`),
          command(drawn.command)]);
      } catch (error) {
        curve.replaceChildren(failure(error));
      }
    }

    async function drawNext() {
      const next = await api.ask({ ask: "suggest", models: path, method: row.method });
      const rows = next.answer?.suggestions ?? [];
      refill(suggested, [notes(next), rows.length > 0 && table("What to measure next", [
        { title: "at", of: (point) => Object.entries(point.at).map(([name, value]) => `${name} = ${figures(Number(value))}`).join(", ") },
        { title: "costs", number: true, of: (point) => point.cost_s, cell: (point) => time(point.cost_s) },
        { title: "improves by, %", number: true, of: (point) => point.gain_percent, cell: (point) => figures(point.gain_percent) },
      ], rows), command(next.command)]);
    }

    const fields = row.params.map((name) => h("label", {}, name, h("input", { type: "number", step: "any", value: at[name], "aria-label": name, onchange: (event) => {
      at[name] = Number(event.target.value);
      drawCurve();
    } })));
    refill(one, [h("h3", {}, row.method, mode(row) && `, ${mode(row)}`), h("p", {}, h("code", {}, row.expression), " s"),
      row.notes?.length > 0 && h("p", { class: "faint" }, `Noted: ${row.notes.map((note) => note.note).join(", ")}`),
      row.alternatives?.length > 1 && h("p", { class: "faint" }, `Predictions average over ${row.alternatives.length} credible formulas; this one has ${figures(Number((100 * row.alternatives[0].weight).toPrecision(3)))} % of the weight.`),
      h("div", { class: "bar" }, row.params.length > 1 && h("label", {}, "Along", choice("Along", row.params, along, (value) => {
        along = value;
        drawCurve();
      })), row.params.length > 1 && fields), curve, h("h3", {}, "What to measure next"), suggested]);
    window.scrollTo({ top: 0 });
    await Promise.all([drawCurve(), drawNext()]);
  }
}

/** The curve of predictions with the interval of single calls, dashed outside of the measured range. */
function picture(rows, along, range) {
  const [width, height, left, bottom, top, right] = [720, 340, 78, 46, 14, 20];
  const xs = rows.map((row) => row.at[along]);
  const tops = rows.map((row) => row.upper_s ?? row.value_s).filter(Number.isFinite);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const y1 = Math.max(...tops, ...rows.map((row) => row.value_s)) || 1;
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (width - left - right);
  const y = (value) => height - bottom - (Math.max(0, value) / y1) * (height - bottom - top);
  const path = (points) => points.map(([a, b], at) => `${at ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const inside = (row) => !range || (row.at[along] >= range[0] && row.at[along] <= range[1]);
  const values = rows.map((row) => [row.at[along], row.value_s]);
  const banded = rows.filter((row) => Number.isFinite(row.lower_s) && Number.isFinite(row.upper_s) && row.lower_s !== null && row.upper_s !== null);
  const band = [...banded.map((row) => [row.at[along], row.upper_s]), ...banded.toReversed().map((row) => [row.at[along], row.lower_s])];
  const ticks = (from, to) => {
    const rough = (to - from) / 5 || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
    return Array.from({ length: 12 }, (_, at) => Math.ceil(from / step) * step + at * step).filter((tick) => tick <= to * (1 + 1e-9));
  };
  return s("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Predicted time over ${along}, from ${time(rows[0].value_s)} at ${figures(x0)} to ${time(rows.at(-1).value_s)} at ${figures(x1)}` },
    ticks(0, y1).map((tick) => [s("path", { class: "grid", d: `M${left} ${y(tick)}H${width - right}` }), s("text", { class: "right", x: left - 6, y: y(tick) + 4 }, time(tick))]),
    ticks(x0, x1).map((tick) => s("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle" }, figures(tick).replace(/\.0+$/, ""))),
    s("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, along),
    range && range.map((end) => end >= x0 && end <= x1 && s("path", { class: "measured", d: `M${x(end)} ${top}V${height - bottom}` }, s("title", {}, "end of what was measured"))),
    band.length > 0 && s("path", { class: "band", d: `${path(band)}Z` }),
    s("path", { class: "line outside", d: path(values) }), s("path", { class: "line", d: path(values.filter((_, at) => inside(rows[at]))) }));
}
