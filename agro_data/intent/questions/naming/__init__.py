"""What things are called, and English at the level of words."""
