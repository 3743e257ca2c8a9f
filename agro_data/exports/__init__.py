"""A corpus version in the forms that other people's programs read; each form is one module over the same frames."""
