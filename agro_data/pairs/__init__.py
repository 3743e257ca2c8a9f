"""`agro verify`: pairs of question and SQL that others made, checked against the data, the wording and each other."""
