// @ts-check
"use strict";

const GROWTH = { width: 1160, height: 240, left: 74, right: 26, top: 14, bottom: 40 };

/** The size along which memory is drawn; the others are as chosen. */
let growthSize = /** @type {string} */ (DATA.sizes.names[0] ?? "");

/** The bytes of temporaries at values of one size that calls may have: pairs. @param {string} name @returns {[number, number][]} */
function growthPoints(name) {
  const values = [...new Set([...STOPS, state.chosen[name]])].filter((value) => value > 0).sort((a, b) => a - b);
  return values.flatMap((value) => {
    const call = bind({ ...state.chosen, [name]: value });
    return call.refusal ? [] : [/** @type {[number, number]} */ ([value, evaluate(DATA.arena, call.env)])];
  });
}

/** Temporaries over one size, both on logarithmic scales; nothing if no size is free. */
function growthSection() {
  const names = /** @type {string[]} */ (DATA.sizes.names);
  if (names.length === 0) return null;
  const picker = h("select", { "aria-label": "Size along which memory is drawn", id: "growth-size" },
    names.map((name) => h("option", { value: name, selected: name === growthSize && "" }, name)));
  const chart = h("div", { id: "growth" }, growthChart(growthPoints(growthSize), growthSize));
  picker.addEventListener("change", () => {
    growthSize = /** @type {HTMLSelectElement} */ (picker).value;
    chart.replaceChildren(growthChart(growthPoints(growthSize), growthSize));
  });
  return section("Temporaries over a size", h("div", null, h("p", { class: "quiet" }, "bytes of the arena over ", picker, names.length > 1 && ", the other sizes as chosen"), chart));
}

/** @param {[number, number][]} points @param {string} name */
function growthChart(points, name) {
  const { width, height, left, right, top, bottom } = GROWTH;
  const most = Math.max(1, ...points.map(([, bytes]) => bytes));
  const [first, last] = [points[0]?.[0] ?? 1, points[points.length - 1]?.[0] ?? 1];
  const least = Math.max(1, Math.min(most, ...points.map(([, bytes]) => bytes)));
  const part = (/** @type {number} */ value, /** @type {number} */ from, /** @type {number} */ to) => (to > from ? Math.log2(Math.max(value, from) / from) / Math.log2(to / from) : 0.5);
  const x = (/** @type {number} */ value) => left + part(value, first, last) * (width - left - right);
  const y = (/** @type {number} */ bytes) => height - bottom - part(bytes, least, most) * (height - top - bottom);
  const path = points.map(([value, bytes], k) => `${k ? "L" : "M"}${x(value).toFixed(1)} ${y(bytes).toFixed(1)}`).join("");
  const ticks = points.map(([value]) => value).filter((value) => Number.isInteger(Math.log2(value)));
  const rows = most > least ? [0, 0.25, 0.5, 0.75, 1].map((k) => least * (most / least) ** k) : [most];
  return s("svg", { class: "memory growth", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Temporaries over ${name}` },
    rows.map((bytes) => s("g", null, s("line", { class: "rule", x1: left, x2: width - right, y1: y(bytes), y2: y(bytes) }),
      s("text", { class: "axis end", x: left - 8, y: y(bytes) + 4 }, bytesText(bytes)))),
    ticks.map((value) => s("text", { class: "axis middle", x: x(value), y: height - bottom + 18 }, value)),
    s("text", { class: "axis middle", x: (left + width - right) / 2, y: height - 4 }, name),
    s("path", { class: "line", d: path }),
    points.filter(([value]) => value === state.chosen[name]).map(([value, bytes]) =>
      s("circle", { class: "now", cx: x(value), cy: y(bytes), r: 5, "data-bytes": bytes }, s("title", null, `${name} = ${value}: ${bytesText(bytes)}`))));
}
