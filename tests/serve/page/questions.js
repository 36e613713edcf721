// Answers questions about the page's modules that need no browser: one JSON object per line in, one out.

import { createInterface } from "node:readline";
import { derive, differences, drawnChildren, lengthOf, statusAt, symbolAt } from "./derivation.js";
import { figureAt, writeSvg } from "./figure.js";
import { directionOf, layOut } from "./layout.js";
import { nodeFacts, percent, stepRows, weightsOf } from "./reading.js";
import { readFragment, requestOf, writeFragment } from "./state.js";

const measure = (text) => 8 * text.length;

const QUESTIONS = {
  tree: ({ candidate }) => brackets(derive(candidate)),
  steps: ({ candidate }) => {
    const derivation = derive(candidate);
    return candidate.actions.map((_, index) => {
      const number = derivation.next[index];
      return [symbolAt(derivation, index + 1), number === null ? 0 : derivation.nodes[number].opened];
    });
  },
  statuses: ({ candidate }) => {
    const derivation = derive(candidate);
    const steps = Array.from({ length: lengthOf(derivation) + 1 }, (_, step) => step);
    return steps.map((step) => derivation.nodes.map((node) => [node.kind, statusAt(derivation, node, step)]));
  },
  open: ({ candidate }) => {
    const derivation = derive(candidate);
    const steps = Array.from({ length: lengthOf(derivation) + 1 }, (_, step) => step);
    const isOpen = (node, step) => ["open", "next"].includes(statusAt(derivation, node, step));
    return steps.map((step) => derivation.nodes.filter((node) => isOpen(node, step)).map((node) => node.label));
  },
  layout: ({ candidate, direction }) => {
    const derivation = derive(candidate);
    const layout = layOut(derivation, measure, direction);
    const drawn = figureAt(derivation, layout, lengthOf(derivation)).filter((item) => item.status !== "absent");
    return {
      width: layout.width, height: layout.height,
      nodes: drawn.map(({ node, place }) => ({ kind: node.kind, first: node.first, last: node.last, ...place })),
    };
  },
  svg: ({ candidate, step }) => {
    const derivation = derive(candidate);
    return writeSvg(derivation, layOut(derivation, measure), step, candidate.text);
  },
  totals: ({ candidate }) => {
    const derivation = derive(candidate);
    return [derivation.nodes.find((node) => node.parent === null && !node.dropped).total, stepRows(derivation).length];
  },
  differences: ({ candidate, other }) => {
    const derivation = derive(candidate);
    return [...differences(derivation, derive(other))].map((number) => derivation.nodes[number].label);
  },
  facts: ({ candidate, word }) => {
    const derivation = derive(candidate);
    const node = derivation.nodes[derivation.words[word]];
    return { facts: nodeFacts(derivation, node), weights: weightsOf(candidate.attention, derivation, node) };
  },
  fragment: ({ state }) => readFragment(`#${writeFragment(state)}`),
  read: ({ fragment }) => readFragment(fragment),
  request: ({ state }) => requestOf(state),
  direction: ({ text }) => directionOf(text),
  percent: ({ number }) => percent(number),
};

// Flat, since a tree may be deeper than a stack: "(" and a label, a word, ")".
function brackets(derivation) {
  const found = [];
  const stack = [derivation.nodes[derivation.root]];
  while (stack.length) {
    const node = stack.pop();
    if (node === null) found.push([")"]);
    else if (node.kind === "word") found.push(["word", node.label]);
    else {
      found.push(["(", node.label]);
      stack.push(null, ...drawnChildren(derivation, node).toReversed());
    }
  }
  return found;
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(QUESTIONS[question.about](question))}\n`);
}
