"""`tacit personalize` as a person would use it: the directory it leaves, and one line for whatever is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

from commands import TINY, WORDS, Commands, file_size_limit, tree, write_corpus
from html_pages import Parsed
from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.transaction import transaction
from tacit.lm.network import run_model
from tacit.lm.protocol import suggest
from tacit.personal import choosing, personalised, personalize, split, sums, trial
from tacit.personal import models as personal_models
from tacit.personal.job import TYPISTS, PersonalOptions, people, read_job
from tacit.personal.mixing import Mix, mixture, remember
from tacit.personal.model_parts import MODEL_PARTS
from tacit.personal.private import Protection
from tacit.personal.strategies import Strategy
from tacit.personal.summary import json_summary
from tacit.privacy import accounting, ledger
from tacit.runs import directory
from tacit.runs.config import resolve
from tacit.runs.report import MARK
from tacit.text import catalogue
from tacit.text.prepare import context

ROW = {"batch", "lr", "baseline", "delta_mean", "ci95", "gain_share", "loss_share"}
GATE = {
    "margin",
    "accepted_share",
    "delta_mean",
    "delta_mean_without",
    "worse_share",
    "worse_share_without",
    "significantly_worse_share",
}


def write_habits(path: Path, people: int = 24) -> Path:
    """Everybody repeats two phrases of their own, some have little to say."""
    with path.open("w", encoding="utf-8") as file:
        for p in range(people):
            for m in range(4 if p == 3 else 30):
                start = p + 7 * (m % 2)
                words = [WORDS[(start + i * (1 + p % 3)) % len(WORDS)] for i in range(6)]
                file.write(json.dumps({"user": f"u/{p:02d}", "text": " ".join(words), "time": m}) + "\n")
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Path:
    """A run, and people whom it never met."""
    here = tmp_path_factory.mktemp("personal")
    corpus = write_corpus(here / "messages.jsonl", people=12, messages=8)
    runs.train(resolve("fedavg", [*TINY, f"text.corpus={corpus}", "training.rounds=1"]), here / "run")
    write_habits(here / "habits.jsonl")
    return here


@pytest.fixture(scope="module")
def done(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run of what the command does, with fewer parts and mixtures to compile."""
    options = PersonalOptions(
        str(world / "habits.jsonl"), (2,), (0.1, 5.0), epochs=2, keep=3, strategies=True
    )
    out = world / "run" / "personal"
    job = read_job(world / "run", options)
    told: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "MODEL_PARTS", {k: MODEL_PARTS[k] for k in ("all", "bias")})
        patch.setattr(choosing, "MIXES", (Mix(0.75), Mix(0.6, 0.2)))
        result = personalised.personalised(job, lambda what, share: told.append(share))
        assert told == sorted(told) and told[-1] == pytest.approx(1) and len(told) > 5
    with transaction(out, personalize.KIND) as folder:
        personalize.write(folder, result)
    return out


def test_a_copy_of_the_runs_own_corpus_gives_nobody_it_was_trained_on(world: Path, tmp_path: Path):
    run = runs.load(world / "run")
    copy = tmp_path / "copy.jsonl"
    shutil.copy(world / "messages.jsonl", copy)
    held_out = people(run, PersonalOptions())[1].names
    whose, text = people(run, PersonalOptions(str(copy)))
    assert whose == f"{copy}, held-out people" and text.names == held_out and 0 < len(held_out) < 12


def test_a_known_corpus_is_the_same_by_its_path(tmp_path: Path):
    entry = catalogue.find("nus-sms")
    file = tmp_path / entry.folder / entry.files[0].name
    file.parent.mkdir()
    write_corpus(file)
    assert catalogue.resolve("nus-sms", tmp_path) == file
    assert catalogue.same_corpus(str(file), "nus-sms", tmp_path) and not catalogue.same_corpus(
        "ptb", "nus-sms", tmp_path
    )


