"""The directives in braces of the templates of `form`: each reads and writes one part of an op."""
