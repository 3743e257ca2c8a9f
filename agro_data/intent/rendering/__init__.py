"""An intent as SQL text, in more than one way."""
