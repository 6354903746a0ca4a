"""The documentation site: `make docs` builds it into docs/_build/html. Warnings are errors."""

from __future__ import annotations

from importlib.metadata import version as installed_version

project = "Seasync"
copyright = "The Seasync contributors"  # Sphinx asks for this name
version = release = installed_version("seasync")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
highlight_language = "text"  # of blocks without a language: command lines
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say types and shapes
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "Seasync"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
templates_path: list[str] = []
nitpicky = False
autodoc_preserve_defaults = True  # MOTION, not all its values
