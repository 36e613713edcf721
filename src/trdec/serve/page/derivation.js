// A derivation: the actions of a translation replayed into the nodes of its tree, each with the step at which it appears.
//
// Steps count from 1, as in the paper's figure 1: step n takes actions[n - 1], and "after step n" is what n actions made.
// Depth is data, so nothing here recurses.

const WORD_START = "▁";

/** What is open where only the end of the sentence is left. */
export const END = "<end>";

/**
 * The derivation of a translation as the server sends it.
 *
 * A node is a symbol of the tree, a phrase (an open place for words, not drawn once it is closed) or a word:
 *   number, kind, label, parent, children    numbers of nodes, left to right
 *   opened, expanded, closed                 steps, null where it never happened
 *   pieces                                   [{step, text}] of a word
 *   first, last                              the words it covers, from 0; last < first where it covers none
 *   logProb, total                           of its own actions, and of all actions below it too
 */
export function derive({ actions, tree = null, attention = null }) {
  const derivation = { nodes: [], root: null, words: [], actions, next: [] };
  const grows = tree === null ? replaySequence : actions.some((action) => action.kind === "rule") ? replayRules : replayBrackets;
  grows(derivation);
  addWords(derivation, attention?.words, leavesOf(tree?.json));
  if (grows === replayBrackets) derivation.root = dropEmpty(derivation);
  measureSpans(derivation);
  return derivation;
}

/** The number of steps of a derivation. */
export function lengthOf(derivation) {
  return derivation.actions.length;
}

/** How a node looks after so many steps: absent, done, open, or next (open, and what the next action works on). */
export function statusAt(derivation, node, step) {
  if (node.dropped || node.opened > step) return "absent";
  if (node.kind === "word") return "done";
  const open = node.kind === "phrase" ? !(node.closed <= step && node.closed !== null) : isOpen(node, step);
  if (!open) return node.kind === "phrase" ? "absent" : "done";
  return derivation.next[step] === node.number ? "next" : "open";
}

/** The part of a word that is written after so many steps. */
export function textAt(node, step) {
  const written = node.pieces.filter((piece) => piece.step <= step);
  if (written.length === node.pieces.length) return node.label;
  const text = written.map((piece) => plain(piece.text)).join("");
  return node.label.startsWith(text) ? text : text.slice(0, node.label.length);
}

/** The symbol that a step works on, for people: a label, or the end. */
export function symbolAt(derivation, step) {
  const number = derivation.next[step - 1];
  return number === null || number === undefined ? END : derivation.nodes[number].label;
}

/** The number of the node that a step made or worked on, or null for the end of the sentence. */
export function nodeOfStep(derivation, step) {
  const word = derivation.words.find((number) => derivation.nodes[number].pieces.some((piece) => piece.step === step));
  if (word !== undefined) return word;
  const worked = derivation.next[step - 1];
  return worked === undefined ? null : worked;
}

/** The nodes that are drawn below a node: its children, with the words of phrases in the place of the phrases. */
export function drawnChildren(derivation, node) {
  return node.children
    .map((number) => derivation.nodes[number])
    .flatMap((child) => (child.kind === "phrase" && child.children.length ? child.children.map((n) => derivation.nodes[n]) : [child]))
    .filter((child) => !child.dropped);
}

/** The node that is drawn above a node, or null above the root and above words that have no tree. */
export function drawnParent(derivation, node) {
  if (node.parent === null) return null;
  const parent = derivation.nodes[node.parent];
  return parent.kind === "phrase" ? drawnParent(derivation, parent) : parent;
}

/** What a node covers, as text. */
export function coveredText(derivation, node) {
  return derivation.words
    .slice(node.first, node.last + 1)
    .map((number) => derivation.nodes[number].label)
    .join(" ");
}

/**
 * The numbers of the nodes in one derivation that another does not have: of a node and what is below it, only the lowest,
 * since a word that differs makes everything above it differ.
 */
