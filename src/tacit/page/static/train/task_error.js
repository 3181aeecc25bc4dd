/** Why a task is not trained. */
export class TaskError extends Error {
  /** @param {string} reason "schema", "config" or "training" @param {string} message */
  constructor(reason, message) {
    super(message);
    this.name = "TaskError";
    this.reason = reason;
  }
}
