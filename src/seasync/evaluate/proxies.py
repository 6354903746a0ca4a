"""Proxy tasks on frame features, as the publications on video alignment define them, and the paper's Table 3.

A protocol fixes where they differ: TCC (Dwibedi et al. 2019) and CARL (Chen et al. 2022) use other strides,
normalization and classifiers. Each function takes the clips of one action, lists of (T, d) embeddings and
(T,) phases, and returns one value per clip, so that figures can be averaged over actions and bootstrapped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import MOTION
from seasync.encoders.temporal import untrained_carl
from seasync.encoding import Encoding
from seasync.errors import DataError, MissingExtra
from seasync.evaluate.metrics import kendall_tau
from seasync.evaluate.results import Row, Table, add_figure, mean_over_groups
from seasync.evaluate.study import Array, EncodedItem, Indices, Study

Embeddings = Sequence[NDArray[Any]]
Phases = Sequence[Indices]
CUTOFFS = (1, 5, 10, 15)


@dataclass(frozen=True)
class Protocol:
    """How a publication treats embeddings before it measures them.

    Attributes
    ----------
    name : str
    stride : int
        Every `stride`-th frame is used, except for classification and progression.
    normalize : bool
        Scale each frame's embedding to length 1.
    classifier : {"logistic", "svm"}
    """

    name: str
    stride: int
    normalize: bool
    classifier: Literal["logistic", "svm"]

    def embed(self, features: NDArray[Any]) -> Array:
        """The embeddings that the protocol measures, for every frame: (T, d) → (T, d)."""
        x = np.asarray(features, np.float64)
        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) if self.normalize else x


CARL = Protocol("carl", stride=2, normalize=True, classifier="logistic")
TCC = Protocol("tcc", stride=5, normalize=False, classifier="svm")
PROTOCOLS = {p.name: p for p in (CARL, TCC)}


def set_tau(embeddings: Embeddings, protocol: Protocol) -> tuple[Array, Array]:
    """Kendall's τ over all ordered pairs of clips.

    Each strided query frame takes its nearest strided frame of the other clip; τ compares their orders. Pairs
    for which τ is undefined are dropped.

    Returns
    -------
    numpy.ndarray [shape=(V,)]
        The mean of each query clip.
    numpy.ndarray [shape=(V,)]
        How many pairs it comes from.
    """
    strided = [protocol.embed(e)[:: protocol.stride] for e in embeddings]
    mean, count = np.full(len(strided), np.nan), np.zeros(len(strided))
    everything = np.concatenate(strided)
    squares = (everything**2).sum(1)
    ends = np.cumsum([len(clip) for clip in strided])
    for i, query in enumerate(strided):
        distances = np.split(squares - 2 * query @ everything.T, ends[:-1], axis=1)
        neighbors = [d.argmin(1) for j, d in enumerate(distances) if j != i]
        tau = kendall_tau(np.array(neighbors)) if neighbors else np.array([])
        count[i] = np.isfinite(tau).sum()
        if count[i]:
            mean[i] = np.nanmean(tau)
    return mean, count


def frame_retrieval(
    embeddings: Embeddings, phases: Phases, protocol: Protocol, cutoffs: Sequence[int] = CUTOFFS
) -> Array:
    """Precision@K of retrieving frames of the same phase from all other clips.

    Queries are the strided frames of one clip, candidates those of all others; frames without a label are
    ignored.

    Returns
    -------
    numpy.ndarray [shape=(V, len(cutoffs))]
        NaN for a clip without a labeled frame, or if there is no other clip.
    """
    frames = [
        _labelled(protocol.embed(e)[:: protocol.stride], np.asarray(p)[:: protocol.stride])
        for e, p in zip(embeddings, phases, strict=True)
    ]
    precision = np.full((len(frames), len(cutoffs)), np.nan)
    for i, (query, wanted) in enumerate(frames):
        others = [f for j, f in enumerate(frames) if j != i and len(f[1])]
        if not len(wanted) or not others:
            continue
        candidates = np.concatenate([x for x, _ in others])
        found = np.concatenate([y for _, y in others])
        distance = (candidates**2).sum(1) - 2 * query @ candidates.T
        ranked = np.argsort(distance, axis=1, kind="stable")[:, : max(cutoffs)]
        hit = found[ranked] == wanted[:, None]
        precision[i] = [hit[:, :k].mean() for k in cutoffs]
    return precision


def phase_classification(
    train: tuple[Embeddings, Phases], test: tuple[Embeddings, Phases], protocol: Protocol
) -> tuple[Array, Array]:
    """Accuracy per test clip of a classifier fitted on all training frames.

    "logistic" is multinomial logistic regression (lbfgs, at most 100,000 iterations), "svm" an SVC with an
    RBF kernel and scikit-learn's defaults; features are not scaled.

    Returns
    -------
    numpy.ndarray [shape=(V,)]
        Accuracy of each test clip; weighted by frames, the mean is the micro accuracy.
    numpy.ndarray [shape=(V,)]
        Its labeled frames.

    Raises
    ------
    DataError
        If the training clips show fewer than two phases.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import SVC
    except ImportError:
        raise MissingExtra("evaluate", "the classification of phases") from None
    pairs = [_labelled(protocol.embed(e), np.asarray(p)) for e, p in zip(*train, strict=True)]
    x, y = (np.concatenate(column) for column in zip(*pairs, strict=True))
    if len(np.unique(y)) < 2:
        raise DataError("phase classification: the training clips show fewer than two phases")
    logistic = protocol.classifier == "logistic"
    model = (LogisticRegression(solver="lbfgs", max_iter=100_000) if logistic else SVC()).fit(x, y)
    accuracy, frames = np.full(len(test[0]), np.nan), np.zeros(len(test[0]))
    for i, (embedding, phases) in enumerate(zip(*test, strict=True)):
        features, wanted = _labelled(protocol.embed(embedding), np.asarray(phases))
        frames[i] = len(wanted)
        if len(wanted):
            accuracy[i] = (model.predict(features) == wanted).mean()
    return accuracy, frames


