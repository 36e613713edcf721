// The steps of a derivation and its attention as tables: the same as the tree shows, to read line by line.

import { make } from "./dom.js";
import { percent, pieceText, stepRows, weightsOf } from "./reading.js";

/** A folded part of the page whose content is made when it is first opened. */
export function folded(title, makeContent) {
  const details = make("details", { class: "fold" }, make("summary", {}, title));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(makeContent());
  });
  return details;
}

/** All steps; pressing a step's number goes there. */
export function stepTable(derivation, goTo) {
  const rows = stepRows(derivation).map(({ step, symbol, kind, text, probability }) => {
    const go = make("button", { type: "button", "aria-label": `Go to step ${step}` }, String(step));
    go.addEventListener("click", () => goTo(step));
    const meter = make("meter", { min: 0, max: 1, low: 0.5, high: 0.9, optimum: 1, value: probability, "aria-hidden": "true" });
    return make(
      "tr", { "data-kind": kind },
      make("td", {}, go), make("td", {}, symbol), make("td", { dir: "auto" }, text), make("td", {}, meter, ` ${percent(probability)}`),
    );
  });
  return scrolled("Steps", make("table", { class: "steps" }, head("Step", "Open symbol", "Action", "Probability"), make("tbody", {}, ...rows)));
}

/** The attention of each word over the source. */
export function attentionTable(derivation, attention) {
  const rows = derivation.words.map((number) => {
    const node = derivation.nodes[number];
    const weights = weightsOf(attention, derivation, node) ?? [];
    const cells = weights.map((weight, place) => {
      const cell = make("td", { title: `${node.label}: ${pieceText(attention.source[place])} ${percent(weight)}` }, String(Math.round(weight * 100)));
      cell.style.setProperty("--weight", weight.toFixed(3));
      return cell;
    });
    return make("tr", {}, make("th", { scope: "row", dir: "auto" }, node.label), ...cells);
  });
  const caption = make("caption", {}, "Attention of each word (rows) over the pieces of the source (columns), in percent");
  return scrolled("Attention", make("table", { class: "attention" }, caption, head("", ...attention.source.map(pieceText)), make("tbody", {}, ...rows)));
}

// The keyboard scrolls only what can have the focus.
function scrolled(name, table) {
  return make("div", { class: "table", role: "group", tabindex: "0", "aria-label": name }, table);
}

function head(...names) {
  return make("thead", {}, make("tr", {}, ...names.map((name) => make(name ? "th" : "td", name ? { scope: "col", dir: "auto" } : {}, name))));
}
