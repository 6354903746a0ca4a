"""Frame and temporal encoders, their registry, their weights."""

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.encoders.encode import content_hash, encode_clip
    from seasync.encoders.encoder import Encoder, TakesFrames, clip_vector_parts, cut
    from seasync.encoders.registry import DEFAULT, encoder_for, get_encoder, register
    from seasync.encoders.weights import cache_folder

_HOMES = {
    "encode": ("content_hash", "encode_clip"),
    "encoder": ("Encoder", "TakesFrames", "clip_vector_parts", "cut"),
    "registry": ("DEFAULT", "encoder_for", "get_encoder", "register"),
    "weights": ("cache_folder",),
}
__all__ = [
    "DEFAULT",
    "Encoder",
    "TakesFrames",
    "cache_folder",
    "clip_vector_parts",
    "content_hash",
    "cut",
    "encode_clip",
    "encoder_for",
    "get_encoder",
    "register",
]
__getattr__ = loader(__name__, _HOMES)
