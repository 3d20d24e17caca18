// @ts-check
"use strict";

/** @param {SizeExpr} size @param {Record<string, number> | null} env @param {(n: number) => string} show */
function measured(size, env, show) {
  return env ? show(evaluate(size, env)) : "–";
}

/** Everything about one group. @param {number} number @param {Record<string, number> | null} env */
function groupDetails(number, env) {
  const group = DATA.groups[number];
  const steps = STEPS_OF[number];
  const inner = DATA.groups.findIndex((/** @type {any} */ g) => g.parent === number);
  return h("article", { class: "details", "aria-label": `Group ${number}` },
    h("h2", null, h("span", { class: `chip kind-${KINDS[group.kind] ?? "rows"}` }, number), " ", groupName(number)),
    h("p", { class: "lead" }, group.kind, group.rows && [", one row per ", h("code", null, group.rows)],
      group.parent !== null && [", inside of ", groupLink(group.parent)],
      inner >= 0 && [", contains ", groupLink(inner, "its groups")]),
    groupTimes(number),
    trafficTable(group, env),
    section("Why", reasons(group)),
    section(`Operations (${group.ops.length})`, operations(group)),
    section("Reads", tensors(group.reads, env, number)),
    section("Writes", tensors(group.writes, env, number)),
    factsAbout(group),
    steps.length > 0 && section("Steps of the host program", steps.map((step) => stepDetails(step, env))),
    kernelSections(steps),
  );
}

/** @param {string} title @param {any} content @param {boolean} [closed] */
function section(title, content, closed = false) {
  return h("details", { class: "section", open: !closed && "" }, h("summary", null, title), content);
}

/** @param {number} number @param {string} [text] */
function groupLink(number, text) {
  return h("a", { href: `#groups/${number}` }, text ?? `${number} ${groupName(number)}`);
}

/** @param {any} group @param {Record<string, number> | null} env */
function trafficTable(group, env) {
  const rows = /** @type {[string, SizeExpr, (n: number) => string][]} */ ([
    ["Bytes read", group.bytes_read, bytesText], ["Bytes written", group.bytes_written, bytesText],
    ["FLOPs, estimated", group.flops, countText],
  ]);
  return h("table", { class: "numbers" }, h("tbody", null, rows.map(([name, formula, show]) =>
    h("tr", null, h("th", { scope: "row" }, name), h("td", { class: "value" }, measured(formula, env, show)),
      h("td", { class: "formula" }, sizeText(formula))))));
}

/** @param {any} group */
function reasons(group) {
  if (group.decisions.length === 0) return h("p", { class: "quiet" }, "Nothing was merged into it, and nothing was refused.");
  return h("ul", { class: "reasons" }, group.decisions.map((/** @type {any} */ decision) =>
    h("li", { class: decision.merged ? "merged" : "refused" },
      h("strong", null, decision.merged ? "Merged" : "Kept apart"), " ", decision.reason, ". ",
      h("span", { class: "values" }, decision.values.join(", ")))));
}

/** @param {any} group */
function operations(group) {
  return h("ol", { class: "ops" }, group.ops.map((/** @type {[string, string, number, string, boolean]} */ [, text, line, origin, inlined]) =>
    h("li", { class: inlined ? "inlined" : null },
      h("code", null, text),
      h("span", { class: "place" }, origin && h("b", null, shortPath(origin)), ` line ${line}`, inlined && ", inlined"))));
}

/** @param {string} path */
function shortPath(path) {
  return path.replace(/^.*[/\\](?=[^/\\]+[/\\][^/\\]+$)/, "…/");
}

/** @param {any} buffer */
function typeText(buffer) {
  return `${buffer.dtype}[${buffer.shape.map(sizeText).join(", ")}]`;
}

/** @param {number[]} slots @param {Record<string, number> | null} env @param {number} number */
function tensors(slots, env, number) {
  if (slots.length === 0) return h("p", { class: "quiet" }, "Nothing.");
  return h("table", { class: "tensors" }, h("tbody", null, slots.map((slot) => {
    const buffer = DATA.buffers[slot];
    const others = [...WRITERS[slot], ...READERS[slot]].filter((other) => other !== number);
    return h("tr", null,
      h("th", { scope: "row" }, buffer.name), h("td", { class: "formula" }, typeText(buffer)),
      h("td", { class: "value" }, measured(buffer.size, env, bytesText)),
      h("td", { class: "links" }, buffer.kind !== "arena" && h("span", { class: "quiet" }, `${buffer.kind} `),
        others.slice(0, 6).flatMap((other) => [h("a", { href: `#groups/${other}` }, other), " "]), others.length > 6 && "…"));
  })));
}

const [WRITERS, READERS] = ["writes", "reads"].map((side) => {
  const found = /** @type {number[][]} */ (DATA.buffers.map(() => []));
  DATA.groups.forEach((/** @type {any} */ group, /** @type {number} */ k) => {
    for (const slot of group[side]) found[slot].push(k);
  });
  return found;
});

