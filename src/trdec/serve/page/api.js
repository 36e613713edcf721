// The server, as version 1 of its interface.

/** A request that the server did not fulfil, with its own words where it has any. */
export class ServerError extends Error {
  constructor(message, { status = 0, field = null, retryAfter = null } = {}) {
    super(message);
    this.name = "ServerError";
    this.status = status;
    this.field = field;
    this.retryAfter = retryAfter;
  }
}

/** The models that the server has. */
export async function fetchModels() {
  return (await ask("v1/models", {})).models;
}

/** The answer to a request for translation. */
export function fetchTranslation(request, signal, key = null) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  return ask("v1/translate", { method: "POST", headers, body: JSON.stringify(request), signal });
}

// Addresses are relative, so that the page works behind a proxy that serves it in a folder.
async function ask(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not answer. Is it running, and are you online?");
  }
  const content = await response.json().catch(() => null);
  if (response.ok && content !== null) return content;
  const seconds = Number(response.headers.get("Retry-After"));
  throw new ServerError(content?.error ?? `The server answered with status ${response.status}.`, {
    status: response.status,
    field: content?.field ?? null,
    retryAfter: Number.isFinite(seconds) && seconds > 0 ? seconds : null,
  });
}