def test_the_directory(done: Path):
    files = tree(done)
    assert {"summary.json", "sums.npz", "report.html"} <= set(files)
    summary = json.loads(files["summary.json"])
    assert (summary["users"], summary["left_out"]) == (23, 1)
    assert summary["left_out_why"]["fewer than 10 messages"] == 1
    assert len(summary["stored"]) == 3 == sum(name.startswith("models/") for name in files)
    assert [(r["batch"], r["lr"]) for r in summary["grid"]] == [(2, 0.1), (2, 5.0)]
    names = [s["name"] for s in summary["strategies"]]
    assert {"B 2, L 0.1", "bias, B 2, L 5"} <= set(names) and any("cache" in n for n in names)
    assert summary["best"]["delta_mean"] > 0.1  # phrases that are repeated can be learned
    stored = {s["name"]: s["bytes"] for s in summary["strategies"]}
    assert stored["bias, B 2, L 5"] == 4 * 20 < stored["B 2, L 5"]
    # what the page and the summary say was read from the totals alone
    totals = np.load(done / "sums.npz")
    said = sums.DeviceReport(*(totals[f"B 2, L 5/{field}"] for field in sums.DeviceReport._fields))
    row = summary["grid"][1]
    assert sums.overall(said)["delta_mean"] == row["delta_mean"]
    assert summary["histograms"]["B 2, L 5"] == sums.histogram(said).tolist()
    # where a total is over one person it is that person's row, and the page says how often
    assert summary["alone"] == sums.alone(said) > 0
    assert summary["epsilon"] is None and "without noise" in summary["epsilon_reason"]
    assert summary["model_epsilon"] is None and "no privacy mechanism" in summary["model_epsilon_reason"]
    assert f"{summary['alone']} of 23 people are alone in a cell" in files["report.html"].decode()


def test_the_page(done: Path):
    summary = json.loads((done / "summary.json").read_text("utf-8"))
    page = (done / "report.html").read_text("utf-8")
    parsed = Parsed(page)
    assert all(link.startswith("#") for link in parsed.loads)  # opens without network
    for shown in ("Table 1", "Figure 2", "Figure 3", "The effect of the gate", "Recommended"):
        assert shown in page
    assert page.count("<svg") == 3
    assert f"{summary['grid'][1]['delta_mean']:.4f}" in page
    assert "u/" not in page  # nobody is named


def test_personal_models_predict(done: Path, tacit: Commands):
    run = done.parent
    summary = json.loads((done / "summary.json").read_text("utf-8"))
    user = summary["stored"][0]
    p = int(user[2:])
    phrase = [WORDS[(p + i * (1 + p % 3)) % len(WORDS)] for i in range(6)]
    found = tacit.json("predict", run, " ".join(phrase[:3]), "--user", user, "--k", 5)
    words = [s["word"] for s in found["suggestions"]]
    assert len(words) == 5 and all(0 <= s["probability"] <= 1 for s in found["suggestions"])
    plain = tacit.json("predict", run, " ".join(phrase[:3]), "--k", 5)
    assert plain != found
    tacit("predict", run, "are you", "--user", "somebody").refused("somebody", user)
    # a personal model belongs to one global model, and is read whole or not at all
    other = run.parent / "other"
    shutil.copytree(run, other)
    file = other / "personal" / "models" / personal_models.file_name(user)
    whole = file.read_bytes()
    for broken in (whole[:-7], b"none", whole.replace(b'sha256\\": \\"', b'sha256\\": \\"0', 1)):
        file.write_bytes(broken)
        tacit("predict", other, "are you", "--user", user).refused(str(file))
    file.write_bytes(whole)
    moved = jax.tree.map(lambda a: a + 1, runs.load(other).params)
    directory.save(other, directory.BEST, moved, 1, None)
    tacit("predict", other, "are you", "--user", user).refused("another model")


def test_a_stored_mixture_is_what_was_measured(done: Path, world: Path):
    """Written and read back, a personal model with a cache suggests what its mixture says."""
    run = runs.load(world / "run")
    job = read_job(world / "run", PersonalOptions(str(world / "habits.jsonl")))
    ready = trial.prepare(run.model, run.params, job.users, trial.Tuning())
    strategy = Strategy(2, (0.5,), "body", Mix(0.6, 0.3))
    (stored,) = personal_models.tuned(run, ready, strategy, np.array([5]))
    personal_models.save(done / "models", stored)
    own = personal_models.load(run, stored.user)
    assert own.mix == strategy.mix and set(stored.tree["tuned"]) == set(run.params) - {"embedding"}
    ids = context("see them", run.vocabulary, run.config.text)
    found = suggest(run_model(run, stored.user).source, "see them", 4)
    memory = jax.tree.map(
        lambda a: a[0], remember(split.text_of_parts(split.subset(job.users, np.array([5])), 0, 1))
    )
    scores = mixture(run.model, (strategy.mix,))(run.params, own.params, memory, ids[None])[0, 0, -1]
    odds = np.exp(np.asarray(scores, np.float64))
    best = sorted(range(3, len(odds)), key=lambda i: -odds[i])[:4]
    assert [w for w, _ in found] == [run.vocabulary.words[i] for i in best]
    assert [p for _, p in found] == pytest.approx(odds[best].tolist(), rel=1e-3)
    (done / "models" / personal_models.file_name(stored.user)).unlink()


