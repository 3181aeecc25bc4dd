// A task or an answer as Flower's objects, in both directions.
//
// An object is "<Type> <ids of children, by commas> <length>\0<body>", named by its SHA-256 in hexadecimal:
//
//     Message        its metadata (protobuf)              child: a RecordDict, or none if it is an error
//     RecordDict     {"arrays": id, "facts": id} as JSON  children: the two records
//     ArrayRecord    {name: id, …} as JSON                children: arrays
//     Array          {dtype, shape, stype, arraychunk_ids} as JSON; the ids are places among its children
//     ArrayChunk     bytes of an array in numpy's format
//     ConfigRecord   facts (protobuf)

import { hex, join, sha256, utf8 } from "./bytes.js";
import { readArray, writeBytes } from "./npy.js";
import { bytes, double, Field, one, read, signed, unsigned } from "./protobuf.js";
import { Refusal } from "./refusal.js";

/** A fact with the type that Python gives it. @typedef {{type: "int" | "float" | "str" | "bool" | "bytes", value: any}} Fact */
/** @typedef {Record<string, Fact>} Facts */
/** @typedef {{arrays: Map<string, import("./npy.js").Numbers>, facts: Facts}} Parcel */
/** @typedef {{id: string, content: Uint8Array}} Piece */
/** Who sends what to whom; ids are of 64 bits. @typedef {{run: bigint, message: string, from: bigint, to: bigint,
 * group: string, ttl: number, kind: string, created: number, fromTask: Field | undefined, toTask: Field | undefined}} Metadata */

const MOST_BYTES = 512 * 2 ** 20;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** @param {string} kind @param {string[]} children @param {Uint8Array} body @returns {Promise<Piece>} */
async function piece(kind, children, body) {
  const content = join(utf8(`${kind} ${children.join(",")} ${body.length}\0`), body);
  return { id: hex(await sha256(content)), content };
}

/** JSON as Python writes it. @param {Record<string, any>} value */
const json = (value) => utf8(JSON.stringify(value));

/** @param {Uint8Array} content @param {string} kind @returns {{children: string[], body: Uint8Array}} */
function opened(content, kind) {
  const end = content.indexOf(0);
  const [found, children, size] = decoder.decode(content.subarray(0, Math.max(0, end))).split(" ");
  const body = content.subarray(end + 1);
  if (found !== kind || Number(size) !== body.length) throw new Refusal("schema", `an object is no ${kind}`);
  return { children: children ? children.split(",") : [], body };
}

/**
 * The parcel of a message whose objects are all here, by their names.
 * @param {string} root @param {Map<string, Uint8Array>} contents @returns {Parcel}
 */
export function readParcel(root, contents) {
  try {
    const get = (/** @type {string} */ id, /** @type {string} */ kind) => {
      const content = contents.get(id);
      if (!content) throw new Refusal("schema", "an object is missing");
      return opened(content, kind);
    };
    const [record] = get(root, "Message").children;
    const records = JSON.parse(decoder.decode(get(record, "RecordDict").body));
    if (Object.keys(records).sort().join() !== "arrays,facts") throw new Refusal("schema", "it has other records than arrays and facts");
    const names = JSON.parse(decoder.decode(get(records.arrays, "ArrayRecord").body));
    let size = 0;
    const arrays = new Map(
      Object.entries(names).map(([name, id]) => {
        const { children, body } = get(/** @type {string} */ (id), "Array");
        const said = JSON.parse(decoder.decode(body));
        if (said.stype !== "numpy.ndarray") throw new Refusal("schema", "an array is not in numpy's format");
        const chunks = said.arraychunk_ids.map((/** @type {number} */ i) => get(children[i], "ArrayChunk").body);
        size += chunks.reduce((/** @type {number} */ sum, /** @type {Uint8Array} */ chunk) => sum + chunk.length, 0);
        if (size > MOST_BYTES) throw new Refusal("schema", "it is too large");
        return [name, readArray(join(...chunks))];
      }),
    );
    return { arrays, facts: readFacts(get(records.facts, "ConfigRecord").body) };
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("schema", "it is not a task's message");
  }
}

