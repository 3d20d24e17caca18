"""The documentation as a site: the repository's pages, and what is generated from its code. `make site` builds it."""
