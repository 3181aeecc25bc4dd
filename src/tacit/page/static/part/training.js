// How a tab trains: this person's sentences, by the trainer of ../train, in a Worker of its own.

import { clientOf } from "../train/optimiser.js";
import { leaves, modelOf } from "../train/shapes.js";
import { train } from "../train/trainer.js";
import { Refusal } from "./refusal.js";
import { ownText } from "./text.js";

/** @typedef {import("./answering.js").Work} Work */
/** What a model is worth on this person's latest sentences, which nobody trains on.
 * @typedef {{round: number, work: string, perplexity: number, words: number}} Measured */

/**
 * @param {() => Promise<string[]>} sentences this person's, the oldest first
 * @param {object} more
 * @param {(step: number, steps: number) => void} [more.progress]
 * @param {(found: Measured) => Promise<any>} [more.measured] is told what a model is worth here
 * @param {AbortSignal} [more.signal] ends a training at once
 * @param {() => Worker} [more.spawn]
 * @returns {import("./answering.js").Trainer}
 */
export function browserTrainer(sentences, { progress, measured, signal, spawn } = {}) {
  /** @param {Work} work @param {any} config @param {ArrayLike<number>[]} own @param {number} lr
   * @param {((step: number, steps: number) => void) | undefined} told */
  async function run(work, config, own, lr, told) {
    const params = Object.fromEntries(work.model.map((leaf) => [leaf.name, leaf.values]));
    const task = { config, vocabulary: work.words.length, params, number: work.number, round: work.round, lr, sentences: own };
    try {
      return await train(task, { progress: told, signal, spawn });
    } catch (error) {
      const { reason = "training", message } = /** @type {any} */ (error);
      throw new Refusal(["schema", "config"].includes(reason) ? reason : "training", message);
    }
  }

  /** @param {Work} work @returns {any} */
  const tables = (work) => ({
    seed: work.seed,
    model: work.config.model,
    client: work.config.client,
    sampling: work.config.sampling,
    aggregation: work.config.aggregation,
  });

  return {
    leaves(config, vocabulary) {
      clientOf(/** @type {any} */ (config.client));
      return leaves(modelOf(/** @type {any} */ (config.model)), vocabulary);
    },

    async train(work) {
      const { training } = ownText(await sentences(), work.config.text, work.words);
      if (!training.length) throw new Refusal("training", "there are no sentences yet");
      const { update, weight } = await run(work, tables(work), training, work.lr, progress);
      return { update: work.model.map((leaf) => update[leaf.name]), weight };
    },

    /** One pass with the rate 0: its loss is the model's. */
    async measure(work) {
      const { heldOut } = ownText(await sentences(), work.config.text, work.words);
      if (!measured || !heldOut.length) return;
      const config = tables(work);
      config.model = { ...config.model, dropout: 0 };
      config.client = { ...config.client, epochs: 1, batch: 0, max_examples: 0 };
      const { report } = await run(work, config, heldOut, 0, undefined);
      await measured({ round: work.round, work: work.work, perplexity: Math.exp(report.loss / report.steps), words: report.words });
    },
  };
}
