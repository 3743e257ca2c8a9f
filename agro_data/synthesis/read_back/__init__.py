"""SQL that somebody wrote, read back into an intent."""