/** Facts about the sizes of a group's tensors, and why its results have the shapes that they have. @param {any} group */
function factsAbout(group) {
  const slots = [...group.reads, ...group.writes].map((slot) => DATA.buffers[slot]);
  const words = new Set(slots.flatMap((buffer) => buffer.shape.flatMap(symbolsOf)));
  const found = DATA.facts.flatMap((/** @type {any} */ fact, /** @type {number} */ k) => {
    const named = fact.text.match(/[\p{XID_Start}_]\p{XID_Continue}*/gu) ?? [];
    return named.some((/** @type {string} */ word) => words.has(word)) ? [k] : [];
  });
  const results = group.writes.flatMap((/** @type {number} */ slot) => DIM_FACTS.get(DATA.buffers[slot].name) ?? []);
  const all = [...results, ...found];
  return all.length > 0 && section(`Facts about its sizes (${all.length})`, factList(all), all.length > 16);
}

/** @param {number} number @param {Record<string, number> | null} env */
function stepDetails(number, env) {
  const step = DATA.steps[number];
  switch (step.kind) {
    case "launch":
      return launchTable(number, step, env);
    case "choice":
      return h("div", null, h("p", null, stepLink(number), ` picks the cheapest of ${step.variants.length} that is legal:`), variantTable(step, env));
    case "host_call":
      return h("p", null, stepLink(number), ` calls ${step.callee} in Python, for ${step.place}.`);
    default:
      return h("p", null, stepLink(number), ` ${step.kind}, ends before step ${step.end}.`);
  }
}

/** @param {number} number */
function stepLink(number) {
  return h("a", { href: `#host/${number}` }, `Step ${number}`);
}

/** @param {number} number @param {any} step @param {Record<string, number> | null} env */
function launchTable(number, step, env) {
  const rows = [["tasks", step.extent], ["tasks per thread, at least", step.grain], ["scratch per thread, bytes", step.scratch]];
  return h("div", null, h("p", null, stepLink(number), " launches ", h("code", null, step.kernel), step.symbols.length > 0 && [" with ", h("code", null, step.symbols.join(", "))]),
    h("table", { class: "numbers" }, h("tbody", null, rows.map(([name, formula]) =>
      h("tr", null, h("th", { scope: "row" }, name), h("td", { class: "value" }, measured(formula, env, countText)),
        h("td", { class: "formula" }, sizeText(formula)))))));
}

/** @param {any} step @param {Record<string, number> | null} env */
function variantTable(step, env) {
  return h("table", { class: "variants" },
    tableHead(["Variant", "At these sizes", "Guards", "Commands"]),
    h("tbody", null, step.variants.map((/** @type {any} */ variant) => {
      const legal = env && variant.guards.every((/** @type {any} */ g) => guardHolds(g, env));
      return h("tr", { class: env && !legal ? "illegal" : null },
        h("th", { scope: "row" }, variant.label), h("td", null, !env ? "–" : legal ? "✓ legal" : "✕ not legal"),
        h("td", null, variant.guards.map((/** @type {any} */ g) => guardText(g, env)), variant.aligned && h("div", null, "arguments start at 16 bytes"), variant.guards.length === 0 && !variant.aligned && h("span", { class: "quiet" }, "none")),
        h("td", null, variant.commands.map((/** @type {any} */ c) => h("div", null, commandText(c, env)))));
    })));
}

/** @param {[SizeExpr, string, SizeExpr]} guard @param {Record<string, number>} env */
function guardHolds([lhs, relation, rhs], env) {
  return RELATIONS[relation](evaluate(lhs, env), evaluate(rhs, env));
}

/** @param {[SizeExpr, string, SizeExpr]} guard @param {Record<string, number> | null} env */
function guardText(guard, env) {
  const [lhs, relation, rhs] = guard;
  const failed = env && !guardHolds(guard, env);
  return h("div", { class: failed ? "broken" : null }, h("code", null, `${sizeText(lhs)} ${relation} ${sizeText(rhs)}`), failed && ` (${evaluate(lhs, env)})`);
}

/** @param {any} command @param {Record<string, number> | null} env */
function commandText(command, env) {
  const size = (/** @type {SizeExpr} */ one) => measured(one, env, String);
  switch (command.kind) {
    case "kernel":
      return [h("code", null, command.kernel), ` ${size(command.blocks)} × ${command.threads} threads`, command.shared !== 0 && `, ${measured(command.shared, env, bytesText)} shared`];
    case "product":
      return ["cuBLAS ", [command.m, command.n, command.k].map(size).join(" × "), command.batch.length > 0 && `, batch ${command.batch.map(size).join(" × ")}`];
    default:
      return `${command.kind} ${DATA.buffers[command.target].name}`;
  }
}

/** @param {number[]} steps */
function kernelSections(steps) {
  const names = [...new Set(steps.flatMap((step) => kernelsOf(DATA.steps[step])).flatMap(withParts))];
  return names.map((name, k) => section(`Kernel ${name}`, kernelText(name), k > 0));
}

/** @param {string} name */
function kernelText(name) {
  const text = DATA.kernels[name];
  return text === undefined ? h("p", { class: "quiet" }, "Its text is not in the program.") : codeBlock(text);
}