def test_json_is_what_was_promised(tacit: Commands, world: Path, tmp_path: Path):
    told = tacit.json(
        *("personalize", world / "run", "--corpus", world / "habits.jsonl", "--batch", "2", "--lr", "5,1e30"),
        *("--epochs", 2, "--margin", 0.07, "--out", tmp_path / "out", "--keep", 0, "--users", 20),
    )
    assert set(told) == {"users", "left_out", "grid", "gate"}
    assert (told["users"], told["left_out"]) == (20, 1)
    assert all(set(row) == ROW for row in told["grid"]) and len(told["grid"]) == 2
    assert set(told["gate"]) == GATE and told["gate"]["margin"] == 0.07
    assert told["gate"]["delta_mean"] <= told["gate"]["delta_mean_without"] + 0.05
    assert 0 < told["gate"]["accepted_share"] <= 1
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert summary["left_out_why"]["not drawn"] == 3 and not summary["stored"]
    assert json.loads(json.dumps(json_summary(summary))) == told
    # fine-tuning that diverges is told and rejected: everybody keeps the global model
    assert told["grid"][1]["delta_mean"] == 0 and summary["grid"][1]["diverged_share"] == 1
    assert summary["grid"][0]["diverged_share"] == 0 < summary["grid"][0]["delta_mean"]


def test_the_tables_say_who_was_left_out(done: Path):
    summary = json.loads((done / "summary.json").read_text("utf-8"))
    assert "23 people" in personalize.report.who(summary)
    assert "fewer than 10 messages 1" in personalize.report.who(summary)
    for _, rows in personalize.report.tables(summary):
        assert len({len(row) for row in rows}) == 1
    assert summary["recommendation"].startswith("tune by ")


def test_bad_input_is_one_line(tacit: Commands, world: Path, tmp_path: Path):
    run, corpus = world / "run", ("--corpus", world / "habits.jsonl")
    for margin in ("-0.1", "1.5", "nan"):
        tacit("personalize", run, *corpus, "--margin", margin).refused("--margin", "between 0 and 1")
    tacit("personalize", run, "--batch", "5,x").refused("--batch", "5,10,20")
    tacit("personalize", run, "--batch", "0").refused("--batch")
    tacit("personalize", run, "--lr", "0.1,-1").refused("--lr")
    tacit("personalize", run, "--lr", "").refused("--lr")
    tacit("personalize", run, "--lr", "inf").refused("--lr")
    tacit("personalize", tmp_path).refused("not a run directory")
    tacit("personalize", run, "--corpus", "no-such").refused("no-such")
    # its own held-out people have eight messages each: too little for a split
    tacit("personalize", run, "--out", tmp_path / "none").refused("enough text", "10 messages", "100 words")
    one_voice = tmp_path / "plain.txt"
    one_voice.write_text("are you coming home\n" * 50, "utf-8")
    tacit("personalize", run, "--corpus", one_voice, "--out", tmp_path / "none").refused("who wrote what")
    strange = tmp_path / "strange.jsonl"
    strange.write_text(
        "".join(json.dumps({"user": "ana", "text": "qq " * 12, "time": m}) + "\n" for m in range(20))
        + json.dumps({"user": "bo", "text": "home", "time": 0})
        + "\n",
        "utf-8",
    )
    tacit("personalize", run, "--corpus", strange, "--out", tmp_path / "none").refused("known word")
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "letter.txt").write_text("mine", "utf-8")
    tacit("personalize", run, *corpus, "--out", taken).refused("choose another --out")
    assert not (tmp_path / "none").exists() and sorted(tree(taken)) == ["letter.txt"]


def test_a_run_without_a_checkpoint(tacit: Commands, world: Path, tmp_path: Path):
    bare = tmp_path / "bare"
    shutil.copytree(world / "run", bare, ignore=shutil.ignore_patterns("checkpoints", "personal"))
    tacit("personalize", bare, "--corpus", world / "habits.jsonl").refused("no such checkpoint", "train")


def test_typists_are_people_the_run_never_met(world: Path):
    run = runs.load(world / "run")
    whose, text = people(run, PersonalOptions("typists", users=3))
    assert whose == "typists 400 to 402, not in the run's training"
    assert text.names == ("typist-000400", "typist-000401", "typist-000402")
    assert len(people(run, PersonalOptions("typists"))[1]) == TYPISTS


def test_what_the_command_prints(tacit: Commands, world: Path, done: Path, tmp_path: Path, monkeypatch):
    summary = json.loads((done / "summary.json").read_text("utf-8"))
    result = choosing.Personalised(summary, {}, [])
    monkeypatch.setattr(personalize, "personalised", lambda job, progress: result)
    out = tmp_path / "out"
    told = tacit.ok("personalize", world / "run", "--corpus", world / "habits.jsonl", "--out", out)
    lines = told.splitlines()
    header = next(line for line in lines if line.lstrip().startswith("B"))
    for title in ("change", "95 %", "relative", "gain ≥ 0.02", "lose ≥ 0.02", "published"):
        assert title in header
    first = lines[lines.index(header) + 1]
    assert len(first.rstrip()) <= len(header) and "0.1" in first  # numbers stand under their names
    assert "the gate, margin" in told and "23 people" in told and "left out: " in told
    assert lines[-2].startswith("recommended: tune by") and lines[-1] == str(out / "report.html")


