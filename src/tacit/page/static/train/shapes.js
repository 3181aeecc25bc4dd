// The parameters of a model: names, shapes and places in one flat array, in the order of Python's parameter tree.

/**
 * The table [model] of a configuration: `ModelConfig` of src/tacit/models/base.py.
 * @typedef {object} Model
 * @property {"gru" | "lstm"} kind
 * @property {number} embedding
 * @property {number} hidden
 * @property {number} layers
 * @property {boolean} tied
 * @property {"common" | "printed"} variant
 * @property {boolean} coupled
 * @property {number} groups
 * @property {boolean} layer_norm
 * @property {boolean} residual
 * @property {number} dropout
 * @property {string} precision
 */
import { TaskError } from "./task_error.js";

/** @typedef {{name: string, shape: number[], size: number, at: number}} Leaf `at`: its first number */

const USUAL = {
  kind: "gru",
  embedding: 96,
  hidden: 96,
  layers: 1,
  tied: true,
  variant: "common",
  coupled: true,
  groups: 1,
  layer_norm: false,
  residual: false,
  dropout: 0,
  precision: "float32",
};

/**
 * The table with Python's defaults. Throws for what is not trained here.
 * @param {Partial<Model>} given
 * @returns {Model}
 */
export function modelOf(given) {
  const model = /** @type {Model} */ ({ ...USUAL, ...given });
  if (model.kind !== "gru" && model.kind !== "lstm") throw new TaskError("config", `model.kind = '${model.kind}' is not known here`);
  if (model.precision !== "float32") throw new TaskError("config", `model.precision = '${model.precision}': a page trains in float32`);
  return model;
}

/**
 * The leaves of a model, in the order in which Python's tree has them.
 * @param {Model} model
 * @param {number} vocabulary
 * @returns {Leaf[]}
 */
export function leaves(model, vocabulary) {
  const { embedding: size, hidden, groups } = model;
  /** @type {Record<string, number[]>} */
  const shapes = { embedding: [vocabulary, size], output_bias: [vocabulary] };
  if (!model.tied) shapes.output = [vocabulary, hidden];
  for (let depth = 0; depth < model.layers; depth++) {
    const from = model.kind === "gru" && depth ? hidden : size;
    for (const [name, shape] of Object.entries(layer(from))) shapes[`${model.kind}${depth}/${name}`] = shape;
  }

  /** @param {number} from @returns {Record<string, number[]>} */
  function layer(from) {
    if (model.kind === "lstm") {
      const gates = model.coupled ? 3 : 4;
      const grouped = [groups, size / groups, (gates * hidden) / groups];
      return {
        input: grouped,
        recurrent: grouped,
        projection: [hidden, size],
        ...(model.coupled || !model.layer_norm ? { bias: [gates, hidden] } : {}),
        ...(model.layer_norm
          ? { gate_gain: [gates, hidden], gate_shift: [gates, hidden], cell_gain: [hidden], cell_shift: [hidden] }
          : {}),
      };
    }
    if (model.variant === "printed") {
      const each = [hidden + from, hidden];
      return { update: each, reset: each, candidate: each };
    }
    return {
      input: [from, 3 * hidden],
      recurrent: [hidden, 3 * hidden],
      input_bias: [3 * hidden],
      recurrent_bias: [3 * hidden],
    };
  }

  let at = 0;
  return Object.entries(shapes)
    .sort(([a], [b]) => compare(a.split("/"), b.split("/")))
    .map(([name, shape]) => {
      const size = shape.reduce((a, b) => a * b, 1);
      at += size;
      return { name, shape, size, at: at - size };
    });
}

/** @param {string[]} a @param {string[]} b */
function compare(a, b) {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 ? 0 : a[at] < (b[at] ?? "") ? -1 : 1;
}