/** @param {Uint8Array} body @returns {Facts} */
function readFacts(body) {
  /** @type {Facts} */
  const facts = Object.create(null);
  for (const item of read(body).get(1) ?? []) {
    const value = one(item.message, 2).message;
    const [[number, fields]] = value.size === 1 ? value : [[0, [new Field(0n, new Uint8Array())]]];
    const field = fields[0];
    const kinds = /** @type {Record<number, () => Fact>} */ ({
      1: () => ({ type: "float", value: field.double }),
      2: () => ({ type: "int", value: Number(field.signed) }),
      3: () => ({ type: "int", value: Number(field.value) }),
      4: () => ({ type: "bool", value: field.value === 1n }),
      5: () => ({ type: "str", value: field.text }),
      6: () => ({ type: "bytes", value: field.content }),
    });
    if (!kinds[number]) throw new Refusal("schema", "a fact is of a kind that no task has");
    facts[one(item.message, 1).text] = kinds[number]();
  }
  return facts;
}

/** @param {Facts} facts */
function writeFacts(facts) {
  return join(
    ...Object.entries(facts).map(([name, { type, value }]) => {
      const written = type === "int" ? signed(2, value) : type === "float" ? double(1, value) : bytes(5, value, true);
      return bytes(1, join(bytes(1, name), bytes(2, written)), true);
    }),
  );
}

/** @param {Map<number, Field[]>} message one of Flower's messages @returns {Metadata} */
export function readMetadata(message) {
  const said = one(message, 1).message;
  return {
    run: one(said, 1).value,
    message: one(said, 2).text,
    from: one(said, 3).value,
    to: one(said, 4).value,
    group: one(said, 6).text,
    ttl: one(said, 7).double,
    kind: one(said, 8).text,
    created: one(said, 9).double,
    fromTask: said.get(10)?.at(-1),
    toTask: said.get(11)?.at(-1),
  };
}

/** The metadata of the reply to a message, at a time in seconds. @param {Metadata} to @param {string} id @param {number} now */
function replyMetadata(to, id, now) {
  const place = (/** @type {number} */ field, /** @type {Field | undefined} */ task) =>
    task ? join([field * 8], unsigned(1, task.value).subarray(1)) : new Uint8Array();
  return join(
    unsigned(1, to.run),
    bytes(2, id),
    unsigned(3, to.to),
    unsigned(4, to.from),
    bytes(5, to.message),
    bytes(6, to.group),
    double(7, to.created + to.ttl - now),
    bytes(8, to.kind),
    double(9, now),
    place(10, to.toTask),
    place(11, to.fromTask),
  );
}

/**
 * The reply to a message: the message as it is pushed, its tree of objects, and the objects.
 * @param {Metadata} to @param {{message: Uint8Array, facts: Facts} | {error: string}} said @param {number} now
 */
export async function writeReply(to, said, now) {
  const pieces = [];
  let tree = new Uint8Array();
  let error = new Uint8Array();
  if ("error" in said) error = bytes(3, join(signed(1, 2), bytes(2, said.error))); // 2: the client's app has raised an error
  else {
    const chunk = await piece("ArrayChunk", [], writeBytes(said.message));
    const array = await piece("Array", [chunk.id], json({ dtype: "uint8", shape: [said.message.length], stype: "numpy.ndarray", arraychunk_ids: [0] }));
    const arrays = await piece("ArrayRecord", [array.id], json({ message: array.id }));
    const facts = await piece("ConfigRecord", [], writeFacts(said.facts));
    const content = await piece("RecordDict", [arrays.id, facts.id], json({ arrays: arrays.id, facts: facts.id }));
    pieces.push(chunk, array, arrays, facts, content);
    const node = (/** @type {Piece} */ one, /** @type {Uint8Array[]} */ ...below) => join(bytes(1, one.id), ...below.map((b) => bytes(2, b)));
    tree = bytes(2, node(content, node(arrays, node(array, node(chunk))), node(facts)));
  }
  const children = pieces.length ? [/** @type {Piece} */ (pieces.at(-1)).id] : [];
  const root = await piece("Message", children, join(bytes(1, replyMetadata(to, "", now)), error));
  pieces.push(root);
  return {
    message: join(bytes(1, replyMetadata(to, root.id, now)), error.length ? error : bytes(2, "", true)), // no content, yet there
    tree: join(bytes(1, root.id), tree),
    pieces: new Map(pieces.map(({ id, content }) => [id, content])),
  };
}
