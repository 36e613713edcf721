// A sentence: its source, lit where a translation attends, and its translations side by side.

import { Candidate } from "./candidate.js";
import { derive, differences } from "./derivation.js";
import { make } from "./dom.js";
import { SOURCE_END, percent, pieceText } from "./reading.js";

/** The folded card of a sentence; its trees are made when it is first opened. */
export class Sentence {
  #drawn = false;

  constructor(sentence, number, { isOnly, on }) {
    this.sentence = sentence;
    this.isOnly = isOnly;
    this.on = on;
    this.candidates = [];
    const arrow = make("span", { class: "arrow", "aria-hidden": "true" }, "→");
    this.element = make(
      "details", { class: "sentence" },
      make(
        "summary", {},
        make("span", { class: "number" }, String(number + 1)),
        make("h3", {}, make("span", { class: "name" }, "Sentence"), make("span", { dir: "auto", class: "from" }, sentence.source), arrow, make("span", { dir: "auto", class: "to" }, sentence.text)),
      ),
    );
    this.element.addEventListener("toggle", () => this.element.open && this.draw());
  }

  open() {
    this.element.open = true;
    this.draw();
  }

  /** Make the content, once. */
  draw() {
    if (this.#drawn) return;
    this.#drawn = true;
    const all = [this.sentence, ...(this.sentence.alternatives ?? [])].filter((candidate) => candidate.actions.length);
    if (!all.length) {
      this.element.append(make("p", { class: "hint" }, "Nothing to translate here."));
      return;
    }
    const derivations = all.map((candidate) => derive(candidate));
    this.candidates = all.map((candidate, rank) => new Candidate(candidate, derivations[rank], {
      rank, count: all.length, isAlone: this.isOnly && all.length === 1,
      marked: rank === 0 ? new Set() : differences(derivations[rank], derivations[0]),
      on: {
        weights: (weights) => this.#light(weights),
        step: (step) => this.on.step(rank, step),
        say: this.on.say,
      },
    }));
    const columns = make("div", { class: "candidates" }, ...this.candidates.map((candidate) => candidate.element));
    this.element.append(this.#source(all[0].attention ?? null), columns);
    if (all.length > 1) columns.before(make("p", { class: "hint key" }, make("span", { class: "sample" }), "differs from the best translation"));
    for (const candidate of this.candidates) candidate.draw();
  }

  #source(attention) {
    const pieces = attention === null ? [this.sentence.source] : attention.source;
    const end = pieces.lastIndexOf(SOURCE_END);
    this.pieces = pieces.map((piece, place) => {
      if (attention === null) return make("span", { class: "piece" }, piece);
      if (place >= end) return make("span", { class: "piece last" }, pieceText(piece)); // after it, the phrases of a tree
      return make("span", { class: "piece" }, piece.replaceAll("▁", place === 0 ? "" : " "));
    });
    this.lit = this.pieces.map(() => 0);
    const line = make("p", { class: "source", dir: "auto" }, ...this.pieces);
    return make("div", { class: "source-line" }, make("span", { class: "hint" }, "Source"), line);
  }

  #light(weights) {
    this.pieces.forEach((piece, place) => {
      const weight = weights?.[place] ?? 0;
      if (this.lit[place] === weight) return;
      this.lit[place] = weight;
      piece.style.setProperty("--weight", Math.sqrt(weight).toFixed(3)); // the root, so that spread attention is seen too
      piece.classList.toggle("lit", weight >= 0.05);
      piece.title = weight === 0 ? "" : percent(weight);
    });
  }
}
