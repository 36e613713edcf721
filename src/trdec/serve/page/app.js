// The page: what is asked of the server, and what is shown of its answer.

import { fetchModels, fetchTranslation, ServerError } from "./api.js";
import { copyText } from "./clipboard.js";
import { make } from "./dom.js";
import { Sentence } from "./sentence.js";
import { readFragment, requestOf, writeFragment } from "./state.js";

const $ = (id) => document.getElementById(id);
const FIELDS = { n_best: "best", beam_size: "beam", words: "words", prefix: "prefix", skeleton: "skeleton", text: "text", model: "model", split: "split", api_key: "key" };
const KEY = "trdec-api-key";

let state = readFragment(location.hash);
let models = [];
let running = null; // the AbortController of the request under way
let toastTimer = 0;
let rememberTimer = 0;

function showState() {
  $("text").value = state.text;
  $("best").value = state.best;
  $("beam").value = state.beam ?? "";
  $("words").value = state.words ?? "";
  $("prefix").value = state.prefix;
  $("skeleton").value = state.skeleton;
  $("split").checked = state.split;
  if (models.some((model) => model.name === state.model)) $("model").value = state.model;
  if (state.best > 1 || state.beam || state.words || state.prefix || state.skeleton || !state.split) $("options").open = true;
  showModel();
}

function readState() {
  const number = (id) => ($(id).value === "" ? null : Number($(id).value));
  return {
    ...state,
    model: $("model").value || null,
    text: $("text").value,
    best: number("best") ?? 1, beam: number("beam"), words: number("words"),
    prefix: $("prefix").value, skeleton: takesSkeleton() ? $("skeleton").value.trim() : "", split: $("split").checked,
  };
}

// What a hidden field holds was meant for another model.
function takesSkeleton() {
  return !$("skeleton").closest("label").hidden;
}

function showModel() {
  const model = models.find(({ name }) => name === $("model").value);
  if (model === undefined) return;
  $("source-name").textContent = model.source.name || "Source";
  $("target-name").textContent = model.target.name || "Translation";
  $("text").lang = model.source.code ?? "";
  $("translation").lang = model.target.code ?? "";
  $("beam").placeholder = String(model.beam_size);
  $("skeleton").closest("label").hidden = !model.trees;
}

function remember() {
  clearTimeout(rememberTimer);
  history.replaceState(null, "", `#${writeFragment(state)}`);
}

// Browsers allow few changes of the address in a second, and a slider makes many.
function rememberSoon(changes) {
  state = { ...state, ...changes };
  clearTimeout(rememberTimer);
  rememberTimer = setTimeout(remember, 250);
}

function say(text) {
  clearTimeout(toastTimer);
  $("toast").textContent = text;
  $("toast").classList.add("shown");
  toastTimer = setTimeout(() => $("toast").classList.remove("shown"), 2500);
}

function showProblem(error) {
  clearProblem();
  const saysWhen = !error.retryAfter || /try again/i.test(error.message);
  const waits = saysWhen ? "" : ` Try again in ${Math.ceil(error.retryAfter)} seconds.`;
  const again = make("button", { type: "button", class: "quiet" }, "Try again");
  again.addEventListener("click", () => (models.length ? translate() : start()));
  $("problem").replaceChildren(make("p", {}, error.message, waits), again);
  $("problem").hidden = false;
  if (error.status === 403) {
    $("options").open = true;
    $("key-field").hidden = false;
    $("key").focus();
  }
  const field = FIELDS[error.field];
  if (field === undefined) return;
  $("options").open ||= $("options").contains($(field));
  $(field).setAttribute("aria-invalid", "true");
  $(field).focus();
}

function clearProblem() {
  $("problem").hidden = true;
  for (const id of Object.values(FIELDS)) $(id).removeAttribute("aria-invalid");
}

async function translate({ restore = null } = {}) {
  if ($("text").value.trim() === "") return $("text").focus();
  running?.abort();
  const mine = (running = new AbortController());
  const view = restore ?? { sentence: 0, candidate: 0, step: null };
  state = { ...readState(), ...view };
  remember();
  clearProblem();
  document.body.classList.add("busy");
  $("translation").setAttribute("aria-busy", "true");
  const began = performance.now();
  try {
    const answer = await fetchTranslation(requestOf(state), mine.signal, sessionStorage.getItem(KEY));
    showAnswer(answer, performance.now() - began);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof ServerError)) console.error(error);
    showProblem(error instanceof ServerError ? error : new ServerError("The answer of the server could not be shown."));
  } finally {
    if (running === mine) {
      document.body.classList.remove("busy");
      $("translation").setAttribute("aria-busy", "false");
    }
  }
}

function showAnswer({ translations: [translation] }, milliseconds) {
  $("translation").textContent = translation.text;
  $("copy-all").disabled = false;
  const count = translation.sentences.length;
  $("figures").textContent = `${count} ${count === 1 ? "sentence" : "sentences"} · ${(milliseconds / 1000).toFixed(2)} s`;
  const cards = translation.sentences.map((sentence, number) => new Sentence(sentence, number, {
    isOnly: count === 1,
    on: { step: (candidate, step) => rememberSoon({ sentence: number, candidate, step }), say },
  }));
  $("results").replaceChildren(...cards.map((card) => card.element));
  const shown = cards[Math.min(state.sentence, count - 1)];
  if (shown === undefined) return;
  shown.open();
  const candidate = shown.candidates[state.candidate];
  if (candidate !== undefined && state.step !== null) candidate.goTo(state.step, { tell: false });
}

async function start() {
  clearProblem();
  try {
    models = await fetchModels();
  } catch (error) {
    showProblem(error);
    if (error.status === 503) setTimeout(start, 1000 * (error.retryAfter ?? 2)); // the models are being loaded
    return;
  }
  $("model").replaceChildren(...models.map(({ name, source, target, system }) =>
    make("option", { value: name }, `${name} (${source.name} → ${target.name}, ${system})`)));
  $("model").disabled = false;
  $("translate").disabled = false;
  showState();
  if (state.text !== "") translate({ restore: { sentence: state.sentence, candidate: state.candidate, step: state.step } });
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  translate();
});
$("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  $("form").requestSubmit();
});
$("model").addEventListener("change", () => {
  showModel();
  if ($("results").children.length) translate();
});
$("key").addEventListener("change", () => sessionStorage.setItem(KEY, $("key").value));
$("copy-all").addEventListener("click", async () => say(await copyText($("translation").textContent, "Text")));
$("link").addEventListener("click", async () => {
  state = { ...readState(), sentence: state.sentence, candidate: state.candidate, step: state.step };
  remember();
  say(await copyText(location.href, "Link"));
});
// The fragment holds the state, so this link must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("results").focus();
});
addEventListener("hashchange", () => {
  state = readFragment(location.hash);
  showState();
  if (state.text !== "") translate({ restore: { sentence: state.sentence, candidate: state.candidate, step: state.step } });
});
start();
