"""Frame and temporal encoders, their registry, their weights."""

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.encoders.encode import content_hash as content_hash, encode_clip as encode_clip
    from seasync.encoders.encoder import Encoder as Encoder, clip_vector_parts as clip_vector_parts
    from seasync.encoders.registry import (
        DEFAULT as DEFAULT,
        encoder_for as encoder_for,
        get_encoder as get_encoder,
        register as register,
    )
    from seasync.encoders.weights import cache_folder as cache_folder

_HOMES = {
    "DEFAULT": "registry",
    "Encoder": "encoder",
    "cache_folder": "weights",
    "clip_vector_parts": "encoder",
    "content_hash": "encode",
    "encode_clip": "encode",
    "encoder_for": "registry",
    "get_encoder": "registry",
    "register": "registry",
}
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES)
