"""A study: queries and a gallery, encoded once; every table is computed from one."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from seasync import ranking
from seasync.alignment import MOTION, PAPER, Alignment, Recipe, align_many
from seasync.encoding import Encoding
from seasync.errors import DataError
from seasync.evaluate import described
from seasync.evaluate.dataset import Dataset, Item
from seasync.evaluate.results import Row, Table, paper_rows, run_settings
from seasync.options import Partial, Rerank
from seasync.ranking import Ranking, Standard, clip_vectors_of, query_vector, rank

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Notes = Sequence[str]
Progress = Callable[[str, int, int], None]
T = TypeVar("T")

NATIVE = 1000.0  # frames per second, more than any video has: every frame is taken
WHOLE = ("byol:", "carl:")  # the paper's encoders see every frame
NO_CONTEXT = replace(PAPER, context=False)
RECIPES = (NO_CONTEXT, PAPER, MOTION)


def compared_keys(recipe: Recipe) -> tuple[Rerank, ...]:
    """The ranking keys that tables compare: those of the paper, and the recipe's own."""
    product: tuple[Rerank, ...] = ("product",) if recipe.rerank == "order" else ()
    return tuple(dict.fromkeys(("none", "dtw", "draq", *product, recipe.rerank)))


@dataclass(frozen=True, eq=False)
class EncodedItem:
    """A clip of the data set with its encoding."""

    item: Item
    encoding: Encoding


