// What a tab reads and writes of Flower's wire, for test_tab_wire.py: a task on standard input, answers on output.
import { readFileSync } from "node:fs";

import { base64, hex, unhex } from "../../src/tacit/page/static/part/bytes.js";
import { fleet, newIdentity } from "../../src/tacit/page/static/part/fleet.js";
import { read } from "../../src/tacit/page/static/part/protobuf.js";
import { readMetadata, readParcel, writeReply } from "../../src/tacit/page/static/part/records.js";

const given = JSON.parse(readFileSync(0, "utf8"));
const out = {};

// a task of Flower's objects
const contents = new Map(Object.entries(given.contents).map(([id, content]) => [id, unhex(content)]));
const parcel = readParcel(given.root, contents);
out.facts = parcel.facts;
out.arrays = Object.fromEntries(
  [...parcel.arrays].map(([name, { kind, shape, values }]) => [name, [kind, shape, hex(new Uint8Array(values.buffer))]]),
);

// the replies to its message
const to = readMetadata(read(unhex(given.message)));
const told = (reply) => ({
  message: hex(reply.message),
  tree: hex(reply.tree),
  pieces: Object.fromEntries([...reply.pieces].map(([id, content]) => [id, hex(content)])),
});
const facts = { version: { type: "int", value: 1 }, kind: { type: "str", value: "mask" }, round: { type: "int", value: 0 } };
const more = { below: { type: "int", value: -3 }, rate: { type: "float", value: 0.25 }, empty: { type: "str", value: "" } };
out.reply = told(await writeReply(to, { message: unhex(given.said), facts: { ...facts, ...more } }, given.now));
out.error = told(await writeReply(to, { error: "config" }, given.now));

// every call, as it would be posted
const posted = [];
const answers = given.answers.map(unhex);
globalThis.fetch = async (url, { headers, body }) => {
  posted.push({ url, headers, body: hex(body) });
  return new Response(answers.shift() ?? new Uint8Array());
};
const identity = await newIdentity();
out.exported = await crypto.subtle.exportKey("pkcs8", identity.private).then(() => "it can be exported", (error) => error.name);
const calls = fleet(identity);
const run = BigInt(given.run);
const id = await calls.activate();
out.node = String(id);
out.beat = await calls.beat(id);
const pulled = await calls.pull(id);
out.pulled = { message: readMetadata(pulled.message).message, objects: pulled.objects };
out.object = hex(await calls.object(id, run, "some object"));
await calls.confirm(id, run, "a message");
await calls.push(id, run, await writeReply(to, { error: "training" }, given.now), 1.5);
await calls.deactivate(id);
const [url, { headers, body }] = await calls.farewell(id);
out.posted = [...posted, { url, headers, body: hex(body) }];

// a server whose clock differs from this one's by so many seconds
out.signed = [];
for (const ahead of [0.5, 3600, -90]) {
  globalThis.fetch = async () => new Response(new Uint8Array(), { headers: { date: new Date(Date.now() + 1000 * ahead).toUTCString() } });
  const other = fleet(identity);
  await other.deactivate(id);
  const [, { headers }] = await other.farewell(id);
  out.signed.push([ahead, (Date.parse(headers["flwr-timestamp"]) - Date.now()) / 1000, other.now() - Date.now() / 1000]);
}
out.key = base64(identity.public);
console.log(JSON.stringify(out));
