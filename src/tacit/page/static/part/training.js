// How a tab trains: this person's sentences, by the trainer of ../train, in a Worker of its own.

import { clientOf, optimiser } from "../train/optimiser.js";
import { leaves, modelOf } from "../train/shapes.js";
import { score, train } from "../train/trainer.js";
import { speak } from "./language.js";
import { Refusal } from "./refusal.js";
import { ownText } from "./text.js";

/** @typedef {import("./answering.js").Work} Work */
/** What a model is worth on this person's latest sentences, which nobody trains on.
 * @typedef {{round: number, work: string, perplexity: number, words: number}} Measured */

/** @param {Work} work */
const paramsOf = (work) => Object.fromEntries(work.model.map((leaf) => [leaf.name, leaf.values]));

/** What a trainer refuses, as a refusal of the task. @template T @param {Promise<T>} answer */
async function refusing(answer) {
  try {
    return await answer;
  } catch (error) {
    const { reason = "training", message } = /** @type {any} */ (error);
    throw new Refusal(["schema", "config"].includes(reason) ? reason : "training", message);
  }
}

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
  /** @param {Work} work @returns {any} */
  const tables = (work) => ({
    seed: work.seed,
    model: work.config.model,
    client: work.config.client,
    sampling: work.config.sampling,
    aggregation: work.config.aggregation,
  });

  /** @param {Work} work */
  async function textOf({ config, words }) {
    await speak(String(config.text.locale));
    return ownText(await sentences(), config.text, words);
  }

  return {
    leaves(config, vocabulary) {
      clientOf(/** @type {any} */ (config.client));
      return leaves(modelOf(/** @type {any} */ (config.model)), vocabulary);
    },

    travels(config, vocabulary) {
      const every = leaves(modelOf(/** @type {any} */ (config.model)), vocabulary);
      return optimiser(clientOf(/** @type {any} */ (config.client)), every, () => 1).travels();
    },

    async train(work) {
      const { training } = await textOf(work);
      if (!training.length) throw new Refusal("training", "there are no sentences yet");
      const { number, round, lr, words, carried } = work;
      const task = { config: tables(work), vocabulary: words.length, params: paramsOf(work), carried, number, round, lr, sentences: training };
      const answer = await refusing(train(task, { progress, signal, spawn }));
      return { update: work.model.map((leaf) => answer.update[leaf.name]), weight: answer.weight, carried: answer.carried };
    },

    async measure(work) {
      const { heldOut } = await textOf(work);
      const task = { model: /** @type {any} */ (work.config.model), vocabulary: work.words.length, params: paramsOf(work), sentences: heldOut };
      const sums = await refusing(score(task, { signal, spawn }));
      const { nll, words, sentences: count } = sums;
      if (measured && count) await measured({ round: work.round, work: work.work, perplexity: Math.exp(nll / (words + count)), words });
      return sums;
    },
  };
}