@dataclass(frozen=True, eq=False)
class Progression:
    """The sums that R² needs, per test clip and phase boundary: frames (V,); Σy, Σy², Σ(y − ŷ)² (V, B)."""

    frames: Array
    total: Array
    squares: Array
    residual: Array

    def r2(self, clips: Indices | slice = slice(None)) -> float:
        """R² on these clips, the mean over boundaries."""
        n = self.frames[clips].sum()
        spread = self.squares[clips].sum(0) - self.total[clips].sum(0) ** 2 / n
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.mean(1 - self.residual[clips].sum(0) / spread))


def phase_progression(
    train: tuple[Embeddings, Phases], test: tuple[Embeddings, Phases], protocol: Protocol
) -> Progression:
    """How well a linear regression predicts the distance to each phase boundary from a frame."""
    try:
        from sklearn.linear_model import LinearRegression
    except ImportError:
        raise MissingExtra("evaluate", "the progression of phases") from None

    boundaries = max(int(np.max(p)) for p in train[1])
    if boundaries < 1:
        raise DataError("phase progression: the training clips show one phase only; there is no boundary")
    x = np.concatenate([protocol.embed(e) for e in train[0]])
    y = np.concatenate([boundary_distance(np.asarray(p), boundaries) for p in train[1]])
    model = LinearRegression().fit(x, y)
    sums = []
    for embedding, phases in zip(*test, strict=True):
        wanted = boundary_distance(np.asarray(phases), boundaries)
        error = wanted - model.predict(protocol.embed(embedding)).reshape(wanted.shape)
        sums.append((len(wanted), wanted.sum(0), (wanted**2).sum(0), (error**2).sum(0)))
    return Progression(*(np.array(column, np.float64) for column in zip(*sums, strict=True)))


def boundary_distance(phases: Indices, boundaries: int) -> Array:
    """For each phase c < boundaries, (t − last index of c)/T: (T,) → (T, boundaries).

    A clip without phase c uses the last index of an earlier phase, or −1: where c would have ended.
    """
    last = []
    for c in range(boundaries):
        of_phase = np.flatnonzero(phases == c)
        before = np.flatnonzero((phases >= 0) & (phases < c))
        last.append(of_phase[-1] if len(of_phase) else before[-1] if len(before) else -1)
    return np.asarray((np.arange(len(phases))[:, None] - np.array(last)[None]) / len(phases))


def _labelled(features: Array, phases: Indices) -> tuple[Array, Indices]:
    return features[phases >= 0], phases[phases >= 0]


# Control features that know only a frame's position, to show what a proxy task rewards.


def position_only(length: int) -> Array:
    """Frame index / T and nothing else, shape (T, 2).

    The constant second column keeps the position readable where a protocol normalizes each frame to length 1.
    """
    return np.stack([np.arange(length) / length, np.ones(length)], axis=1)


def position_only_encoding(encoding: Encoding) -> Encoding:
    """The encoding with features that hold a frame's position and nothing else."""
    lead = encoding.streams[0]
    stream = replace(lead, name="position", features=position_only(len(lead.seconds)).astype(np.float32))
    return replace(encoding, streams=(stream,))


# The paper's Table 3, with two controls that know only the position.

Embed = Callable[[Encoding], NDArray[Any]]


def phases(study: Study, *, protocol: Protocol = CARL, seed: int = 0) -> Table:
    """Kendall's τ and, with phase labels, classification, progression and frame retrieval.

    The gallery is the training side, the queries are the test side.

    Raises
    ------
    DataError
        If there is no training side, or it lacks an action.
    """
    if study.leave_one_out:
        raise DataError(f"{study.name}: the proxy tasks need a training side; split the data set first")
    transformer = untrained_carl(study.gallery[0].encoding.features.shape[1])
    kinds: list[tuple[str, bool, Embed]] = [
        (study.encoder, False, lambda e: e.features.astype(np.float64)),
        (study.encoder, True, lambda e: contextualized(e.features)),
        (f"{study.encoder}, state and change", False, state_and_change),
        ("control: position only", False, lambda e: position_only(len(e.features))),
        ("control: untrained transformer", False, lambda e: transformer.run(e.features.astype(np.float32))),
    ]
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingExtra("evaluate", "this table") from None
    with threadpool_limits(1):  # with many small products, BLAS threads wait longer than they work
        rows = [_row(study, name, context, embed, protocol, seed) for name, context, embed in kinds]
    return study.table("phases", rows, {"protocol": protocol.name, "stride": protocol.stride, "seed": seed})


