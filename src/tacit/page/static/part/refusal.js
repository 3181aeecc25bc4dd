// Why a task is refused; the words are those of tacit.network.work.CLIENT_REASONS, because the server counts them.

/** @typedef {"refused" | "schema" | "version" | "kind" | "config" | "training" | "conditions"} Reason */

/** A task that is not answered: the server learns `reason` and nothing else. */
export class Refusal extends Error {
  /** @param {Reason | "stale" | "replay"} reason @param {string} detail */
  constructor(reason, detail) {
    super(`${reason}: ${detail}`);
    this.reason = reason;
  }
}
