// How well a model predicts text: the sums of src/tacit/scoring/scores.py, which a client sends in federated evaluation.

import { batches } from "./batches.js";
import { checkSentences, learner } from "./learner.js";
import { clientOf } from "./optimiser.js";
import { modelOf } from "./shapes.js";

const EOS = 1;
const UNK = 2;
const TOGETHER = 32; // sentences in one batch

/** Whole sentences, each once, the shortest first, so that batches have few empty rows. @param {ArrayLike<number>[]} sentences */
export function examOf(sentences) {
  const order = sentences.map((_, i) => i).sort((a, b) => sentences[a].length - sentences[b].length || a - b);
  const schedule = [];
  for (let i = 0; i < order.length; i += TOGETHER) schedule.push(order.slice(i, i + TOGETHER));
  return batches(sentences, schedule);
}

/**
 * The sums of a text, by Python's names. Sentences are `<s> … </s>`; of none, all sums are 0.
 * @param {{model: Partial<import("./shapes.js").Model>, vocabulary: number, params: Record<string, Float32Array>, sentences: ArrayLike<number>[]}} task
 * @param {WebAssembly.Module | null} module the compiled kernels; null: plain JavaScript
 */
export function scores({ model, vocabulary, params, sentences }, module) {
  const sums = { nll: 0, nll_oov: 0, words: 0, oov: 0, top1: 0, top3: 0, sentences: sentences.length };
  if (!sentences.length) return sums;
  checkSentences(sentences, vocabulary);
  const exam = examOf(sentences);
  const cells = exam.reduce((n, batch) => Math.max(n, batch.cells), 1);
  const pupil = learner({ model: modelOf(model), client: clientOf({}), vocabulary, cells, module, params });
  for (const batch of exam) {
    const { nll, rank } = pupil.marks(batch);
    batch.targets.forEach((target, i) => {
      sums.nll += nll[i];
      sums.words += target !== EOS ? 1 : 0;
      if (target === UNK) {
        sums.oov++;
        sums.nll_oov += nll[i];
      } else if (target > UNK) {
        sums.top1 += rank[i] < 1 ? 1 : 0;
        sums.top3 += rank[i] < 3 ? 1 : 0;
      }
    });
  }
  return sums;
}
