// The state of the page in the fragment of its address, so that a link restores it.

/** What the page shows before anyone has typed; `null` leaves a choice to the server. */
export const START = Object.freeze({
  model: null, text: "", beam: null, best: 1, words: null, prefix: "", skeleton: "", split: true, sentence: 0, candidate: 0, step: null,
});

const NUMBERS = { beam: [1, 1000], best: [1, 100], words: [1, 10000], sentence: [0, 1e6], candidate: [0, 100], step: [0, 1e6] };

/** The fragment of a state, without `#`: only what differs from the start. */
export function writeFragment(state) {
  const fields = new URLSearchParams();
  for (const [key, start] of Object.entries(START)) {
    const value = state[key];
    if (value === start || value === undefined || value === null || value === "") continue;
    fields.set(key, key === "split" ? "no" : String(value));
  }
  return fields.toString();
}

/** The state that a fragment describes; what it says wrongly or not at all is as at the start. */
export function readFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = { ...START };
  for (const key of ["model", "text", "prefix", "skeleton"]) if (fields.has(key)) state[key] = fields.get(key);
  for (const [key, [least, most]] of Object.entries(NUMBERS)) {
    const text = fields.get(key);
    if (text !== null && /^\d{1,7}$/.test(text) && Number(text) >= least && Number(text) <= most) state[key] = Number(text);
  }
  if (fields.get("split") === "no") state.split = false;
  return state;
}

/** The request that a state asks of `POST /v1/translate`: fields left empty are not sent. */
export function requestOf(state) {
  const request = { text: state.text, split: state.split, n_best: state.best, attention: true };
  if (state.model !== null) request.model = state.model;
  if (state.beam !== null) request.beam_size = state.beam;
  if (state.words !== null) request.words = state.words;
  if (state.prefix !== "") request.prefix = state.prefix;
  if (state.skeleton !== "") request.skeleton = state.skeleton;
  return request;
}
