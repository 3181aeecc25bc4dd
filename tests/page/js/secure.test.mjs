// Secure sums give the bytes of tests/privacy/vectors, and refuse what Python's client refuses.
import { secureTests } from "./secure.mjs";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const vectors = (name) => JSON.parse(readFileSync(new URL(`../../privacy/vectors/${name}.json`, import.meta.url), "utf8"));

for (const [name, run] of Object.entries(secureTests(vectors("secure-round"), vectors("fixed-point")))) test(name, run);
