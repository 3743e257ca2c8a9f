"""What the engine says of a gold statement, and what it reads."""
