// @ts-check
"use strict";

const state = {
  chosen: firstSizes(),
  call: bind(firstSizes()),
  query: "",
  /** @type {Graph | null} */
  graph: null,
  body: -1,
};

/** The values of all sizes, or null if the call is refused. */
function currentEnv() {
  return state.call.refusal ? null : state.call.env;
}

/** Where the page is: `#view/what`. */
function place() {
  const [view, ...rest] = decodeURIComponent(location.hash.slice(1)).split("/");
  return { view: view || "groups", what: rest.join("/") };
}

// --- sizes

/** The positions of sliders: all small sizes, then eight for each power of two. */
const STOPS = [...Array(17).keys(), ...Array.from({ length: 72 }, (_, k) => Math.round(2 ** (4 + (k + 1) / 8)))];

/** @param {number} value */
function stopOf(value) {
  const next = STOPS.findIndex((stop) => stop >= value);
  return next < 0 ? STOPS.length - 1 : next;
}

function sizeControls() {
  const names = /** @type {string[]} */ (DATA.sizes.names);
  const controls = names.map((name) => {
    const slider = h("input", { type: "range", min: 0, max: STOPS.length - 1, value: stopOf(state.chosen[name]), "aria-label": `size ${name}`, "data-size": name });
    const number = h("input", { type: "number", min: 0, step: 1, value: state.chosen[name], "aria-label": `value of ${name}`, id: `size-${name}` });
    slider.addEventListener("input", () => setSize(name, STOPS[Number(/** @type {HTMLInputElement} */ (slider).value)]));
    number.addEventListener("input", () => setSize(name, Math.max(0, Math.floor(Number(/** @type {HTMLInputElement} */ (number).value)))));
    return h("div", { class: "size" }, h("label", { for: `size-${name}` }, name), slider, number);
  });
  byId("sizes").replaceChildren(
    names.length ? h("div", { class: "sliders" }, controls) : h("p", { class: "quiet" }, "All sizes of this program are constant."),
    h("div", { id: "refusal", role: "alert" }));
}

/** @param {string} name @param {number} value */
function setSize(name, value) {
  state.chosen[name] = value;
  state.call = bind(state.chosen);
  const number = /** @type {HTMLInputElement} */ (byId(`size-${name}`));
  if (Number(number.value) !== value) number.value = String(value);
  const slider = /** @type {HTMLInputElement | null} */ (document.querySelector(`[data-size="${CSS.escape(name)}"]`));
  if (slider) slider.value = String(stopOf(value));
  showRefusal(name);
  showNumbers();
}

/** @param {string} [changed] */
function showRefusal(changed) {
  const { refusal } = state.call;
  byId("refusal").replaceChildren(...(refusal ? [refusalText(refusal, changed)] : []));
  document.body.classList.toggle("refused", refusal !== null);
}

/** @param {NonNullable<Call["refusal"]>} refusal @param {string} [changed] */
function refusalText(refusal, changed) {
  const near = changed === undefined ? null : nearestAccepted(state.chosen, changed);
  return h("div", { class: "refusal" },
    h("strong", null, "Refused: "), h("code", null, refusal.title), " ",
    near !== null && h("button", { type: "button", onclick: () => changed !== undefined && setSize(changed, near) }, `${changed} = ${near} is accepted`),
    h("details", null, h("summary", null, clip(refusal.message, 120)), h("p", null, refusal.message), refusal.where && h("pre", { class: "code" }, refusal.where)));
}

// --- views

/** What depends on the chosen sizes, again. */
function showNumbers() {
  showSummary();
  const { view, what } = place();
  if (view === "groups") {
    weighGraph();
    showGroup(what);
  } else if (view !== "kernels") showView();
}

function showSummary() {
  const env = currentEnv();
  const launches = DATA.steps.filter((/** @type {any} */ step) => step.kind === "launch" || step.kind === "choice").length;
  const ops = DATA.groups.reduce((/** @type {number} */ sum, /** @type {any} */ g) => sum + g.ops.filter((/** @type {any[]} */ op) => !op[4]).length, 0);
  const moved = env && DATA.groups.reduce((/** @type {number} */ sum, /** @type {any} */ g, /** @type {number} */ k) => sum + (isControl(g) ? 0 : movedBy(k, env)), 0);
  byId("summary").replaceChildren(
    `${DATA.device === "cuda" ? "CUDA" : "CPU"} · ${ops} ops in ${launches} launches of ${Object.keys(DATA.kernels).length} kernels`,
    env ? ` · ${bytesText(moved)} moved · ${bytesText(evaluate(DATA.arena, env))} of temporaries` : " · refused",
    PROFILE ? ` · ${timeText(PROFILE.whole.least)} a call ${measuredSizes()}` : "");
}

/** @param {any} group */
function isControl(group) {
  return KINDS[group.kind] === "control";
}

function weighGraph() {
  const env = currentEnv();
  if (PROFILE) state.graph?.weigh((group) => (isControl(DATA.groups[group]) ? 0 : secondsOf(group) * 1e9));
  else state.graph?.weigh((group) => (env && !isControl(DATA.groups[group]) ? movedBy(group, env) : 0));
}

/** @param {string} what */
function showGroup(what) {
  const number = what === "" ? NaN : Number(what);
  const panel = byId("panel");
  const known = Number.isInteger(number) && number < DATA.groups.length;
  const open = new Map([...panel.querySelectorAll("details.section")].map((one) => [one.querySelector("summary")?.textContent, one.hasAttribute("open")]));
  panel.replaceChildren(known ? groupDetails(number, currentEnv()) : overviewPanel());
  if (panel.dataset.group === what) {
    for (const one of panel.querySelectorAll("details.section")) one.toggleAttribute("open", open.get(one.querySelector("summary")?.textContent) ?? one.hasAttribute("open"));
  } else panel.scrollTop = 0;
  panel.dataset.group = what;
  state.graph?.select(known ? number : null);
}

