// Where the nodes of a derivation are drawn: words in one line, each symbol above what it covers.
//
// The places are those of the whole tree, so that a tree which grows never moves.

import { drawnChildren, drawnParent } from "./derivation.js";

const ROW = 58; // from one level of the tree to the next, at most
const LEAST_ROW = 38; // in deep trees
const HEIGHT = 640; // that rows are drawn together for
const GAP = 14; // between words
const MARGIN = 18;
const BOX = { symbol: 24, phrase: 24, word: 30 }; // heights

/**
 * The places of the nodes.
 *
 * `measure(text, kind)` gives the width of a text; `direction` is "ltr" or "rtl", where the first word is rightmost.
 * Gives width, height, and for each node that is drawn x and y of its centre, its width, height and level (root: 1), and
 * the edge to its parent (null without one).
 */
export function layOut(derivation, measure, direction = "ltr") {
  const places = new Map();
  const tops = derivation.root === null ? derivation.words.map((number) => derivation.nodes[number]) : [derivation.nodes[derivation.root]];
  const order = []; // parents before children
  const stack = tops.map((node) => [node, 1]).reverse();
  let depth = 1;
  while (stack.length) {
    const [node, level] = stack.pop();
    const children = drawnChildren(derivation, node);
    const isLeaf = children.length === 0;
    const width = measure(node.label, node.kind) + (node.kind === "word" ? 8 : 18);
    order.push({ node, children, level, isLeaf });
    places.set(node.number, { x: 0, y: 0, width, height: BOX[node.kind], level, span: 0, left: 0 });
    depth = Math.max(depth, level);
    for (let index = children.length - 1; index >= 0; index--) stack.push([children[index], level + 1]);
  }

  for (const { node, children } of order.toReversed()) {
    const place = places.get(node.number);
    place.inner = children.reduce((sum, child) => sum + places.get(child.number).span, 0) + GAP * Math.max(0, children.length - 1);
    place.span = Math.max(place.width, place.inner);
  }

  let left = MARGIN;
  for (const node of tops) {
    places.get(node.number).left = left;
    left += places.get(node.number).span + GAP;
  }
  const width = left - GAP + MARGIN;
  const row = Math.min(ROW, Math.max(LEAST_ROW, HEIGHT / depth));
  const baseline = MARGIN + BOX.word / 2 + (depth - 1) * row;
  for (const { node, children, level, isLeaf } of order) {
    const place = places.get(node.number);
    let from = place.left + (place.span - place.inner) / 2;
    for (const child of children) {
      places.get(child.number).left = from;
      from += places.get(child.number).span + GAP;
    }
    place.x = place.left + place.span / 2;
    place.y = isLeaf && node.kind !== "symbol" ? baseline : MARGIN + BOX.word / 2 + (level - 1) * row;
  }
  for (const { node, children, isLeaf } of order.toReversed()) {
    if (isLeaf) continue;
    const first = places.get(children[0].number).x;
    const last = places.get(children[children.length - 1].number).x;
    places.get(node.number).x = (first + last) / 2;
  }
  placePhrases(derivation, places, baseline);
  if (direction === "rtl") for (const place of places.values()) place.x = width - place.x;
  for (const [number, place] of places) {
    const parent = drawnParent(derivation, derivation.nodes[number]);
    place.edge = parent === null ? null : edgePath(places.get(parent.number), place, row);
  }
  return { width: Math.max(width, 2 * MARGIN), height: baseline + BOX.word / 2 + MARGIN, places, direction };
}

// A phrase is drawn only while it is open and empty: in the middle of the words it will have.
function placePhrases(derivation, places, baseline) {
  for (const node of derivation.nodes) {
    if (node.kind !== "phrase" || places.has(node.number) || !node.children.length) continue;
    const first = places.get(node.children[0]);
    const last = places.get(node.children[node.children.length - 1]);
    if (first === undefined || last === undefined) continue;
    places.set(node.number, {
      x: (first.x + last.x) / 2, y: baseline, width: 38, height: BOX.phrase, level: first.level,
    });
  }
}

/** The line from a node to its parent: a bend between their levels, then straight down, so that no two lines cross. */
function edgePath(parent, child, row) {
  const top = parent.y + parent.height / 2;
  const bottom = child.y - child.height / 2;
  const turn = Math.min(bottom, parent.y + row - child.height / 2);
  const middle = (top + turn) / 2;
  const bend = `M${round(parent.x)} ${round(top)}C${round(parent.x)} ${round(middle)} ${round(child.x)} ${round(middle)} ${round(child.x)} ${round(turn)}`;
  return bottom > turn ? `${bend}V${round(bottom)}` : bend;
}

function round(number) {
  return Math.round(number * 10) / 10;
}

const RIGHT_TO_LEFT = /\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko}|\p{Script=Adlam}|\p{Script=Samaritan}|\p{Script=Mandaic}/u;

/** The direction of a text: that of its first letter. */
export function directionOf(text) {
  const letter = /\p{L}/u.exec(text);
  return letter !== null && RIGHT_TO_LEFT.test(letter[0]) ? "rtl" : "ltr";
}
