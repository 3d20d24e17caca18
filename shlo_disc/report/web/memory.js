// @ts-check
"use strict";

const CHART = { width: 1160, left: 74, right: 16, live: 90, gap: 34, height: 430, top: 18 };

/**
 * Where a buffer is, and which steps need it. Buffers of one `memory` follow each other in place.
 * @typedef {{slot: number, memory: number, first: number, last: number, offset: number, size: number}} Place
 */

/**
 * The arena at the chosen sizes.
 * @param {Record<string, number>} env
 */
function arenaAt(env) {
  const buffers = /** @type {Place[]} */ (DATA.buffers.flatMap((/** @type {any} */ buffer, /** @type {number} */ slot) => {
    if (buffer.kind !== "arena" || !buffer.needed) return [];
    const [first, last] = buffer.needed;
    return [{ slot, memory: buffer.memory, first, last, offset: evaluate(buffer.offset, env), size: evaluate(buffer.size, env) }];
  }));
  /** @type {number[]} */
  const live = DATA.steps.map(() => 0);
  const known = new Set(); // what is written in place of another buffer is the same memory in that step
  for (const { memory, first, last, size } of buffers)
    for (let step = first; step <= last; step++) {
      const key = `${memory} ${step}`;
      if (!known.has(key)) live[step] += size;
      known.add(key);
    }
  return { buffers, live, bytes: evaluate(DATA.arena, env), peak: Math.max(0, ...live) };
}

/** @param {Record<string, number> | null} env */
function memoryView(env) {
  if (!env) return h("div", { class: "page" }, h("p", { class: "quiet" }, "A call with these sizes is refused, so it needs no memory."));
  const arena = arenaAt(env);
  const outside = ["argument", "result", "constant"].map((kind) => {
    const all = DATA.buffers.filter((/** @type {any} */ b) => b.kind === kind);
    return `${bytesText(all.reduce((/** @type {number} */ sum, /** @type {any} */ b) => sum + evaluate(b.size, env), 0))} of ${kind}s`;
  });
  const busiest = arena.live.indexOf(arena.peak);
  return h("div", { class: "page" },
    h("div", { class: "figures" },
      figure(bytesText(arena.bytes), "arena of one call", "arena-bytes", arena.bytes),
      figure(bytesText(arena.peak), arena.peak ? `needed at once, in step ${busiest}` : "needed at once", "live-bytes", arena.peak),
      figure(String(arena.buffers.length), "temporaries", "temporaries", arena.buffers.length)),
    h("p", { class: "formula wide" }, h("b", null, "Arena: "), sizeText(DATA.arena), " bytes"),
    h("p", { class: "quiet" }, `Besides it: ${outside.join(", ")}.`),
    growthSection(),
    arena.buffers.length ? memoryChart(arena) : h("p", null, "No value waits in memory between two kernels."),
    arena.buffers.length > 0 && bufferTable(arena, env));
}

/** @param {string} value @param {string} about @param {string} id @param {number} exact */
function figure(value, about, id, exact) {
  return h("div", { class: "figure" }, h("strong", { id, "data-value": exact, title: exact.toLocaleString("en") }, value), h("span", null, about));
}

/** @param {ReturnType<typeof arenaAt>} arena */
function memoryChart(arena) {
  const { width, left, right, live, gap, height, top } = CHART;
  const count = DATA.steps.length;
  const x = (/** @type {number} */ step) => left + ((width - left - right) * step) / count;
  const y = (/** @type {number} */ byte) => top + live + gap + (height * byte) / Math.max(arena.bytes, 1);
  const lively = (/** @type {number} */ byte) => top + live - (live * byte) / Math.max(arena.peak, 1);
  const area = arena.live.map((value, k) => `H${x(k)}V${lively(value)}H${x(k + 1)}`).join("");
  const bottom = y(arena.bytes);
  return s("svg", { class: "memory", viewBox: `0 0 ${width} ${bottom + 44}`, role: "group", "aria-label": "Memory over time" },
    s("text", { class: "axis", x: left, y: 10 }, "bytes needed at once, by step"),
    s("path", { class: "live", d: `M${left} ${top + live}${area}V${top + live}z` }),
    s("text", { class: "axis end", x: left - 8, y: top + 8 }, bytesText(arena.peak)),
    s("text", { class: "axis", x: left, y: top + live + gap - 8 }, "where they are: offset in the arena"),
    [0, 0.25, 0.5, 0.75, 1].map((part) => s("g", null,
      s("line", { class: part === 1 ? "peak" : "rule", x1: left, x2: width - right, y1: y(part * arena.bytes), y2: y(part * arena.bytes) }),
      s("text", { class: "axis end", x: left - 8, y: y(part * arena.bytes) + 4 }, bytesText(part * arena.bytes)))),
    loopBands(x, bottom),
    arena.buffers.map((one) => bufferBox(one, x, y)),
    stepTicks(count).map((step) => s("text", { class: "axis middle", x: x(step + 0.5), y: bottom + 18 }, step)),
    s("text", { class: "axis middle", x: (left + width - right) / 2, y: bottom + 38 }, "step of the host program"));
}

