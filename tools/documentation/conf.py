"""Settings of Sphinx. The source folder is the root of the repository, so that its links work in the site, too."""

project = "shlo_disc"
copyright = "the authors of shlo_disc"  # noqa: A001 - the name that Sphinx reads
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "tools.documentation.extension",
]
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**.md", "examples/README.md", "examples/*.ipynb", "benchmarks/notes/*.md"]
exclude_patterns = [".*", "build", "dist", "shared", "shlo_disc", "tests", "tools", "**/__pycache__"]

html_theme = "furo"
html_title = "shlo_disc"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False

myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks hold their outputs; tests/api/test_notebooks.py runs them

nb_merge_streams = True
nb_mime_priority_overrides = [("*", "text/latex", None)]  # MathJax would be loaded from elsewhere

linkcheck_timeout = 20  # seconds for one link, of `make site-links`
linkcheck_retries = 2
linkcheck_ignore = [r"http://127\.0\.0\.1"]

highlight_language = "none"  # of blocks that name none: output, mostly
default_role = "code"  # docstrings mark code by single backticks
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"  # constructors are left out: users get objects from functions
maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_rtype = False  # "Returns:" holds sentences
