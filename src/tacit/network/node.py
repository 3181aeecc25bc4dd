"""Runs a client in the foreground: Flower's SuperNode for the connection, and this process for the work.

A SuperNode alone would run any code that the server sends with a run. Here it only carries messages: this process takes
each task from it and answers with the installed Tacit. Code from the server is never unpacked. The process stays, so
programs are compiled once.

The journal says what the client took part in, one line a task, for its owner (`tacit federation log`).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from flwr.app import Context, Message
from flwr.app.error import Error
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode, SubStatus
from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.retry import make_simple_http_retry_invoker
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from tacit.base.errors import TacitError
from tacit.network import flower
from tacit.network import journal as journals
from tacit.network.admission import why_ended
from tacit.network.client import answering
from tacit.network.conditions import OPEN, named
from tacit.network.federation import Invitation
from tacit.network.grid import from_records, to_records
from tacit.network.heartbeat import Heartbeat
from tacit.network.leaving import overwrite
from tacit.network.manners import ALWAYS, Manners, mannered
from tacit.network.person import open_device
from tacit.network.work import Parcel, Refusal, work_of

_POLL = 0.25  # seconds between looks for a task
_LOOK = 0.5  # and for a reason to end
Answer = Callable[[Parcel], Parcel]
Journal = Callable[[dict[str, Any]], None]


def reply_to(message: Message, answer: Answer, journal: Journal) -> Message:
    """Returns the reply to one of Flower's messages; an error gives its reason in a word, and nothing of the text."""
    line: dict[str, Any] = {}
    try:
        task = from_records(message.content)
        line |= {"task": work_of(task.facts), "round": task.facts.get("round")}
        parcel = answer(task)
        journal({**line, "ended": journals.ANSWERED})
        return Message(to_records(parcel), reply_to=message)
    except (Refusal, TacitError) as refusal:
        why = refusal.reason if isinstance(refusal, Refusal) else "refused"
        journal({**line, "ended": f"refused: {refusal}"})
        return Message(Error(code=ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason=why), reply_to=message)


class Node:
    """Takes tasks from a SuperNode on this machine and answers them, one after another."""

    def __init__(self, port: int, answer: Answer, journal: Journal) -> None:
        self.address, self.answer, self.journal = f"127.0.0.1:{port}", answer, journal
        self.tasks = self._connect(RuntimeVersionHttpInterceptor(component_name="SuperExec"))

    def _connect(self, *interceptors: Any) -> Any:
        retries = make_simple_http_retry_invoker()
        retries.max_tries = 1  # a SuperNode that is gone does not come back
        return RuntimeHttpClient.from_server_address(
            server_address=self.address,
            insecure=True,  # loopback, between two processes of one person
            root_certificates=None,
            interceptors=list(interceptors),
            retry_invoker=retries,
        )

    def step(self) -> bool:
        """Answers the next task; returns whether there was one."""
        taken = self.tasks.AcquireTask(AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP]))
        if not (taken.HasField("task") and taken.token):
            return False
        version = RuntimeVersionHttpInterceptor(component_name="flwr-clientapp")
        client = self._connect(version, RuntimeTokenHttpInterceptor(taken.token))
        heartbeat = Heartbeat(client)
        try:
            message, context = _task_of(client)
            push_message(client, reply_to(message, self.answer, self.journal), context)
            push_task_output(client, context, SubStatus.COMPLETED, "")
        finally:
            heartbeat.stop()
            client.close()
        return True

    def close(self) -> None:
        """Closes the connection."""
        self.tasks.close()


def _task_of(client: RuntimeHttpClient) -> tuple[Message, Context]:
    """Returns the task that a SuperNode hands out."""
    try:
        message, context, _, _ = pull_task_input(client)  # the last is the server's code: it stays packed
        return message, context
    except httpx.HTTPError:
        raise
    except Exception as error:  # whatever a server sends
        raise TacitError(
            f"the server sent something other than a task ({type(error).__name__}); use the same version of Flower on "
            "both sides"
        ) from None


@contextlib.contextmanager
def secrets_of(invitation: Invitation) -> Iterator[Path]:
    """Puts an invitation's certificate and key into a directory that only this user can read, and removes it."""
    with tempfile.TemporaryDirectory(prefix="tacit-client-") as folder:
        place = Path(folder)
        (place / "ca.crt").write_text(invitation.authority, "utf-8")
        number = os.open(place / "key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(invitation.private)
        try:
            yield place
        finally:
            overwrite(place / "key")


def run_client(
    invitation: Invitation,
    data: Path,
    journal: Path,
    ready: Callable[[], None] = lambda: None,
    manners: Manners = ALWAYS,
    left: Callable[[], bool] = lambda: False,
    told: Journal = lambda line: None,
) -> None:
    """Takes part in a federation until it is interrupted, or returns once it has `left` for good.

    A thread answers tasks, so leaving does not wait for a task in progress. Its answer is never sent, because the
    connection is closed first. `told` is called with each line of the journal.
    """
    answer = mannered(answering(open_device(data)), manners, journal)

    def note(line: dict[str, Any]) -> None:
        told(journals.write(journal, time.time(), line))

    with secrets_of(invitation) as place:
        port = flower.free_port()
        supernode = flower.start_supernode(place, invitation.address, place / "ca.crt", place / "key", port)
        try:
            flower.wait_for_port(supernode, port, place / "supernode.log")
            overwrite(place / "key")  # Flower has read it; a client that is killed leaves no copy
            node = Node(port, answer, note)
            ready()
            failed: list[BaseException] = []
            worker = threading.Thread(target=_answer_tasks, args=(node, supernode, failed), daemon=True)
            worker.start()
            while worker.is_alive():
                if left():
                    return
                worker.join(_LOOK)
            if failed:
                raise failed[0]
            raise why_ended(place / "supernode.log", supernode.wait())
        finally:
            flower.stop(supernode)


def _answer_tasks(node: Node, supernode: subprocess.Popen[bytes], failed: list[BaseException]) -> None:
    """Answers tasks until the SuperNode has ended; an error is kept for the thread that waits."""
    try:
        while supernode.poll() is None:
            with contextlib.suppress(httpx.HTTPError):  # it has ended, or will answer at the next look
                if node.step():
                    continue
            time.sleep(_POLL)
    except BaseException as error:
        failed.append(error)


client_app = ClientApp()


def _on_a_plain_node(message: Message, context: Context) -> Message:
    """Answers a task on a SuperNode that was started with `--node-config 'data="messages.jsonl"'`.

    `conditions="FILE"` beside it is `--conditions FILE` of the command; there is no journal, so no period.
    """
    data, conditions = (str(context.node_config.get(name, "")) for name in ("data", "conditions"))
    if not data:
        raise TacitError("start flower-supernode with --node-config 'data=\"messages.jsonl\"'")
    manners = Manners(named(conditions) if conditions else OPEN)
    answer = mannered(answering(open_device(Path(data))), manners, Path())
    return reply_to(message, answer, lambda line: None)


client_app.train()(_on_a_plain_node)
client_app.evaluate()(_on_a_plain_node)