def test_sums_with_noise(world: Path, tmp_path: Path):
    habits, protection = str(world / "habits.jsonl"), Protection(5.0, 1e-5, min_people=2)
    options = PersonalOptions(habits, (2,), (0.1, 5.0), epochs=2, keep=0, protection=protection)
    for times in (1, 2):
        result = personalize.personalize(world / "run", tmp_path / "out", options)
        assert len(ledger.read(tmp_path / "out" / "ledger.jsonl")) == times  # the same people again
    (one, two), summary = ledger.read(tmp_path / "out" / "ledger.jsonl"), result.summary
    assert accounting.spent([one], 1e-5).epsilon == pytest.approx(5)
    assert accounting.spent([one, two], 1e-5).epsilon > 5 and one.noise_digest != two.noise_digest
    assert (summary["epsilon"], summary["left_out"], summary["alone"]) == (5.0, None, None)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "ε = 5 at δ = 1e-05" in page and "left out: not told" in page and "alone in a cell" not in page
    # nothing but the halves, and no row of one person
    for name, table in np.load(tmp_path / "out" / "sums.npz").items():
        if name.endswith(("by_tokens", "by_baseline")):
            assert not table[2:].any() and not np.any(table[..., 0] == 1), name


@pytest.fixture
def plain_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of one word, for summaries that hold no figures."""
    monkeypatch.setattr(personalize.report, "page", lambda summary: "page")


def test_models_of_an_earlier_call_do_not_stay(tmp_path: Path, plain_page: None):
    stored = personal_models.Stored("ana", {"tuned": {"output_bias": np.zeros(3)}}, {"part": "bias"})
    for models in ([stored], []):
        result = choosing.Personalised({"format": choosing.FORMAT}, {}, models)
        with transaction(tmp_path / "out", personalize.KIND) as folder:
            personalize.write(folder, result)
    assert sorted(tree(tmp_path / "out")) == ["report.html", "summary.json", "sums.npz"]


def test_a_full_disk_spares_the_models_that_are_there(tmp_path: Path, plain_page: None):
    def write(size: int) -> None:
        tuned = {"tuned": {"output_bias": np.zeros(size)}}
        stored = [personal_models.Stored(user, tuned, {"part": "bias"}) for user in ("ana", "ben")]
        result = choosing.Personalised({"format": choosing.FORMAT, "size": size}, {}, stored)
        with transaction(tmp_path / "out", personalize.KIND) as folder:
            personalize.write(folder, result)

    with file_size_limit(3000), pytest.raises(TacitError, match="File too large"):
        write(1000)
    assert not (tmp_path / "out").exists()
    write(10)
    before = tree(tmp_path / "out")
    with file_size_limit(3000), pytest.raises(TacitError, match="File too large"):
        write(1000)
    assert tree(tmp_path / "out") == before and len(before) == 5


def test_the_report_of_a_run_leads_to_the_page_once(tmp_path: Path):
    report, page = tmp_path / "report.html", tmp_path / "personal" / "report.html"
    personalize.link_from_report(report, page)  # a run without a report
    assert not report.exists()
    others = b"<html><body></body></html>", b"\xff</body>" + MARK.encode()
    for content in others:  # a page of others, and one that is damaged
        report.write_bytes(content)
        personalize.link_from_report(report, page)
        assert report.read_bytes() == content
    report.write_text(f"<html>{MARK}<body><p>runs</p></body></html>", "utf-8")
    for _ in range(2):
        personalize.link_from_report(report, page)
    assert report.read_text("utf-8").count('href="personal/report.html"') == 1
    Parsed(report.read_text("utf-8"))
    odd = tmp_path / '"><script>alert(1)<b>' / "report.html"
    personalize.link_from_report(report, odd)
    text = report.read_text("utf-8")
    assert "<script" not in text and 'href="%22%3E%3Cscript%3Ealert%281%29%3Cb%3E/report.html"' in text
    before = report.read_bytes()
    personalize.link_from_report(report, tmp_path.parent / "elsewhere" / "report.html")
    assert report.read_bytes() == before
    report.rename(tmp_path / "mine.html")
    report.symlink_to("mine.html")
    personalize.link_from_report(report, tmp_path / "second" / "report.html")
    assert (tmp_path / "mine.html").read_bytes() == before
