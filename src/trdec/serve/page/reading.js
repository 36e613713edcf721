// What a derivation says, in words and numbers for people.

import { coveredText, plain, symbolAt } from "./derivation.js";

/** The last piece of every source. */
export const SOURCE_END = "<eos>";

/** A probability for people: 97 %, 99.6 %, 0.4 %, < 0.1 %. */
export function percent(probability) {
  const hundredths = probability * 100;
  if (hundredths > 0 && hundredths < 0.1) return "< 0.1 %";
  if (hundredths >= 99.95) return "100 %";
  return `${hundredths.toFixed(hundredths < 10 || hundredths > 99 ? 1 : 0)} %`;
}

/** An action as it is read: rules with an arrow, pieces without the mark of where words begin. */
export function actionText(action) {
  if (action.kind === "rule") return `${action.label} → ${action.children.join(" ")}`;
  if (action.kind === "word") return plain(action.piece ?? action.text) || "␣";
  if (action.kind === "eop") return "end of phrase";
  if (action.kind === "eos") return "end of sentence";
  return action.text;
}

/** What happens at a step. */
export function stepText(derivation, step) {
  if (step === 0) return "Nothing is written yet.";
  const action = derivation.actions[step - 1];
  return `${actionText(action)}, ${percent(Math.exp(action.log_prob))}`;
}

/** The facts about a step. */
export function stepFacts(derivation, step) {
  const action = derivation.actions[step - 1];
  return [
    ["Open symbol", symbolAt(derivation, step)],
    ["Action", actionText(action)],
    ["Probability", percent(Math.exp(action.log_prob))],
  ];
}

/** The rows of a table of all steps. */
export function stepRows(derivation) {
  return derivation.actions.map((action, index) => ({
    step: index + 1,
    symbol: symbolAt(derivation, index + 1),
    kind: action.kind,
    text: actionText(action),
    probability: Math.exp(action.log_prob),
  }));
}

/** The facts about a node, as pairs of name and text. */
export function nodeFacts(derivation, node) {
  const facts = [];
  const count = derivation.words.length;
  if (node.kind === "word") facts.push(["Place", `word ${node.first + 1} of ${count}`]);
  else if (node.last >= node.first) {
    const range = node.first === node.last ? `word ${node.first + 1}` : `words ${node.first + 1} to ${node.last + 1}`;
    facts.push(["Span", `${range} of ${count}: ${coveredText(derivation, node)}`]);
  }
  if (node.kind === "symbol" && node.expanded !== null && derivation.actions[node.expanded - 1].kind === "rule") {
    facts.push(["Rule", actionText(derivation.actions[node.expanded - 1])]);
  }
  if (node.pieces.length > 1) facts.push(["Pieces", node.pieces.map((piece) => plain(piece.text)).join(" · ")]);
  if (node.expanded !== null) facts.push(["Probability", percent(Math.exp(node.logProb))]);
  if (node.kind === "symbol" && node.first <= node.last) facts.push(["With all below", percent(Math.exp(node.total))]);
  return facts;
}

/**
 * The attention over the source pieces at some steps, averaged; null if there is none.
 *
 * Where two RNNs attended, words and ends of phrases have the word RNN's, the second, and rules the rule RNN's.
 */
export function weightsAt(attention, actions, steps) {
  if (attention === null) return null;
  const chosen = steps.flatMap((step) => {
    const rows = attention.rows.filter((row) => row.action === step - 1);
    const kind = actions[step - 1]?.kind;
    return rows.length ? [kind === "word" || kind === "eop" ? rows[rows.length - 1] : rows[0]] : [];
  });
  if (!chosen.length) return null;
  return attention.source.map((_, piece) => chosen.reduce((sum, row) => sum + row.weights[piece], 0) / chosen.length);
}

/** The attention of a node: at its rule, or at the pieces of its word. */
export function weightsOf(attention, derivation, node) {
  const steps = node.kind === "word" ? node.pieces.map((piece) => piece.step) : node.expanded === null ? [] : [node.expanded];
  return weightsAt(attention, derivation.actions, steps);
}

/** The source words with the most attention, as text: "kato 71 %, filo 12 %". */
export function attentionText(source, weights, most = 3) {
  const words = [];
  const end = source.lastIndexOf(SOURCE_END);
  source.forEach((piece, place) => {
    const isEnd = place === end;
    // After the end come the phrases of the source's tree, where a model reads one.
    if (place === 0 || place >= end || piece.startsWith("▁")) words.push({ text: "", weight: 0 });
    const word = words[words.length - 1];
    word.text += isEnd ? "end" : plain(piece);
    word.weight += weights[place];
  });
  return words
    .sort((one, other) => other.weight - one.weight)
    .slice(0, most)
    .filter(({ weight }) => weight >= 0.05)
    .map(({ text, weight }) => `${text} ${percent(weight)}`)
    .join(", ");
}

/** A source piece as it is read. */
export function pieceText(piece) {
  return piece === SOURCE_END ? "end" : plain(piece) || "␣";
}
