"""What a schema does not show: what a person hides, credentials, what is private, books of frameworks."""