/** What is shown before a group is chosen: the steps that take the most time, and the groups that move the most bytes. */
function overviewPanel() {
  const env = currentEnv();
  const groups = DATA.groups.flatMap((/** @type {any} */ g, /** @type {number} */ k) => (isControl(g) ? [] : [k]));
  const sorted = env ? groups.sort((/** @type {number} */ a, /** @type {number} */ b) => movedBy(b, env) - movedBy(a, env)) : groups;
  return h("article", { class: "details" },
    PROFILE && timeTable(),
    h("h2", null, "Where the bytes go"),
    h("p", { class: "lead" }, "Groups by the bytes that they move at these sizes. Choose one for its operations, reasons and kernel."),
    h("table", { class: "list" }, tableHead(["Group", "Kind", "Bytes moved", "FLOPs"]),
      h("tbody", null, sorted.slice(0, 60).map((/** @type {number} */ k) => h("tr", null,
        h("th", { scope: "row" }, groupLink(k)), h("td", null, DATA.groups[k].kind),
        h("td", { class: "value" }, env ? bytesText(movedBy(k, env)) : "–"), h("td", { class: "value" }, measured(DATA.groups[k].flops, env, countText)))))),
    sorted.length > 60 && h("p", { class: "quiet" }, `and ${sorted.length - 60} more`));
}

/** The bodies of the program: the main one, and those of loops and branches. */
function bodyPicker() {
  const bodies = [...new Map(DATA.groups.map((/** @type {any} */ g) => [g.body, g.parent]))];
  if (bodies.length < 2) return null;
  const label = (/** @type {any} */ [body, parent]) => (parent === null ? "main program" : `body ${body}, in group ${parent}`);
  const picker = h("select", { "aria-label": "Body", class: "bodies" }, bodies.map((one) => h("option", { value: one[0], selected: one[0] === state.body && "" }, label(one))));
  picker.addEventListener("change", () => {
    const body = Number(/** @type {HTMLSelectElement} */ (picker).value);
    location.hash = `#groups/${DATA.groups.findIndex((/** @type {any} */ g) => g.body === body)}`;
  });
  return picker;
}

/** @param {string} what */
function showGroups(what) {
  const body = DATA.groups[Number(what)]?.body ?? 0;
  if (!byId("panel") || state.body !== body) {
    state.body = body;
    state.graph = new Graph(body, (group) => (location.hash = `#groups/${group}`));
    byId("view").replaceChildren(h("div", { class: "workbench" },
      h("div", { class: "left" }, bodyPicker(), state.graph.element),
      h("aside", { id: "panel", "aria-label": "Details", tabindex: -1 })));
    state.graph.start();
    weighGraph();
  }
  showGroup(what);
  filterGraph();
}

/** @type {string[] | null} */
let searchTexts = null;

/** What can be searched for in each group. */
function textsOfGroups() {
  searchTexts ??= DATA.groups.map((/** @type {any} */ g, /** @type {number} */ k) =>
    [k, g.kind, groupName(k), ...g.ops.map((/** @type {any[]} */ op) => `${op[1]} ${op[3]} line ${op[2]}`)].join(" "));
  return /** @type {string[]} */ (searchTexts);
}

/** @returns {number[]} */
function foundGroups() {
  return textsOfGroups().flatMap((text, k) => (matches(text, state.query) ? [k] : []));
}

function filterGraph() {
  state.graph?.filter(state.query ? new Set(foundGroups()) : null);
}

function showView() {
  const { view, what } = place();
  for (const tab of byId("tabs").querySelectorAll("a")) tab.toggleAttribute("aria-current", tab.getAttribute("href") === `#${view}`);
  document.body.dataset.view = view;
  hideTip();
  if (view === "groups") return showGroups(what);
  const env = currentEnv();
  const content = { memory: () => memoryView(env), facts: () => factsView(state.query), kernels: () => kernelsView(state.query, what), host: () => hostView(state.query, what === "" ? -1 : Number(what), env) }[view];
  byId("view").replaceChildren(content ? content() : h("p", null, "There is no such view."));
  if (view === "host" && what) byId(`step-${what}`)?.scrollIntoView({ block: "center" });
}

// --- tips, search, keys

/** @param {Element} target @param {string} text */
function showTip(target, text) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = false;
  const box = target.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(innerWidth - width - 8, box.left + box.width / 2 - width / 2))}px`;
  tip.style.top = `${box.top - height - 8 > 0 ? box.top - height - 8 : Math.min(box.bottom + 8, innerHeight - height - 8)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

function search() {
  state.query = /** @type {HTMLInputElement} */ (byId("search")).value.trim();
  if (place().view === "groups") filterGraph();
  else showView();
}

/** Enter goes to the next group that is found. @param {KeyboardEvent} event */
function searchKey(event) {
  if (event.key === "Escape") /** @type {HTMLInputElement} */ (byId("search")).value = "";
  if (event.key === "Escape") search();
  if (event.key !== "Enter" || place().view !== "groups") return;
  const found = foundGroups();
  const at = Number(place().what || -1);
  if (found.length) location.hash = `#groups/${found.find((group) => group > at) ?? found[0]}`;
}

function begin() {
  sizeControls();
  showRefusal();
  showSummary();
  showView();
  addEventListener("hashchange", showView);
  byId("search").addEventListener("input", search);
  byId("search").addEventListener("keydown", searchKey);
  addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key !== "/" || typing) return;
    event.preventDefault();
    byId("search").focus();
  });
  performance.mark("ready");
}

begin();