export function differences(derivation, other) {
  const key = (of, node) => `${node.kind} ${node.label} ${coveredText(of, node)}`;
  const known = new Set(other.nodes.map((node) => key(other, node)));
  const differing = derivation.nodes.filter((node) => node.kind !== "phrase" && !node.dropped && !known.has(key(derivation, node)));
  const above = new Set();
  for (const node of differing) {
    for (let up = drawnParent(derivation, node); up !== null && !above.has(up.number); up = drawnParent(derivation, up)) above.add(up.number);
  }
  return new Set(differing.map((node) => node.number).filter((number) => !above.has(number)));
}

/** A piece without the mark of where words begin. */
export function plain(piece) {
  return piece.replaceAll(WORD_START, "");
}

function isOpen(node, step) {
  const end = node.brackets ? node.closed : node.expanded;
  return end === null || end > step;
}

function addNode(derivation, kind, label, parent, opened) {
  const node = {
    number: derivation.nodes.length, kind, label, parent, children: [],
    opened, expanded: null, closed: null, pieces: [], first: 0, last: -1, logProb: 0, total: 0,
    brackets: false, dropped: false,
  };
  derivation.nodes.push(node);
  if (parent !== null) derivation.nodes[parent].children.push(node.number);
  return node;
}

function replayRules(derivation) {
  const { actions, nodes, next } = derivation;
  const root = addNode(derivation, "symbol", actions[0].label ?? "ROOT", null, 0);
  derivation.root = root.number;
  const open = [root.number];
  actions.forEach((action, index) => {
    const step = index + 1;
    const top = open.length ? open[open.length - 1] : null;
    next.push(top);
    if (top === null) return;
    const node = nodes[top];
    node.logProb += action.kind === "word" ? 0 : action.log_prob;
    if (action.kind === "rule") {
      open.pop();
      node.expanded = step;
      const phrases = action.phrases ?? action.children.flatMap((label, place) => (label === "pre" ? [place] : []));
      const children = action.children.map((label, place) =>
        addNode(derivation, phrases.includes(place) ? "phrase" : "symbol", label, top, step).number,
      );
      open.push(...children.reverse());
    } else if (action.kind === "word") {
      node.pieces.push({ step, text: action.piece ?? action.text });
    } else if (action.kind === "eop") {
      open.pop();
      node.closed = step;
    }
  });
  next.push(open.length ? open[open.length - 1] : null);
}

// Brackets written among the words, as the target `lin` has them: a model may write ones that do not match. A closing
// bracket closes the nearest open node of its label and all in it, or nothing if there is none.
function replayBrackets(derivation) {
  const { actions, nodes, next } = derivation;
  const top = addNode(derivation, "symbol", "ROOT", null, 0);
  top.brackets = true;
  derivation.root = top.number;
  const open = [top.number];
  let phrase = null;
  const endPhrase = (step) => {
    if (phrase !== null) phrase.closed = step;
    phrase = null;
  };
  actions.forEach((action, index) => {
    const step = index + 1;
    const inner = nodes[open[open.length - 1]];
    next.push(inner.number);
    if (action.kind === "word") {
      // Words side by side form a phrase, so that words are found alike in all derivations.
      phrase ??= Object.assign(addNode(derivation, "phrase", "pre", inner.number, step), { closed: step });
      phrase.pieces.push({ step, text: action.piece ?? action.text });
      return;
    }
    endPhrase(step);
    inner.logProb += action.log_prob;
    if (action.kind === "eos") {
      open.splice(0).forEach((number) => (nodes[number].closed = step));
    } else if (action.text.startsWith("(")) {
      const node = addNode(derivation, "symbol", action.text.slice(1), inner.number, step);
      Object.assign(node, { brackets: true, expanded: step });
      open.push(node.number);
    } else {
      const place = open.findLastIndex((number, depth) => depth > 0 && nodes[number].label === action.text.slice(1));
      if (place > 0) open.splice(place).forEach((number) => (nodes[number].closed = step));
    }
  });
  next.push(open.length ? open[open.length - 1] : null);
}

