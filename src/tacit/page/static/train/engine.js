// Opens the kernels with a memory of their own: compiled ones (kernels.wasm), or plain JavaScript.

import { compiled, plain } from "./kernels.js";
import { TaskError } from "./task_error.js";

const MOST = 2 ** 31; // bytes that kernels can address
const PAGE = 65536;

/** @typedef {{take: import("./network.js").Take, open: () => import("./kernels.js").Kernels}} Engine */

/**
 * Compiles the kernels. Throws where the browser or the page's policy forbids it.
 * @param {BufferSource} code kernels.wasm
 */
export function compile(code) {
  return WebAssembly.compile(code);
}

/**
 * Reserves memory (`take`), then opens it.
 * @param {WebAssembly.Module | null} module null: plain JavaScript
 * @returns {Engine}
 */
export function engine(module) {
  const memory = module && new WebAssembly.Memory({ initial: 4 });
  const instance = module && new WebAssembly.Instance(module, { env: { memory } });
  let end = instance ? /** @type {WebAssembly.Global} */ (instance.exports.__heap_base).value : 64;
  return {
    take(numbers) {
      const at = Math.ceil(end / 16) * 16;
      end = at + 4 * numbers;
      return at;
    },
    open() {
      if (end > MOST) throw new TaskError("config", `training needs ${Math.ceil(end / 2 ** 20)} MB of memory, and a page has 2048`);
      if (!instance || !memory) return plain(new ArrayBuffer(Math.ceil(end / 16) * 16));
      const missing = Math.ceil((end - memory.buffer.byteLength) / PAGE);
      if (missing > 0) memory.grow(missing);
      return compiled(instance.exports, memory.buffer);
    },
  };
}
