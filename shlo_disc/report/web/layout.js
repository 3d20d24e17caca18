// @ts-check
"use strict";

/**
 * A layered drawing of an acyclic graph, after Sugiyama, Tagawa and Toda (1981): layers by longest path, points that
 * carry edges across layers, order by barycenters, and places as near to the neighbours as the gaps allow.
 * @typedef {{id: number, width: number, layer: number, x: number, before: Point[], after: Point[]}} Point
 * @typedef {{from: number, to: number, path: Point[]}} Line
 * @typedef {{points: Point[], lines: Line[], layers: Point[][]}} Drawing
 */

const LAYOUT = { nodeWidth: 196, bendWidth: 14, gap: 22, bends: 8, sweeps: 10 };

/**
 * @param {number} count nodes, in an order in which edges lead forward
 * @param {[number, number][]} edges
 * @returns {Drawing}
 */
function layOut(count, edges) {
  const points = layered(count, edges);
  const lines = edges.map(([from, to]) => route(points, from, to));
  /** @type {Point[][]} */
  const layers = [];
  for (const point of new Set([...points, ...lines.flatMap((line) => line.path)])) {
    (layers[point.layer] ??= []).push(point);
  }
  for (let sweep = 0; sweep < LAYOUT.sweeps; sweep++) order(layers, sweep % 2 === 0);
  for (const layer of layers) spread(layer, layer.map((_, k) => k * LAYOUT.nodeWidth));
  for (let sweep = 0; sweep < LAYOUT.sweeps; sweep++) align(layers, sweep % 2 === 0);
  return { points, lines, layers };
}

/** Each node below all that it needs, and what nothing precedes just above what needs it. */
/** @param {number} count @param {[number, number][]} edges */
function layered(count, edges) {
  /** @type {Point[]} */
  const points = Array.from({ length: count }, (_, id) => ({
    id, width: LAYOUT.nodeWidth, layer: 0, x: 0, before: [], after: [],
  }));
  const [incoming, outgoing] = [points.map(() => /** @type {number[]} */ ([])), points.map(() => /** @type {number[]} */ ([]))];
  for (const [from, to] of edges) {
    incoming[to].push(from);
    outgoing[from].push(to);
  }
  points.forEach((point, id) => {
    point.layer = Math.max(0, ...incoming[id].map((from) => points[from].layer + 1));
  });
  for (const point of [...points].reverse()) {
    if (incoming[point.id].length === 0 && outgoing[point.id].length > 0) {
      point.layer = Math.min(...outgoing[point.id].map((to) => points[to].layer)) - 1;
    }
  }
  return points;
}

/** Bend an edge around the layers between its ends; a very long one goes straight. */
/** @param {Point[]} points @param {number} from @param {number} to @returns {Line} */
function route(points, from, to) {
  const [start, end] = [points[from], points[to]];
  const path = [start];
  const far = end.layer - start.layer > LAYOUT.bends;
  for (let layer = start.layer + 1; layer < end.layer && !far; layer++) {
    path.push({ id: -1, width: LAYOUT.bendWidth, layer, x: 0, before: [], after: [] });
  }
  path.push(end);
  for (let k = 1; k < path.length && !far; k++) {
    path[k - 1].after.push(path[k]);
    path[k].before.push(path[k - 1]);
  }
  return { from, to, path };
}

/** Sort each layer by the mean position of the neighbours that are already sorted. */
/** @param {Point[][]} layers @param {boolean} down */
function order(layers, down) {
  /** @type {Map<Point, number>} */
  const position = new Map();
  for (const layer of down ? layers : [...layers].reverse()) {
    const keys = new Map(
      layer.map((point, k) => {
        const near = (down ? point.before : point.after).map((other) => position.get(other) ?? 0);
        return [point, near.length ? near.reduce((a, b) => a + b) / near.length : k / layer.length];
      }),
    );
    layer.sort((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0));
    layer.forEach((point, k) => position.set(point, (k + 0.5) / layer.length));
  }
}

/** Move each layer towards its neighbours. @param {Point[][]} layers @param {boolean} down */
function align(layers, down) {
  for (const layer of down ? layers : [...layers].reverse()) {
    const wanted = layer.map((point) => {
      const near = down ? point.before : point.after;
      const all = near.length ? near : [...point.before, ...point.after];
      return all.length ? all.reduce((sum, other) => sum + other.x, 0) / all.length : point.x;
    });
    spread(layer, wanted);
  }
}

/**
 * Put points where they want to be, in order and without overlap, with the least sum of squared moves (isotonic
 * regression by pooling adjacent violators).
 * @param {Point[]} layer
 * @param {number[]} wanted
 */
function spread(layer, wanted) {
  let before = 0;
  const offsets = layer.map((point, k) => {
    if (k > 0) before += (layer[k - 1].width + point.width) / 2 + LAYOUT.gap;
    return before;
  });
  /** @type {{sum: number, count: number}[]} */
  const pools = [];
  wanted.forEach((x, k) => {
    pools.push({ sum: x - offsets[k], count: 1 });
    while (pools.length > 1 && mean(pools[pools.length - 2]) >= mean(pools[pools.length - 1])) {
      const last = /** @type {{sum: number, count: number}} */ (pools.pop());
      pools[pools.length - 1].sum += last.sum;
      pools[pools.length - 1].count += last.count;
    }
  });
  const places = pools.flatMap((pool) => new Array(pool.count).fill(mean(pool)));
  layer.forEach((point, k) => (point.x = places[k] + offsets[k]));
}

/** @param {{sum: number, count: number}} pool */
function mean(pool) {
  return pool.sum / pool.count;
}
