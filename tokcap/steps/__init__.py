"""The steps of `pipeline`. They connect the families, which do not import each other."""
