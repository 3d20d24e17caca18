// @ts-check
"use strict";

/**
 * A size: a number, a symbol, or a function of sizes. They are what the compiler hands to the runtime, evaluated here as
 * the runtime does: a quotient or remainder by 0 is 0. Numbers are exact up to 2 ** 53.
 * @typedef {number | string | SizeOp} SizeExpr
 * @typedef {[string, SizeExpr[]]} SizeOp
 */

/** @type {Record<string, (...values: number[]) => number>} */
const SIZE_FUNCTIONS = {
  "+": (...values) => values.reduce((a, b) => a + b),
  "*": (...values) => values.reduce((a, b) => a * b),
  "//": (a, b) => (b === 0 ? 0 : Math.floor(a / b)),
  "%": (a, b) => (b === 0 ? 0 : a - Math.floor(a / b) * b),
  min: Math.min,
  max: Math.max,
};

/**
 * The value of a size.
 * @param {SizeExpr} size
 * @param {Record<string, number>} env
 * @returns {number}
 */
function evaluate(size, env) {
  if (typeof size === "number") return size;
  if (typeof size === "string") {
    if (!Object.hasOwn(env, size)) throw new Error(`no size ${size}`);
    return env[size];
  }
  const [fn, operands] = size;
  if (!Object.hasOwn(SIZE_FUNCTIONS, fn)) throw new Error(`no function ${fn}`);
  return SIZE_FUNCTIONS[fn](...operands.map((operand) => evaluate(operand, env)));
}

/**
 * A size as people write it.
 * @param {SizeExpr} size
 * @returns {string}
 */
function sizeText(size) {
  if (!Array.isArray(size)) return String(size).replace("-", "−");
  const [fn, operands] = size;
  if (fn === "min" || fn === "max") return `${fn}(${operands.map(sizeText).join(", ")})`;
  if (fn === "+") {
    return operands.map(sizeText).reduce((sum, term) => sum + (term[0] === "−" ? ` − ${term.slice(1)}` : ` + ${term}`));
  }
  const factors = operands.map((operand) => {
    const text = sizeText(operand);
    return Array.isArray(operand) && operand[0] !== "min" && operand[0] !== "max" ? `(${text})` : text;
  });
  if (fn !== "*") return factors.join(` ${fn} `);
  return operands[0] === -1 ? `−${factors.slice(1).join("·")}` : factors.join("·");
}

/** The symbols of a size, as often as they occur. @param {SizeExpr} size @returns {string[]} */
function symbolsOf(size) {
  if (Array.isArray(size)) return size[1].flatMap(symbolsOf);
  return typeof size === "string" ? [size] : [];
}
