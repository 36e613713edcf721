// One translation of a sentence: its words, its tree, the steps that made it, and what can be copied.

import "./tree-view.js";
import { copyPng, copyText } from "./clipboard.js";
import { lengthOf, nodeOfStep } from "./derivation.js";
import { button, make } from "./dom.js";
import { writeSvg } from "./figure.js";
import { directionOf } from "./layout.js";
import { attentionText, nodeFacts, percent, stepFacts, stepText, weightsAt, weightsOf } from "./reading.js";
import { attentionTable, folded, stepTable } from "./tables.js";

const WHOLE = 12_000; // milliseconds that growing a tree takes at most

/**
 * The panel of a candidate.
 *
 * `candidate` is as the server sends it, `derivation` its derivation; `isAlone`: no other translation is on the page. `on.weights(weights)` is called with the attention to
 * show over the source (null for none), `on.step(step)` when the reader went to a step, `on.say(text)` with news.
 */
export class Candidate {
  #timer = null;

  constructor(candidate, derivation, { rank, count, isAlone, marked, on }) {
    this.candidate = candidate;
    this.derivation = derivation;
    this.on = on;
    this.length = lengthOf(derivation);
    this.step = this.length;
    this.tree = document.createElement("derivation-tree");
    this.element = make("article", { class: "candidate" }, this.#head(rank, count, isAlone), this.tree, this.#stepper(), this.#details(), this.#foot());
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.marked = marked;
  }

  /** Draw: to be called once the panel is in the document, since texts are measured there. */
  draw() {
    const { candidate, derivation } = this;
    const label = candidate.tree === null ? `Words of the translation: ${candidate.text}` : `Tree of the translation: ${candidate.tree.brackets}`;
    this.tree.show(derivation, { direction: directionOf(candidate.text), label, marked: this.marked });
    this.tree.addEventListener("inspect", (event) => this.#inspect(event.detail.number));
    this.tree.addEventListener("walk", (event) => this.goTo(this.step + event.detail.by));
    this.#showStep();
    this.#inspect(null);
  }

  /** Show the derivation after so many steps. */
  goTo(step, { tell = true } = {}) {
    this.step = Math.min(this.length, Math.max(0, step));
    this.tree.step = this.step;
    this.#showStep();
    const number = this.step === 0 ? null : nodeOfStep(this.derivation, this.step);
    if (number !== null && this.step < this.length) this.tree.reveal(number);
    this.#inspect(null);
    if (tell) this.on.step(this.step);
  }

  stop() {
    clearInterval(this.#timer);
    this.#timer = null;
    this.play.textContent = "▶ Watch it grow";
    this.play.setAttribute("aria-pressed", "false");
    this.says.setAttribute("aria-live", "polite");
  }

  #head(rank, count, isAlone) {
    const { text, score, log_prob: logProb, truncated, remarks } = this.candidate;
    const title = count === 1 ? "Translation" : rank === 0 ? "Best" : `Alternative ${rank}`;
    const notes = [...remarks, ...(truncated && !remarks.length ? ["cut short at the maximum length"] : [])];
    return make(
      "header", {},
      make("h4", {}, title, make("span", { class: "hint", title: "log-probability of all actions, and the score it was ranked by" }, ` log p ${logProb.toFixed(2)} · score ${score.toFixed(3)}`)),
      ...(isAlone ? [] : [make("p", { class: "words", dir: "auto" }, text)]),
      ...notes.map((note) => make("p", { class: "remark" }, note)),
    );
  }

  #stepper() {
    this.slider = make("input", { type: "range", min: 0, max: this.length, value: this.length, "aria-label": "Step of the derivation" });
    this.slider.addEventListener("input", () => {
      this.stop();
      this.goTo(Number(this.slider.value));
    });
    this.play = button("▶ Watch it grow", "▶ Watch it grow", () => this.#togglePlay(), { class: "play", "aria-pressed": "false" });
    this.says = make("output", { class: "says", "aria-live": "polite" });
    const go = (by) => () => {
      this.stop();
      this.goTo(this.step + by);
    };
    return make(
      "div", { class: "stepper", role: "group", "aria-label": "Derivation" },
      this.play,
      button("«", "First step", go(-Infinity)), button("‹", "Previous step", go(-1)),
      this.slider,
      button("›", "Next step", go(1)), button("»", "Last step", go(Infinity)),
      this.says,
    );
  }

  #togglePlay() {
    if (this.#timer !== null) return this.stop();
    if (this.step === this.length) this.goTo(0);
    this.play.textContent = "❚❚ Pause";
    this.play.setAttribute("aria-pressed", "true");
    this.says.setAttribute("aria-live", "off"); // or a screen reader would read every step
    const pause = Math.max(50, Math.min(420, WHOLE / this.length));
    this.#timer = setInterval(() => {
      this.goTo(this.step + 1, { tell: this.step + 1 === this.length });
      if (this.step === this.length || !this.element.isConnected) this.stop();
    }, pause);
  }

