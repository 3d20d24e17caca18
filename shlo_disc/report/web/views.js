// @ts-check
"use strict";

/**
 * What is known of sizes: first the assumptions, then every dim of every value, as `Overview.all_facts` numbers them.
 * @type {{subject: string, text: string, reason: string, where: string, origin: string, because: number[]}[]}
 */
const FACTS = [...DATA.facts];

/** The numbers of the facts about the dims of a value. @type {Map<string, number[]>} */
const DIM_FACTS = new Map();

/** Dims that are numbers need no reason. */
function numberDims() {
  /** @type {Map<string, number>} */
  const numbers = new Map();
  DATA.shapes.forEach((/** @type {any[]} */ [, dims], /** @type {number} */ shape) =>
    dims.forEach((/** @type {string} */ dim, /** @type {number} */ axis) => {
      if (!/^-*\d+$/.test(dim)) numbers.set(`${shape} ${axis}`, DATA.facts.length + numbers.size);
    }),
  );
  DATA.shapes.forEach((/** @type {any[]} */ [value, dims, reason, where, origin, because, isInteger], /** @type {number} */ shape) =>
    dims.forEach((/** @type {string} */ dim, /** @type {number} */ axis) => {
      if (!numbers.has(`${shape} ${axis}`)) return;
      const follows = because[axis].map((/** @type {[number, number]} */ [other, k]) => (other < 0 ? k : numbers.get(`${other} ${k}`)));
      DIM_FACTS.set(value, [...(DIM_FACTS.get(value) ?? []), FACTS.length]);
      const subject = !isInteger ? `${value} dim ${axis}` : dims.length === 1 ? value : `${value}[${axis}]`;
      FACTS.push({ subject: value, text: `${subject} = ${dim}`, reason, where, origin, because: follows });
    }),
  );
}
numberDims();

/** Facts with their reasons; what one follows from is below it. @param {number[]} numbers */
function factList(numbers) {
  return h("ul", { class: "facts" }, numbers.map((number) => factItem(number)));
}

const FEW_FACTS = 8; // that are not folded

/**
 * Facts folded by the symbols that they are about, or the sizes that they say values have; all of them open while something is searched for.
 * @param {number[]} numbers @param {string} query
 */
function foldedFacts(numbers, query) {
  /** @type {Map<string, number[]>} */
  const folds = new Map();
  for (const number of numbers) {
    const fact = FACTS[number];
    const about = number < DATA.facts.length ? fact.subject : fact.text.slice(fact.text.indexOf(" = ") + 3);
    folds.set(about, [...(folds.get(about) ?? []), number]);
  }
  if (numbers.length <= FEW_FACTS || folds.size === 1) return factList(numbers);
  return h("div", null, [...folds].map(([about, own]) =>
    h("details", { class: "fold", open: query !== "" && "" }, h("summary", null, h("code", null, sizeText(about)), ` (${own.length})`), factList(own))));
}

/** What a fact follows from is written when it is opened: chains share their ends. @param {number} number @returns {HTMLElement} */
function factItem(number) {
  const fact = FACTS[number];
  const line = [h("code", null, sizeText(fact.text)), h("span", null, ` because ${fact.reason}`), h("span", { class: "place" }, fact.origin && h("b", null, shortPath(fact.origin)), ` ${shortPath(fact.where)}`)];
  if (fact.because.length === 0) return h("li", { "data-fact": number }, line);
  const chain = h("details", null, h("summary", null, line));
  chain.addEventListener("toggle", () => chain.append(factList(fact.because)), { once: true });
  return h("li", { "data-fact": number }, chain);
}

const MOST_DIMS = 300; // that are listed at once

/** @param {string} query */
function factsView(query) {
  const all = FACTS.flatMap((fact, k) => (matches(`${fact.text} ${fact.reason} ${fact.where} ${fact.origin}`, query) ? [k] : []));
  const found = all.filter((k) => k < DATA.facts.length);
  const dims = all.slice(found.length);
  return h("div", { class: "page" },
    h("h2", null, "Sizes"), sizeTable(),
    h("h2", null, `Facts (${found.length === DATA.facts.length ? found.length : `${found.length} of ${DATA.facts.length}`})`),
    h("p", { class: "quiet" }, "They hold for every call that the checks let pass."), foldedFacts(found, query),
    dims.length > 0 && [h("h2", null, `Sizes of values (${dims.length})`), foldedFacts(dims.slice(0, MOST_DIMS), query),
      dims.length > MOST_DIMS && h("p", { class: "quiet" }, `and ${dims.length - MOST_DIMS} more: search for a value, an op or a line`)],
    h("h2", null, `Checks (${DATA.checks.length})`), checkTable());
}

