"""An intent taken apart into steps that run, each in words."""
