// @ts-check
"use strict";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element: attributes as text, `on…` as listeners; falsy attributes and children are left out.
 * @param {string} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * The same in SVG.
 * @param {string} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
function s(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Record<string, any> | null | undefined} attributes
 * @param {(Child | Child[])[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children.flat()) {
    if (child !== false && child !== null && child !== undefined) {
      element.append(child instanceof Node ? child : String(child));
    }
  }
  return element;
}

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

const NUMERIC = new Set(["Bytes", "Bytes moved", "FLOPs", "Time", "Share", "GB/s", "GFLOP/s", "Of limit", "Offset", "Step", "Steps"]);

/** @param {string[]} titles */
function tableHead(titles) {
  return h("thead", null, h("tr", null, titles.map((t) => h("th", { scope: "col", class: NUMERIC.has(t) && "value" }, t))));
}

/** Bytes for people: `1.5 MiB`. @param {number} count */
function bytesText(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const unit = count < 1 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1);
  const value = count / 1024 ** unit;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toPrecision(3)} ${units[unit]}`;
}

/** A count for people: `12.3 M`. @param {number} count */
function countText(count) {
  const units = ["", " k", " M", " G", " T", " P"];
  const unit = count < 1000 ? 0 : Math.min(Math.floor(Math.log10(count) / 3), units.length - 1);
  const value = count / 1000 ** unit;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toPrecision(3)}${units[unit]}`;
}

const TOKEN = new RegExp(
  [
    /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/|^#[^\n]*)/,
    /(?<string>"(?:[^"\\]|\\.)*")/,
    /(?<keyword>\b(?:const|constexpr|static|inline|extern|void|for|if|else|while|return|auto|struct|template|typename|using|do|switch|case|break|continue|true|false|__restrict__|__global__|__shared__|__device__|__launch_bounds__)\b)/,
    /(?<type>\b(?:u?int(?:8|16|32|64)?_t|float|double|bool|char|int|idx|unsigned|half|[fiu](?:8|16|32|64)v|bf16v?|size_t)\b)/,
    /(?<number>\b(?:0x[\da-f]+|\d[\d.]*(?:e[-+]?\d+)?)[fuUlL]*\b)/,
  ]
    .map((part) => part.source)
    .join("|"),
  "gim",
);

/** A program text with simple colours. @param {string} text */
function codeBlock(text) {
  const code = h("code");
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    const kind = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0] ?? "";
    code.append(text.slice(at, match.index), h("span", { class: `code-${kind}` }, match[0]));
    at = match.index + match[0].length;
  }
  code.append(text.slice(at));
  return h("pre", { class: "code", tabindex: 0 }, code);
}
