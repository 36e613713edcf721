// What a picture of a derivation shows after so many steps, and that picture as an SVG file.

import { nodeOfStep, statusAt, textAt } from "./derivation.js";

export const FONTS = {
  symbol: "600 12px system-ui, sans-serif",
  phrase: "600 12px system-ui, sans-serif",
  word: "500 16px system-ui, sans-serif",
};

/**
 * The nodes of a picture: each with status, text, place and its probability (null while it is open). Phrases appear only
 * while they are open and empty.
 */
export function figureAt(derivation, layout, step) {
  return derivation.nodes
    .filter((node) => layout.places.has(node.number))
    .map((node) => {
      const place = layout.places.get(node.number);
      let status = statusAt(derivation, node, step);
      if (node.kind === "phrase" && hasWords(derivation, node, step)) status = "absent";
      const own = status === "done" && node.expanded !== null && node.expanded <= step;
      return {
        node, place, status,
        text: node.kind === "word" ? textAt(node, step) : node.label,
        probability: own ? Math.exp(node.logProb) : null,
      };
    });
}

/** Where the next word or piece will be written: after the last word of the open phrase; null if no phrase is being written. */
export function caretAt(derivation, layout, step, measure) {
  const open = derivation.next[step];
  if (open === null || open === undefined || step === 0) return null;
  const number = nodeOfStep(derivation, step);
  const word = number === null ? null : derivation.nodes[number];
  if (word === null || word.kind !== "word") return null;
  const phrase = derivation.nodes[word.parent];
  if (phrase.number !== open && derivation.nodes[open].brackets !== true) return null;
  const place = layout.places.get(word.number);
  const side = layout.direction === "rtl" ? -1 : 1;
  return { x: place.x + side * (measure(textAt(word, step), "word") / 2 + 5), y: place.y, height: 20 };
}

function hasWords(derivation, phrase, step) {
  return phrase.children.some((child) => derivation.nodes[child].opened <= step);
}

const INK = "#1c2430";
const LOOKS = {
  done: { fill: "#eaf0fb", stroke: "#b7c8ec", "stroke-dasharray": null, ink: "#26427f" },
  open: { fill: "#ffffff", stroke: "#8a93a3", "stroke-dasharray": "4 3", ink: "#5b6472" },
  next: { fill: "#fff1d6", stroke: "#d98200", "stroke-dasharray": null, ink: "#7a4800" },
};

/** The picture as the text of an SVG file that stands alone: light, with its own colours. */
export function writeSvg(derivation, layout, step, title) {
  const parts = [element("title", {}, title), element("rect", { width: layout.width, height: layout.height, fill: "#ffffff" })];
  const shown = figureAt(derivation, layout, step).filter((item) => item.status !== "absent");
  for (const { place, status } of shown) {
    if (place.edge === null) continue;
    parts.push(element("path", { d: place.edge, fill: "none", stroke: "#aab4c4", "stroke-width": 1.5, "stroke-dasharray": status === "done" ? null : "4 3" }));
  }
  for (const { node, place, status, text } of shown) {
    const isWord = node.kind === "word";
    const look = LOOKS[status];
    if (!isWord) {
      parts.push(
        element("rect", {
          x: place.x - place.width / 2, y: place.y - place.height / 2, width: place.width, height: place.height, rx: 7,
          fill: look.fill, stroke: look.stroke, "stroke-dasharray": look["stroke-dasharray"],
        }),
      );
    }
    const font = { "font-family": "system-ui, sans-serif", "font-size": isWord ? 16 : 12, "font-weight": isWord ? 500 : 600 };
    parts.push(element("text", { x: place.x, y: place.y, "text-anchor": "middle", "dominant-baseline": "central", fill: isWord ? INK : look.ink, ...font }, text));
  }
  const box = { xmlns: "http://www.w3.org/2000/svg", width: layout.width, height: layout.height, viewBox: `0 0 ${fixed(layout.width)} ${fixed(layout.height)}` };
  return `${open("svg", box)}>\n${parts.join("\n")}\n</svg>\n`;
}

function element(name, attributes, text = null) {
  return text === null ? `${open(name, attributes)}/>` : `${open(name, attributes)}>${escapeXml(text)}</${name}>`;
}

function open(name, attributes) {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => ` ${key}="${escapeXml(fixed(value))}"`);
  return `<${name}${written.join("")}`;
}

function fixed(value) {
  return typeof value === "number" ? String(Math.round(value * 10) / 10) : value;
}

/** A text as XML, with U+FFFD for the characters that XML does not allow. */
export function escapeXml(text) {
  return text
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
