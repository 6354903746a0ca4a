// The server's API. Answers are plain values; what goes wrong is an Error whose message a person can act on.

// Relative to the page: a proxy may have it anywhere on its host.
const ROOT = new URL("api/v1", document.baseURI).pathname;

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The address of something; params may hold lists, and nothing for what is not set. */
export function address(path, params = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") query.append(key, one);
    }
  }
  const text = query.toString();
  return ROOT + path + (text ? `?${text}` : "");
}

export async function ask(method, path, { params, body, signal } = {}) {
  let answer;
  try {
    answer = await fetch(address(path, params), {
      method,
      signal,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer. Is it still running?", 0);
  }
  if (!answer.ok) throw new Problem(await reason(answer), answer.status);
  return answer.status === 204 ? null : answer.json();
}

async function reason(answer) {
  try {
    return (await answer.json()).detail;
  } catch {
    return `${answer.status} ${answer.statusText}`;
  }
}

export const get = (path, params, signal) => ask("GET", path, { params, signal });
export const post = (path, body) => ask("POST", path, { body });
export const put = (path, body) => ask("PUT", path, { body });
export const del = (path) => ask("DELETE", path);

/** Upload a file; progress(share) is called as it goes. With `compare`, the server encodes it at once. */
export function upload(file, progress, { signal, compare } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address("/uploads", { name: file.name, compare }));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.responseType = "json";
    request.upload.onprogress = (event) => progress(event.loaded / Math.max(event.total, 1));
    request.onload = () =>
      request.status === 201
        ? resolve(request.response)
        : reject(new Problem(request.response?.detail ?? `${request.status}`, request.status));
    request.onerror = () => reject(new Problem(`${file.name}: the connection broke off`, 0));
    request.onabort = () => reject(new DOMException("called off", "AbortError"));
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
