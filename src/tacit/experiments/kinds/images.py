"""Trains the 2NN and the CNN on MNIST until a test accuracy is reached (paper 5, Figures 1 and 2).

100 clients have 600 digits each, assigned at random (IID) or as two shards of 300 sorted by label (non-IID). FedAvg
runs E epochs of SGD on batches of B (0: all 600 in one) on a fraction C of the clients; C = 0 means one client. A
round's accuracy is that of the averaged model on the 10,000 test digits.
"""

from __future__ import annotations

from tacit.base.randomness import generator, stream
from tacit.experiments.data import Points
from tacit.experiments.entry import Settings
from tacit.experiments.kinds.convex import digits
from tacit.experiments.labelled import first_at, follow, judge, train
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.experiments.synthetic import Devices, balanced_digits
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.models.images import logistic_regression, mnist_2nn, mnist_cnn
from tacit.text.partition import iid

_DEAL = stream("deal digits")
MODELS = {"2nn": mnist_2nn, "cnn": mnist_cnn, "logistic": lambda: logistic_regression(784, 10)}


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Settings: `model`, `split` (iid or non-iid), `fraction` C, `epochs` E, `batch` B, `lr`, `rounds`, `target`.

    `train` is how many of the 60,000 training digits there are, the first ones.
    """
    sets = digits(place.data, settings.get("stand_in", False))
    clients = settings.get("clients", 100)
    points = Points(*(part[: settings.get("train")] for part in sets.train))
    devices = (
        Devices(points, iid(len(points.y), clients, generator(seed, _DEAL)))
        if settings["split"] == "iid"
        else balanced_digits(points, clients, seed)
    )
    model = MODELS[settings["model"]]()
    algorithm = Algorithm(
        ClientConfig(epochs=settings["epochs"], batch=settings["batch"], lr=settings["lr"]),
        AggregationConfig(),
        ServerConfig(),
        SamplingConfig(fraction=settings["fraction"]),
    )
    rounds, target = settings["rounds"], settings["target"]
    look = judge(model, sets.test)
    trainer = train(model, algorithm, devices, seed, rounds)
    run = follow(trainer, seed, rounds, lambda p: look(p)[1], lambda accuracy: accuracy >= target, place.say)
    accuracy = [float(a) for a in run.seen]
    values: dict[str, float | None] = {
        "rounds": first_at(accuracy, target, rising=True),
        "best": max(accuracy),
        "made": len(accuracy) - 1,
    }
    return Measured(values, {"accuracy": (list(range(len(accuracy))), accuracy)})