  #showStep() {
    const text = stepText(this.derivation, this.step);
    this.slider.value = this.step;
    this.slider.setAttribute("aria-valuetext", `step ${this.step} of ${this.length}: ${text}`);
    this.says.replaceChildren(make("b", {}, `${this.step} / ${this.length}`), " ", make("span", { dir: "auto" }, text));
  }

  #details() {
    this.facts = make("dl", { class: "facts" });
    return this.facts;
  }

  /** Show the facts of a node, or of the present step if there is none. */
  #inspect(number) {
    const { derivation, candidate } = this;
    const node = number === null ? null : derivation.nodes[number];
    const attention = candidate.attention ?? null;
    const growing = this.step < this.length;
    const weights = node !== null ? weightsOf(attention, derivation, node) : growing ? weightsAt(attention, derivation.actions, [this.step]) : null;
    let facts = [];
    if (node !== null) facts = [[node.kind === "word" ? "Word" : "Label", node.label], ...nodeFacts(derivation, node)];
    else if (growing && this.step > 0) facts = stepFacts(derivation, this.step);
    else facts = [["Words", String(derivation.words.length)], ["Steps", String(this.length)], ["Probability", percent(Math.exp(candidate.log_prob))]];
    if (weights !== null) facts.push(["Attention", attentionText(attention.source, weights)]);
    this.facts.replaceChildren(...facts.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", { dir: "auto" }, text))));
    this.on.weights(weights);
  }

  #foot() {
    const { candidate, derivation } = this;
    const picture = () => writeSvg(derivation, this.tree.layout, this.step, candidate.text);
    const copy = (text, title, act) => button(text, title, async () => this.on.say(await act()), { class: "quiet" });
    const copies = [copy("Text", "Copy the text", () => copyText(candidate.text, "Text"))];
    if (candidate.tree !== null) copies.push(copy("Brackets", "Copy the tree in brackets", () => copyText(candidate.tree.brackets, "Brackets")));
    copies.push(
      copy("SVG", "Copy the picture as SVG", () => copyText(picture(), "SVG")),
      copy("PNG", "Copy the picture as PNG", () => copyPng(picture(), this.tree.layout.width, this.tree.layout.height, "tree.png")),
    );
    const folds = [folded("All steps", () => stepTable(derivation, (step) => this.goTo(step)))];
    if (candidate.attention) {
      const table = folded("Attention", () => attentionTable(derivation, candidate.attention));
      table.open = candidate.tree === null;
      folds.push(table);
    }
    return make("footer", {}, make("div", { class: "copies", role: "group", "aria-label": "Copy" }, make("span", { class: "hint" }, "Copy"), ...copies), ...folds);
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.key !== "," && event.key !== ".")) return;
    event.preventDefault();
    this.stop();
    this.goTo(this.step + (event.key === "," ? -1 : 1));
  }
}
