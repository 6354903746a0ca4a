"""Property tests here have no deadline: their first example may compile a kernel."""

from hypothesis import settings

settings.register_profile("kernels", deadline=None, max_examples=60)
settings.load_profile("kernels")
