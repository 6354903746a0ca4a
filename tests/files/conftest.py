from __future__ import annotations

from tests.scale.conftest import bucket, store
from tests.sea.conftest import clips, encoder

__all__ = ["bucket", "clips", "encoder", "store"]
