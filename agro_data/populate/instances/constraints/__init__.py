"""What every row of an instance obeys: declared, evident, and by its state."""
