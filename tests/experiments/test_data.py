"""Readers against files made by hand, and made sets against what their recipe says."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from tacit.base.errors import TacitError
from tacit.experiments import data
from tacit.experiments.convexity import optimum
from tacit.experiments.synthetic import balanced_digits, synthetic, unbalanced_digits


def idx(array: np.ndarray) -> bytes:
    sizes = b"".join(n.to_bytes(4, "big") for n in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


@pytest.fixture
def digits(tmp_path):
    """A directory with MNIST's files, three and two images in them; some gzipped, some not."""
    draw = np.random.default_rng(0)
    folder = tmp_path / "mnist"
    folder.mkdir()
    made = {}
    for name, n in (("train", 3), ("t10k", 2)):
        made[name] = (
            draw.integers(0, 256, (n, 28, 28)).astype(np.uint8),
            draw.integers(0, 10, n).astype(np.uint8),
        )
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(made[name][0])))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(idx(made[name][1]))
    return tmp_path, made


def test_idx_files_plain_and_gzipped(digits):
    root, made = digits
    found = data.mnist(root)
    np.testing.assert_array_equal(found.train.x, made["train"][0].reshape(3, 784))
    np.testing.assert_array_equal(found.test.y, made["t10k"][1])
    assert found.train.y.dtype == np.int32


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "not an idx file"),
        (b"\0\0\x09\1", "not an idx file"),
        (b"\0\0\x08\1\0\0\0\5abc", "3 bytes after the header"),
    ],
)
def test_a_damaged_idx_file_is_one_line(digits, content, named):
    root, _ = digits
    path = root / "mnist" / "train-labels-idx1-ubyte"
    path.write_bytes(content)
    with pytest.raises(TacitError, match=named) as error:
        data.mnist(root)
    assert str(path) in str(error.value)
    (root / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(b"\x1f\x8b\x08cut")
    with pytest.raises(TacitError, match="damaged gzip"):
        data.mnist(root)


def test_missing_data_names_its_source_and_its_place(tmp_path):
    with pytest.raises(TacitError) as error:
        data.mnist(tmp_path)
    for part in ("npmjs.com", "train-images-idx3-ubyte", str(tmp_path / "mnist"), "--data"):
        assert part in str(error.value)


def test_spam_lines(tmp_path):
    folder = tmp_path / "sms-spam"
    folder.mkdir()
    path = folder / "SMSSpamCollection.tsv"
    path.write_text("ham\tsee you\tlater\nspam\tWIN £100\r\n\nham\tok\n", "utf-8")
    found = data.spam(tmp_path)
    assert found.texts == ["see you\tlater", "WIN £100", "ok"] and found.y.tolist() == [0, 1, 0]
    path.write_text("ham\tfine\neggs\tbad\n", "utf-8")
    with pytest.raises(TacitError, match="line 2"):
        data.spam(tmp_path)


def test_stand_ins_are_the_same_for_a_seed():
    a, b = data.toy_digits(20, 5), data.toy_digits(20, 5)
    np.testing.assert_array_equal(a.train.x, b.train.x)
    assert a.train.x.dtype == np.uint8 and a.train.x.shape == (20, 784)
    assert data.toy_spam(10).texts == data.toy_spam(10).texts


def test_synthetic_points_are_spread_as_the_recipe_says():
    made = synthetic(0, 0, devices=6, seed=1)
    x, held = made.points.x, made.held
    big = int(np.argmax(made.sizes))
    mine = x[held.client(big)]
    np.testing.assert_allclose(mine.var(0), np.arange(1, 61) ** -1.2, rtol=6 * (2 / len(mine)) ** 0.5)
    assert (made.sizes >= 50).all() and len(x) == made.sizes.sum()
    capped = synthetic(0, 0, devices=6, seed=1, most=60)
    assert capped.sizes.max() <= 60


def test_synthetic_zero_zero_is_not_iid_and_the_iid_form_is():
    """Γ / F*: how much of the least loss is owed to devices that want different models."""
    found = [optimum(synthetic(0, 0, 5, 3, iid, most=100), ridge=0.05) for iid in (True, False)]
    alike, apart = (best.gamma / best.loss for best in found)
    assert 0 < 2 * alike < apart


def test_beta_moves_the_points_of_a_device_and_alpha_does_not():
    def spread(alpha, beta):
        made = synthetic(alpha, beta, devices=20, seed=1, most=60)
        return np.std([made.points.x[made.held.client(k)].mean() for k in range(20)])

    assert spread(0, 10) > 3 and spread(10, 0) < 0.5


@pytest.mark.parametrize("deal", [balanced_digits, unbalanced_digits])
def test_digits_are_dealt_two_to_a_device_and_once_each(deal):
    draw = np.random.default_rng(0)
    points = data.Points(np.zeros((4000, 1), np.uint8), np.sort(draw.integers(0, 10, 4000)).astype(np.int32))
    made = deal(points, 20, 0)
    assert len(np.unique(made.held.order)) == len(made.held.order)
    assert made.held.offsets[-1] == len(made.held.order) and (made.sizes > 0).all()
    kinds = [len(np.unique(points.y[made.held.client(k)])) for k in range(20)]
    assert max(kinds) <= (4 if deal is balanced_digits else 2)
    spread = made.sizes.max() / made.sizes.min()
    assert (spread < 1.1) if deal is balanced_digits else (spread > 5)