@dataclass(frozen=True, eq=False)
class Study:
    """Encoded queries and gallery.

    Attributes
    ----------
    name : str
        Name of the data set.
    encoder : str
    queries, gallery : tuple of EncodedItem
    leave_one_out : bool
        The gallery is the queries: each clip searches among all others.
    paper : str, optional
        The paper's name for this data set.
    jobs : int
        Threads.
    retriever : Study, optional
        The same clips by another encoder, which retrieves the candidates that this one aligns.
    """

    name: str
    encoder: str
    queries: tuple[EncodedItem, ...]
    gallery: tuple[EncodedItem, ...]
    leave_one_out: bool
    paper: str | None = None
    jobs: int = 2
    retriever: "Study | None" = None

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        gallery: Dataset | None = None,
        *,
        encoder: str | None = None,
        fps: float | None = None,
        retriever: "Study | None" = None,
        jobs: int = 2,
        progress: Progress | None = None,
    ) -> "Study":
        """Encode a data set.

        Test clips search the training clips. In a set without a split, each clip searches all others.

        Parameters
        ----------
        dataset : Dataset
        gallery : Dataset, optional
            Search the clips of this data set instead (its training clips, if it has a split).
        encoder : str, optional
            Default: the data set's own.
        fps : float, optional
            Sampled frames per second of videos; `NATIVE` takes every frame. Default: every frame for the
            paper's encoders, otherwise the encoder's rate.
        retriever : Study, optional
            A study of the same data by the encoder that retrieves candidates.
        jobs : int
            Threads.
        progress : callable, optional
            Called as ``progress(what, done, total)``.

        Raises
        ------
        DataError
            If only one side of a split is there.
        """
        name = encoder or dataset.encoder
        test, train = dataset.only("test"), dataset.only("train")
        if bool(test) != bool(train) and gallery is None:
            raise DataError(
                f"{dataset.name}: {len(test)} test and {len(train)} train clips; both sides are needed"
            )
        queries = test or dataset.items
        other = gallery.only("train") or gallery.items if gallery else train
        itself = not other
        encoded = encode_items((*queries, *other), name, fps=fps, progress=progress)
        left, right = encoded[: len(queries)], encoded[len(queries) :]
        crossed, paper = dataset.name, dataset.paper
        if gallery:
            crossed = f"{dataset.name} ⇄ {gallery.name}"
            paper = "Penn ⇄ UCF" if {dataset.paper, gallery.paper} == {"PennAction", "UCF101"} else None
        return cls(crossed, name, left, right or left, itself, paper, jobs, retriever)

    @property
    def query_labels(self) -> NDArray[np.str_]:
        """The action of each query."""
        return np.array([sample.item.label for sample in self.queries])

    @property
    def gallery_labels(self) -> NDArray[np.str_]:
        """The action of each gallery clip."""
        return np.array([sample.item.label for sample in self.gallery])

    def similarities(self, recipe: Recipe) -> Array:
        """Similarity of clip vectors as in a sea of the gallery's clips, shape (queries, gallery).

        It is −inf between a clip and itself.
        """
        if self.retriever:
            return self.retriever.similarities(recipe)
        queries, gallery = ([s.encoding for s in side] for side in (self.queries, self.gallery))
        similarity = ranking.similarity_matrix(queries, gallery, trajectory=recipe.trajectory)
        if self.leave_one_out:
            np.fill_diagonal(similarity, -np.inf)
        return similarity

    def retrieved(self, recipe: Recipe, k: int) -> list[Indices]:
        """The k nearest gallery clips of each query, nearest first."""
        order = np.argsort(-self.similarities(recipe), axis=1, kind="stable")
        return list(order[:, : min(k, len(self.gallery) - self.leave_one_out)])

    def same_label(self, at: int) -> Indices:
        """The gallery clips with the label of query `at`, but not itself."""
        same = np.flatnonzero(self.gallery_labels == self.queries[at].item.label)
        return same[same != at] if self.leave_one_out else same

    def oracle(self, k: int, *, seed: int = 0) -> list[Indices]:
        """Up to k random gallery clips of each query's own label."""
        random = np.random.default_rng(seed)
        return [random.permutation(self.same_label(at))[:k] for at in range(len(self.queries))]

    def rankings(self, candidates: Sequence[Indices], recipe: Recipe) -> list[Ranking]:
        """Each query's candidates, ranked as `Sea.search` ranks them."""
        similarity = self.similarities(recipe)
        searched = self.retriever or self
        gallery = [sample.encoding for sample in searched.gallery]
        standard = Standard.of([np.stack([encoding.mean for encoding in gallery])])
        vectors = clip_vectors_of(gallery, standard)
        cohort = ranking.cohort_of(vectors)

        def ranked(at: int) -> Ranking:
            query, chosen = self.queries[at].encoding, self.encodings(candidates[at])
            found_by = searched.queries[at].encoding
            asked = query_vector(found_by, standard, trajectory=recipe.trajectory)
            relation = cohort.relate(asked, vectors[candidates[at]]) if cohort else None
            return rank(query, chosen, similarity[at, candidates[at]], recipe=recipe, relation=relation)

        return self.map(ranked)

    def align(self, at: int, matches: Indices, recipe: Recipe, partial: Partial = "never") -> list[Alignment]:
        """Query `at` aligned with these gallery clips, whole to whole unless `partial` says otherwise."""
        query = self.queries[at].encoding
        return align_many(query, self.encodings(matches), recipe=recipe, partial=partial)

    def encodings(self, chosen: Indices) -> list[Encoding]:
        """The encodings of these gallery clips."""
        return [self.gallery[int(i)].encoding for i in chosen]

    def map(self, function: Callable[[int], T]) -> list[T]:
        """Call `function` with every query's number, on `jobs` threads; results in order."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(function, range(len(self.queries))))

    @property
    def fps(self) -> float:
        """Sampled frames per second, the median over the queries."""
        spans = [sample.encoding.seconds for sample in self.queries]
        return float(np.median([(len(s) - 1) / max(s[-1] - s[0], 1e-9) if len(s) > 1 else 0 for s in spans]))

    @property
    def every_frame(self) -> bool:
        """Whether the clips' frames are all sampled, as the paper does it."""
        return all(
            np.median(np.diff(s.encoding.frames)) <= 1 for s in self.queries if len(s.encoding.frames) > 1
        )

    def table(
        self, name: str, rows: list[Row], settings: Row, before: Notes = (), after: Notes = (), **shown: Any
    ) -> Table:
        """A table of this study as tables.toml describes it, with the settings that every table reports.

        The paper's rows come with it. `before` and `after` are notes of this run, `shown` its curves.
        """
        labels = set(self.query_labels) | set(self.gallery_labels)
        data = {"data": self.name, "encoder": self.encoder, "queries": len(self.queries)}
        data |= {"gallery": len(self.gallery), "labels": len(labels)}
        data |= {"gallery_is_queries": self.leave_one_out}
        said = described()[name]
        title = said["title"].format(**(data | settings))
        notes = (*before, *said["notes"], *after)
        compare = tuple(said.get("compare", ()))
        shown |= {key: said[key] for key in ("main", "lower") if key in said}
        paper = paper_rows(name, self.paper)
        if paper and compare and not self.every_frame:
            rate = f"Ours at {self.fps:.3g} frames per second, the paper's at every frame (--fps native)"
            notes = (
                f"{rate}: errors in frames, above all FPE, which grows with its square, do not compare.",
                *notes,
            )
        made = run_settings(**data, fps=round(self.fps, 3), **settings)
        return Table(name, title, rows, made, paper, compare=compare, notes=notes, **shown)

    def row(self, recipe: Recipe, **settings: Any) -> Row:
        """The beginning of a table's row: features, recipe and further settings."""
        about: Row = {"features": self.encoder, "fps": f"{self.fps:.3g}"}
        if self.retriever:
            about["candidates by"] = self.retriever.encoder
        return about | {"recipe": recipe.name, "context": recipe.context, **settings}


def encode_items(
    items: Sequence[Item], encoder: str, *, fps: float | None = None, progress: Progress | None = None
) -> tuple[EncodedItem, ...]:
    """Encode clips, one after the other."""
    fps = fps or (NATIVE if encoder.startswith(WHOLE) else None)
    encoded = []
    for at, item in enumerate(items):
        if progress:
            progress(f"encoding with {encoder}", at, len(items))
        encoded.append(EncodedItem(item, item.encode(encoder, fps)))
    return tuple(encoded)
