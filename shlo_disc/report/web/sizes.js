// @ts-check
"use strict";

/** @type {any} */
const DATA = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent ?? "");

/**
 * What a call with the chosen sizes is: the value of every symbol, or why it is refused.
 * @typedef {{env: Record<string, number>, refusal: {title: string, message: string, where: string} | null}} Call
 */

const RELATIONS = /** @type {Record<string, (a: number, b: number) => boolean>} */ ({
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  ">=": (a, b) => a >= b,
  "<=": (a, b) => a <= b,
});

/** The sizes to begin with: those that were measured at, else likely ones, if the compiler found some that are accepted. */
function firstSizes() {
  const { names, points } = DATA.sizes;
  /** @type {Record<string, number>} */
  const chosen = {};
  names.forEach((/** @type {string} */ name, /** @type {number} */ k) => (chosen[name] = PROFILE?.sizes[name] ?? points[0]?.[k] ?? 8));
  return chosen;
}

/**
 * Do what the runtime does before a call: bind the sizes, check them, compute the others.
 * @param {Record<string, number>} chosen
 * @returns {Call}
 */
function bind(chosen) {
  /** @type {Record<string, number>} */
  const env = { ...chosen };
  const given = DATA.places.length; // sizes of arguments first, then elements of them, which may be negative
  for (let k = 0; k < given; k++) {
    const value = evaluate(DATA.sizes.raw[k], chosen);
    env[DATA.symbols[k]] = value;
    if (value < 0 && k < DATA.dims) return { env, refusal: negative(k, value) };
  }
  DATA.definitions.forEach((/** @type {SizeExpr} */ size, /** @type {number} */ k) => {
    env[DATA.symbols[given + k]] = evaluate(size, env);
  });
  const broken = DATA.checks.find((/** @type {any} */ check) => !holds(check, env));
  return { env, refusal: broken ? refusalOf(broken, env) : null };
}

/** @param {any} check @param {Record<string, number>} env */
function holds(check, env) {
  return RELATIONS[check.relation](evaluate(check.lhs, env), evaluate(check.rhs, env));
}

/** @param {number} k @param {number} value */
function negative(k, value) {
  const message = `The ${DATA.places[k]} would be ${value}.`;
  return { title: `${sizeText(DATA.sizes.raw[k])} ≥ 0`, message, where: "" };
}

/** @param {any} check @param {Record<string, number>} env */
function refusalOf(check, env) {
  const [left, right] = [evaluate(check.lhs, env), evaluate(check.rhs, env)];
  const message = check.message.replace(/\{(\d+)\}/g, (/** @type {string} */ hole, /** @type {string} */ k) =>
    Number(k) < check.values.length ? String(evaluate(check.values[Number(k)], env)) : hole,
  );
  const signs = /** @type {Record<string, string>} */ ({ "==": "=", "!=": "≠", ">=": "≥", "<=": "≤" });
  const title = `${sizeText(check.lhs)} ${signs[check.relation]} ${sizeText(check.rhs)} does not hold: ${left}, ${right}`;
  return { title, message, where: check.where };
}

/**
 * The accepted value of one size that is nearest to the chosen one, if there is one.
 * @param {Record<string, number>} chosen
 * @param {string} name
 */
function nearestAccepted(chosen, name) {
  for (let distance = 1; distance <= 2048; distance++) {
    for (const value of [chosen[name] + distance, chosen[name] - distance]) {
      if (value >= 0 && !bind({ ...chosen, [name]: value }).refusal) return value;
    }
  }
  return null;
}