/** @param {number} count */
function stepTicks(count) {
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].find((n) => count / n <= 16) ?? 5000;
  return Array.from({ length: Math.ceil(count / every) }, (_, k) => k * every);
}

/** @param {(step: number) => number} x @param {number} bottom */
function loopBands(x, bottom) {
  return DATA.steps.flatMap((/** @type {any} */ step, /** @type {number} */ k) =>
    step.kind === "while"
      ? [s("rect", { class: "loop", x: x(k), width: x(step.end) - x(k), y: bottom + 3, height: 4 }, s("title", null, `loop, steps ${k} to ${step.end - 1}`))]
      : []);
}

/**
 * @param {Place} one
 * @param {(step: number) => number} x
 * @param {(byte: number) => number} y
 */
function bufferBox(one, x, y) {
  const buffer = DATA.buffers[one.slot];
  const [writer] = WRITERS[one.slot];
  const kind = writer === undefined ? "rows" : KINDS[DATA.groups[writer].kind];
  const [width, height] = [x(one.last + 1) - x(one.first), y(one.offset + one.size) - y(one.offset)];
  const text = `${buffer.name}: ${typeText(buffer)}\n${bytesText(one.size)} at ${one.offset.toLocaleString("en")}\nsteps ${one.first} to ${one.last}` +
    (writer === undefined ? "" : `\nwritten by group ${writer} ${groupName(writer)}`);
  const show = (/** @type {Event} */ event) => showTip(/** @type {Element} */ (event.currentTarget), text);
  const open = () => writer !== undefined && (location.hash = `#groups/${writer}`);
  return s("g", {
    class: `buffer kind-${kind}${height < 4 ? " thin" : ""}`, tabindex: 0, role: "link", "aria-label": text.replaceAll("\n", ", "), "data-slot": one.slot,
    onclick: open, onpointerenter: show, onpointerleave: hideTip, onfocus: show, onblur: hideTip,
    onkeydown: (/** @type {KeyboardEvent} */ e) => e.key === "Enter" && open(),
  },
    s("rect", { x: x(one.first) + 0.5, y: y(one.offset) + 0.5, width: Math.max(width - 1, 1), height: Math.max(height - 1, 1), rx: Math.min(2, height / 4) }),
    width > 70 && height > 14 && s("text", { x: x(one.first) + 6, y: y(one.offset) + Math.min(height / 2 + 4, 16) }, clip(buffer.name, Math.floor(width / 8))));
}

/** @param {ReturnType<typeof arenaAt>} arena @param {Record<string, number>} env */
function bufferTable(arena, env) {
  const sorted = [...arena.buffers].sort((a, b) => b.size - a.size || a.first - b.first);
  return section(`Temporaries, the largest first (${sorted.length})`, h("table", { class: "list" },
    tableHead(["Value", "Type", "Bytes", "Formula", "Offset", "Steps", "Written by"]),
    h("tbody", null, sorted.map(({ slot, first, last, offset, size }) => {
      const buffer = DATA.buffers[slot];
      return h("tr", null, h("th", { scope: "row" }, buffer.name), h("td", { class: "formula" }, typeText(buffer)),
        h("td", { class: "value" }, bytesText(size)), h("td", { class: "formula" }, sizeText(buffer.size)),
        h("td", { class: "value" }, measured(buffer.offset, env, () => offset.toLocaleString("en"))),
        h("td", { class: "value" }, first === last ? first : `${first}–${last}`),
        h("td", null, WRITERS[slot].map((group) => groupLink(group))));
    }))), sorted.length > 200);
}