function sizeTable() {
  const raw = DATA.places.map((/** @type {string} */ place, /** @type {number} */ k) => [DATA.symbols[k], place, DATA.sizes.raw[k]]);
  const defined = DATA.definitions.map((/** @type {string} */ text, /** @type {number} */ k) => [DATA.symbols[DATA.places.length + k], "computed before a call", text]);
  return h("table", { class: "list" }, h("tbody", null, [...raw, ...defined].map(([name, from, formula]) =>
    h("tr", null, h("th", { scope: "row" }, h("code", null, name)), h("td", null, from), h("td", { class: "formula" }, formula === name ? "" : `= ${sizeText(formula)}`)))));
}

function checkTable() {
  return h("table", { class: "list" }, h("tbody", null, DATA.checks.map((/** @type {any} */ check) =>
    h("tr", null, h("th", { scope: "row" }, h("code", null, `${sizeText(check.lhs)} ${check.relation} ${sizeText(check.rhs)}`)),
      h("td", null, h("details", { class: "long" }, h("summary", null, clip(check.message, 110)), h("p", null, check.message), h("pre", { class: "code" }, check.where)))))));
}

/** @param {string} query @param {string} chosen */
function kernelsView(query, chosen) {
  const users = new Map(Object.keys(DATA.kernels).map((name) => [name, /** @type {number[]} */ ([])]));
  DATA.steps.forEach((/** @type {any} */ step) => {
    for (const name of kernelsOf(step).flatMap(withParts)) if (step.group !== null) users.get(name)?.push(step.group);
  });
  const names = [...users.keys()].filter((name) => matches(`${name} ${DATA.kernels[name]}`, query));
  const shown = users.has(chosen) ? chosen : names[0];
  return h("div", { class: "split" },
    h("nav", { class: "side", "aria-label": "Kernels" }, names.map((name) => h("a", { href: `#kernels/${name}`, "aria-current": name === shown && "true" },
      h("code", null, name), h("span", { class: "quiet" }, `${users.get(name)?.length ?? 0} ×, ${DATA.kernels[name].split("\n").length} lines`)))),
    h("div", { class: "page" }, shown !== undefined && [h("h2", null, shown),
      h("p", null, "Computes ", [...new Set(users.get(shown))].flatMap((group, k) => [k > 0 && ", ", groupLink(group, `group ${group}`)])), kernelText(shown)]));
}

/** @param {string} query @param {number} chosen @param {Record<string, number> | null} env */
function hostView(query, chosen, env) {
  const rows = DATA.steps.map((/** @type {any} */ step, /** @type {number} */ k) => ({ step, k, text: stepText(step) }))
    .filter((/** @type {any} */ row) => matches(row.text, query));
  return h("div", { class: "page" },
    h("h2", null, `Steps (${DATA.steps.length})`),
    h("table", { class: "list steps" },
      tableHead(["Step", "What", "Group", "Reads and writes", "Bytes moved", ...(PROFILE ? ["Time"] : [])]),
      h("tbody", null, rows.map((/** @type {any} */ { step, k, text }) => h("tr", { id: `step-${k}`, class: k === chosen ? "chosen" : null },
        h("td", { class: "value" }, k), h("td", null, "\u2003".repeat(step.depth), h("code", null, text)),
        h("td", null, step.group !== null && groupLink(step.group, String(step.group))),
        h("td", { class: "formula" }, stepSlots(step).map((slot) => DATA.buffers[slot].name).join(", ")),
        h("td", { class: "value" }, step.group !== null && env && !isControl(DATA.groups[step.group]) && bytesText(movedBy(step.group, env))),
        PROFILE && h("td", { class: "value" }, stepTime(k)))))),
    section("Its text", codeBlock(DATA.host), true));
}

/** The time of a step; that of a launch group is in its own row. @param {number} number */
function stepTime(number) {
  const step = measuredStep(number);
  return step === undefined ? "–" : step.number === number ? timeText(step.seconds.least) : "";
}

/** @param {any} step */
function stepText(step) {
  switch (step.kind) {
    case "launch": return step.kernel;
    case "choice": return `${kernelsOf(step)[0] ?? "cuBLAS"}, ${step.variants.length} variants`;
    case "host_call": return `${step.callee} in Python, for ${step.place}`;
    case "copy": return `copy ${DATA.buffers[step.source].name} to ${DATA.buffers[step.target].name}`;
    case "region": return `${step.launches} launches by rows, each thread ${sizeText(step.rows)} at a time`;
    case "while": return `while ${DATA.buffers[step.flag].name}`;
    default: return `case ${DATA.buffers[step.index].name}`;
  }
}

/** @param {any} step @returns {number[]} */
function stepSlots(step) {
  if (step.kind === "launch" || step.kind === "host_call") return step.buffers;
  if (step.kind === "copy") return [step.source, step.target];
  return step.group === null || step.kind !== "choice" ? [] : [...DATA.groups[step.group].reads, ...DATA.groups[step.group].writes];
}

/** @param {number} group @param {Record<string, number>} env */
function movedBy(group, env) {
  return evaluate(DATA.groups[group].bytes_read, env) + evaluate(DATA.groups[group].bytes_written, env);
}

/** Whether all words of a query occur. @param {string} text @param {string} query */
function matches(text, query) {
  const folded = text.toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => folded.includes(word));
}
