// @ts-check
"use strict";

/**
 * A step as it was measured: see `StepProfile` in profiling/profile.py.
 * @typedef {{number: number, kind: string, name: string, groups: number[], members: {kernel: string, group: number, seconds: number}[], runs: number, seconds: {least: number, median: number}, share: number,
 *   bytes_per_second: number, flops_per_second: number, of_limit: number | null, bound: string, threads: number}} MeasuredStep
 */

/** What was measured of calls, if the page was made with a profile. @type {any} */
const PROFILE = DATA.profile;

/** @type {MeasuredStep[]} */
const MEASURED = PROFILE ? PROFILE.steps : [];

/** The measured steps that compute a group. @param {number} group */
function measuredOf(group) {
  return MEASURED.filter((step) => step.groups.includes(group));
}

/** The measured step that a step of the host program is, or is a part of. @param {number} number */
function measuredStep(number) {
  return MEASURED.find((step) => step.number <= number && number < DATA.steps[step.number].end);
}

/**
 * The seconds of a step that a group takes. Those of a launch group are divided as the times of its launches alone.
 * @param {MeasuredStep} step @param {number} group
 */
function secondsIn(step, group) {
  const alone = step.members.reduce((sum, member) => sum + member.seconds, 0);
  const own = step.members.reduce((sum, member) => sum + (member.group === group ? member.seconds : 0), 0);
  return step.seconds.least * (alone > 0 ? own / alone : 1);
}

/** The seconds of all steps that a group takes. @param {number} group */
function secondsOf(group) {
  return measuredOf(group).reduce((sum, step) => sum + secondsIn(step, group), 0);
}

/** Seconds for people: `12.3 us`. @param {number} seconds */
function timeText(seconds) {
  const [factor, unit] = seconds < 1e-3 ? [1e6, "us"] : seconds < 1 ? [1e3, "ms"] : [1, "s"];
  const value = seconds * factor;
  return `${value >= 100 ? Math.round(value) : value.toPrecision(3)} ${unit}`;
}

/** @param {number} rate @param {string} unit */
function rateText(rate, unit) {
  return rate > 0 ? `${(rate / 1e9).toPrecision(3)} ${unit}` : "–";
}

/** The sizes that were measured at: the sliders do not change what was measured. */
function measuredSizes() {
  const sizes = Object.entries(PROFILE.sizes).map(([name, value]) => `${name} = ${value}`);
  return sizes.length ? `at ${sizes.join(", ")}` : "at constant sizes";
}

/** @param {MeasuredStep} step */
function limitText(step) {
  return step.of_limit === null ? "–" : `${Math.round(100 * step.of_limit)}% ${step.bound}`;
}

/** Where the time goes, step by step. */
function timeTable() {
  const sorted = [...MEASURED].sort((a, b) => b.seconds.least - a.seconds.least);
  return [
    h("h2", null, "Where the time goes"),
    h("p", { class: "lead" }, `Steps by the least time of ${PROFILE.repeat} calls ${measuredSizes()}. All steps take ${timeText(PROFILE.seconds)}, a call ${timeText(PROFILE.whole.least)}.`),
    h("table", { class: "list", id: "times" }, tableHead(["Step", "Groups", "Time", "Share", "GB/s", "GFLOP/s", "Of limit"]),
      h("tbody", null, sorted.slice(0, 60).map((step) => h("tr", null,
        h("td", { class: "value" }, h("a", { href: `#host/${step.number}` }, step.number)),
        h("td", null, step.groups.length ? step.groups.map((group) => h("div", null, groupLink(group), step.members.length > 0 && `, about ${timeText(secondsIn(step, group))}`)) : step.name),
        h("td", { class: "value" }, timeText(step.seconds.least)), h("td", { class: "value" }, `${(100 * step.share).toFixed(1)}%`),
        h("td", { class: "value" }, rateText(step.bytes_per_second, "")), h("td", { class: "value" }, rateText(step.flops_per_second, "")),
        h("td", { class: "value" }, limitText(step)))))),
  ];
}

/** What was measured of one group. @param {number} number */
function groupTimes(number) {
  return measuredOf(number).map((step) => h("p", { class: "measured" },
    step.members.length > 0 && [h("strong", null, `about ${timeText(secondsIn(step, number))}`), " of "],
    h("strong", null, timeText(step.seconds.least)), ` measured ${measuredSizes()}`, step.runs > 1 && `, in ${step.runs} runs`,
    step.groups.filter((one) => one !== number).flatMap((one, k) => [k > 0 ? ", " : " with ", groupLink(one, `group ${one}`)]),
    `: ${(100 * step.share).toFixed(1)}% of all steps, ${rateText(step.bytes_per_second, "GB/s")}, ${rateText(step.flops_per_second, "GFLOP/s")}`,
    step.of_limit !== null && `, ${limitText(step)}`, "."));
}
