// The service worker: it lets the page load when its server does not answer, from what the last load left in the
// browser's store. It begins no request of its own and keeps nothing but this page's files: it passes on what a page asks
// for while it loads, and a page that has loaded asks for nothing (load.js).

const STORE = "tacit-page";

addEventListener("install", () => self.skipWaiting());
addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (!pathname.startsWith("/part/")) event.respondWith(answer(event)); // that page is of no use without its server
});

/** The server's answer, which is kept; if the server cannot be reached, what was kept. */
async function answer(event) {
  const { request } = event;
  const { pathname } = new URL(request.url); // `/?compare` and `/` are the same file
  const store = await caches.open(STORE);
  try {
    const fresh = await fetch(request);
    const isOurs = fresh.ok && fresh.headers.get("server")?.startsWith("tacit"); // another program may use this port
    if (isOurs) event.waitUntil(store.put(pathname, fresh.clone()));
    return fresh;
  } catch (error) {
    const kept = await store.match(pathname);
    if (!kept) throw error;
    const headers = new Headers(kept.headers);
    headers.set("X-Tacit-Stored", "1");
    return new Response(kept.body, { status: 200, headers });
  }
}
