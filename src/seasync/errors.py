"""The errors that Seasync raises on purpose.

SeasyncError
├── VideoError          a video cannot be read
├── EncoderError        an encoder is unknown, unusable or does not match
│   └── WeightsError    a model's weights cannot be downloaded, or are wrong
├── FeatureError        features cannot be aligned (NaN, another dimension, empty)
├── SeaError            a sea cannot be opened, written or searched
│   └── StoreError      object storage cannot be reached or refuses
├── RenderError         a film, picture or timeline cannot be made
├── DataError           a data set or label file is not as expected
├── ServeError          a request cannot be answered, or a server cannot run
├── PluginError         what another package adds to Seasync failed
└── MissingExtra        an optional dependency is not installed

Each message is one line: what is wrong with which file or argument, what was expected, what to do.
"""

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")


class SeasyncError(Exception):
    """Base of all errors that Seasync raises on purpose.

    Its message is one line whatever is quoted in it: names in files of others may hold line breaks, and codes
    that terminals obey.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(_CONTROL.sub(" ", str(message)))


class VideoError(SeasyncError):
    """A video cannot be read."""


class EncoderError(SeasyncError):
    """An encoder is unknown, unusable, or not the one that was used before."""


class WeightsError(EncoderError):
    """A model's weights cannot be downloaded, or are wrong."""


class FeatureError(SeasyncError):
    """Features, costs or times cannot be aligned."""


class SeaError(SeasyncError):
    """A sea cannot be opened, written or searched."""


class StoreError(SeaError):
    """Object storage cannot be reached or refuses."""


class RenderError(SeasyncError):
    """A film, picture, sound or timeline cannot be made."""


class DataError(SeasyncError):
    """A data set or label file is not as expected."""


class ServeError(SeasyncError):
    """A request cannot be answered, or a server cannot run. `status` is the HTTP status."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class PluginError(SeasyncError):
    """What another package adds to Seasync failed."""


class MissingExtra(SeasyncError):
    """An optional dependency is not installed."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(f"{needed_for} needs the extra {extra!r}: pip install 'seasync[{extra}]'")
        self.extra = extra


class PartlyDecoded(UserWarning):
    """A damaged file gave fewer frames than it promised; the message says how much was read."""


class UnknownClips(UserWarning):
    """Marks are of clips that are not there; they are ignored."""


class SubjectNotFound(UserWarning):
    """An encoder did not find what it looks for in most of a clip; the message says what follows."""


class BrokenPlugin(UserWarning):
    """What another package adds to Seasync does not load; the message says why."""


class DeviceFailed(UserWarning):
    """A device that the encoders could use did not load; the message says why."""
