"""What the API takes and gives. Server and client share these models."""

from seasync.options import Side
from seasync.serve.models.alignments import (
    Alignment,
    AlignmentQuery,
    AlignmentRequest,
    Axis,
    CarryRequest,
    FilmRequest,
    GridRequest,
    Stretch,
    TimelineRequest,
)
from seasync.serve.models.bodies import Angles, AnglesRequest, Body, Drawing, Drawings, JointAngle
from seasync.serve.models.comparisons import NO_SEA, Comparison, ComparisonRequest, ComparisonUpdate
from seasync.serve.models.fields import HEX, LATEST, Model, Moment, Problem
from seasync.serve.models.footage import Footage, Upload
from seasync.serve.models.jobs import Job
from seasync.serve.models.labeling import CarriedClip, CarriedMark, CarriedPage, LabelingRequest
from seasync.serve.models.marks import Anchor, Anchors, Mark, Marks
from seasync.serve.models.report import Report, ReportRequest, Tempo, TimedMoment, TimedPhase
from seasync.serve.models.search import Match, Piece, SearchRequest, SearchResult, Span
from seasync.serve.models.seas import (
    AddRequest,
    Clip,
    ClipOrder,
    ClipPage,
    ClipUpdate,
    Phone,
    SeaInfo,
    SeaRequest,
    ServerInfo,
)

__all__ = [
    "HEX",
    "LATEST",
    "NO_SEA",
    "AddRequest",
    "Alignment",
    "AlignmentQuery",
    "AlignmentRequest",
    "Anchor",
    "Anchors",
    "Angles",
    "AnglesRequest",
    "Axis",
    "Body",
    "CarriedClip",
    "CarriedMark",
    "CarriedPage",
    "CarryRequest",
    "Clip",
    "ClipOrder",
    "ClipPage",
    "ClipUpdate",
    "Comparison",
    "ComparisonRequest",
    "ComparisonUpdate",
    "Drawing",
    "Drawings",
    "FilmRequest",
    "Footage",
    "GridRequest",
    "Job",
    "JointAngle",
    "LabelingRequest",
    "Mark",
    "Marks",
    "Match",
    "Model",
    "Moment",
    "Phone",
    "Piece",
    "Problem",
    "Report",
    "ReportRequest",
    "SeaInfo",
    "SeaRequest",
    "SearchRequest",
    "SearchResult",
    "ServerInfo",
    "Side",
    "Span",
    "Stretch",
    "Tempo",
    "TimedMoment",
    "TimedPhase",
    "TimelineRequest",
    "Upload",
]
