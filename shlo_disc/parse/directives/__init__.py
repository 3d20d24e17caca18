"""What the templates of `form` have in braces: how each part of an op is read and written."""
