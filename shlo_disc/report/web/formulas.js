// @ts-check
"use strict";

/**
 * Formulas of sizes: sums and products of integers and symbols, and calls of floordiv, mod, min and max. They are what
 * the compiler hands to the runtime, evaluated here as the runtime does: a quotient or remainder by 0 is 0.
 * Numbers are exact up to 2 ** 53.
 * @typedef {(env: Record<string, number>) => number} Formula
 */

/** @type {Record<string, (...values: number[]) => number>} */
const FUNCTIONS = {
  floordiv: (a, b) => (b === 0 ? 0 : Math.floor(a / b)),
  mod: (a, b) => (b === 0 ? 0 : a - Math.floor(a / b) * b),
  min: Math.min,
  max: Math.max,
};

/** @type {Map<string, Formula>} */
const compiledFormulas = new Map();

/**
 * The value of a formula.
 * @param {string} text
 * @param {Record<string, number>} env
 */
function evaluate(text, env) {
  let formula = compiledFormulas.get(text);
  if (!formula) compiledFormulas.set(text, (formula = compileFormula(text)));
  return formula(env);
}

/** @param {string} text @returns {Formula} */
function compileFormula(text) {
  const tokens = text.match(/\d+|[\p{XID_Start}_]\p{XID_Continue}*|\*\*|\/\/|[-+*%(),]/gu) ?? [];
  let at = 0;
  const formula = sum();
  if (at !== tokens.length || tokens.join("") !== text.replace(/\s/g, "")) throw new Error(`cannot read ${text}`);
  return formula;

  /** @returns {Formula} */
  function sum() {
    let left = term();
    while (tokens[at] === "+" || tokens[at] === "-") {
      const sign = tokens[at++] === "+" ? 1 : -1;
      const [a, b] = [left, term()];
      left = (env) => a(env) + sign * b(env);
    }
    return left;
  }

  /** @returns {Formula} */
  function term() {
    let left = factor();
    while (tokens[at] === "*" || tokens[at] === "//" || tokens[at] === "%") {
      const sign = tokens[at++];
      const [a, b] = [left, factor()];
      if (sign === "*") left = (env) => a(env) * b(env);
      else if (sign === "//") left = (env) => FUNCTIONS.floordiv(a(env), b(env));
      else left = (env) => FUNCTIONS.mod(a(env), b(env));
    }
    return left;
  }

  /** A sign binds less than a power, as in Python. @returns {Formula} */
  function factor() {
    if (tokens[at] === "-") {
      at++;
      const inner = factor();
      return (env) => -inner(env);
    }
    const base = atom();
    if (tokens[at] !== "**") return base;
    at++;
    const exponent = factor();
    return (env) => base(env) ** exponent(env);
  }

  /** @returns {Formula} */
  function atom() {
    const token = tokens[at++];
    if (token === "(") {
      const inner = sum();
      expect(")");
      return inner;
    }
    if (token !== undefined && /^\d/.test(token)) {
      const value = Number(token);
      return () => value;
    }
    if (token === undefined || !/^[\p{XID_Start}_]/u.test(token)) throw new Error(`cannot read ${text}`);
    return tokens[at] === "(" ? call(token) : symbol(token);
  }

  /** @param {string} name @returns {Formula} */
  function symbol(name) {
    return (env) => {
      if (!Object.hasOwn(env, name)) throw new Error(`no size ${name}`);
      return env[name];
    };
  }

  /** @param {string} name @returns {Formula} */
  function call(name) {
    if (!Object.hasOwn(FUNCTIONS, name)) throw new Error(`no function ${name}`);
    expect("(");
    const inputs = [sum()];
    while (tokens[at] === ",") {
      at++;
      inputs.push(sum());
    }
    expect(")");
    return (env) => FUNCTIONS[name](...inputs.map((input) => input(env)));
  }

  /** @param {string} token */
  function expect(token) {
    if (tokens[at++] !== token) throw new Error(`cannot read ${text}`);
  }
}
