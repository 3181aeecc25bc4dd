// Trains the cases of a folder in node, and prints a JSON line for each and each engine: benchmarks/browser_training.py.
import { compile } from "../src/tacit/page/static/train/engine.js";
import { trainLocally } from "../src/tacit/page/static/train/local.js";
import { against, bytes, read } from "../tests/page/train/js/cases.mjs";

const [folder, times, ...names] = process.argv.slice(2);
const module = await compile(bytes(new URL("../src/tacit/page/static/train/kernels.wasm", import.meta.url)));
for (const name of names) {
  const { task, expected } = read(name, folder);
  for (const engine of name === names[0] ? [module, null] : [module]) { // plain JavaScript once: it is slow
    const seconds = [];
    let answer;
    for (let i = 0; i < (engine ? Number(times) : 1); i++) {
      const begun = process.cpuUsage();
      answer = trainLocally(task, engine);
      const used = process.cpuUsage(begun);
      seconds.push((used.user + used.system) / 1e6);
    }
    const loss = answer.report.loss / answer.report.steps;
    const { steps, words } = answer.report;
    console.log(JSON.stringify({ name, engine: answer.facts.engine, seconds, steps, words, loss, ...against(answer, expected) }));
  }
}
