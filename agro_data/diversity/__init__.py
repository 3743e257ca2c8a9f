"""Which examples to keep: duplicates, near duplicates, diverse sample, decontamination, splits."""
