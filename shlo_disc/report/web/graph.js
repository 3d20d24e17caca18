// @ts-check
"use strict";

const NODE = { width: LAYOUT.nodeWidth, height: 50, step: 92 };
const KINDS = /** @type {Record<string, string>} */ ({
  "rows x stages": "rows", "matrix product": "dot", "grouped product": "dot", convolution: "dot", attention: "dot",
  sort: "order", scatter: "order", select_and_scatter: "order", scan: "order", while: "control", case: "control", parallel: "rows",
});

/** The kernels of every group, and the steps that launch them. */
const STEPS_OF = /** @type {number[][]} */ (DATA.groups.map(() => []));
DATA.steps.forEach((/** @type {any} */ step, /** @type {number} */ k) => {
  if (step.group !== null) STEPS_OF[step.group].push(k);
});

/** @param {any} step @returns {string[]} */
function kernelsOf(step) {
  if (step.kind === "launch") return [step.kernel];
  if (step.kind !== "choice") return [];
  const commands = step.variants.flatMap((/** @type {any} */ variant) => variant.commands);
  return [...new Set(commands.filter((/** @type {any} */ c) => c.kind === "kernel").map((/** @type {any} */ c) => c.kernel))];
}

/** A kernel and the parts that its text declares: groups that share its launch. @param {string} name @returns {string[]} */
function withParts(name) {
  const declared = [...(DATA.kernels[name] ?? "").matchAll(/^extern "C" void (\w+)\(.*;$/gm)].map((match) => match[1]);
  return [name, ...declared];
}

/** What a group is called: its kernel (variants share the beginning of their names), else its kind. @param {number} number */
function groupName(number) {
  const [first] = STEPS_OF[number];
  const kernels = first === undefined ? [] : kernelsOf(DATA.steps[first]);
  return kernels[0]?.match(/^.*?_\d+(?=_|$)/)?.[0] ?? kernels[0] ?? DATA.groups[number].kind;
}

/** Which group writes what another reads: pairs in program order. @param {number[]} members */
function flowOf(members) {
  const place = new Map(members.map((group, k) => [group, k]));
  /** @type {Map<number, number>} */
  const writer = new Map();
  /** @type {[number, number][]} */
  const edges = [];
  for (const group of members) {
    const { reads, writes } = DATA.groups[group];
    const sources = new Set(reads.map((/** @type {number} */ slot) => writer.get(slot)));
    for (const from of sources) {
      if (from !== undefined) edges.push([/** @type {number} */ (place.get(from)), /** @type {number} */ (place.get(group))]);
    }
    for (const slot of writes) writer.set(slot, group);
  }
  return edges;
}

/** The graph of one body of the program, which can be moved, scaled, searched and walked through by keyboard. */
class Graph {
  /** @param {number} body @param {(group: number) => void} choose */
  constructor(body, choose) {
    this.members = /** @type {number[]} */ (DATA.groups.flatMap((/** @type {any} */ g, /** @type {number} */ k) => (g.body === body ? [k] : [])));
    this.choose = choose;
    this.drawing = layOut(this.members.length, flowOf(this.members));
    this.view = { x: 0, y: 0, scale: 1 };
    /** @type {number | null} */
    this.selected = null;
    this.nodes = this.members.map((group, k) => this.node(group, this.drawing.points[k]));
    this.edges = this.drawing.lines.map((line) => edge(line));
    this.stage = s("g", null, s("g", { class: "edges" }, this.edges), s("g", null, this.nodes));
    this.svg = s("svg", {
      class: "graph", tabindex: 0, role: "group", onkeydown: (/** @type {KeyboardEvent} */ e) => this.key(e),
      "aria-label": "Groups by data flow. Arrow keys go to producers, consumers and neighbours; plus and minus scale.",
      onwheel: (/** @type {WheelEvent} */ e) => this.wheel(e), onpointerdown: (/** @type {PointerEvent} */ e) => this.drag(e),
    }, this.stage);
    this.element = h("div", { class: "canvas" }, this.svg, this.buttons());
  }

  /** @param {number} group @param {Point} point */
  node(group, point) {
    const { kind, roots, ops } = DATA.groups[group];
    const shape = (roots[0] ?? "").split(": ")[1] ?? "";
    const computed = ops.filter((/** @type {any[]} */ op) => !op[4]).length;
    const name = groupName(group);
    return s("g", {
      class: `node kind-${KINDS[kind] ?? "rows"}`, role: "button", "data-group": group,
      "aria-label": `group ${group}, ${name}, ${kind}, ${shape}`, onclick: () => this.choose(group),
      transform: `translate(${Math.round(point.x - NODE.width / 2)} ${point.layer * NODE.step})`,
    },
      s("rect", { class: "box", width: NODE.width, height: NODE.height, rx: 7 }),
      s("path", { class: "band", d: `M7 0H6a6 6 0 0 0-6 6V${NODE.height - 6}a6 6 0 0 0 6 6h1z` }),
      s("text", { class: "name", x: 16, y: 20 }, clip(name, 20)),
      s("text", { class: "number", x: NODE.width - 10, y: 20 }, group),
      s("text", { class: "about", x: 16, y: 37 }, clip(shape, 22)),
      s("text", { class: "about end", x: NODE.width - 10, y: 37 }, computed === 1 ? "1 op" : `${computed} ops`),
      s("rect", { class: "track", x: 16, y: NODE.height - 7, width: NODE.width - 26, height: 3, rx: 1.5 }),
      s("rect", { class: "share", x: 16, y: NODE.height - 7, width: 0, height: 3, rx: 1.5 }),
    );
  }

  buttons() {
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ act) =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    return h("div", { class: "zoom" },
      button("+", "Larger ( + )", () => this.scale(1.25)), button("−", "Smaller ( − )", () => this.scale(0.8)),
      button("⤢", "All of it ( 0 )", () => this.fit()));
  }

  /** Bars: bytes moved, or nanoseconds, as a share of the most of any group. @param {(group: number) => number} moved */
  weigh(moved) {
    const values = this.members.map(moved);
    const most = Math.max(...values, 1);
    this.nodes.forEach((node, k) => {
      node.querySelector(".share")?.setAttribute("width", String(((NODE.width - 26) * values[k]) / most));
    });
  }

  /** Show which groups match; null shows all alike. @param {Set<number> | null} found */
  filter(found) {
    this.nodes.forEach((node, k) => node.classList.toggle("dim", found !== null && !found.has(this.members[k])));
    this.svg.classList.toggle("searching", found !== null);
  }

  /** @param {number | null} group @param {boolean} [reveal] */
  select(group, reveal = true) {
    this.selected = group;
    const k = group === null ? -1 : this.members.indexOf(group);
    this.nodes.forEach((node, n) => {
      node.classList.toggle("selected", n === k);
      node.toggleAttribute("aria-current", n === k);
    });
    this.edges.forEach((line, n) => {
      const { from, to } = this.drawing.lines[n];
      line.classList.toggle("in", to === k);
      line.classList.toggle("out", from === k);
    });
    if (k >= 0 && reveal) this.reveal(this.drawing.points[k]);
  }

  /** Bring a point into view if it is not. @param {Point} point */
  reveal(point) {
    const { width, height } = this.svg.getBoundingClientRect();
    const [x, y] = [point.x * this.view.scale + this.view.x, point.layer * NODE.step * this.view.scale + this.view.y];
    const margin = 40;
    const half = (NODE.width / 2) * this.view.scale;
    if (x - half < margin || x + half > width - margin) this.view.x += width / 2 - x;
    if (y < margin || y + NODE.height * this.view.scale > height - margin) this.view.y += height / 2 - y;
    this.move();
  }

  move() {
    const { x, y, scale } = this.view;
    this.stage.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    this.svg.classList.toggle("far", scale < 0.45);
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] the point that stays where it is */
  scale(factor, x, y) {
    const box = this.svg.getBoundingClientRect();
    const [atX, atY] = [x ?? box.width / 2, y ?? box.height / 2];
    const scale = Math.min(2.5, Math.max(0.02, this.view.scale * factor));
    const change = scale / this.view.scale;
    this.view = { x: atX - (atX - this.view.x) * change, y: atY - (atY - this.view.y) * change, scale };
    this.move();
  }

  bounds() {
    const points = this.drawing.points;
    const left = Math.min(...points.map((p) => p.x)) - NODE.width / 2;
    const right = Math.max(...points.map((p) => p.x)) + NODE.width / 2;
    const bottom = Math.max(...points.map((p) => p.layer)) * NODE.step + NODE.height;
    return points.length ? { left, right, bottom } : { left: 0, right: 1, bottom: 1 };
  }

  /** All of the graph. */
  fit() {
    const { left, right, bottom } = this.bounds();
    const box = this.svg.getBoundingClientRect();
    const scale = Math.min(1, (box.width - 48) / (right - left), (box.height - 48) / bottom);
    this.view = { x: (box.width - (left + right) * scale) / 2, y: (box.height - bottom * scale) / 2, scale };
    this.move();
  }

  /** The beginning of the graph, at a scale that can be read. */
  start() {
    const { left, right } = this.bounds();
    const box = this.svg.getBoundingClientRect();
    const scale = Math.min(1, Math.max(0.75, (box.width - 48) / (right - left)));
    const first = this.drawing.points[0] ?? { x: 0 };
    const middle = (right - left) * scale < box.width ? (left + right) / 2 : first.x;
    this.view = { x: box.width / 2 - middle * scale, y: 32, scale };
    this.move();
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    const box = this.svg.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) {
      this.scale(2 ** (-event.deltaY / 200), event.clientX - box.left, event.clientY - box.top);
      return;
    }
    this.view.x -= event.shiftKey ? event.deltaY : event.deltaX;
    this.view.y -= event.shiftKey ? 0 : event.deltaY;
    this.move();
  }

  /** @param {PointerEvent} event */
  drag(event) {
    if (event.button !== 0) return;
    let [x, y] = [event.clientX, event.clientY];
    const follow = (/** @type {PointerEvent} */ e) => {
      this.view.x += e.clientX - x;
      this.view.y += e.clientY - y;
      [x, y] = [e.clientX, e.clientY];
      this.move();
    };
    const stop = () => window.removeEventListener("pointermove", follow);
    window.addEventListener("pointermove", follow);
    window.addEventListener("pointerup", stop, { once: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const act = /** @type {Record<string, () => void>} */ ({
      "+": () => this.scale(1.25), "=": () => this.scale(1.25), "-": () => this.scale(0.8), 0: () => this.fit(),
      ArrowUp: () => this.walk("up"), ArrowDown: () => this.walk("down"),
      ArrowLeft: () => this.walk("left"), ArrowRight: () => this.walk("right"),
    })[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  /** Go to a producer, a consumer, or a neighbour. @param {string} direction */
  walk(direction) {
    const at = this.selected === null ? -1 : this.members.indexOf(this.selected);
    if (at < 0) {
      if (this.members.length) this.choose(this.members[0]);
      return;
    }
    const next = { up: this.linked(at, "to", "from"), down: this.linked(at, "from", "to"), left: this.beside(at, -1), right: this.beside(at, 1) }[direction];
    if (next !== undefined) this.choose(this.members[next]);
  }

  /** @param {number} at @param {"from" | "to"} here @param {"from" | "to"} there */
  linked(at, here, there) {
    return this.drawing.lines.find((line) => line[here] === at)?.[there];
  }

  /** @param {number} at @param {number} side */
  beside(at, side) {
    const row = this.drawing.layers[this.drawing.points[at].layer].filter((point) => point.id >= 0);
    return row[row.findIndex((point) => point.id === at) + side]?.id;
  }
}

/** @param {Line} line */
function edge(line) {
  const [first, ...rest] = line.path;
  let path = `M${first.x.toFixed(1)} ${first.layer * NODE.step + NODE.height}`;
  let y = first.layer * NODE.step + NODE.height;
  let { x } = first;
  for (const point of rest) {
    const top = point.layer * NODE.step;
    const middle = (y + top) / 2;
    path += `C${x.toFixed(1)} ${middle} ${point.x.toFixed(1)} ${middle} ${point.x.toFixed(1)} ${top}`;
    if (point.id < 0) path += `V${top + NODE.height}`;
    [x, y] = [point.x, top + NODE.height];
  }
  const far = rest.length === 1 && rest[0].layer - first.layer > LAYOUT.bends;
  return s("path", { class: far ? "edge far" : "edge", d: path });
}

/** @param {string} text @param {number} length */
function clip(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
