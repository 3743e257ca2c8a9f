"""What an answer has, in words: a row for each group, each subject, or one for all."""