function replaySequence(derivation) {
  const phrase = addNode(derivation, "phrase", "sentence", null, 0);
  derivation.actions.forEach((action, index) => {
    derivation.next.push(phrase.number);
    if (action.kind === "word") phrase.pieces.push({ step: index + 1, text: action.piece ?? action.text });
    else phrase.logProb += action.log_prob;
    if (action.kind === "eos") phrase.closed = index + 1;
  });
  derivation.next.push(phrase.closed === null ? phrase.number : null);
}

/** Make a node of each word. `groups` has the numbers of the actions that wrote each, from 0; a piece may end one word and begin another. */
function addWords(derivation, groups, texts) {
  const phrases = derivation.nodes.filter((node) => node.kind === "phrase");
  const pieces = phrases.flatMap((phrase) => phrase.pieces.map((piece) => ({ ...piece, phrase })));
  pieces.sort((one, other) => one.step - other.step);
  const byStep = new Map(pieces.map((piece) => [piece.step, piece]));
  const steps = groups?.length ? groups.map((numbers) => numbers.map((number) => number + 1)) : groupPieces(derivation, pieces);
  const known = texts !== null && texts.length === steps.length ? texts : null;
  steps.forEach((of, index) => {
    const written = of.map((step) => byStep.get(step)).filter((piece) => piece !== undefined);
    if (!written.length) return;
    const text = plain(known?.[index] ?? written.map((piece) => piece.text).join(""));
    const node = addNode(derivation, "word", text || "␣", written[0].phrase.number, written[0].step);
    node.expanded = written[written.length - 1].step;
    node.pieces = written.map(({ step, text: piece }) => ({ step, text: piece }));
    node.logProb = written.reduce((sum, { step }) => sum + derivation.actions[step - 1].log_prob, 0);
    derivation.words.push(node.number);
  });
}

function groupPieces(derivation, pieces) {
  const groups = [];
  pieces.forEach((piece, index) => {
    const action = derivation.actions[piece.step - 1];
    const begins = action.begins_word ?? piece.text.startsWith(WORD_START);
    if (begins || index === 0 || pieces[index - 1].phrase !== piece.phrase) groups.push([piece.step]);
    else groups[groups.length - 1].push(piece.step);
  });
  return groups;
}

/** The words of a tree; null without one, and for a tree that the server found too deep for JSON. */
function leavesOf(json) {
  if (!json) return null;
  const words = [];
  const stack = [json];
  while (stack.length) {
    const node = stack.pop();
    if (node.word !== undefined) words.push(node.word);
    else for (let place = node.children.length - 1; place >= 0; place--) stack.push(node.children[place]);
  }
  return words;
}

function measureSpans(derivation) {
  const { nodes } = derivation;
  derivation.words.forEach((number, place) => Object.assign(nodes[number], { first: place, last: place }));
  for (const node of nodes) node.total = node.logProb;
  // Words come after all phrases, and every other node after its parent: backwards, children are complete.
  for (let number = nodes.length - 1; number >= 0; number--) {
    const node = nodes[number];
    if (node.kind !== "word" && node.first > node.last) Object.assign(node, { first: 0, last: -1 });
    if (node.parent === null) continue;
    const parent = nodes[node.parent];
    parent.total += node.total;
    if (node.first > node.last) continue;
    const empty = parent.first > parent.last;
    parent.first = empty ? node.first : Math.min(parent.first, node.first);
    parent.last = empty ? node.last : Math.max(parent.last, node.last);
  }
}

/** Drop symbols without words; the root's number: the one ROOT that holds all, or the one that was there from the start. */
function dropEmpty(derivation) {
  const { nodes } = derivation;
  for (let number = nodes.length - 1; number >= 0; number--) {
    const node = nodes[number];
    node.dropped = node.kind === "symbol" && number > 0 && node.children.every((child) => nodes[child].dropped);
  }
  const tops = nodes[0].children.map((number) => nodes[number]).filter((node) => !node.dropped);
  if (tops.length === 1 && tops[0].kind === "symbol" && tops[0].label === "ROOT") {
    nodes[0].dropped = true;
    tops[0].parent = null;
    return tops[0].number;
  }
  return 0;
}
