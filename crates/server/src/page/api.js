// Asks the server. Every fact of the page comes from a route of openapi.json.

const KEPT = "toller-key";
const kept = () => { try { return sessionStorage.getItem(KEPT); } catch { return null; } };
export const keep = (key) => { try { sessionStorage.setItem(KEPT, key); } catch { /* Private windows keep nothing. */ } };
export const hasKey = () => Boolean(kept());

// What the server says against a request.
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const send = async (path, { body, accept = "application/json", signal } = {}) => {
  const headers = { accept };
  const key = kept();
  if (key) headers.authorization = `Bearer ${key}`;
  if (body) headers["content-type"] = "application/json";
  const method = body ? "POST" : "GET";
  const answer = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, said.error ?? `The server answers with status ${answer.status}.`);
};

export const ask = async (path, options) => (await send(path, options)).json();
export const askPage = async (path) => (await send(path, { accept: "text/html" })).text();
