// Lets the page be installed as an app, and loaded again without its server.
//
// All of this happens during the load, before requests are forbidden: the service worker (worker.js) is registered, and
// on the first visit, which it has not seen, the files of the page are put into the browser's store. The manifest of the
// app is a data URL, so the browser need not fetch it later.

const STORE = "tacit-page"; // as in worker.js
const PATIENCE = 4000; // milliseconds; the keyboard does not wait longer
const WORKER = /^worker\.js\?[0-9a-f]{8,64}$/; // the version keeps the browser from asking for it again

/**
 * Keep what is loaded for a load without the server. Never fails: without a store or a worker the page works as before.
 * @param {{worker: string, files: string[]}} page
 * @returns {Promise<(buffers: Map<string, ArrayBuffer>) => Promise<void>>} to be called with the models, once they are here
 */
export async function keep({ worker, files }) {
  const { serviceWorker } = navigator; // only on this machine, or over https
  if (!serviceWorker || !WORKER.test(worker)) return async () => {};
  const seen = serviceWorker.controller !== null; // then the worker keeps what it passes on
  const inTime = (/** @type {Promise<boolean>} */ work) =>
    Promise.race([work, new Promise((_, no) => setTimeout(() => no(new Error("late")), PATIENCE))]).catch(async () => {
      await caches.delete(STORE).catch(() => false); // half a page is of no use
      await serviceWorker.getRegistration().then((found) => found?.unregister()).catch(() => false);
      return false;
    });
  const works = await inTime(register(serviceWorker, worker, () => (seen ? null : fill(files))));
  return async (buffers) => {
    if (works) await inTime((seen ? prune(buffers) : put(buffers)).then(() => true));
  };
}

/**
 * Register the worker and wait until it works; `meanwhile` is done if the browser allows it.
 * @param {ServiceWorkerContainer} container
 * @param {string} worker
 * @param {() => Promise<void> | null} meanwhile
 */
async function register(container, worker, meanwhile) {
  const types = /** @type {any} */ (window).trustedTypes;
  const policy = types?.createPolicy("tacit-worker", {
    createScriptURL: (/** @type {string} */ name) => {
      if (!WORKER.test(name)) throw new TypeError("this is not the page's worker");
      return name;
    },
  });
  const found = await container.register(policy ? policy.createScriptURL(worker) : worker, { updateViaCache: "all" });
  if (!found) return false; // a browser that is driven by a test may forbid it
  const filled = meanwhile();
  const newest = found.installing ?? found.waiting;
  if (newest) await new Promise((yes) => newest.addEventListener("statechange", () => newest.state === "activated" && yes(null)));
  await filled;
  return true;
}

/** Put the files of the page into the store; the browser has just fetched them. @param {string[]} files */
async function fill(files) {
  await (await caches.open(STORE)).addAll(files.map((name) => new Request(name, { cache: "force-cache" })));
}

/** Put the models into the store. @param {Map<string, ArrayBuffer>} buffers */
async function put(buffers) {
  const store = await caches.open(STORE);
  const headers = { date: new Date().toUTCString() };
  await Promise.all([...buffers].map(([name, buffer]) => store.put(name, new Response(buffer.slice(0), { headers }))));
}

/** Remove models that the server no longer has. @param {Map<string, ArrayBuffer>} buffers */
async function prune(buffers) {
  const store = await caches.open(STORE);
  for (const { url } of await store.keys()) {
    const name = new URL(url).pathname.slice(1);
    if (/^model-\d+\.tacit$/.test(name) && !buffers.has(name)) await store.delete(url);
  }
}

/** Write the manifest of the app: its name, its icon, where it starts. @param {HTMLLinkElement} link */
export async function describe(link) {
  const picture = await fetch("icon.png", { cache: "no-store" }).catch(() => null);
  if (!picture?.ok) return; // then it is a page only
  const icon = await new Promise((yes) => {
    const reader = new FileReader();
    reader.onload = () => yes(reader.result);
    picture.blob().then((blob) => reader.readAsDataURL(blob));
  });
  const start = new URL("./", location.href).href;
  const colours = { background_color: "#f3f1ec", theme_color: "#0b6354" };
  const icons = [{ src: icon, sizes: "192x192", type: "image/png", purpose: "any" }];
  const facts = { name: "Tacit keyboard", short_name: "Tacit", id: start, start_url: start, scope: start, display: "standalone" };
  link.href = `data:application/manifest+json,${encodeURIComponent(JSON.stringify({ ...facts, ...colours, icons }))}`;
}

/**
 * How old a model is, in words.
 * @param {string | undefined} made YYYY-MM-DD
 * @param {Date | null} stored when this copy was fetched, if the server did not answer
 * @param {number} [now]
 */
export function age(made, stored, now = Date.now()) {
  const day = (/** @type {Date} */ date) => date.toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" });
  const days = (/** @type {Date} */ date) => {
    const n = Math.max(0, Math.floor((now - date.getTime()) / 86_400_000));
    return n === 0 ? "today" : n === 1 ? "yesterday" : `${n} days ago`;
  };
  const trained = made ? [`Trained on ${day(new Date(made))} (${days(new Date(made))}).`] : [];
  const copy = stored ? [`The server did not answer: this is the copy that this browser fetched on ${day(stored)}, ${days(stored)}.`] : [];
  return [...trained, ...copy].join(" ");
}