PAPER_ORDER = ("+tcc:", "+gta:", "+lav:", "+tcn:", "+sal:", "", "+carl:", "+nms:", "+taught:")


def in_paper_order(rows: Sequence[Row]) -> list[Row]:
    """The rows of several encoders as in Table 3: plain, with context, the first encoder's controls."""

    def place(row: Row) -> tuple[bool, bool, int]:
        name = f"+{row['features']}"
        method = next(
            (n for n, kind in enumerate(PAPER_ORDER) if kind and kind in name), PAPER_ORDER.index("")
        )
        return row["kind"] == "control", row["context"] or "state and change" in name, method

    first = {row["features"]: row for row in reversed(rows) if row["kind"] == "control"}
    kept = [row for row in rows if row["kind"] != "control" or row is first[row["features"]]]
    return sorted(kept, key=place)


def contextualized(features: NDArray[np.float32]) -> Array:
    """Contextualized features, Eq. 2–3 of the paper: (T, d) → (T, 2d)."""
    double = features.astype(np.float64)
    both = np.concatenate([double, np.cumsum(double, axis=0) / len(double)], axis=1)
    return np.asarray(both - both.mean(0))


def state_and_change(encoding: Encoding) -> Array:
    """The motion recipe's features: centered ones and their change, each over its RMS, (T, 2d)."""
    state = encoding.features.astype(np.float64) - encoding.features.mean(0, dtype=np.float64)
    step = np.median(np.diff(encoding.seconds)) if len(state) > 1 else 1.0
    reach = max(1, round((MOTION.change_seconds or step) / float(step)))
    at = np.arange(len(state))
    change = state[np.minimum(at + reach, len(state) - 1)] - state[np.maximum(at - reach, 0)]
    return np.concatenate(
        [part / max(np.sqrt((part**2).sum(1).mean()), 1e-12) for part in (state, change)], axis=1
    )


def _row(study: Study, name: str, context: bool, embed: Embed, protocol: Protocol, seed: int) -> Row:
    actions = sorted(set(study.query_labels))
    test = [[s for s in study.queries if s.item.label == action] for action in actions]
    embedded = [[embed(s.encoding) for s in samples] for samples in test]
    groups = np.repeat(np.arange(len(actions)), [len(samples) for samples in test])

    def grouped(values: Array, weights: Array) -> Callable[[Indices], float]:
        return lambda drawn: mean_over_groups(values[drawn], groups[drawn], weights[drawn])

    figures: dict[str, Callable[[Indices], float]] = {}
    if all(s.item.phases for s in (*study.queries, *study.gallery)):
        accuracies, retrievals, progressions = [], [], []
        for action, samples, embeddings in zip(actions, test, embedded, strict=True):
            train = [s for s in study.gallery if s.item.label == action]
            if not train:
                raise DataError(
                    f"{study.name}: no training clip of {action}; the proxy tasks need some of every action"
                )
            known = ([embed(s.encoding) for s in train], _phases(train))
            asked = (embeddings, _phases(samples))
            accuracies.append(phase_classification(known, asked, protocol))
            retrievals.append(frame_retrieval(*asked, protocol))
            progressions.append(phase_progression(known, asked, protocol))
        precision = np.concatenate(retrievals)
        figures["classification"] = grouped(*map(np.concatenate, zip(*accuracies, strict=True)))
        for at, cutoff in enumerate(CUTOFFS):
            figures[f"frame P@{cutoff}"] = grouped(precision[:, at], np.ones(len(groups)))
        first = np.searchsorted(groups, np.arange(len(actions)))

        def progression(drawn: Indices) -> float:
            clips = [drawn[groups[drawn] == at] - first[at] for at in range(len(actions))]
            scores = [made.r2(mine) for made, mine in zip(progressions, clips, strict=True) if len(mine)]
            return float(np.nanmean(scores))

        figures["progression"] = progression
    taus = [set_tau(embeddings, protocol) for embeddings in embedded]
    figures["tau"] = grouped(*map(np.concatenate, zip(*taus, strict=True)))
    kind = "control" if name.startswith("control") else "frame features"
    row: Row = {"features": name, "kind": kind, "context": context}
    for figure, statistic in figures.items():
        add_figure(row, figure, statistic, len(groups), seed=seed)
    return row


def _phases(samples: Sequence[EncodedItem]) -> list[Indices]:
    return [s.item.phases.at(s.encoding.frames) for s in samples if s.item.phases is not None]
