// Requests to the server; every error is one sentence.

export class Problem extends Error {}

export async function ask(path, { method = "GET", body, signal } = {}) {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, {
      method,
      signal,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Problem("The server does not respond; is nullproof serve still running?");
  }
  return read(answer);
}

async function read(answer) {
  if (answer.status === 204) return null;
  const told = await answer.json().catch(() => ({
    error: `the server answered with code ${answer.status}`,
  }));
  if (!answer.ok) throw new Problem(told.error);
  return told;
}

// XMLHttpRequest, because fetch does not report upload progress.
export function send(to, file, onShare, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    signal.addEventListener("abort", () => request.abort());
    request.onabort = () => reject(new Problem("The upload was cancelled."));
    request.open("POST", `/api/${to}?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.onprogress = (event) => event.lengthComputable && onShare(event.loaded / event.total);
    request.onerror = () =>
      reject(new Problem("The upload was interrupted; is nullproof serve still running?"));
    request.onload = () => {
      let told = null;
      try {
        told = JSON.parse(request.responseText);
      } catch { /* told below */ }
      if (request.status === 201 && told) resolve(told);
      else reject(new Problem(told?.error ?? `the server answered with code ${request.status}`));
    };
    request.send(file);
  });
}

export async function follow(id, onState, signal) {
  for (let pause = 60;; pause = Math.min(pause * 1.5, 500)) {
    signal.throwIfAborted();
    const state = await ask(`analyses/${id}`, { signal });
    onState(state);
    if (["done", "failed", "cancelled"].includes(state.state)) return state;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
